"""A name means one thing: no public class has the name of another."""

import ast
from collections import Counter
from pathlib import Path

import memorist
import memorist_bench

# Names that still stand for two things.
LEFT: set[str] = set()


def test_no_public_class_has_the_name_of_another() -> None:
    packages = [Path(str(package.__file__)).parent for package in (memorist, memorist_bench)]
    names = Counter(
        node.name
        for package in packages
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, count in names.items() if count > 1} == LEFT

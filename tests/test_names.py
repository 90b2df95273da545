"""A name means one thing: no public class has the name of another, and a place is a row's number in an index."""

import ast
import re
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


# Where people live and things lie: texts are about such places, too.
_PLACES_OF_THE_WORLD = {
    "about/named.py",
    "about/values.py",
    "facts/plain/changes.py",
    "facts/plain/places.py",
    "secrets/spoken.py",
}


def test_place_is_the_number_of_a_row_in_an_index_and_nothing_else() -> None:
    root = Path(str(memorist.__file__)).parent
    named = {
        (path.relative_to(root).as_posix(), name)
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if (name := _name_of(node)) and re.search(r"(?:^|_)places?(?:_|$)", name, re.IGNORECASE)
    }
    assert {path for path, _ in named if not path.startswith(("recall/", "testing/"))} == _PLACES_OF_THE_WORLD


def _name_of(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
            return name
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
    return ""

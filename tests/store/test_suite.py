"""The shipped suite has a class for each capability of the port, and calls each method of it there."""

import ast
import inspect
import sys
import typing
from pathlib import Path

import pytest

from memorist import ports
from memorist.testing import StoreConformance, conformance
from memorist.testing.conformance import CAPABILITIES, helpers
from memorist.testing.conformance.fixtures import StoreFixtures


def protocol_of(capability: str) -> type:
    """What a capability is in a transaction that writes, or in one that reads where nothing is written."""
    prop = vars(ports.Writer).get(capability) or vars(ports.Reader)[capability]
    found: type = typing.get_type_hints(prop.fget)["return"]
    return found


def methods_of(capability: str) -> set[str]:
    protocol = protocol_of(capability)
    return {name for name, _ in inspect.getmembers(protocol, inspect.isfunction) if not name.startswith("_")}


# What rows are written by, since they are never written without what follows from them.
WRITING = {
    "memories": {"insert": {"insert"}, "insert_many": {"insert_many"}, "replace": {"replace"}},
    "aging": {"move": {"move"}, "set_deadlines": {"set_deadlines"}, "clear_traces": {"clear_traces"}},
    "index": {"adopt": {"unindexed", "insert"}},
}


def called_by(case: type, capability: str) -> set[str]:
    """The methods of a capability that the files of a class call, or the helpers that they import."""
    files = {inspect.getfile(part) for part in case.__mro__ if part not in (StoreFixtures, object)}
    trees: list[ast.AST] = [ast.parse(Path(file).read_text("utf-8")) for file in files]
    imported = {
        alias.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == helpers.__name__
        for alias in node.names
    }
    shared = ast.parse(inspect.getsource(helpers)).body
    trees += [node for node in shared if isinstance(node, ast.FunctionDef) and node.name in imported]
    found = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    written = {node.attr for node in found if isinstance(node.value, ast.Name) and node.value.id == "writing"}
    through = [WRITING.get(capability, {}).get(name, set()) for name in written]
    direct = {node.attr for node in found if isinstance(node.value, ast.Attribute) and node.value.attr == capability}
    return direct.union(*through)


def test_every_capability_has_exactly_one_class() -> None:
    named = {name for name, value in vars(ports.Reader).items() if isinstance(value, property)}
    assert set(CAPABILITIES) == named
    assert len(set(CAPABILITIES.values())) == len(named)


@pytest.mark.parametrize("capability", list(CAPABILITIES))
def test_every_method_of_a_capability_is_called_in_its_class(capability: str) -> None:
    assert methods_of(capability) - called_by(CAPABILITIES[capability], capability) == set()


def test_whole_suite_is_made_of_every_class() -> None:
    modules = [module for name, module in sys.modules.items() if name.startswith(f"{conformance.__name__}.")]
    cases = {
        case
        for module in modules
        for name, case in vars(module).items()
        if name.endswith("Conformance") and isinstance(case, type)
    }
    assert cases - set(StoreConformance.__mro__) == set()


def test_no_test_hides_another_of_its_name() -> None:
    """Two classes that have a test of one name would run it once in the whole suite."""
    names = [name for case in StoreConformance.__mro__ for name in vars(case) if name.startswith("test_")]
    assert sorted(names) == sorted(set(names))

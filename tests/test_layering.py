"""The direction of the imports: surfaces -> tools -> core -> ports, model <- store, models. One root knows all."""

import ast
import subprocess
import sys
from pathlib import Path

import memorist

ROOT = Path(memorist.__file__).parent
LEAVES = {
    "memorist.errors",
    "memorist.ids",
    "memorist.memories.lifecycle",
    "memorist.model",
    "memorist.models",
    "memorist.models.passages",
    "memorist.ports",
    "memorist.recall.ranking",
    "memorist.memories.searchable",
    "memorist.times",
    "memorist.words",
}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> set[str]:
    """Every module of ours that a file imports, at its top or inside a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            assert node.module is not None
            found.add(node.module)
            for alias in node.names:
                candidate = ROOT.parent / Path(*node.module.split("."), alias.name)
                if candidate.with_suffix(".py").is_file() or candidate.is_dir():
                    found.add(f"{node.module}.{alias.name}")
    return {name for name in found if name == "memorist" or name.startswith("memorist.")}


IMPORTS = {module_name(path): imports_of(path) for path in sorted(ROOT.rglob("*.py"))}


def below(prefix: str, names: set[str] | dict[str, set[str]]) -> set[str]:
    return {name for name in names if name == prefix or name.startswith(f"{prefix}.")}


def door(module: str) -> str:
    """The surface that a module belongs to: `memorist.surfaces.http` for everything below it."""
    return ".".join(module.split(".")[:3])


def test_there_is_something_to_test() -> None:
    assert len(IMPORTS) > 25
    assert "memorist.store.sql_store" in IMPORTS["memorist.bootstrap"]


def test_no_surface_imports_the_store() -> None:
    offenders = {
        module: below("memorist.store", IMPORTS[module])
        for module in below("memorist.surfaces", IMPORTS)
        if below("memorist.store", IMPORTS[module])
    }
    assert offenders == {}


# The server mounts two doors that are its own process's: MCP, which is one whatever the transport, and the dashboard.
MOUNTED = {
    "memorist.surfaces.http.mcp": {"memorist.surfaces.mcp"},
    "memorist.surfaces.http.app": {"memorist.surfaces.dashboard"},
}


def test_no_surface_imports_another() -> None:
    for module in below("memorist.surfaces", IMPORTS) - {"memorist.surfaces"}:
        others = {name for name in below("memorist.surfaces", IMPORTS[module]) if name != "memorist.surfaces"}
        assert {door(name) for name in others} <= {door(module)} | MOUNTED.get(module, set()), module


def test_store_imports_neither_core_nor_surface() -> None:
    for module in below("memorist.store", IMPORTS):
        for forbidden in ("memorist.core", "memorist.surfaces", "memorist.bootstrap", "memorist.settings"):
            assert below(forbidden, IMPORTS[module]) == set(), module


def test_core_imports_neither_store_nor_surface() -> None:
    for module in below("memorist.core", IMPORTS):
        for forbidden in ("memorist.store", "memorist.surfaces", "memorist.bootstrap", "memorist.settings"):
            assert below(forbidden, IMPORTS[module]) == set(), module


def test_tools_stand_between_core_and_surfaces() -> None:
    for forbidden in ("memorist.store", "memorist.surfaces", "memorist.bootstrap", "memorist.settings"):
        assert below(forbidden, IMPORTS["memorist.tools"]) == set()
    users = {module for module, imported in IMPORTS.items() if "memorist.tools" in imported}
    assert users
    doors = below("memorist.surfaces", IMPORTS) | below("memorist.adapters", IMPORTS)
    assert users <= doors | {"memorist.bootstrap"}


def test_client_and_importers_know_neither_store_nor_surface() -> None:
    for package in ("memorist.client", "memorist.importers"):
        assert below(package, IMPORTS)
        for module in below(package, IMPORTS):
            for forbidden in ("memorist.store", "memorist.surfaces", "memorist.bootstrap", "memorist.settings"):
                assert below(forbidden, IMPORTS[module]) == set(), module


def test_adapters_know_the_library_and_the_client_and_nobody_knows_them() -> None:
    surfaces = {name for module in below("memorist.adapters", IMPORTS) for name in IMPORTS[module]}
    assert {door(name) for name in below("memorist.surfaces", surfaces)} == {"memorist.surfaces.library"}
    others = set(IMPORTS) - below("memorist.adapters", IMPORTS)
    assert [module for module in others if below("memorist.adapters", IMPORTS[module])] == []


def test_leaves_import_only_leaves() -> None:
    for module in LEAVES:
        # Of the package itself they name modules; it imports nothing when it is loaded.
        assert IMPORTS[module] - {"memorist"} <= LEAVES, module
    assert IMPORTS["memorist.errors"] == set()
    assert IMPORTS["memorist.times"] == set()
    assert IMPORTS["memorist.ids"] == {"memorist.errors"}
    assert IMPORTS["memorist.model"] == {"memorist.times"}
    for module in ("memorist.words", "memorist.recall.ranking", "memorist.models", "memorist.models.passages"):
        assert IMPORTS[module] == set(), module


def test_models_know_errors_values_and_each_other_only() -> None:
    for module in below("memorist.models", IMPORTS):
        # Whoever logs does it without secrets.
        allowed = {"memorist.errors", "memorist.model", "memorist.secrets", "memorist.secrets.logs"}
        assert IMPORTS[module] <= allowed | below("memorist.models", IMPORTS), module


def test_documents_know_errors_and_each_other_only() -> None:
    for module in below("memorist.documents", IMPORTS):
        assert IMPORTS[module] <= {"memorist.errors"} | below("memorist.documents", IMPORTS), module


def test_extraction_knows_values_errors_and_itself_only() -> None:
    for module in below("memorist.learning.extractors", IMPORTS):
        allowed = {"memorist.errors", "memorist.model"} | below("memorist.learning.extractors", IMPORTS)
        assert IMPORTS[module] <= allowed, module


def test_judging_knows_values_and_itself_only() -> None:
    for module in below("memorist.facts.judging", IMPORTS):
        assert IMPORTS[module] <= {"memorist.model"} | below("memorist.facts.judging", IMPORTS), module


def test_secrets_know_each_other_only() -> None:
    for module in below("memorist.secrets", IMPORTS):
        assert IMPORTS[module] <= below("memorist.secrets", IMPORTS), module


def test_core_knows_models_by_their_ports_alone() -> None:
    """How a text is written out for a model is shared with the models; which model reads it is not known."""
    for module in below("memorist.core", IMPORTS):
        allowed = {"memorist.models", "memorist.models.passages"}
        assert below("memorist.models", IMPORTS[module]) <= allowed, module


def test_numpy_is_imported_only_by_those_who_search() -> None:
    """Whoever only writes does not pay for it."""
    script = "import sys, memorist.bootstrap, memorist.core; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_settings_know_only_errors_and_addresses() -> None:
    assert IMPORTS["memorist.settings"] == {"memorist.errors", "memorist.addresses"}
    assert IMPORTS["memorist.addresses"] == set()


def test_only_the_composition_root_knows_stores_and_core() -> None:
    both = {
        module
        for module, imported in IMPORTS.items()
        if below("memorist.store", imported) and below("memorist.core", imported)
    }
    assert both == {"memorist.bootstrap"}


def test_only_the_store_itself_and_the_root_import_the_store() -> None:
    outside = {
        module for module in set(IMPORTS) - below("memorist.store", IMPORTS) if below("memorist.store", IMPORTS[module])
    }
    assert outside == {"memorist.bootstrap"}


def test_shipped_suite_knows_ports_and_values_only() -> None:
    for module in below("memorist.testing", IMPORTS):
        assert IMPORTS[module] - {"memorist"} <= LEAVES | below("memorist.testing", IMPORTS), module


def test_drivers_are_imported_only_when_used() -> None:
    """`import memorist.bootstrap` loads neither database library."""
    tree = ast.parse((ROOT / "bootstrap.py").read_text("utf-8"))
    top = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert not {"memorist.store.sqlite", "memorist.store.postgres"} & top

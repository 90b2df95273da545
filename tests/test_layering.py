"""The house: which package knows which. Imports inside functions and for type checkers count like all others."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import memorist

ROOT = Path(memorist.__file__).parent

# A package imports only those in the lines above its own.
ORDER = (
    ("addresses", "errors", "first_person", "languages", "making", "secrets", "times", "version", "watching"),
    ("words",),
    ("documents", "ids", "known_servers", "models"),
    ("settings",),
    ("settings_sources",),
    ("platform",),
    ("audit",),
    ("memories",),
    ("recall", "ingestion"),
    ("erasure",),
    ("facts", "context"),
    ("about",),
    ("composing",),
    ("learning",),
    ("turns",),
    ("views", "transfer"),
    ("importers",),
    ("options",),
    ("core",),
    ("tools",),
    ("turn_tools",),
)
FEATURES = {
    "about",
    "audit",
    "composing",
    "context",
    "erasure",
    "facts",
    "ingestion",
    "learning",
    "memories",
    "platform",
    "recall",
} | {
    "transfer",
    "turns",
    "views",
}

# Of a feature others import these, its `values`, its `port` and its `service`; the rest is its own.
PUBLIC = {
    "learning": {"outcomes"},
    "platform": {
        "access",
        "attempts",
        "actors",
        "acts",
        "beside",
        "crew",
        "erased_names",
        "folding",
        "idempotency",
        "jobs",
        "loop",
        "paging",
        "redaction",
        "rounds",
        "spending",
        "tokens",
        "validation",
    },
    "memories": {
        "accesses",
        "earlier",
        "entries",
        "fields",
        "governance",
        "hashes",
        "lifecycle",
        "policies",
        "policy",
        "positions",
        "records",
        "rows",
        "searchable",
        "writing",
    },
    "ingestion": {"records"},
    "recall": {"reading"},
    "erasure": {"documents", "ledger", "naming"},
    "context": {"chunks", "companion", "section"},
}
EVERY_PUBLIC = {"port", "service", "values"}

# Beside values, a store knows what fields a memory has; its suite, what follows from one.
DECLARED = {"memorist.memories.fields"}
FOLLOWS = {
    "memorist.memories",
    "memorist.memories.lifecycle",
    "memorist.memories.searchable",
    "memorist.memories.writing",
}

# The server mounts two doors that are its own process's: MCP, which is one whatever the transport, and the dashboard.
# `memorist hook` is the help of another program, which it starts.
MOUNTED = {
    "memorist.surfaces.http.mcp": {"memorist.surfaces.mcp"},
    "memorist.surfaces.http.app": {"memorist.surfaces.dashboard"},
    "memorist.surfaces.http.pages": {"memorist.surfaces.dashboard"},
    "memorist.surfaces.cli.hook": {"memorist.surfaces.claude_code"},
}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def imports_of(path: Path) -> set[str]:
    """Every module of ours that a file imports, at its top or inside a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            assert node.module is not None
            named = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= named & SOURCES.keys()
            if not named <= SOURCES.keys():
                found.add(node.module)
    return found & SOURCES.keys()


IMPORTS: dict[str, set[str]] = {}
EDGES: set[tuple[str, str]] = set()


@pytest.fixture(scope="module", autouse=True)
def parsed() -> None:
    """Read once the tests begin: parsing everything takes seconds, and every worker imports this module."""
    IMPORTS.update((module, imports_of(path)) for module, path in SOURCES.items())
    EDGES.update((module, imported) for module, found in IMPORTS.items() for imported in found)


def below(prefix: str, names: Iterable[str]) -> set[str]:
    return {name for name in names if name == prefix or name.startswith(f"{prefix}.")}


def package(module: str) -> str:
    """`recall` for `memorist.recall.index.shelves`; '' for `memorist` itself."""
    return module.removeprefix("memorist").lstrip(".").partition(".")[0]


def door(module: str) -> str:
    """The surface that a module belongs to: `memorist.surfaces.http` for everything below it."""
    return ".".join(module.split(".")[:3])


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one module."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(one: str) -> None:
        number[one] = lowest[one] = len(number)
        path.append(one)
        for other in graph[one]:
            if other not in number:
                visit(other)
            if other in path:
                lowest[one] = min(lowest[one], lowest[other])
        if lowest[one] == number[one]:
            component = path[path.index(one) :]
            del path[path.index(one) :]
            if len(component) > 1:
                found.append(sorted(component))

    for one in graph:
        if one not in number:
            visit(one)
    return found


def test_the_picture_and_the_page_show_every_package() -> None:
    docs = ROOT.parents[1] / "docs"
    table = (docs / "explanation" / "architecture.md").read_text("utf-8")
    listed = {
        name for line in re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE) for name in re.findall(r"`([^`]+)`", line)
    }
    files = {"bench/memorist_bench/", "__init__.py", "__main__.py"}
    there = {f"{path.name}/" if path.is_dir() else path.name for path in ROOT.iterdir() if path.name != "__pycache__"}
    assert there - {"py.typed"} - files == {name for name in listed if name.count("/") < 2} - files - {"recall/index/"}
    picture = (docs / "images" / "architecture.svg").read_text("utf-8")
    heights = {name: float(y) for y, name in re.findall(r'class="mid" x="[^"]+" y="([^"]+)">(\w+)<tspan', picture)}
    rank = {name: index for index, names in enumerate(ORDER) for name in names}
    assert heights.keys() >= FEATURES
    for one in FEATURES:
        for other in FEATURES:
            if heights[one] < heights[other]:
                assert rank[one] > rank[other], f"the picture has {one} above {other}"


def test_there_is_something_to_test() -> None:
    assert len(IMPORTS) > 25
    assert "memorist.store.sql_store" in IMPORTS["memorist.bootstrap"]
    assert ("memorist.core", "memorist.recall.service") in EDGES  # An import inside a function.


def test_cycles_are_found() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_module_imports_itself_in_a_circle() -> None:
    assert cycles(IMPORTS) == []


def test_packages_import_only_those_before_them() -> None:
    rank = {name: index for index, names in enumerate(ORDER) for name in names}
    wrong = {
        (module, imported)
        for module, imported in EDGES
        if (here := package(module)) in rank
        # The ports are made of the features' own: `test_ports_are_made_of_ports_and_values` has them.
        and (there := package(imported)) not in (here, "ports")
        and (there not in rank or rank[there] >= rank[here])
    }
    assert wrong == set()


def test_features_import_only_what_is_public_of_another() -> None:
    wrong = [
        (module, imported)
        for module, imported in sorted(EDGES)
        if {here := package(module), there := package(imported)} <= FEATURES
        and here != there
        and imported.split(".")[2] not in EVERY_PUBLIC | PUBLIC.get(there, set())
    ]
    assert wrong == []


def test_all_that_is_public_is_used_by_another() -> None:
    used = {
        (there, imported.split(".")[2])
        for module, imported in EDGES
        if (there := package(imported)) in FEATURES and package(module) in FEATURES - {there}
    }
    assert {(name, one) for name, public in PUBLIC.items() for one in public} <= used


def test_ports_are_made_of_ports_and_values() -> None:
    for module in IMPORTS:
        if module == "memorist.ports" or module.endswith(".port"):
            kinds = {imported.split(".")[-1] for imported in IMPORTS[module]}
            assert kinds <= {"port", "values", "policy"}, module


def test_values_are_made_of_values() -> None:
    for module in IMPORTS:
        if module.endswith(".values"):
            kinds = {imported.split(".")[-1] for imported in IMPORTS[module]}
            assert kinds <= {"erased_names", "errors", "ids", "paging", "policy", "times", "values"}, module


def test_a_store_knows_values_and_ports_only() -> None:
    plain = {
        f"memorist.{name}" for name in ("addresses", "errors", "ids", "making", "ports", "times", "watching", "words")
    }
    known = {imported for module in below("memorist.store", IMPORTS) for imported in IMPORTS[module]}
    known -= below("memorist.store", known) | plain | {"memorist.memories.policy"}
    assert {name for name in known if not name.endswith(".values")} == DECLARED


def test_only_the_root_knows_stores_and_which_models_there_are() -> None:
    for hidden in ("memorist.store", "memorist.bootstrap"):
        users = {module for module, imported in EDGES if below(hidden, [imported])} - below(hidden, IMPORTS)
        allowed = {"memorist.bootstrap"} | below("memorist.surfaces", IMPORTS) | below("memorist.benchmarks", IMPORTS)
        assert users <= ({"memorist.bootstrap"} if hidden == "memorist.store" else allowed), hidden
    for module in IMPORTS:
        if package(module) in FEATURES | {"core", "tools", "turn_tools"}:
            known = below("memorist.models", IMPORTS[module])
            about_them = ("answers", "fair_share", "passages", "port", "values")
            assert known <= {"memorist.models", *(f"memorist.models.{name}" for name in about_them)}, module


@pytest.mark.parametrize("kind", ["read", "write"])
def test_no_door_opens_a_transaction(kind: str) -> None:
    doors = {"surfaces", "tools", "turn_tools", "client", "adapters", "importers", "installing", "bootstrap"}
    opens = re.compile(rf"store\.{kind}\(")
    assert [one for one in SOURCES if package(one) in doors and opens.search(SOURCES[one].read_text("utf-8"))] == []


def test_no_surface_imports_another() -> None:
    for module in below("memorist.surfaces", IMPORTS) - {"memorist.surfaces"}:
        others = {name for name in below("memorist.surfaces", IMPORTS[module]) if name != "memorist.surfaces"}
        assert {door(name) for name in others} <= {door(module)} | MOUNTED.get(module, set()), module


def test_tools_are_for_doors() -> None:
    users = {module for module, imported in EDGES if imported == "memorist.tools"}
    doors = below("memorist.surfaces", IMPORTS) | below("memorist.adapters", IMPORTS)
    assert users
    assert users <= doors | below("memorist.verbs", IMPORTS) | {"memorist.turn_tools"}


def test_verbs_client_and_importers_know_neither_root_nor_surface() -> None:
    for name in ("memorist.verbs", "memorist.client", "memorist.importers"):
        assert below(name, IMPORTS)
        for module in below(name, IMPORTS):
            for forbidden in ("memorist.store", "memorist.surfaces", "memorist.bootstrap", "memorist.settings"):
                assert below(forbidden, IMPORTS[module]) == set(), module


def test_verbs_know_no_client_and_adapters_know_verbs_alone() -> None:
    for module in below("memorist.verbs", IMPORTS):
        assert below("memorist.client", IMPORTS[module]) == set(), module
    known = {name for module in below("memorist.adapters", IMPORTS) for name in IMPORTS[module]}
    assert below("memorist.verbs", known)
    assert below("memorist.surfaces", known) | below("memorist.client", known) == set()
    others = set(IMPORTS) - below("memorist.adapters", IMPORTS)
    assert [module for module in others if below("memorist.adapters", IMPORTS[module])] == []


def test_recall_is_a_chain_of_stages() -> None:
    """Each stage knows those before it, never one after it."""
    stages = ["question", "candidates", "scored", "pool", "ranked", "explanation", "answer", "service"]
    for number, stage in enumerate(stages):
        later = {f"memorist.recall.{name}" for name in stages[number:]}
        assert IMPORTS[f"memorist.recall.{stage}"] & later == set(), stage


def test_the_index_knows_no_question() -> None:
    for module in below("memorist.recall.index", IMPORTS):
        known = below("memorist.recall", IMPORTS[module]) - below("memorist.recall.index", IMPORTS[module])
        assert known <= {"memorist.recall.ranking", "memorist.recall.values"}, module


@pytest.mark.parametrize(
    ("name", "known"),
    [
        # Whoever logs does it without secrets.
        ("models", {"errors", "languages", "secrets", "secrets.logs", "watching"}),
        ("documents", {"errors"}),
        ("secrets", set()),
        ("facts.plain", {"first_person", "languages"}),
        (
            "learning.extractors",
            {
                "errors",
                "first_person",
                "ingestion.values",
                "languages",
                "learning.values",
                "memories.values",
                "models.answers",
                "models.passages",
                "models.port",
                "models.values",
                "times",
            },
        ),
        ("settings", {"errors", "addresses"}),
        ("settings_sources", {"settings", "errors", "addresses", "known_servers"}),
    ],
)
def test_what_stands_by_itself_knows_little(name: str, known: set[str]) -> None:
    inside = below(f"memorist.{name}", IMPORTS)
    outside = {imported for module in inside for imported in IMPORTS[module]} - inside
    assert outside <= {f"memorist.{one}" for one in known}


def test_shipped_suite_knows_ports_and_values_only() -> None:
    for module in below("memorist.testing", IMPORTS):
        strange = {
            name
            for name in IMPORTS[module] - below("memorist.testing", IMPORTS) - DECLARED - FOLLOWS
            if name.split(".")[-1] not in {"errors", "ids", "policy", "port", "ports", "times", "values", "words"}
        }
        assert strange == set(), module


def test_numpy_is_imported_only_by_those_who_search() -> None:
    """Whoever only writes does not pay for it."""
    script = "import sys, memorist.bootstrap, memorist.core; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_drivers_are_imported_only_when_used() -> None:
    """`import memorist.bootstrap` loads neither database library."""
    script = "import sys, memorist.bootstrap; sys.exit(bool({'apsw', 'psycopg'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize("name", memorist.__all__)
def test_names_of_the_package_are_found_when_asked_for(name: str) -> None:
    assert getattr(memorist, name)


def test_only_the_table_of_commands_knows_the_benchmarks() -> None:
    naming = {module_name(path) for path in ROOT.rglob("*.py") if "memorist_bench" in path.read_text("utf-8")}
    assert naming == {"memorist.surfaces.cli.commands"}

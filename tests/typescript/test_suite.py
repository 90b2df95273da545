"""The TypeScript client's own tests, types and style, and its package as somebody installs it."""

import json
import re
from pathlib import Path

import pytest

from memorist.version import __version__
from tests.typescript.conftest import PACKAGE, run

_LARGEST_PACKAGE = 60 * 1024


@pytest.mark.parametrize("name", sorted(path.name for path in (PACKAGE / "test").glob("*.test.ts")))
def test_typescript_tests_pass(built: str, typescript_server: str, name: str) -> None:
    compiled = f"dist/tested/test/{name.removesuffix('.ts')}.js"
    run(built, "--test", "--test-timeout", "60000", compiled, MEMORIST_TEST_SERVED=typescript_server)


def test_style_is_kept(built: str) -> None:
    run(built, "node_modules/@biomejs/biome/bin/biome", "ci", "--colors=off", ".")


def test_lock_file_names_no_host_and_every_package_by_its_hash() -> None:
    locked = json.loads((PACKAGE / "package-lock.json").read_text())["packages"]
    assert [name for name, package in locked.items() if "resolved" in package] == []
    assert [name for name, package in locked.items() if name and "integrity" not in package] == []


def test_package_is_of_this_version_and_depends_on_nothing() -> None:
    package = json.loads((PACKAGE / "package.json").read_text())
    assert package["version"] == __version__
    assert "dependencies" not in package
    assert all(package["peerDependenciesMeta"][name]["optional"] for name in package.get("peerDependencies", ()))


def test_sources_use_nothing_of_node() -> None:
    for path in (PACKAGE / "src").rglob("*.ts"):
        assert not re.search(r'from "node:|require\(|\bBuffer\b', path.read_text()), path.name


def test_package_installs_from_its_tarball(built: str, tmp_path: Path) -> None:
    packed = json.loads(run("npm", "pack", "--json", "--pack-destination", str(tmp_path)))[0]
    assert packed["size"] <= _LARGEST_PACKAGE
    folder = tmp_path / "clean"
    folder.mkdir()
    (folder / "package.json").write_text('{"private": true}')
    tarball = str(tmp_path / packed["filename"])
    run("npm", "install", "--prefix", str(folder), "--offline", "--no-audit", "--no-fund", tarball)
    said = 'const client = new Client({ api_key: "k" }); console.log(typeof client.remember, NotFound.code);'
    (folder / "a.mjs").write_text(f'import {{ Client, NotFound }} from "memorist";\n{said}')
    (folder / "b.cjs").write_text(f'const {{ Client, NotFound }} = require("memorist");\n{said}')
    for name in ("a.mjs", "b.cjs"):
        assert run(built, str(folder / name)) == "function not_found\n"


@pytest.mark.parametrize("kind", ["module", "commonjs"])
def test_adapters_can_be_imported_and_required(built: str, kind: str) -> None:
    names = ["ai-sdk", "langgraph", "openai-agents"]
    load = "await import" if kind == "module" else "require"
    loaded = ", ".join(f"Object.keys({load_one})" for load_one in (f'({load}("memorist/{name}"))' for name in names))
    said = run(built, f"--input-type={kind}", "-e", f"console.log([{loaded}].flat().sort().join())")
    assert said.split() == ["MemoristSession,MemoristStore,memoryMiddleware,memoryTools,memoryTools"]

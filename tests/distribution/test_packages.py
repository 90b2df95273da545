"""The wheel and the sdist: the same bytes each time, nothing missing, and a server from nothing else.

The wheel is installed into an environment that has the declared dependencies and no other package, less what the image
leaves out. It is started there as the image starts it: its command and variables, no rights, one folder to write to.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from memorist import __version__
from ops import release, sizes
from tests.distribution.dockerfile import Dockerfile

ROOT = release.ROOT
WEIGHTS = "src/memorist/models/weights/"
PACKED = ("src/memorist/", "bench/memorist_bench/")
NOT_IN_SDIST = (".ci/", ".github/")


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    return [name for name in listed.stdout.decode().splitlines() if (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with weights of a byte each, which is built within a second or two."""
    folder = tmp_path_factory.mktemp("light")
    for name in tracked():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.startswith(WEIGHTS) and (ROOT / name).stat().st_size > 100_000:
            target.write_bytes(b"0")
        else:
            shutil.copyfile(ROOT / name, target)
    return folder


@pytest.fixture(scope="module")
def light_build(light: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return release.build(tmp_path_factory.mktemp("dist"), root=light)


def test_building_twice_gives_the_same_bytes(light: Path, light_build: tuple[Path, Path], tmp_path: Path) -> None:
    """Elsewhere, from files of another day that were made under another umask."""
    before = os.umask(0o077)
    try:
        other = tmp_path / "elsewhere"
        shutil.copytree(light, other, copy_function=shutil.copyfile)
        again = release.build(tmp_path / "dist", root=other)
    finally:
        os.umask(before)
    assert [made.read_bytes() for made in again] == [made.read_bytes() for made in light_build]


def test_wheel_from_the_sdist_is_the_wheel(light_build: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, sdist = light_build
    with tarfile.open(sdist) as packed:
        packed.extractall(tmp_path, filter="data")
    release.pack(tmp_path / "dist", tmp_path / f"memorist-{__version__}", "wheel")
    assert (tmp_path / "dist" / wheel.name).read_bytes() == wheel.read_bytes()


def test_nothing_is_missing_and_nothing_too_much(light_build: tuple[Path, Path]) -> None:
    wheel, sdist = light_build
    with zipfile.ZipFile(wheel) as packed:
        names = {name for name in packed.namelist() if ".dist-info/" not in name}
    assert names == {name.partition("/")[2] for name in tracked() if name.startswith(PACKED)}
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()} - {"PKG-INFO"}
    assert names == {name for name in tracked() if not name.startswith(NOT_IN_SDIST)}


class Environment:
    """An environment with the wheel in it, and nobody's settings."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "venv" / "bin"
        self.variables = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(folder / "nobody")}

    def run(self, *command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=self.variables, cwd=self.bin)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole one, built once."""
    folder = tmp_path_factory.mktemp("whole")
    release.pack(folder, ROOT, "wheel")
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def environment(wheel: Path) -> Iterator[Environment]:
    # Where other users can look, too.
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        (packages,) = (folder / "venv/lib").glob("python3*/site-packages")
        for package, there in sizes.installed(*sizes.IMAGE_EXTRAS).items():
            if package != "memorist":
                for file in there.files or ():
                    _link(Path(str(file.locate())), packages, file.as_posix())
        python = str(folder / "venv/bin/python")
        install = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)]
        subprocess.run([sys.executable, "-m", "pip", "--python", python, *install], check=True)
        yield Environment(folder)


def _link(source: Path, packages: Path, name: str) -> None:
    if not name.startswith("..") and source.is_file() and not sizes.is_left_out(name):
        target = packages / name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, target)
        except OSError:  # Another disk.
            shutil.copy2(source, target)


def test_installation_is_as_small_as_promised(wheel: Path) -> None:
    assert [(what, figure) for what, figure, most in sizes.figures(wheel) if figure > most] == []


def test_figures_count_what_pip_leaves(light_build: tuple[Path, Path], tmp_path: Path) -> None:
    """Bytecode too: a file beside each file of Python, in this package and in every other."""
    wheel, _ = light_build
    install = ["install", "--quiet", "--no-deps", "--no-index", "--target", str(tmp_path), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    left = {
        path.relative_to(tmp_path).as_posix(): path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()
    }
    counted = sizes.files(wheel)
    assert set(counted["memorist"]) <= set(left)
    assert sum(counted["memorist"].values()) == pytest.approx(sum(left.values()), rel=0.02)
    for package in counted.values():
        endings = [path.rpartition(".")[2] for path in package]
        assert endings.count("pyc") == endings.count("py")


def test_driver_of_postgresql_is_an_extra_that_the_image_has(environment: Environment) -> None:
    assert "psycopg" not in sizes.installed()
    assert "import" in environment.run("python", "-c", "import memorist.store.postgres; print('imported')")
    assert {"psycopg", "psycopg-binary", "psycopg-pool"} <= _locked("run").keys()


@pytest.mark.parametrize("name", ["run", "dev"])
def test_versions_are_locked_with_the_extras_that_others_ask_for(name: str) -> None:
    """Else pip takes what is asked for with an extra as another package, of which nothing is locked: it installs that
    as long as the locked version is the newest, and fails from the day of the next one.
    """
    locked = _locked(name)
    asked = [
        requirement
        for package in locked
        for requirement in map(Requirement, _requirements_of(package))
        if requirement.extras and (requirement.marker is None or requirement.marker.evaluate({"extra": ""}))
    ]
    assert asked
    for requirement in asked:
        assert requirement.extras <= locked[canonicalize_name(requirement.name)], requirement


def _locked(name: str) -> dict[str, set[str]]:
    """The packages of a lock file, each with its extras."""
    lines = re.findall(r"^[a-z0-9-]+(?:\[.+\])?==\S+", (ROOT / f"requirements/{name}.txt").read_text(), re.MULTILINE)
    return {canonicalize_name(one.name): one.extras for one in map(Requirement, lines)}


def _requirements_of(package: str) -> list[str]:
    """What an installed package requires; of one for other systems nothing is known here."""
    try:
        return metadata.requires(package) or []
    except metadata.PackageNotFoundError:
        return []


def test_demo_runs_from_the_wheel_alone(environment: Environment) -> None:
    where = environment.run("python", "-c", "import memorist; print(memorist.__file__)")
    assert where.startswith(str(environment.bin.parent))
    told = json.loads(environment.run("memorist", "demo", "--json"))
    assert any(answer["items"] for answer in told["answers"])
    assert told["answers"][-1]["items"] == []


def test_server_of_the_image_needs_no_rights_and_writes_to_its_volume_alone(
    environment: Environment, tmp_path: Path
) -> None:
    image = Dockerfile(ROOT / "Dockerfile")
    folder = environment.bin.parents[1]
    data = folder / "data"
    data.mkdir(mode=0o700)
    settings = {name: value.replace("/data", str(data)) for name, value in image.variables.items() if name != "PATH"}
    variables = environment.variables | settings | {"MEMORIST_PORT": "0"}
    unprivileged = _without_rights(environment, data)
    before = _files(folder)
    log = (tmp_path / "log").open("w")
    command = [*unprivileged, *image.entrypoint, *image.command]
    with (
        _read_only(folder, data),
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=variables, cwd=folder) as server,
    ):
        try:
            assert server.stdout is not None
            greeting = server.stdout.readline()
            found = re.search(r"http://0\.0\.0\.0:(\d+)", greeting)
            assert found, (tmp_path / "log").read_text()
            _use(f"http://127.0.0.1:{found[1]}", data)
            listening = variables | {"MEMORIST_PORT": found[1]}
            assert subprocess.run(image.healthcheck, env=listening, cwd=folder).returncode == 0
        finally:
            server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=40) in (0, -signal.SIGTERM)
    log.close()
    assert _files(folder) == before


def _use(server: str, data: Path) -> None:
    """What takes a template, a static file, statements and weights."""
    key = (data / "local.key").read_text().strip()
    with httpx2.Client(base_url=server, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        said = {"messages": [{"role": "user", "content": "My dog Rex is allergic to chicken."}], "extract": False}
        assert client.post("/v1/sessions/monday/messages", json=said).status_code == 201
        found = client.post("/v1/tools/recall", json={"query": "What must the pet not eat?"}).json()
        assert (found["items"][0]["content"], found["rerank_used"]) == (said["messages"][0]["content"], True)  # type: ignore[index]
        page = client.get("/docs")
        assert page.status_code == 200
        for address in re.findall(r'(?:src|href)="(/dashboard/static/[^"]+)"', page.text):
            assert client.get(address).status_code == 200
        assert client.get("/readyz").status_code == 200


def _without_rights(environment: Environment, data: Path) -> list[str]:
    """What makes a command another user's; where that user cannot reach Python, one without any capability."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        return []
    nobody = ["setpriv", "--reuid=10001", "--regid=10001", "--clear-groups", "--no-new-privs"]
    if subprocess.run([*nobody, environment.bin / "python", "-c", ""], capture_output=True).returncode == 0:
        os.chown(data, 10001, 10001)
        return nobody
    return ["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all", "--no-new-privs"]


@contextmanager
def _read_only(folder: Path, data: Path) -> Iterator[None]:
    """Only below `data` may a file be made. The files themselves are shared with this environment: they stay."""
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir() and path != data)]
    for one in folders:
        one.chmod(0o555)
    try:
        yield
    finally:
        for one in folders:
            one.chmod(0o755)


def _files(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*") if not path.is_relative_to(folder / "data")}

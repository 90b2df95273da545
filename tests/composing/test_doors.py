"""What an agent is given, over HTTP, on the command line and in the library."""

import httpx2

from tests.cli.conftest import Cli, clean_environment, cli, data  # noqa: F401
from tests.http.conftest import Served, by_keyword, tenant

__all__ = ["by_keyword", "tenant"]

HOME = "The user lives in Lisbon."


def test_context_over_http(by_keyword: Served, tenant: str) -> None:
    with by_keyword.client(tenant) as ada:
        assert ada.post("/v1/context", json={}).json() == {
            "text": "", "fenced": "", "tokens": 0, "ids": [], "named": 0, "degraded": False,
        }  # fmt: skip
        fact = ada.post("/v1/facts", json={"content": HOME}).json()
        found = ada.post("/v1/context", json={"question": "Where?", "project": "/srv", "budget_tokens": 100}).json()
        assert found["ids"] == [fact["memory"]["id"]]
        assert HOME in found["text"]
        plain = ada.post("/v1/context", json={}, headers={"Accept": "text/plain"})
        assert plain.headers["content-type"].startswith("text/plain")
        assert plain.text.startswith("<memories>")
        for wrong in ({"budget_tokens": 99}, {"question": "x" * 10_001}, {"budget": 1}, {"question": 1}):
            assert ada.post("/v1/context", json=wrong).status_code == 422
    assert httpx2.post(f"{by_keyword.url}/v1/context", json={}).status_code == 401
    with by_keyword.client(tenant, user="bob") as bob:
        assert bob.post("/v1/context", json={"question": "Lisbon"}).json()["text"] == ""


def test_context_on_the_command_line(cli: Cli) -> None:  # noqa: F811
    assert cli.ok("context").out.strip() == "Nothing is remembered yet."
    cli.ok("fact", HOME)
    assert HOME in cli.ok("context", "Where?", "--budget", "200").out
    assert cli.json("context", "Where?")["named"] == 0
    assert cli("context", "--budget", "1").code == 2

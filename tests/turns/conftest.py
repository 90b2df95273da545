"""A server whose language model is a script, over each database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist.settings import Settings
from memorist.testing import new_tenant
from memorist.turns import work as turn_work
from tests.http.conftest import Served, serving
from tests.support.scripted_http import ScriptedServer, scripted_server
from tests.support.talking import says


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that fails is asked again at once."""
    monkeypatch.setattr(turn_work, "_LONGEST_WAIT_S", 0.0)


@pytest.fixture(scope="session")
def talking() -> Iterator[ScriptedServer]:
    with scripted_server(says("Noted, I will remember that.")) as server:
        yield server


@pytest.fixture
def model(talking: ScriptedServer) -> ScriptedServer:
    """The language model, without anything that another test left."""
    talking.scripts.clear()
    talking.requests.clear()
    talking.released.clear()
    talking.always = says("Noted, I will remember that.")
    return talking


@pytest.fixture(scope="session", params=["openai-sqlite", "anthropic-postgres"])
def served(
    request: pytest.FixtureRequest, talking: ScriptedServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    provider, database = request.param.split("-")
    url = ""
    if database == "postgres":
        # Of its own: it is started, and would do the jobs of all tenants that other tests have.
        postgres = request.getfixturevalue("postgres")
        url = postgres.url(postgres.create_database(template=request.getfixturevalue("postgres_template")))
    with serving(turn_settings(tmp_path_factory.mktemp("turns"), talking.url, provider, database=url)) as server:
        server.core.start()
        yield server


def turn_settings(folder: Path, url: str, provider: str = "openai", **more: object) -> Settings:
    values: dict[str, object] = {
        "data": folder,
        "port": 0,
        "embedder": "off",
        "reranker": "off",
        "llm": f"{provider}:gpt-4o" if provider == "openai" else f"{provider}:claude-sonnet-4-5",
        "llm_url": url if provider == "openai" else url.removesuffix("/v1"),
        "llm_api_key": "not-a-key",
        "judge_model": "local",
        "extractor": "local",
    }
    return Settings(**(values | more))


@pytest.fixture
def tenant() -> str:
    return new_tenant()

"""A server that is watched, whose models are all behind an address, over each database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist.settings import Settings
from tests.http.conftest import Served, serving
from tests.observing.collector import Collector, collecting
from tests.recall.test_remote import embed_all, score_all
from tests.support.scripted_http import Body, Reply, ScriptedServer, scripted_server
from tests.support.talking import fails, says


def any_model(reply: Reply, body: Body) -> None:
    """Embeds, ranks and answers; a language model that is told to FAIL does."""
    talks = fails(400) if "FAIL" in str(body.get("messages")) else says("Noted.")
    answers = {"embeddings": embed_all, "rerank": score_all}
    answers.get(reply.handler.path.rpartition("/")[2], talks)(reply, body)


@pytest.fixture(scope="session")
def models() -> Iterator[ScriptedServer]:
    with scripted_server(any_model) as server:
        yield server


@pytest.fixture(scope="session")
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


def watched_settings(folder: Path, models: ScriptedServer, **others: object) -> Settings:
    values: dict[str, object] = {
        "data": folder,
        "port": 0,
        "embedder_url": models.url,
        "embedder_model": "vectors",
        "reranker_url": models.url,
        "reranker_model": "order",
        "llm": "openai:gpt-4o",
        "llm_url": models.url,
        "llm_api_key": "not-a-key",
        "extractor": "off",
        "judge_model": "",
        "failed_key_delay_s": 0,
    }
    return Settings(**(values | others))


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def watched(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    models: ScriptedServer,
    collector: Collector,
) -> Iterator[Served]:
    """Counts and traces everything."""
    database = ""
    if request.param == "postgres":
        # Of its own: what is counted is of all tenants.
        postgres = request.getfixturevalue("postgres")
        database = postgres.url(postgres.create_database(template=request.getfixturevalue("postgres_template")))
    folder = tmp_path_factory.mktemp("watched")
    with serving(watched_settings(folder, models, database=database, otlp_url=collector.url)) as server:
        yield server

"""Speed is measured on really stored memories, with every figure, on both databases."""

import pytest

from memorist.core import Core
from memorist.platform.values import OwnerFilter, Principal, Role
from memorist.recall.values import Question
from memorist.settings import Settings
from memorist_bench import speed
from memorist_bench.speed import measure_speed
from tests.support.stores import checked

FIGURES = {
    "memories", "users", "questions", "embedder", "reranker", "synthetic_vectors", "embed_ms_p50", "floor_ms",
    "recall_ms_p50", "recall_ms_p95", "rerank_ms_p50", "rerank_ms_p95", "first_recall_ms_p50", "ingest_per_s",
    "embed_per_s", "rss_mb", "disk_bytes_per_memory", "cold_recall_s", "cold_recall_alone_s", "clients_1_ms_p95",
    "clients_8_ms_p95", "budget_ms", "first_ten_same",
}  # fmt: skip


@pytest.fixture(autouse=True)
def keywords_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the fresh process that is started."""
    monkeypatch.setenv("MEMORIST_EMBEDDER", "off")
    monkeypatch.setenv("MEMORIST_RERANKER", "off")


def test_every_figure_without_models(
    core: Core, settings: Settings, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed, "SAMPLE", 100)
    result = measure_speed(core, settings, tenant, "run", memories=530, users=7, questions=4, report=lambda *_: None)
    assert set(result) == FIGURES
    assert (result["memories"], result["users"]) == (530, 7)
    assert result["embed_ms_p50"] is result["rerank_ms_p50"] is result["embed_per_s"] is None
    assert result["synthetic_vectors"] is False
    assert result["first_ten_same"] is None
    for name in ("floor_ms", "recall_ms_p50", "ingest_per_s", "rss_mb", "cold_recall_s"):
        assert result[name] > 0, name
    assert 0 < result["cold_recall_alone_s"] < result["cold_recall_s"]
    everything = OwnerFilter(any_user=True, any_agent=True)
    stored = core.store.read(tenant, lambda tx: tx.memories.scan(everything, "", 1000))
    assert len(stored) == 530
    assert len({memory.user for memory in stored}) == 7
    assert checked(core.store, tenant) == "ok"


def test_everybody_has_a_session_where_there_are_hardly_more_memories_than_users() -> None:
    sessions = list(speed._sessions(11, 5))
    assert [len(turns) for _, turns in sessions] == [2, 2, 2, 2, 2, 1]


@pytest.mark.timeout(300)
def test_synthetic_vectors_are_found_like_real_ones(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from memorist.bootstrap import open_core

    monkeypatch.setenv("MEMORIST_EMBEDDER", "local")
    monkeypatch.setattr(speed, "SAMPLE", 40)
    settings = Settings(database=sqlite_url, reranker="off")
    core = open_core(settings)
    folder = core.options.index_folder
    assert folder is not None
    folder.smallest, folder.listed_from = 10, 100  # As if each had more than 200,000.
    try:
        core.identity.create_tenant("t")
        result = measure_speed(core, settings, "t", "run", memories=240, users=2, questions=2, report=lambda *_: None)
        assert result["synthetic_vectors"] is True
        assert result["embed_ms_p50"] > 0
        assert result["embed_per_s"] > 0
        assert result["first_ten_same"] > 0.9
        assert core.indexer.progress("t").waiting == 0
        recalled = core.recall.recall(Principal("t", Role.USER, "run-0"), Question("the kettle", explain=True))
        assert not recalled.degraded
        assert recalled.hits[0].explanation is not None
        assert recalled.hits[0].explanation["vector"]["cosine"] is not None
    finally:
        core.close()

"""A benchmark is stored through the public path and asked as each case's user, on both databases."""

from contextlib import closing
from pathlib import Path

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.platform import validation
from memorist.recall.fusion import ABLATIONS
from memorist.settings import Settings
from memorist_bench.datasets import Benchmark, BenchmarkMessage, BenchmarkQuestion, Case, pooled, read_benchmark
from memorist_bench.quality import FRONTIER, measure_recall

KEYS = {
    "name", "recall@1", "recall@5", "recall@10", "recall@20", "any@1", "any@5", "any@10", "any@20", "mrr",
    "questions", "ingest_per_s", "recall_ms_p50", "recall_ms_p95", "embed_ms_p50",
    "read_p50", "read_mean", "embedder", "reranker",
    "budget_ms",
}  # fmt: skip


@pytest.mark.parametrize("name", ["normalized", "locomo10", "longmemeval_s"])
def test_each_format_is_measured(core: Core, tenant: str, files: dict[str, Path], name: str) -> None:
    told: list[str] = []
    result = measure_recall(
        core, tenant, "run", read_benchmark(files[name]),
        rerank=False, by_category=False, report=lambda doing, *_: told.append(doing),
    )  # fmt: skip
    assert set(result) == KEYS
    assert result["recall@20"] == result["any@20"] == 1.0
    assert result["mrr"] > 0.7
    assert result["questions"] == {"normalized": 4, "locomo10": 2, "longmemeval_s": 1}[name]
    assert result["ingest_per_s"] > 0
    assert result["recall_ms_p50"] <= result["recall_ms_p95"]
    assert set(told) == {"Storing", "Indexing", "Asking"}


def test_categories_are_measured_apart(core: Core, tenant: str, files: dict[str, Path]) -> None:
    result = measure_recall(
        core, tenant, "run", read_benchmark(files["normalized"]),
        rerank=False, by_category=True, report=lambda *_: None,
    )  # fmt: skip
    assert {name: found["questions"] for name, found in result["categories"].items()} == {
        "place": 2,
        "work": 1,
        "time": 1,
    }


def test_pooled_conversations_are_asked_as_one_user(core: Core, tenant: str, files: dict[str, Path]) -> None:
    result = measure_recall(
        core, tenant, "run", pooled(read_benchmark(files["normalized"])),
        rerank=False, by_category=False, report=lambda *_: None,
    )  # fmt: skip
    assert (result["name"], result["questions"]) == ("tiny, pooled", 4)
    assert result["recall@20"] == 1.0


def test_each_part_is_switched_off_in_turn(core: Core, tenant: str, files: dict[str, Path]) -> None:
    result = measure_recall(
        core, tenant, "run", read_benchmark(files["normalized"]),
        rerank=False, by_category=False, report=lambda *_: None, ablation=True,
    )  # fmt: skip
    assert set(result["without"]) == set(ABLATIONS)
    assert {found["questions"] for found in result["without"].values()} == {4}
    # There is no embedder here: without words nothing is left to rank by.
    assert result["without"]["words"]["mrr"] <= result["mrr"] == result["without"]["meaning"]["mrr"]


def test_more_and_more_time_is_given_to_the_reranker(tmp_path: Path, files: dict[str, Path]) -> None:
    with closing(open_core(Settings(data=tmp_path / "data"), background=False)) as core:
        tenant, _ = core.identity.create_tenant("measured")
        result = measure_recall(
            core, tenant.id, "run", read_benchmark(files["normalized"]),
            rerank=True, by_category=False, report=lambda *_: None, frontier=True,
        )  # fmt: skip
    without, *within, all_the_time = result["frontier"]
    assert without["budget_ms"] is None
    assert without["read_mean"] == 0
    assert [one["budget_ms"] for one in within] == sorted(one["budget_ms"] for one in within)
    assert len(within) == len(FRONTIER)
    assert all_the_time["budget_ms"] == 0
    assert all_the_time["read_mean"] >= max(one["read_mean"] for one in within)
    assert {one["questions"] for one in result["frontier"]} == {4}


def test_a_message_longer_than_a_memory_is_found_as_one(core: Core, tenant: str) -> None:
    long = "word " * (validation.MAX_CONTENT // 5 + 100) + " zebra"
    messages = [
        BenchmarkMessage("long", "s", long, "user", None, None),
        BenchmarkMessage("short", "s", "zebra", "user", None, None),
        BenchmarkMessage("silent", "s", " ", "user", None, None),
    ]
    case = Case("c", messages, [BenchmarkQuestion("q", "word zebra", "all", frozenset({"long", "short"}))])
    result = measure_recall(
        core, tenant, "run", Benchmark("b", [case]), rerank=False, by_category=False, report=lambda *_: None
    )
    assert result["recall@5"] == 1.0

"""`memorist bench`: one JSON document a file, in a store of which nothing stays."""

import json
import sys
from pathlib import Path

import pytest

from memorist_bench import speed
from tests.benchmarks.conftest import files
from tests.benchmarks.test_quality import KEYS
from tests.benchmarks.test_speed import FIGURES
from tests.cli.conftest import Cli
from tests.support.postgres import CITUS

__all__ = ["files"]


def test_recall_prints_one_document_for_each_file(cli: Cli, files: dict[str, Path], data: Path) -> None:
    result = cli.ok("bench", "recall", *map(str, files.values()), "--no-rerank", "--json")
    printed = [json.loads(line) for line in result.out.splitlines()]
    assert [one["name"] for one in printed] == ["tiny", "locomo10", "longmemeval_s"]
    assert all(set(one) == KEYS for one in printed)
    assert [one["questions"] for one in printed] == [4, 2, 1]
    assert printed[0]["recall@20"] == 1.0
    assert (printed[0]["embedder"], printed[0]["reranker"]) == (None, None)
    assert not data.exists()


def test_recall_as_a_table_by_category_and_with_fewer_questions(cli: Cli, files: dict[str, Path]) -> None:
    shown = cli.ok("bench", "recall", str(files["normalized"]), "--by-category")
    assert "tiny" in shown.out
    assert "place" in shown.out
    assert "memories a second" in shown.err
    printed = cli.json("bench", "recall", str(files["normalized"]), "--by-category", "--limit", "2")
    assert printed["questions"] == 2
    assert set(printed["categories"]) == {"place"}
    assert cli("bench", "recall", str(files["normalized"]), "--limit", "0").code == 2


def test_a_file_that_is_no_benchmark_is_refused_before_anything_is_measured(cli: Cli, files: dict[str, Path]) -> None:
    other = files["normalized"].with_name("other.json")
    other.write_text("{}")
    result = cli("bench", "recall", str(files["normalized"]), str(other))
    assert (result.code, result.out) == (2, "")
    assert "no benchmark" in result.err


def test_in_a_given_database_the_rows_are_erased_afterwards(
    cli: Cli, files: dict[str, Path], own_database_url: str
) -> None:
    cli.ok("remember", "mine", "--database", own_database_url)
    found = cli.json("bench", "recall", str(files["normalized"]), "--database", own_database_url)
    assert found["recall@20"] == 1.0
    status = cli.json("index", "status", "--all", "--database", own_database_url)["items"]
    assert {one["tenant"]: one["total"] for one in status} == {"local": 1, "memorist-scratch": 0}
    assert cli.json("db", "check", "--database", own_database_url)["ok"]
    assert cli("bench", "recall", str(files["normalized"]), "--key", "x", "--database", own_database_url).code == 4


@pytest.mark.usefixtures("models")
def test_recall_with_models_names_them(cli: Cli, files: dict[str, Path]) -> None:
    found = cli.json("bench", "recall", str(files["locomo10"]))
    assert found["embedder"]
    assert found["reranker"]
    assert found["recall@5"] == 1.0


def test_speed_prints_every_figure(cli: Cli, monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    monkeypatch.setattr(speed, "SAMPLE", 40)
    found = cli.json("bench", "speed", "--memories", "200", "--users", "3", "--questions", "2")
    assert set(found) == FIGURES
    assert "recall_ms_p50" in cli.ok("bench", "speed", "--memories", "60", "--questions", "2").out
    assert not data.exists()


@pytest.mark.parametrize("options", [["--memories", "0"], ["--users", "0"], ["--memories", "5", "--users", "6"]])
def test_speed_refuses_what_makes_no_sense(cli: Cli, options: list[str]) -> None:
    assert cli("bench", "speed", *options).code == 2


def test_dashboard_prints_every_view(cli: Cli, data: Path) -> None:
    found = cli.json("bench", "dashboard", "--memories", "120", "--rounds", "1")
    assert (found["memories"], found["database"]) == (120, "sqlite")
    assert {"home", "memories", "memory", "recall, a question", "system (everybody)"} <= set(found["views"])
    assert not data.exists()


def test_dashboard_prints_a_table_and_erases_what_it_put_into_a_given_database(cli: Cli, own_database_url: str) -> None:
    cli.ok("remember", "mine", "--database", own_database_url)
    shown = cli.ok("bench", "dashboard", "--memories", "60", "--rounds", "1", "--database", own_database_url)
    assert "recall, a question" in shown.out
    assert "the slowest view" in shown.err
    status = cli.json("index", "status", "--all", "--database", own_database_url)["items"]
    assert {one["tenant"]: one["total"] for one in status} == {"local": 1, "memorist-scratch": 0}
    assert cli.json("db", "check", "--database", own_database_url)["ok"]


@pytest.mark.parametrize("options", [["--memories", "0"], ["--rounds", "0"]])
def test_dashboard_refuses_what_makes_no_sense(cli: Cli, options: list[str]) -> None:
    assert cli("bench", "dashboard", *options).code == 2


def test_load_asks_servers_of_both_databases_and_compares_them(
    cli: Cli, own_postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("EMBEDDER", "RERANKER"):
        monkeypatch.setenv(f"MEMORIST_{name}", "off")
    few = ["--users", "5", "--memories", "4", "--at-once", "2", "--seconds", "60", "--requests", "60"]
    found = cli.json("bench", "load", *few, "--servers", "2", "--database", own_postgres_url)
    assert (found["errors"], found["users"], found["memories"]) == (0, 5, 20)
    name = "citus" if CITUS else "postgresql"
    assert [(run["database"], run["servers"]) for run in found["runs"]] == [(name, 2), ("sqlite", 2)]
    for run in found["runs"]:
        assert run["requests"] == 60
        for kind in ("recall", "write"):
            assert 0 < run[f"{kind}_ms_p50"] <= run[f"{kind}_ms_p95"] <= run[f"{kind}_ms_p99"]
        assert run["recall_to_empty"] > 0
        told = {"cpu_ms_per_request", "database_cpu_ms_per_request"} & run.keys()
        expected = ["cpu_ms_per_request", *(["database_cpu_ms_per_request"] if run["database"] == name else [])]
        assert sorted(told) == (expected if sys.platform == "linux" else [])
    assert found[f"{name}_to_sqlite"]["2"] > 0
    status = cli.json("index", "status", "--all", "--database", own_postgres_url)["items"]
    assert {one["tenant"]: one["total"] for one in status}["memorist-scratch"] == 0
    assert cli("bench", "load", "--users", "0").code == 2

"""What the coding assistant's document says and no other test pins."""

from typing import Any

import httpx2
import pytest

from tests.http.conftest import Served
from tests.http.test_coding_assistant import ROW, TRANSCRIPT, extract, search, store

CALLS: list[tuple[str, str, dict[str, Any] | None]] = [
    ("GET", "/api/memory/search", None),
    ("GET", "/api/memory/context", None),
    ("POST", "/api/memory/store", {"content": "x", "chunkType": "fact"}),
    ("POST", "/api/memory/extract", {"transcript": "User: I prefer tabs."}),
    ("DELETE", "/api/memory/019e1d61-7f12-7a6b-9a5b-0b7f6a1f8e11", None),
]


@pytest.mark.parametrize(("method", "path", "body"), CALLS)
def test_every_call_needs_a_key(by_keyword: Served, method: str, path: str, body: dict[str, Any] | None) -> None:
    assert httpx2.request(method, f"{by_keyword.url}{path}", json=body).status_code == 401


def test_search_without_a_query_finds_everything_newest_first(ada: httpx2.Client) -> None:
    for number in range(3):
        store(ada, f"number {number}", sourceExcerpt=f"said {number}")
    assert [row["content"] for row in search(ada)] == ["number 2", "number 1", "number 0"]
    assert [row["content"] for row in search(ada, query="SAID 1")] == ["number 1"]
    assert search(ada, query="nothing of it") == []


def test_every_found_memory_is_counted_once_a_search_and_others_are_not(ada: httpx2.Client) -> None:
    first, second = store(ada, "about tea"), store(ada, "about coffee")
    for _ in range(3):
        search(ada, query="tea")
    counts = {row["id"]: row["accessCount"] for row in search(ada)}
    assert counts == {first["id"]: 4, second["id"]: 1}


def test_bounds_of_the_score_are_taken_and_filter(ada: httpx2.Client) -> None:
    for score in (0, 0.5, 1):
        store(ada, f"of {score}", relevanceScore=score)
    assert [row["relevanceScore"] for row in search(ada, minRelevance=0)] == [1.0, 0.5, 0.0]
    assert [row["relevanceScore"] for row in search(ada, minRelevance=0.5)] == [1.0, 0.5]
    assert [row["relevanceScore"] for row in search(ada, minRelevance=1)] == [1.0]


def test_extracted_memories_are_stored_with_session_project_and_score(learning: Served, tenant: str) -> None:
    with learning.client(tenant) as ada:
        answer = extract(ada, transcript=TRANSCRIPT, sessionId="session-1", projectPath="/srv/shop")
        stored = {row["id"]: row for row in search(ada, projectPath="/srv/shop")}
    assert answer["data"]
    assert {row["id"] for row in answer["data"]} == set(stored)
    for row in stored.values():
        assert set(row) == ROW
        assert (row["sessionId"], row["projectPath"]) == ("session-1", "/srv/shop")
        assert 0 < row["relevanceScore"] <= 1
        assert row["sourceExcerpt"] in TRANSCRIPT


def test_context_says_how_many_are_loaded_and_groups_them_by_type(ada: httpx2.Client) -> None:
    for kind in ("summary", "preference", "pattern", "solution", "fact", "decision"):
        store(ada, f"a {kind}", kind)
    loaded = ada.get("/api/memory/context", params={"limit": 6}).json()["data"]
    assert loaded["formatted"] == "6 memories loaded:\n\n" + "\n".join(
        f"### {heading}\n- a {kind}\n"
        for heading, kind in (
            ("Decisions", "decision"),
            ("Facts", "fact"),
            ("Solutions", "solution"),
            ("Patterns", "pattern"),
            ("Preferences", "preference"),
            ("Summaries", "summary"),
        )
    )

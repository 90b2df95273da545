"""The coding-assistant API as its document describes it, over a real server."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest

from memorist.ids import parse_id
from memorist.platform.values import Role
from memorist.settings import Settings
from memorist.testing import new_tenant
from tests.http.conftest import Served, serving

MILLISECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
ROW = {
    "id", "sessionId", "projectPath", "chunkType", "content", "sourceExcerpt", "relevanceScore", "accessCount",
    "lastAccessedAt", "createdAt",
}  # fmt: skip
TYPES = ["decision", "fact", "solution", "pattern", "preference", "summary"]


@pytest.fixture
def ada(learning: Served, tenant: str) -> Iterator[httpx2.Client]:
    with learning.client(tenant) as client:
        yield client


def store(client: httpx2.Client, content: str, chunkType: str = "fact", **fields: object) -> dict:
    response = client.post("/api/memory/store", json={"content": content, "chunkType": chunkType, **fields})
    assert response.status_code == 201, response.text
    row: dict = response.json()["data"]
    return row


def search(client: httpx2.Client, **parameters: object) -> list[dict]:
    response = client.get("/api/memory/search", params=parameters)
    assert response.status_code == 200, response.text
    rows: list[dict] = response.json()["data"]
    return rows


def test_stored_memory_comes_back_as_documented(ada: httpx2.Client) -> None:
    row = store(
        ada,
        "Use PostgreSQL for the database layer",
        "decision",
        sessionId="session-abc",
        projectPath="/srv/my project",
        sourceExcerpt="After evaluating SQLite and Postgres...",
        relevanceScore=0.95,
    )
    assert set(row) == ROW
    assert str(UUID(row["id"])) == row["id"]
    assert MILLISECONDS.fullmatch(row["createdAt"])
    assert {name: row[name] for name in ROW - {"id", "createdAt"}} == {
        "sessionId": "session-abc",
        "projectPath": "/srv/my project",
        "chunkType": "decision",
        "content": "Use PostgreSQL for the database layer",
        "sourceExcerpt": "After evaluating SQLite and Postgres...",
        "relevanceScore": 0.95,
        "accessCount": 0,
        "lastAccessedAt": None,
    }
    (found,) = search(ada, query="EVALUATING sqlite")
    assert found | {"accessCount": 0, "lastAccessedAt": None} == row
    assert found["accessCount"] == 1
    assert MILLISECONDS.fullmatch(found["lastAccessedAt"])
    assert search(ada, query="postgresql")[0]["accessCount"] == 2


def test_only_content_and_type_are_needed(ada: httpx2.Client) -> None:
    row = store(ada, "The deploy target is a VPS running Ubuntu 24.04")
    assert (row["relevanceScore"], row["accessCount"]) == (1.0, 0)
    assert row["sessionId"] is row["projectPath"] is row["sourceExcerpt"] is None


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_is_stored_and_filtered_by(ada: httpx2.Client, kind: str) -> None:
    store(ada, "of this type", kind)
    store(ada, "of another", TYPES[TYPES.index(kind) - 1])
    assert [row["content"] for row in search(ada, chunkType=kind)] == ["of this type"]


def test_search_has_filters_a_default_and_a_limit(ada: httpx2.Client) -> None:
    for number in range(25):
        store(ada, f"100% of_{number}", projectPath="/srv/shop" if number % 2 else None, relevanceScore=number / 24)
    assert len(search(ada)) == 20
    assert len(search(ada, limit=100)) == 25
    assert [row["content"] for row in search(ada, query="0% OF_2")][:2] == ["100% of_24", "100% of_23"]
    assert search(ada, query="0%%") == search(ada, query="of%1") == search(ada, query="f_1_") == []
    assert {row["projectPath"] for row in search(ada, projectPath="/srv/shop")} == {"/srv/shop"}
    assert {row["content"] for row in search(ada, minRelevance=0.95)} == {"100% of_24", "100% of_23"}


def test_context_has_rows_text_and_a_fence(ada: httpx2.Client) -> None:
    store(ada, "Always use pnpm", "pattern", projectPath="/srv/shop")
    store(ada, "Use PostgreSQL", "decision", projectPath="/srv/shop")
    store(ada, "of low relevance", relevanceScore=0.2, projectPath="/srv/shop")
    for number in range(25):
        store(ada, f"number {number}")
    body = ada.get("/api/memory/context", params={"project": "/srv/shop"}).json()
    assert set(body) == {"data"}
    assert set(body["data"]) == {"memories", "formatted", "fenced"}
    assert [row["content"] for row in body["data"]["memories"]] == ["Use PostgreSQL", "Always use pnpm"]
    assert all(set(row) == ROW for row in body["data"]["memories"])
    assert body["data"]["formatted"] == (
        "2 memories loaded:\n\n### Decisions\n- Use PostgreSQL\n\n### Patterns\n- Always use pnpm\n"
    )
    assert body["data"]["fenced"].startswith("<memories>\n")
    assert body["data"]["formatted"] in body["data"]["fenced"]
    assert len(ada.get("/api/memory/context").json()["data"]["memories"]) == 5
    assert len(ada.get("/api/memory/context?limit=20").json()["data"]["memories"]) == 20
    # Loading is not searching.
    assert {row["accessCount"] for row in ada.get("/api/memory/context").json()["data"]["memories"]} == {0}
    nothing = ada.get("/api/memory/context", params={"project": "/nowhere"}).json()["data"]
    assert (nothing["memories"], nothing["formatted"]) == ([], "0 memories loaded.\n")


def test_deleted_memory_is_gone(ada: httpx2.Client) -> None:
    row = store(ada, "to be deleted")
    response = ada.delete(f"/api/memory/{row['id']}")
    assert (response.status_code, response.json()) == (200, {"data": {"success": True}})
    assert search(ada, query="to be deleted") == []
    again = ada.delete(f"/api/memory/{row['id']}")
    assert (again.status_code, again.json()["code"]) == (404, "not_found")


def test_memory_has_one_identity_at_every_door(ada: httpx2.Client) -> None:
    row = store(ada, "Known by two names")
    memory_id = parse_id("mem", row["id"])
    assert ada.get(f"/v1/memories/{memory_id}").json()["body"] == "Known by two names"
    assert ada.delete(f"/api/memory/{memory_id}").status_code == 200
    assert ada.get(f"/v1/memories/{row['id']}").status_code == 404


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/memory/", "invalid_id"),
        ("/api/memory/nonsense", "invalid_id"),
        ("/api/memory/00000000-0000-0000-0000", "invalid_id"),
        ("/api/memory/a/b", "invalid_id"),
    ],
)
def test_missing_or_malformed_id_is_a_bad_request(ada: httpx2.Client, path: str, code: str) -> None:
    response = ada.delete(path)
    assert (response.status_code, response.json()["code"]) == (400, code)
    assert response.headers["content-type"] == "application/problem+json"


def test_address_without_an_id_is_a_bad_request(ada: httpx2.Client) -> None:
    assert ada.delete("/api/memory", follow_redirects=True).status_code == 400


@pytest.mark.parametrize(
    ("field", "parameters"),
    [
        ("limit", {"limit": 0}),
        ("limit", {"limit": "many"}),
        ("minRelevance", {"minRelevance": 1.5}),
        ("minRelevance", {"minRelevance": "nan"}),
        ("chunkType", {"chunkType": "goal"}),
        ("query", {"query": "a\0b"}),
        ("projectPath", {"projectPath": "x" * 600}),
    ],
)
def test_search_refuses_what_it_does_not_take(ada: httpx2.Client, field: str, parameters: dict) -> None:
    response = ada.get("/api/memory/search", params=parameters)
    assert (response.status_code, response.json()["field"]) == (400, field), response.text


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("content", {"chunkType": "fact"}),
        ("content", {"content": " ", "chunkType": "fact"}),
        ("content", {"content": 7, "chunkType": "fact"}),
        ("chunkType", {"content": "x"}),
        ("chunkType", {"content": "x", "chunkType": "goal"}),
        ("relevanceScore", {"content": "x", "chunkType": "fact", "relevanceScore": 1.01}),
        ("sessionId", {"content": "x", "chunkType": "fact", "sessionId": "a b"}),
        ("projectPath", {"content": "x", "chunkType": "fact", "projectPath": "a\nb"}),
        ("chunk_type", {"content": "x", "chunkType": "fact", "chunk_type": "fact"}),
    ],
)
def test_store_refuses_what_it_does_not_take(ada: httpx2.Client, field: str, body: dict) -> None:
    response = ada.post("/api/memory/store", json=body)
    assert (response.status_code, response.json()["field"]) == (400, field), response.text
    assert search(ada) == []


def test_limit_above_the_maximum_is_the_maximum(ada: httpx2.Client) -> None:
    for number in range(101):
        store(ada, f"Number {number}")
    assert len(search(ada, limit=101)) == len(search(ada, limit=10**9)) == 100
    assert len(ada.get("/api/memory/context?limit=21").json()["data"]["memories"]) == 20
    assert ada.get("/api/memory/context?limit=0").status_code == 400


def test_broken_json_is_a_bad_request(ada: httpx2.Client) -> None:
    response = ada.post("/api/memory/store", content=b"{", headers={"Content-Type": "application/json"})
    assert (response.status_code, response.json()["code"]) == (400, "invalid_json")


def test_same_memory_is_stored_once(ada: httpx2.Client) -> None:
    first = store(ada, "Once", "fact", sessionId="one")
    assert store(ada, "Once", "fact", sessionId="two")["id"] == first["id"]
    assert store(ada, "Once", "decision")["id"] != first["id"]


def test_store_says_whether_it_stored_anything(ada: httpx2.Client) -> None:
    body = {"content": "Said twice", "chunkType": "fact"}
    answers = [ada.post("/api/memory/store", json=body | more).json() for more in ({}, {"relevanceScore": 0.1})]
    assert [answer["wasNew"] for answer in answers] == [True, False]
    assert [answer["data"]["relevanceScore"] for answer in answers] == [1.0, 0.1]


def test_what_is_stored_again_is_answered_with_its_reads(ada: httpx2.Client) -> None:
    body = {"content": "Said twice and found in between", "chunkType": "fact"}
    ada.post("/api/memory/store", json=body)
    for _ in range(2):
        [found] = ada.get("/api/memory/search", params={"query": "in between"}).json()["data"]
    for more in ({}, {"relevanceScore": 0.1}):
        row = ada.post("/api/memory/store", json=body | more).json()["data"]
        assert (row["accessCount"], row["lastAccessedAt"]) == (2, found["lastAccessedAt"])


def test_null_stands_for_what_is_left_out(ada: httpx2.Client) -> None:
    names = ("sessionId", "projectPath", "sourceExcerpt", "relevanceScore")
    row = store(ada, "Nothing else", "fact", **dict.fromkeys(names))
    assert [row[name] for name in names] == [None, None, None, 1.0]
    response = ada.post("/api/memory/store", json={"content": None, "chunkType": "fact"})
    assert (response.status_code, response.json()["field"]) == (400, "content")


def test_empty_session_and_project_stand_for_none(ada: httpx2.Client) -> None:
    """As they do where memories are extracted."""
    row = store(ada, "Nothing else", "fact", sessionId="", projectPath="")
    assert (row["sessionId"], row["projectPath"]) == (None, None)
    assert store(ada, "Nothing else", "fact")["id"] == row["id"]
    assert store(ada, "Nothing else", "fact", projectPath=" ")["id"] == row["id"]
    both = {row["id"], store(ada, "In a shop", "fact", projectPath="/srv/shop")["id"]}
    for project in ("", " "):
        assert {found["id"] for found in search(ada, projectPath=project)} == both
        context = ada.get("/api/memory/context", params={"project": project}).json()["data"]
        assert {found["id"] for found in context["memories"]} == both


def test_project_and_session_have_the_lengths_that_the_page_tells(ada: httpx2.Client) -> None:
    path, session = "/" + "x" * 499, "s" * 128
    row = store(ada, "Deep down", "fact", projectPath=path, sessionId=session)
    assert (row["projectPath"], row["sessionId"]) == (path, session)
    assert [found["id"] for found in search(ada, projectPath=path)] == [row["id"]]
    body = {"content": "Deeper", "chunkType": "fact", "transcript": "User: We decided to use Redis."}
    for field, value in (("projectPath", path + "x"), ("sessionId", session + "s"), ("sessionId", "of ada")):
        for call, names in (("store", ("content", "chunkType")), ("extract", ("transcript",))):
            sent = {name: body[name] for name in names} | {field: value}
            refused = ada.post(f"/api/memory/{call}", json=sent)
            assert (refused.status_code, refused.json()["field"]) == (400, field)
    for call, field in (("search", "projectPath"), ("context", "project")):
        refused = ada.get(f"/api/memory/{call}", params={field: path + "x"})
        assert (refused.status_code, refused.json()["field"]) == (400, field)


def test_folder_below_a_project_gets_the_memories_of_that_project_too(ada: httpx2.Client) -> None:
    of_path = {
        path: store(ada, f"In {path}", projectPath=path)["id"] for path in ("/srv/shop/", "/srv/shop/web", "/srv/sho")
    }

    def loaded(project: str) -> set[str]:
        rows = ada.get("/api/memory/context", params={"project": project}).json()["data"]["memories"]
        return {row["projectPath"] for row in rows}

    assert loaded("/srv/shop/web/src/") == loaded("/srv/shop/web") == {"/srv/shop/", "/srv/shop/web"}
    assert loaded("/srv/shop") == {"/srv/shop/"}
    assert loaded("/srv/shopping") == loaded("srv/shop/web") == set()
    # A filter is one: whoever searches a folder gets what is in that folder.
    assert [row["id"] for row in search(ada, projectPath="/srv/shop/web")] == [of_path["/srv/shop/web"]]


def test_project_is_kept_as_it_was_given_and_found_with_and_without_a_slash(ada: httpx2.Client) -> None:
    with_slash = store(ada, "Kept in a shop", "fact", projectPath="/srv/ada/shop/")
    assert with_slash["projectPath"] == "/srv/ada/shop/"
    assert [row["projectPath"] for row in search(ada)] == ["/srv/ada/shop/"]
    assert store(ada, "Kept in a shop", "fact", projectPath="/srv/ada/shop")["id"] == with_slash["id"]
    for path in ("/srv/ada/shop", "/srv/ada/shop/"):
        assert [row["id"] for row in search(ada, projectPath=path)] == [with_slash["id"]]
        context = ada.get("/api/memory/context", params={"project": path}).json()["data"]
        assert [row["id"] for row in context["memories"]] == [with_slash["id"]]
    assert store(ada, "Of everything", "fact", projectPath="/")["projectPath"] == "/"


def test_retry_under_a_key_has_one_effect(ada: httpx2.Client) -> None:
    body = {"content": "Retried", "chunkType": "fact"}
    headers = {"Idempotency-Key": "one"}
    first = ada.post("/api/memory/store", json=body, headers=headers)
    assert ada.delete(f"/api/memory/{first.json()['data']['id']}").status_code == 200
    again = ada.post("/api/memory/store", json=body, headers=headers)
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["Idempotency-Replayed"] == "true"
    other = ada.post("/api/memory/store", json=body | {"content": "Other"}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (400, "idempotency_mismatch")


def test_key_is_needed_and_a_reader_writes_nothing(learning: Served, tenant: str) -> None:
    with httpx2.Client(base_url=learning.url) as nobody:
        assert nobody.get("/api/memory/search").status_code == 401
        assert nobody.delete("/api/memory/").status_code == 401
    with learning.client(tenant, Role.READER) as reader:
        assert reader.get("/api/memory/search").status_code == 200
        refused = reader.post("/api/memory/store", json={"content": "x", "chunkType": "fact"})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert reader.post("/api/memory/extract", json={"transcript": "I prefer tea."}).status_code == 403


def test_unknown_method_names_the_others(ada: httpx2.Client) -> None:
    response = ada.get("/api/memory/01a1ddf2-ab2f-cbd6-c50d-f38228b7c7c2")
    assert (response.status_code, response.headers["Allow"]) == (405, "DELETE")


# Extraction

TRANSCRIPT = (
    "User: We decided to use PostgreSQL for the orders service.\n\n"
    "Assistant: Noted.\n\n"
    "User: I prefer tabs over spaces in this project.\n"
)


def extract(client: httpx2.Client, **body: object) -> dict:
    response = client.post("/api/memory/extract", json=body)
    assert response.status_code == 200, response.text
    answer: dict = response.json()
    return answer


def test_memories_are_extracted_from_a_transcript(ada: httpx2.Client) -> None:
    answer = extract(ada, transcript=TRANSCRIPT, sessionId="session-1", projectPath="/srv/shop")
    assert answer["data"]
    assert all(set(row) == ROW and row["chunkType"] in TYPES for row in answer["data"])
    assert {row["projectPath"] for row in answer["data"]} == {"/srv/shop"}
    count = len(answer["data"])
    assert answer["message"] == f"Extracted {count} {'memory' if count == 1 else 'memories'}"
    assert any("PostgreSQL" in row["content"] for row in search(ada, projectPath="/srv/shop"))


def test_memories_of_a_transcript_without_a_session_have_none(ada: httpx2.Client) -> None:
    rows = (
        extract(ada, transcript=TRANSCRIPT)["data"] + extract(ada, transcript=TRANSCRIPT + "\n", sessionId="")["data"]
    )
    assert {row["sessionId"] for row in rows} == {None}
    assert {row["sessionId"] for row in search(ada)} == {None}
    records = ada.get("/v1/records", params={"kind": "fact"}).json()["data"]
    assert [name for record in records for name in record["meta"] if name == "session_id"] == []
    assert all(record["meta"]["message_id"] for record in records)
    line = {
        "type": "user",
        "sessionId": "its-own",
        "message": {"role": "user", "content": "We chose Redis for caching."},
    }
    told = extract(ada, transcript=json.dumps(line))["data"]
    assert [row["sessionId"] for row in told] == ["its-own"]


def test_only_what_is_new_is_counted_as_extracted(ada: httpx2.Client) -> None:
    first = extract(ada, transcript=TRANSCRIPT, sessionId="one", projectPath="/srv/shop/")
    assert {row["projectPath"] for row in first["data"]} == {"/srv/shop/"}
    again = extract(ada, transcript=TRANSCRIPT, sessionId="two", projectPath="/srv/shop")
    assert again == {"data": [], "message": "No memories worth extracting", "waiting": 0}
    more = TRANSCRIPT + "\nUser: We decided to deploy on Fridays only.\n"
    third = extract(ada, transcript=more, sessionId="three", projectPath="/srv/shop")
    assert (len(third["data"]), third["message"]) == (1, "Extracted 1 memory")
    assert "Fridays" in third["data"][0]["content"]


def test_transcript_with_nothing_to_keep_says_so(ada: httpx2.Client) -> None:
    answer = extract(ada, transcript="User: Hello!\n\nAssistant: Hello, how are you?\n\nUser: Fine, thanks.")
    assert answer == {"data": [], "message": "No memories worth extracting", "waiting": 0}


@pytest.mark.parametrize("path", ["/api/memory/extract", "/v1/records/extract"])
def test_transcript_of_twenty_megabytes_is_read(tmp_path: Path, path: str) -> None:
    """Most of it is what a tool returned, as it is in long sessions; it is read to its end."""
    told = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x = 1;\n" * 2_480_000}],
    }
    last = {"role": "user", "content": "We decided to use PostgreSQL for the orders service."}
    lines = [json.dumps({"type": "user", "message": message}) + "\n" for message in (told, last)]
    transcript = "".join(lines)
    assert 19_800_000 < len(transcript) <= 20_000_000
    settings = Settings(data=tmp_path, port=0, embedder="off", reranker="off")
    with serving(settings) as server, server.client(new_tenant()) as ada:
        ada.timeout = 120
        answer = ada.post(path, json={"transcript": transcript})
        assert answer.status_code == 200, answer.text[:500]
        assert "PostgreSQL" in answer.text
        refused = ada.post(path, json={"transcript": transcript + "x" * 200_000})
        assert (refused.status_code in (400, 422), refused.json()["field"]) == (True, "transcript")


@pytest.mark.parametrize("body", [{}, {"transcript": None}])
def test_either_a_transcript_or_its_path_is_needed(ada: httpx2.Client, body: dict) -> None:
    response = ada.post("/api/memory/extract", json=body)
    assert (response.status_code, response.json()["field"]) == (400, "transcript")


def test_path_is_refused_where_no_folder_is_allowed(ada: httpx2.Client) -> None:
    response = ada.post("/api/memory/extract", json={"transcriptPath": "/etc/hostname"})
    assert response.status_code == 403
    assert "MEMORIST_TRANSCRIPT_ROOTS" in response.json()["detail"]


@pytest.fixture
def with_files(tmp_path: Path) -> Iterator[tuple[Served, Path]]:
    root = tmp_path / "projects"
    root.mkdir()
    settings = Settings(
        data=tmp_path / "data", port=0, embedder="off", reranker="off", transcript_roots=f"/nonexistent:{root}"
    )
    with serving(settings) as served:
        yield served, root


def test_transcript_is_read_below_an_allowed_folder_alone(with_files: tuple[Served, Path]) -> None:
    served, root = with_files
    (root / "session.txt").write_text(TRANSCRIPT)
    (root.parent / "outside.txt").write_text(TRANSCRIPT)
    (root / "link.txt").symlink_to(root.parent / "outside.txt")
    with served.client(new_tenant()) as ada:
        assert extract(ada, transcriptPath=str(root / "session.txt"))["data"]
        refusals = set()
        for path in (
            root.parent / "outside.txt", root / "link.txt", root / ".." / "outside.txt", root, "/etc/passwd", "x\0y"
        ):  # fmt: skip
            response = ada.post("/api/memory/extract", json={"transcriptPath": str(path)})
            assert (response.status_code, response.json()["field"]) == (400, "transcriptPath"), path
            refusals.add(response.json()["detail"])
        assert len(refusals) == 1
    with served.client(new_tenant(), Role.READER) as reader:
        assert reader.post("/api/memory/extract", json={"transcriptPath": str(root / "session.txt")}).status_code == 403


def test_a_missing_id_is_a_bad_request_with_and_without_the_slash(ada: httpx2.Client) -> None:
    for path in ("/api/memory", "/api/memory/"):
        answer = ada.delete(path)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_id")


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"transcript": "User: I prefer tabs.", "transcriptPath": "/etc/hostname"}, 400, "transcriptPath"),
        ({"transcript": "User: I prefer tabs.", "transcriptPath": "/nonexistent/x"}, 400, "transcriptPath"),
        ({"transcript": "User: I prefer tabs.", "transcriptPath": ""}, 200, None),
        ({"transcript": "User: I prefer tabs.", "transcriptPath": None}, 200, None),
        ({"transcript": "", "transcriptPath": "/etc/hostname"}, 403, None),
        ({"transcript": " \n", "transcriptPath": "/etc/hostname"}, 403, None),
        ({"transcript": ""}, 400, "transcript"),
        ({"transcript": " \n"}, 400, "transcript"),
        ({"transcript": "", "transcriptPath": ""}, 400, "transcriptPath"),
        ({"transcriptPath": ""}, 400, "transcriptPath"),
        ({}, 400, "transcript"),
    ],
)
def test_exactly_one_of_transcript_and_path_is_read(
    ada: httpx2.Client, body: dict[str, Any], status: int, field: str | None
) -> None:
    answer = ada.post("/api/memory/extract", json=body)
    assert (answer.status_code, answer.json().get("field")) == (status, field)

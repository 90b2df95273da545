"""What the companion API's document says and no other test pins."""

import json
import re
import socket
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from memorist.memories.values import Draft, Governor
from memorist.platform.values import Principal, Role
from tests.http.conftest import Served
from tests.http.test_companion import FINDING, add, texts
from tests.support.scripted_http import ScriptedServer
from tests.support.talking import says


def many(served: Served, tenant: str, count: int) -> None:
    """So many entries of ada's, in one write."""
    drafts = [
        Draft(f"entry {number}", category=("goal", "history")[number % 2], governed_by=Governor.COMPANION)
        for number in range(count)
    ]
    served.core.memories.remember(Principal(tenant, Role.USER, "ada"), drafts)


def test_list_has_twenty_unless_told_otherwise_and_no_tested_hypothesis(
    by_keyword: Served, tenant: str, ada: httpx2.Client
) -> None:
    assert ada.get("/v1/memory").json() == {"data": [], "next_cursor": None, "has_more": False}
    ada.post("/v1/findings", json=FINDING | {"verdict": "rejected"})
    many(by_keyword, tenant, 25)
    page = ada.get("/v1/memory").json()
    assert (len(page["data"]), page["has_more"]) == (20, True)
    assert {row["category"] for row in page["data"]} == {"goal", "history"}
    assert len(ada.get("/v1/memory", params={"limit": 1}).json()["data"]) == 1


def test_everything_is_read_by_pages_of_a_hundred_however_much_it_is(
    by_keyword: Served, tenant: str, ada: httpx2.Client
) -> None:
    many(by_keyword, tenant, 230)
    found: list[str] = []
    query: dict[str, Any] = {"limit": 100}
    while True:
        page = ada.get("/v1/memory", params=query).json()
        found += [row["text"] for row in page["data"]]
        if not page["has_more"]:
            break
        query["cursor"] = page["next_cursor"]
    assert sorted(found) == sorted(f"entry {number}" for number in range(230))
    assert ada.get("/v1/memory/summary").json()["entries"] == 80


@pytest.mark.parametrize("verdict", ["conditional", "rejected"])
def test_only_a_validated_finding_becomes_an_insight(ada: httpx2.Client, verdict: str) -> None:
    answer = ada.post("/v1/findings", json=FINDING | {"verdict": verdict}).json()
    assert (answer["insight"], answer["tested_hypothesis"]["meta"]["verdict"]) == (None, verdict)
    assert texts(ada) == []
    assert f"[{verdict}] {FINDING['text'].rstrip('.')}" in ada.get("/v1/memory/summary").json()["summary"]


def test_tested_hypotheses_stay_until_they_are_deleted_themselves(ada: httpx2.Client) -> None:
    made = ada.post("/v1/findings", json=FINDING).json()
    assert ada.delete(f"/v1/memory/{made['insight']['id']}").status_code == 204
    assert texts(ada, include="tested_hypothesis") == [FINDING["text"]]
    assert ada.delete(f"/v1/memory/{made['tested_hypothesis']['id']}").status_code == 204
    assert texts(ada, include="tested_hypothesis") == []


def test_there_is_no_deleting_of_all_at_once(ada: httpx2.Client) -> None:
    made = add(ada, "A goal.")
    assert ada.delete("/v1/memory").status_code == 405
    assert [row["id"] for row in ada.get("/v1/memory").json()["data"]] == [made["id"]]


def test_ids_are_ulids_that_sort_by_their_creation(ada: httpx2.Client) -> None:
    made = [add(ada, f"entry {number}") for number in range(5)]
    assert all(re.fullmatch(r"mem_[0-9A-HJKMNP-TV-Z]{26}", row["id"]) for row in made)
    assert [row["id"] for row in made] == sorted(row["id"] for row in made)
    assert [row["created_at"] for row in made] == sorted(row["created_at"] for row in made)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", row["created_at"]) for row in made)


def test_correction_and_old_entry_both_stay_and_the_newer_stands_first(ada: httpx2.Client) -> None:
    add(ada, "Vegetarian.", "preference")
    add(ada, "Switched to pescatarian 2026-05.", "preference")
    lines = ada.get("/v1/memory/summary").json()["summary"].splitlines()
    assert [line.partition(") ")[2] for line in lines[1:]] == ["Switched to pescatarian 2026-05.", "Vegetarian."]


def test_where_the_summary_has_no_room_the_oldest_go(ada: httpx2.Client) -> None:
    add(ada, "Eats meat and fish every day.", "preference")
    add(ada, f"Diet correction: {'neither meat nor fish, ' * 20}", "preference")
    for number in range(78):
        add(ada, f"{f'Note {number}':x<250}", "history")
    rows = ada.get("/v1/memory", params={"limit": 100}).json()["data"]
    found = ada.get("/v1/memory/summary").json()
    assert len(rows) == 80
    assert [row["text"].strip() in found["summary"] for row in rows] == [
        place < found["entries"] for place in range(80)
    ]
    assert 30 < found["entries"] < 79


def test_facts_of_other_doors_are_told_beside_the_entries_and_are_theirs_to_delete(ada: httpx2.Client) -> None:
    add(ada, "No fish.", "preference")
    ada.post("/v1/tools/remember_fact", json={"content": "Ada lives in Kiel."})
    assert "Ada lives in Kiel." in ada.get("/v1/memory/summary").json()["summary"]
    assert texts(ada) == ["No fish."]
    (fact,) = [row["id"] for row in ada.get("/v1/records").json()["data"] if "Kiel" in row["content"]]
    assert ada.delete(f"/v1/memory/{fact}").status_code == 404
    assert ada.delete(f"/v1/records/{fact}").status_code == 200
    assert "Ada lives in Kiel." not in ada.get("/v1/memory/summary").json()["summary"]


def test_text_is_kept_as_it_is_given_and_in_the_open(by_keyword: Served, ada: httpx2.Client) -> None:
    text = "Naïve ★ text, with *stars* & <tags>."
    assert add(ada, text, "history")["text"] == text
    found = by_keyword.core.store.search_files([text.encode()])
    assert found is None or found, "in a file it can be read by whoever has the file"


@pytest.mark.parametrize("body", [{"text": "x", "category": None}, {"text": "x"}])
def test_entry_without_a_category_is_told_so(ada: httpx2.Client, body: dict[str, Any]) -> None:
    answer = ada.post("/v1/memory", json=body)
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "invalid_field", "category")


# Who reads


@pytest.fixture
def entry(ada: httpx2.Client) -> dict[str, Any]:
    ada.post("/v1/records", json={"content": "The zebra is in the garden."})
    return add(ada, "Zebra goal.")


def reads(client: httpx2.Client, headers: dict[str, str]) -> Iterator[str]:
    """What each door that shows texts answers about zebras."""
    yield client.get("/v1/records", params={"every_agent": True}, headers=headers).text
    yield client.post("/v1/records/recall", json={"query": "zebra"}, headers=headers).text
    yield client.post("/v1/tools/recall", json={"query": "zebra"}, headers=headers).text
    yield client.post("/memory/query", json={"query": "zebra"}, headers=headers).text
    yield client.get("/memory", headers=headers).text
    call = {"name": "recall", "arguments": {"query": "zebra"}}
    question = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    as_mcp = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
    yield client.post("/mcp", json=question, headers=headers | as_mcp).text
    yield client.get("/v1/records/export", headers=headers).text


@pytest.mark.parametrize("role", [Role.READER, Role.ADMIN])
def test_no_door_shows_an_entry_to_a_reader_or_to_an_admin_who_acts_for_nobody(
    by_keyword: Served, tenant: str, entry: dict[str, Any], role: Role
) -> None:
    headers = {"X-Memorist-User": "ada"} if role is Role.READER else {}
    with by_keyword.client(tenant, role, None) as other:
        answers = list(reads(other, headers))
        if role is Role.ADMIN:
            assert "Zebra goal." in answers.pop(), "an export of the tenant is a copy, and noted"
        assert all("garden" in answer and "Zebra goal." not in answer for answer in answers), answers
        for path in (f"/v1/records/{entry['id']}", f"/memory/{entry['id']}", f"/v1/memories/{entry['id']}"):
            assert other.get(path, headers=headers).status_code == 404
        for path in ("/v1/memory", "/v1/memory/summary"):
            assert other.get(path, headers=headers).status_code == 403


@pytest.mark.parametrize("role", [Role.SERVICE, Role.ADMIN])
def test_whoever_acts_for_the_user_reads_them_at_every_door_and_is_noted(
    by_keyword: Served, tenant: str, ada: httpx2.Client, entry: dict[str, Any], role: Role
) -> None:
    with by_keyword.client(tenant, role, None) as other:
        answers = list(reads(other, {"X-Memorist-User": "ada"}))
        assert all("Zebra goal." in answer for answer in answers), answers
    events = ada.get(f"/v1/records/{entry['id']}/events").json()["data"]
    assert [event["payload"]["role"] for event in events if event["event_type"] == "read_for_user"] == [role]


def dashboard_of_admin(served: Served, tenant: str) -> Callable[[str, str], httpx2.Response]:
    """What a page shows to an admin, and whose memories they chose to look at."""
    key = served.key(tenant, Role.ADMIN, None)
    port = served.url.rpartition(":")[2]
    session = f"memorist_session_{port}={served.core.sign_ins.sign_in(key)}"

    def shown(path: str, whose: str) -> httpx2.Response:
        cookies = {"Cookie": f"{session}; memorist_whose_{port}={whose}"}
        return httpx2.get(f"{served.url}/dashboard{path}", headers=cookies)

    return shown


def test_dashboard_shows_no_entry_to_an_admin_who_looks_at_everybody(
    by_keyword: Served, tenant: str, ada: httpx2.Client, entry: dict[str, Any]
) -> None:
    shown = dashboard_of_admin(by_keyword, tenant)
    everybody = shown("/memories", "*")
    assert "garden" in everybody.text
    assert "Zebra goal." not in everybody.text
    assert "shown for that user alone" in everybody.text
    assert shown(f"/memories/{entry['id']}", "*").status_code == 404
    assert "Zebra goal." in shown("/memories", "ada").text
    assert "Zebra goal." in shown(f"/memories/{entry['id']}", "ada").text
    events = ada.get(f"/v1/records/{entry['id']}/events").json()["data"]
    assert [event["payload"]["role"] for event in events if event["event_type"] == "read_for_user"] == ["admin"]


# Turns


def told_to(model: ScriptedServer) -> str:
    """What the system says in the last request to the model."""
    body = model.requests[-1].body
    told: str = body.get("system") or next(one["content"] for one in body["messages"] if one["role"] == "system")
    return told


def turn(client: httpx2.Client, text: str, **more: Any) -> dict[str, Any]:
    answer = client.post("/v1/turns", json={"messages": [{"role": "user", "content": text}], **more})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def test_turn_that_may_repeat_an_entry_is_shown_as_the_entry_is(
    conversing: Served, tenant: str, model: ScriptedServer
) -> None:
    with conversing.client(tenant) as ada:
        add(ada, "Afraid of dogs.", "history")
        model.scripts.append(says("You are afraid of dogs."))
        made = turn(ada, "What am I afraid of?")
    paths = ("/v1/turns", f"/v1/turns/{made['id']}", f"/v1/turns/{made['id']}/events")
    as_ada = {"X-Memorist-User": "ada"}
    for role, barred in ((Role.READER, as_ada), (Role.ADMIN, {}), (Role.SERVICE, {})):
        with conversing.client(tenant, role, None) as other:
            for path in paths:
                for accepted in ("application/json", "text/event-stream"):
                    answer = other.get(path, headers=barred | {"Accept": accepted})
                    assert (answer.status_code, "dogs" in answer.text) == (403, False)
                assert role is Role.READER or "dogs" in other.get(path, headers=as_ada).text
    shown = dashboard_of_admin(conversing, tenant)
    for path in ("/turns", f"/turns/{made['id']}"):
        assert "afraid of dogs" in shown(path, "ada").text
        assert "afraid of" not in shown(path, "*").text
    assert "/dashboard/whose?back=/dashboard/turns" in shown("/turns", "*").text


def test_deleted_entry_is_in_no_turn_that_was_told_it(conversing: Served, tenant: str, model: ScriptedServer) -> None:
    with conversing.client(tenant) as ada:
        gone = add(ada, "Afraid of SPIDERS since childhood.", "history")
        model.scripts.append(says("Since childhood you are afraid of SPIDERS."))
        made = turn(ada, "What am I afraid of?")
        path = f"/v1/turns/{made['id']}"
        assert gone["id"] in ada.get(f"{path}/events").text
        assert ada.delete(f"/v1/memory/{gone['id']}").status_code == 204
        left = ada.get(path).json()
        assert (left["status"], left["result"]) == ("completed", None)
        events = ada.get(f"{path}/events").text
        assert not [words for words in ("SPIDERS", "childhood", gone["id"]) if words in events]
        assert [one["event"] for one in ada.get(f"{path}/events").json()["data"]][-1] == "turn.completed"


def test_what_a_turn_learned_is_an_entry_of_the_four_categories_and_not_in_its_result(
    conversing: Served, tenant: str, model: ScriptedServer
) -> None:
    with conversing.client(tenant) as ada:
        made = turn(ada, "I prefer tea over coffee. My goal is to run a marathon in May.")
        assert set(made["result"]) == {"answer"}
        rows = ada.get("/v1/memory", params={"after": made["completed_at"]}).json()["data"]
        assert {row["category"] for row in rows} == {"preference", "goal"}
        assert all(0 < row["confidence"] <= 1 and row["meta"] is None for row in rows)
        assert {row["source_turn_id"] for row in rows} == {made["id"]}
    assert len(model.requests) == 1


def test_memory_is_told_by_default_and_left_out_where_that_is_asked(
    conversing: Served, tenant: str, model: ScriptedServer
) -> None:
    with conversing.client(tenant) as ada:
        add(ada, "No fish.", "preference")
        for context in ({}, {"include_memory": True}, {"include_memory": None}):
            turn(ada, "What shall I eat?", context=context)
            assert "No fish." in json.dumps(model.requests[-1].body)
        turn(ada, "What shall I eat?", context={"include_memory": False})
        assert "No fish." not in json.dumps(model.requests[-1].body)
        assert texts(ada) == ["No fish."], "a turn deletes nothing"


def test_turn_is_told_what_the_summary_says(conversing: Served, tenant: str, model: ScriptedServer) -> None:
    drafts = [
        Draft(f"{f'Entry {number}':x<60}", category="history", governed_by=Governor.COMPANION) for number in range(80)
    ]
    conversing.core.memories.remember(Principal(tenant, Role.USER, "ada"), drafts)
    with conversing.client(tenant) as ada:
        summary = ada.get("/v1/memory/summary").json()
        made = turn(ada, "Hello.")
        events = ada.get(f"/v1/turns/{made['id']}/events").json()["data"]
    injected = next(event["data"] for event in events if event["event"] == "memory.injected")
    assert injected["entries"] == summary["entries"] == 80
    assert summary["injected"] in told_to(model)


def test_turn_reaches_nobody_but_the_language_model(
    conversing: Served, tenant: str, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: set[tuple[str, int]] = set()
    connect = socket.socket.connect

    def noting(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            reached.add((address[0], address[1]))
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", noting)
    with conversing.client(tenant) as ada:
        add(ada, "No fish.", "preference")
        turn(ada, "What shall I eat?")
    ports = {int(re.findall(r":(\d+)", url)[0]) for url in (model.url, conversing.url)}
    assert reached == {("127.0.0.1", port) for port in ports}

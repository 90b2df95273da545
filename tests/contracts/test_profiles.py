"""What the profile document says and no other test pins."""

import json
from typing import Any

import httpx2
import pytest

from memorist.platform.values import Role
from tests.http.conftest import Served, new_memory
from tests.support.scripted_http import ScriptedServer
from tests.support.waiting import eventually

NOTE = {
    "name": "feedback_sdk_bumps",
    "type": "feedback",
    "description": "Never merge SDK bumps by yourself",
    "body": "# Rule\n\n- *Always* a patch bump.\n- Reason: `v2` broke us.\n",
}


def test_note_of_one_session_is_read_in_another_of_the_same_profile(by_keyword: Served, tenant: str) -> None:
    with by_keyword.client(tenant, agent="coder") as coder:
        coder.post("/v1/tools/memory_write", json=NOTE, headers={"X-Memorist-Session": "workspace-a"})
        elsewhere = {"X-Memorist-Session": "workspace-b"}
        read = coder.post("/v1/tools/memory_read", json={"name": NOTE["name"]}, headers=elsewhere).json()
        assert read["body"] == NOTE["body"]


def test_written_note_stands_in_the_next_section_with_its_description_alone(by_keyword: Served, tenant: str) -> None:
    with by_keyword.client(tenant, agent="coder") as coder:
        assert coder.get("/v1/memories/section").json()["count"] == 0
        coder.post("/v1/tools/memory_write", json=NOTE)
        section = coder.get("/v1/memories/section").json()["section"]
        assert f"- {NOTE['name']} (feedback): {NOTE['description']}" in section
        assert "patch bump" not in section
        (listed,) = coder.post("/v1/tools/memory_list", json={}).json()["memories"]
        assert (listed["description"], "body" in listed) == (NOTE["description"], False)


def test_markdown_is_kept_to_the_character(ada: httpx2.Client) -> None:
    row = ada.post("/v1/memories", json=new_memory(**NOTE)).json()
    assert ada.get(f"/v1/memories/{row['id']}").json()["body"] == NOTE["body"]


@pytest.mark.parametrize("kind", ["user", "feedback", "project", "reference"])
def test_every_type_is_taken(ada: httpx2.Client, kind: str) -> None:
    assert ada.post("/v1/memories", json=new_memory(type=kind)).json()["type"] == kind


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("type", "goal"),
        ("type", None),
        ("name", "Not A Slug"),
        ("name", None),
        ("description", "two\nlines"),
        ("body", ""),
        ("importance", 1.5),
        ("importance", "high"),
    ],
)
def test_row_that_is_none_is_refused_by_its_field(ada: httpx2.Client, field: str, value: Any) -> None:
    answer = ada.post(
        "/v1/memories", json=new_memory(**{field: value}) if field != "name" else {**new_memory(), field: value}
    )
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (422, "invalid_field", field)


def test_two_profiles_of_a_user_may_use_the_same_name(by_keyword: Served, tenant: str, ada: httpx2.Client) -> None:
    for profile in ("coder", "finance"):
        assert ada.post("/v1/memories", json=new_memory("rule", profile_id=profile)).status_code == 201
    with by_keyword.client(tenant, user="bob") as bob:
        assert bob.get("/v1/memories").json()["data"] == []
        assert bob.post("/v1/memories", json=new_memory("rule", profile_id="coder")).status_code == 201


def test_times_of_a_row_are_set_by_writing_changing_and_reading(ada: httpx2.Client) -> None:
    row = ada.post("/v1/memories", json=new_memory()).json()
    assert row["created_at"] == row["updated_at"]
    assert row["last_accessed_at"] is None
    changed = ada.patch(f"/v1/memories/{row['id']}", json={"importance": 3}).json()
    assert changed["created_at"] == row["created_at"] < changed["updated_at"]
    assert ada.get(f"/v1/memories/{row['id']}").json()["last_accessed_at"] is not None


def test_every_description_is_in_every_turn(conversing: Served, tenant: str, model: ScriptedServer) -> None:
    with conversing.client(tenant, agent="coder") as coder:
        for number in range(120):
            row = {"name": f"project_{number}", "description": f"Deploy {number} needs two reviews"}
            coder.post("/v1/memories", json=new_memory(**row))
        section = coder.get("/v1/memories/section").json()
        assert coder.post("/v1/turns", json={"messages": [{"role": "user", "content": "Hello."}]}).status_code == 201
    lines = [line for line in section["section"].split("\n") if line.startswith("- project_")]
    assert len(lines) == section["count"] == 120
    asked = json.dumps(model.requests[-1].body)
    assert [line for line in lines if line not in asked] == []


def test_section_stands_before_what_the_system_says_on_every_turn(
    conversing: Served, tenant: str, model: ScriptedServer
) -> None:
    said = [{"role": "system", "content": "You are terse."}, {"role": "user", "content": "May I merge?"}]
    with conversing.client(tenant, agent="coder") as coder:
        coder.post("/v1/tools/memory_write", json=NOTE)
        for _ in range(2):
            assert coder.post("/v1/turns", json={"messages": said}).status_code == 201
            asked = model.requests[-1].body
            told = asked.get("system") or next(one["content"] for one in asked["messages"] if one["role"] == "system")
            told = told if isinstance(told, str) else json.dumps(told)
            assert 0 <= told.index(NOTE["description"]) < told.index("You are terse.")


def _is_told(client: httpx2.Client, agent: str | None, text: str) -> set[str]:
    """Where a profile, or who names none, is told what has that text in it."""
    headers = {} if agent is None else {"X-Memorist-Agent": agent}
    recall = {"query": "NFCU dollars", "source_kinds": ["fact"]}
    asked = {
        "section": client.get("/v1/memories/section", headers=headers),
        "context": client.post("/v1/context", json={"question": recall["query"]}, headers=headers),
        "about": client.get("/v1/about", headers=headers),
        "recall any": client.post("/v1/tools/recall", json=recall, headers=headers),
        "recall user": client.post("/v1/tools/recall", json={**recall, "scope": "user"}, headers=headers),
        "list": client.get("/v1/records", headers=headers),
    }
    assert {one.status_code for one in asked.values()} == {200}, asked
    return {where for where, answer in asked.items() if text in answer.text}


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("door", ["turns", "sessions"])
def test_what_is_learned_in_one_profile_is_told_in_no_other(conversing: Served, tenant: str, door: str) -> None:
    said, learned = "I have 1200 dollars at NFCU.", "User has 1200 dollars at NFCU"
    body = {"messages": [{"role": "user", "content": said}]}
    with conversing.client(tenant, Role.SERVICE, "hal") as hal:
        finance = {"X-Memorist-Agent": "finance"}
        address = "/v1/turns" if door == "turns" else "/v1/sessions/f1/messages"
        assert hal.post(address, json=body, headers=finance).is_success
        everywhere = {"section", "context", "about", "recall any", "recall user", "list"}
        eventually(lambda: _is_told(hal, "finance", learned) == everywhere)
        assert _is_told(hal, "coder", learned) == set()
        assert _is_told(hal, None, learned) == set()
        assert learned not in hal.get("/v1/memories/section", params={"profile_id": "coder"}).text
        assert learned in hal.get("/v1/memories/section", params={"profile_id": "finance"}).text
        asked = hal.get("/v1/records", params={"every_agent": True, "kind": "fact"})
        assert [(one["user"], one["agent"]) for one in asked.json()["data"]] == [("hal", "finance")]

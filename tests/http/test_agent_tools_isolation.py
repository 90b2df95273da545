"""No tool, session or document of anybody ever shows or changes what is another's: random calls against the oracle."""

from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
from hypothesis import strategies as st

from memorist.platform.values import Role
from memorist.recall.values import Scope
from tests.http.conftest import Served
from tests.http.test_isolation import World
from tests.support.isolation import AGENTS, Owned, Who, assert_nothing_leaked, mark, walk_often, who

WRITES = ["say", "output", "fact_user", "fact_agent", "document", "overwrite"]
READS = [
    "recall",
    "recall",
    "recall",
    "why_not",
    "read_output",
    "messages",
    "read_document",
    "list_documents",
    "delete_document",
    "list_records",
    "list_agent",
    "about",
]
CALLS = st.tuples(who(), st.sampled_from(WRITES + READS), st.integers(0, 50), st.sampled_from(Scope))


@dataclass
class ToolWorld(World):
    outputs: dict[str, Owned] = field(default_factory=dict)
    memories: dict[str, Owned] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    """In which each message and output was said, by its id or key."""
    documents: dict[str, set[Owned]] = field(default_factory=dict)

    def run(self, client: httpx2.Client, caller: Who, operation: str, number: int, scope: Scope) -> None:
        target = self._target(operation, number)
        owner = _owner(caller, operation)
        session = f"s{number % 3}"
        said_in = session if operation in ("say", "output") else None
        text = f"{mark(self.tenants[caller.tenant], owner[1], owner[2], said_in)} likes tea {number}"
        method, path, body = _request(operation, target, text, number, scope)
        headers = {**self._headers(caller), "X-Memorist-Session": session}
        response = client.request(method, path, json=body, headers=headers)
        assert response.status_code < 500, response.text
        seer = replace(caller, header_agent=_named_agent(number)) if operation == "list_agent" else caller
        talks = session if operation in ("recall", "why_not", "read_output", "messages") else None
        assert_nothing_leaked(seer, self.tenants, response.text, talks)
        if operation in WRITES and response.is_success:
            assert _may_write(caller, operation, owner), f"{caller} wrote a row of {owner}"
            self._note(operation, response.json(), owner, session)
        elif operation == "why_not" and target in self.memories:
            # A question that the caller may not ask of this scope is refused before the memory is looked at.
            seen = self._may_see(caller, target, self.memories[target], session)
            assert not response.is_success or seen, f"{caller} asked about {target}"
        elif operation == "read_output" and target in self.outputs:
            seen = self._may_see(caller, target, self.outputs[target], session)
            assert response.is_success == seen, f"{caller} reading {target}"
        elif operation == "read_document" and target in self.documents:
            seen = any(caller.may_see(*owner) for owner in self.documents[target])
            assert response.is_success == seen, f"{caller} reading {target}"
        elif operation == "delete_document" and response.is_success:
            owners = self.documents.pop(target)
            assert any(_may_write(caller, operation, owner) for owner in owners), f"{caller} deleted {target}"

    def _may_see(self, caller: Who, target: str, owner: Owned, session: str) -> bool:
        return caller.may_see(*owner) or (self.sessions.get(target) == session and caller.talks_in(*owner))

    def _target(self, operation: str, number: int) -> str:
        if operation in ("read_output", "why_not"):
            known = list(self.outputs if operation == "read_output" else self.memories)
            return known[number % len(known)] if known else "01a1ddf2-af5a-6d50-306b-8b1462161d4b"
        known = list(self.documents)
        return known[number % len(known)] if known and operation != "document" else f"d{len(known)}-{number}"

    def _note(self, operation: str, answer: Any, owner: Owned, session: str) -> None:
        if operation == "output":
            self.outputs[answer["tool_output_key"]] = owner
            self.memories[answer["id"]] = owner
            self.sessions |= {answer["tool_output_key"]: session, answer["id"]: session}
        elif operation in ("fact_user", "fact_agent"):
            self.memories[answer["id"]] = owner
        elif operation == "say":
            self.memories[answer["ids"][0]] = owner
            self.sessions[answer["ids"][0]] = session
        else:
            self.documents.setdefault(answer["document_id"], set()).add(owner)


def _named_agent(number: int) -> str:
    return AGENTS[number % len(AGENTS)]


def _owner(caller: Who, operation: str) -> Owned:
    """Whose what is written will be."""
    if operation == "fact_user":
        return caller.tenant, caller.user or "", ""
    if operation in ("document", "overwrite") and caller.role in (Role.ADMIN, Role.SERVICE):
        return caller.tenant, "", ""
    if operation == "fact_agent":
        return caller.tenant, "", caller.agent or ""
    return caller.tenant, caller.user or "", caller.agent or ""


def _may_write(caller: Who, operation: str, owner: Owned) -> bool:
    """A service key shares documents, and nothing else."""
    shares = "document" in operation or operation == "overwrite"
    if shares and caller.role is Role.SERVICE and owner == (caller.tenant, "", ""):
        return caller.is_allowed
    return caller.may_write(*owner)


def _request(operation: str, target: str, text: str, number: int, scope: Scope) -> tuple[str, str, Any]:
    session = f"/v1/sessions/s{number % 3}"
    recall = {"query": "who likes tea", "scope": scope, "top_k": 20, "min_score": 0, "explain": True}
    requests: dict[str, tuple[str, str, Any]] = {
        "say": ("POST", f"{session}/messages", {"messages": [{"role": "user", "content": text}]}),
        "output": (
            "POST",
            f"{session}/tool-outputs",
            {"tool_call_id": "c", "tool_name": "t", "content": text + " and cake" * 999},
        ),
        "fact_user": ("POST", "/v1/tools/remember_fact", {"content": text}),
        "fact_agent": ("POST", "/v1/tools/remember_fact", {"content": text, "scope": "agent"}),
        "document": ("POST", "/v1/documents", {"title": text, "content": text, "document_id": target}),
        "overwrite": ("POST", "/v1/documents", {"title": text, "content": text, "document_id": target}),
        "recall": ("POST", "/v1/tools/recall", recall),
        "why_not": ("POST", "/v1/tools/recall", recall | {"why_not": target}),
        "read_output": ("POST", "/v1/tools/read_tool_output", {"tool_output_key": target}),
        "messages": ("GET", f"{session}/messages?limit=100", None),
        "read_document": ("GET", f"/v1/documents/{target}", None),
        "list_documents": ("GET", "/v1/documents?limit=100", None),
        "list_records": ("GET", "/v1/records?limit=100", None),
        "list_agent": ("GET", f"/v1/records?limit=100&agent={_named_agent(number)}", None),
        "about": ("GET", f"/v1/about?limit={number + 1}", None),
        "delete_document": ("DELETE", f"/v1/documents/{target}", None),
    }
    return requests[operation]


def test_nobody_recalls_or_changes_what_is_not_theirs(by_keyword: Served) -> None:
    def walk(calls: list[tuple[Who, str, int, Scope]]) -> None:
        world = ToolWorld(by_keyword)
        with httpx2.Client(base_url=by_keyword.url) as client:
            for call in calls:
                world.run(client, *call)
            for key, owner in world.outputs.items():
                headers = world._headers(Who(owner[0], Role.ADMIN, None, None, None, None))
                kept = client.post("/v1/tools/read_tool_output", json={"tool_output_key": key}, headers=headers)
                assert kept.status_code == 200, f"an output of {owner} is gone"

    walk_often(by_keyword.core, 20, walk, calls=st.lists(CALLS, min_size=50, max_size=60))


def test_recall_finds_all_that_the_caller_may_see(by_keyword: Served) -> None:
    def walk(writers: list[tuple[Who, str]], reader: Who) -> None:
        world = ToolWorld(by_keyword)
        with httpx2.Client(base_url=by_keyword.url) as client:
            for number, (writer, operation) in enumerate(writers):
                world.run(client, writer, operation, number, Scope.ANY)
            if not reader.is_allowed:
                return
            owners = [*world.memories.values(), *(owner for owners in world.documents.values() for owner in owners)]
            expected = sum(reader.is_shown(*owner) for owner in owners)
            body = {"query": "likes tea", "top_k": 20, "min_score": 0}
            found = client.post("/v1/tools/recall", json=body, headers=world._headers(reader)).json()
            assert found["total"] == expected, (reader, owners)

    writers = st.lists(st.tuples(who(), st.sampled_from(WRITES[:5])), min_size=5, max_size=12)
    walk_often(by_keyword.core, 20, walk, writers=writers, reader=who())

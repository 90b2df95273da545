"""`meta` is an object of one's own: whatever a caller has there under names that are ours, everything goes on working.

On both databases, each name with a value of each type, in a memory of each kind.
"""

from typing import Any

import httpx2
import pytest

from memorist.facts.superseding import SOURCES, STATED
from memorist.ingestion.values import UTC_OFFSET
from memorist.memories.fields import PROJECT_AS_GIVEN
from memorist.memories.lifecycle import EXTRACTOR
from memorist.memories.values import QUOTES, Kind
from memorist.platform.values import JobStatus, Principal, Role
from memorist.surfaces.http.companion import FindingMeta
from tests.http.conftest import Served
from tests.support.waiting import eventually

OF_FACTS = ("about", "topic", "message_id", "session_id", "extracted_as", EXTRACTOR, STATED, SOURCES, QUOTES)
OF_WHAT_WAS_SAID = ("role", "speaker", "key", "title", "tool_name", "tool_call_id", "size", "sha256", UTC_OFFSET)
OF_DOCUMENTS = ("heading_path", "position", "start", "end", PROJECT_AS_GIVEN)
NAMES = (*OF_FACTS, *OF_WHAT_WAS_SAID, *OF_DOCUMENTS, *FindingMeta.model_fields)
VALUES: dict[str, Any] = {
    "text": "12 KB",
    "true": True,
    "huge number": 10**40,
    "null": None,
    "list": ["drinks", {"chat": 1}, 3],
    "object": {"chat": 1, "id": [2]},
}
SESSION = "s-1"


@pytest.fixture(params=VALUES.values(), ids=VALUES)
def value(request: pytest.FixtureRequest) -> Any:
    return request.param


def records(value: Any, document: str) -> list[dict[str, Any]]:
    """A memory of each kind for each name, and a fact, an insight and a message that have all of them."""
    fields: dict[Kind, dict[str, Any]] = {
        Kind.FACT: {"source_ref": "turn_01J9Z3K4M5N6P7Q8R9S0T1V2W3"},
        Kind.CHAT_MESSAGE: {"session": SESSION},
        Kind.TOOL_OUTPUT: {"session": SESSION},
        Kind.DOCUMENT_CHUNK: {"source_ref": document},
    }
    each = [
        {"kind": kind, "content": f"Rex likes {name} as {kind}", "meta": {name: value}, **fields[kind]}
        for kind in Kind
        for name in NAMES
    ]
    whole = dict.fromkeys(NAMES, value)
    insight = {"content": "Tea at night costs sleep", "category": "insight", "meta": whole}
    return [
        *each,
        *({"kind": kind, "content": f"Rex is a {kind}", "meta": whole, **fields[kind]} for kind in Kind),
        insight,
    ]


def store(client: httpx2.Client, value: Any) -> list[str]:
    """Everything that is to be read afterwards; returns the ids."""
    told = {"title": "Rex", "content": "# Rex\n\nRex is a dog."}
    document = client.post("/v1/documents", json=told).raise_for_status().json()["document_id"]
    rows = client.post("/v1/records/batch", json={"records": records(value, document)}).raise_for_status().json()
    ids = [row["memory"]["id"] for row in rows["data"]]
    for name in OF_FACTS:
        new = {"content": f"Rex sleeps on {name}", "metadata": {name: value}}
        client.post("/memory/add", json=new).raise_for_status()
    said = [{"role": "user", "content": "I moved to Lisbon in June."}]
    client.post(f"/v1/sessions/{SESSION}/messages", json={"messages": said}).raise_for_status()
    return ids


def test_everything_goes_on_working_whatever_somebody_keeps_there(learning: Served, tenant: str, value: Any) -> None:
    with learning.client(tenant) as ada, httpx2.Client(base_url=learning.url, timeout=30) as browser:
        ids = store(ada, value)
        for path in (
            "/v1/memory", "/v1/memory/summary", "/v1/about", "/v1/memories/section", "/api/memory/context",
            "/v1/records?limit=100", "/v1/documents", "/memory",
        ):  # fmt: skip
            assert ada.get(path).status_code == 200, path
        for path in ("/v1/records/recall", "/v1/tools/recall", "/memory/query"):
            assert ada.post(path, json={"query": "What does Rex like?"}).status_code == 200, path
        composed = ada.post("/v1/context", json={"question": "What does Rex like?"})
        assert composed.status_code == 200, composed.text
        assert_shapes(ada)

        key = learning.key(tenant, Role.USER, "ada")
        assert browser.post("/dashboard/sign-in", data={"key": key}).status_code == 303
        document = ada.get("/v1/documents").json()["data"][0]["document_id"]
        for path in (
            "", "/memories", "/about", "/conversations", "/people", "/recall?query=Rex", "/activity", "/doubts",
            f"/conversations/read?session={SESSION}&user=ada", f"/documents/read?id={document}",
            *(f"/memories/{id}" for id in ids),
        ):  # fmt: skip
            assert browser.get(f"/dashboard{path}").status_code == 200, path

        eventually(lambda: is_all_done(learning, Principal(tenant, Role.USER, "ada")))
        learned = ada.get("/v1/records", params={"kind": "fact", "limit": 1}).json()["data"]
        assert [one["content"] for one in learned] == ["User moved to Lisbon in June."]


def is_all_done(learning: Served, who: Principal) -> bool:
    """Whether nothing is left to be judged or read. Fails where a job did."""
    jobs = learning.core.jobs.list(who, limit=100).items
    assert [job.error for job in jobs if job.error] == []
    return all(job.status is JobStatus.DONE for job in jobs)


def assert_shapes(client: httpx2.Client) -> None:
    """What is declared as a text is one, and so is each part of a finding."""
    entries = client.get("/v1/memory", params={"limit": 100}).json()["data"]
    for meta in (one["meta"] for one in entries if one["meta"] is not None):
        FindingMeta.model_validate(meta, strict=True)
    rows = client.get(f"/v1/sessions/{SESSION}/messages", params={"limit": 100}).json()["data"]
    assert len(rows) == len(NAMES) + 2
    assert all(isinstance(row["role"], str) and isinstance(row["name"], str | None) for row in rows)

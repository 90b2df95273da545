"""The model's own values, as the OpenAPI document tells them: what an answer is where `Accept` asks for the whole."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from memorist.composing.values import Composed
from memorist.context.companion import Recorded
from memorist.erasure.values import Receipt
from memorist.facts.values import FactVersion, InDoubt
from memorist.ingestion.service import StoredDocument, ToolOutput
from memorist.ingestion.values import Document
from memorist.memories.policies import PolicyChange
from memorist.memories.policy import PolicyRevision
from memorist.memories.values import Memory, Remembered
from memorist.platform.paging import Page
from memorist.platform.values import Job
from memorist.surfaces.http.responses import WHOLE
from memorist.surfaces.http.schemas import json_type
from memorist.turns.values import Turn

ANSWERS: Mapping[tuple[str, str], Any] = {
    ("post", "/v1/sessions/{session_id}/messages"): Sequence[Remembered],
    ("get", "/v1/sessions/{session_id}/messages"): Page[Memory],
    ("post", "/v1/sessions/{session_id}/tool-outputs"): ToolOutput,
    ("post", "/v1/documents"): StoredDocument,
    ("get", "/v1/documents"): Page[Document],
    ("get", "/v1/documents/{document_id}"): Document,
    ("delete", "/v1/documents/{document_id}"): Document,
    ("get", "/v1/memory"): Page[Memory],
    ("post", "/v1/memory"): Remembered,
    ("get", "/v1/memory/summary"): Composed,
    ("post", "/v1/findings"): Recorded,
    ("get", "/v1/turns"): Page[Turn],
    ("get", "/v1/turns/{turn_id}"): Turn,
    ("get", "/v1/facts/in-doubt"): Page[InDoubt],
    ("post", "/v1/facts/in-doubt/{doubt_id}/confirm"): InDoubt,
    ("post", "/v1/facts/in-doubt/{doubt_id}/refute"): InDoubt,
    ("post", "/v1/facts/in-doubt/{doubt_id}/dismiss"): InDoubt,
    ("get", "/v1/facts/{fact_id}/history"): Sequence[FactVersion],
    ("post", "/v1/facts/{fact_id}/restore"): Memory,
    ("get", "/v1/jobs"): Page[Job],
    ("get", "/v1/jobs/{job_id}"): Job,
    ("delete", "/v1/jobs/{job_id}"): Job,
    ("post", "/v1/jobs/{job_id}/retry"): Job,
    ("post", "/v1/records/erase"): Receipt,
    ("post", "/v1/records/purge"): Receipt,
    ("get", "/v1/receipts"): Sequence[Receipt],
    ("get", "/v1/receipts/{receipt_id}"): Receipt,
    ("delete", "/memory/user/purge"): Receipt,
    ("delete", "/v1/admin/users/{user}"): Receipt,
    ("delete", "/v1/admin/tenant"): Receipt,
    ("get", "/v1/admin/policy"): PolicyRevision,
    ("put", "/v1/admin/policy"): PolicyChange,
}
_MODE: JsonSchemaMode = "serialization"


def add_whole_answers(schema: dict[str, Any]) -> None:
    """Tell of every such endpoint what its whole answer is, beside what it answers otherwise."""
    inputs = [(name, _MODE, TypeAdapter(json_type(kind))) for name, kind in ANSWERS.items()]
    found, definitions = TypeAdapter.json_schemas(inputs, ref_template="#/components/schemas/{model}")
    for method, path in ANSWERS:
        responses = schema["paths"][path][method]["responses"]
        # Where it otherwise answers without a body, the whole value comes with 200.
        status = "200" if "204" in responses else min(responses)
        answer = responses.setdefault(status, {"description": "The value itself, where `Accept` asks for it."})
        answer.setdefault("content", {})[WHOLE] = {"schema": found[(method, path), _MODE]}
    for name, definition in definitions.get("$defs", {}).items():
        schema["components"]["schemas"].setdefault(name, definition)

"""Values as JSON and back."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memorist.codec import from_record, to_record
from memorist.erasure.values import Receipt
from memorist.facts.values import Doubt, FactVersion, InDoubt, Ruling, Verdict
from memorist.learning.service import ExtractedMemories
from memorist.memories.policies import PolicyChange
from memorist.memories.policy import Mode, Policy
from memorist.memories.values import Draft, Kind, Memory, Remembered
from memorist.models.values import Usage
from memorist.platform.paging import Page
from memorist.platform.values import Job, Owner, Principal, Role
from memorist.recall.values import Hit, Question, Recalled, Scope
from memorist.testing.clocks import START
from memorist.testing.makers import make_event, make_memory
from memorist.turns.values import Turn, TurnStatus

MEMORY = replace(make_memory("t"), owner=Owner(None, "coder"), expires_at=START, meta={"a": [1, None]}, confidence=0.5)
DOUBT = Doubt("dbt_1", Owner("ada"), "mem_1", "mem_2", "why", "rules", START, START)
VALUES: list[Any] = [
    MEMORY,
    Draft("A text.", Kind.CHAT_MESSAGE, owner=Owner("ada"), ttl=timedelta(days=1, microseconds=3), event_time=START),
    Draft("A text."),
    Question("Where?", source_kinds=(Kind.FACT,), scope=Scope.USER, as_of=START),
    Remembered(MEMORY, was_new=True),
    Recalled((Hit(MEMORY, 0.5, "part", {"rank": 1}),), degraded=False, rerank_used=True),
    FactVersion(MEMORY, (make_event(MEMORY),)),
    InDoubt(DOUBT, MEMORY, MEMORY, Verdict(Ruling.UNSURE, "hm", 0.5)),
    Job("job_1", "judge", Principal("t", Role.USER, "ada"), {"a": 1}, START, START, START),
    Turn("turn_1", Owner("ada"), "s", TurnStatus.RUNNING, START, usage=Usage(1, 2, None)),
    PolicyChange(Policy(), Policy(Mode.ENFORCE, kinds={Kind.FACT: {"archive": False}}), 1, False, {"fact": 1}, {}),
    ExtractedMemories(
        memories=(), messages=1, extractor="local", usage=Usage(), dropped={"no excerpt": 2}, session="s"
    ),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_value_comes_back_as_it_was(value: Any) -> None:
    assert from_record(type(value), json.loads(json.dumps(to_record(value)))) == value


def test_page_comes_back_as_a_page_of_what_it_is_said_to_be_of() -> None:
    page = Page((MEMORY,), None)
    assert from_record(Page[Memory], json.loads(json.dumps(to_record(page)))) == page


def test_memory_is_written_with_its_owner_and_its_version() -> None:
    record = to_record(MEMORY)
    assert (record["user"], record["agent"], record["version"]) == (None, "coder", MEMORY.version)
    assert "owner" not in record


def test_time_without_an_offset_is_utc() -> None:
    assert to_record(datetime(2024, 5, 6)) == to_record(datetime(2024, 5, 6, tzinfo=UTC))


def test_what_its_owner_wrote_is_left_as_it_is() -> None:
    meta = {"at": START}
    assert to_record(Draft("A text.", meta=meta))["meta"] == meta


def test_record_without_a_field_that_is_needed_is_refused() -> None:
    with pytest.raises(KeyError):
        from_record(Receipt, {"id": "rcpt_1"})

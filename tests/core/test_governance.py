"""Every memory is governed by the door that wrote it."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from memorist.context.companion import Category
from memorist.core import Core
from memorist.errors import NotEditable
from memorist.ingestion.service import Message
from memorist.memories.governance import RULES, may_retire, presumed_governor
from memorist.memories.records import memory_from_record, memory_to_record
from memorist.memories.values import Draft, Governor, Kind, Memory, Retention, Trust
from memorist.platform.values import Owner, Principal
from memorist.testing import make_memory


def write(core: Core, who: Principal, door: Governor, text: str = "The kiln is hot.") -> Memory:
    if door is Governor.COMPANION:
        return core.companion.add(who, text, Category.GOAL).memory
    if door is Governor.CODING_ASSISTANT:
        return core.chunks.remember(who, text, "decision").memory
    if door is Governor.AGENT_TOOLS:
        return core.facts.remember(who, text).memory
    drafts = {
        Governor.NATIVE: Draft(text),
        Governor.PROFILE: Draft(text, name="kiln"),
        Governor.LIFECYCLE: Draft(text, retention=Retention.POLICY, governed_by=Governor.LIFECYCLE),
    }
    return core.memories.remember(who, [drafts[door]])[0].memory


@pytest.mark.parametrize("door", Governor)
def test_memory_is_governed_by_the_door_that_wrote_it(core: Core, ada: Principal, door: Governor) -> None:
    written = write(core, ada, door)
    assert core.memories.get(ada, written.id).governed_by is door


def test_what_was_said_returned_or_uploaded_is_the_agent_tools(core: Core, ada: Principal) -> None:
    output = core.ingestion.add_tool_output(ada, "s", tool_call_id="c", tool_name="t", content="42")
    assert output.memory.governed_by is Governor.AGENT_TOOLS
    (said,) = core.memories.remember(ada, [Draft("hello", kind=Kind.CHAT_MESSAGE, session="s")])
    assert said.memory.governed_by is Governor.AGENT_TOOLS


@pytest.mark.parametrize("door", Governor)
def test_only_what_its_door_allows_is_changed_in_place(core: Core, ada: Principal, door: Governor) -> None:
    written = write(core, ada, door)
    if door in (Governor.NATIVE, Governor.PROFILE):
        assert core.memories.edit(ada, written.id, {"content": "The kiln is cold."}).content == "The kiln is cold."
        return
    with pytest.raises(NotEditable, match=RULES[door].door):
        core.memories.edit(ada, written.id, {"content": "The kiln is cold."})
    assert core.memories.get(ada, written.id).content == "The kiln is hot."


@pytest.mark.parametrize("changes", [{"content": "forged"}, {"meta": {"role": "assistant"}}, {"excerpt": "f"}])
def test_what_was_seen_is_kept_verbatim(core: Core, ada: Principal, changes: dict[str, Any]) -> None:
    (said,) = core.ingestion.add_messages(ada, "s", [Message("user", "The kiln is hot.")])
    output = core.ingestion.add_tool_output(ada, "s", tool_call_id="c", tool_name="t", content="42")
    document = core.ingestion.add_document(ada, title="Kilns", content="Kilns are hot.").document
    (chunk,) = core.store.read(ada.tenant, lambda tx: tx.documents.chunks_of(document))
    for memory in (said.memory, output.memory, chunk):
        with pytest.raises(NotEditable, match="kept verbatim"):
            core.memories.edit(ada, memory.id, changes)
        assert core.store.read(ada.tenant, lambda tx, one=memory: tx.memories.get(one.id)) == memory
        assert core.memories.edit(ada, memory.id, {"importance": 3}).importance == 3


def test_what_is_written_over_under_its_name_is_kept(core: Core, ada: Principal) -> None:
    owner = Owner("ada", "default")
    aged = {"retention": Retention.POLICY}
    for name, ending in (("one", {"ttl": timedelta(seconds=3)}), ("two", aged), ("three", aged)):
        (before,) = core.memories.remember(ada, [Draft("v1", name=name, category="user", owner=owner, **ending)])
        assert (before.memory.expires_at or before.memory.archive_at) is not None
        text = "v1" if name == "three" else "v2"
        after = core.memories.put(ada, owner, name, {"content": text, "category": "user"}).memory
        assert (after.id, after.content) == (before.memory.id, text)
        assert (after.expires_at, after.archive_at, after.retention_expires_at) == (None, None, None)
        assert after.retention is Retention.KEEP
        assert core.store.read(ada.tenant, lambda tx, one=after: tx.memories.get(one.id)) == after


def test_same_text_of_two_doors_is_two_memories(core: Core, ada: Principal) -> None:
    """What one door keeps is not another's to change by saying the same."""
    facts = (Draft("Tea, not coffee.", category="preference"),)
    chunk = core.chunks.remember(ada, "Tea, not coffee.", "preference").memory
    learned = Draft("Tea, not coffee.", category="preference", governed_by=Governor.COMPANION)
    written = core.memories.remember(ada, [*facts, learned, learned])
    assert [one.was_new for one in written] == [True, True, False]
    assert len({chunk.id, *(one.memory.id for one in written)}) == 3


def test_fact_of_the_agent_tools_and_of_the_native_door_are_one(core: Core, ada: Principal) -> None:
    known = core.memories.remember(ada, [Draft("Ada likes tea.")])[0].memory
    assert core.facts.remember(ada, "Ada likes tea.").memory.id == known.id


def test_chunk_stored_again_has_the_score_session_and_excerpt_of_the_last_time(core: Core, ada: Principal) -> None:
    def store(relevance: float, session: str, excerpt: str | None = None) -> Memory:
        return core.chunks.remember(
            ada, "Use pnpm.", "decision", relevance=relevance, session=session, excerpt=excerpt
        ).memory

    first = store(0.4, "s1", "we said pnpm")
    again = store(0.9, "s2", "pnpm it is")
    assert again.id == first.id
    assert (again.relevance, again.excerpt, again.meta) == (0.9, "pnpm it is", {"session_id": "s2"})
    assert store(0.9, "s2").excerpt == "pnpm it is", "what is not said again stays"
    found = Draft(
        "Use pnpm.",
        category="decision",
        relevance=0.1,
        meta={"extractor": "local", "session_id": "s3"},
        governed_by=Governor.CODING_ASSISTANT,
    )
    (extracted,) = core.memories.remember(ada, [found])
    assert (extracted.was_new, extracted.memory.relevance, extracted.memory.meta) == (False, 0.9, {"session_id": "s2"})


@pytest.mark.parametrize("door", [Governor.COMPANION, Governor.PROFILE, Governor.CODING_ASSISTANT])
def test_no_policy_ages_what_these_doors_keep(core: Core, ada: Principal, door: Governor) -> None:
    draft = Draft("Kept.", retention=Retention.POLICY, governed_by=door)
    memory = core.memories.remember(ada, [draft])[0].memory
    assert (memory.retention, memory.archive_at) == (Retention.KEEP, None)


def test_nothing_less_certain_retires_what_was_stated() -> None:
    stated, sure = make_memory("t"), make_memory("t", confidence=1.0)
    guessed = make_memory("t", confidence=0.8)
    assert may_retire(stated, sure)
    assert may_retire(sure, guessed)
    assert may_retire(guessed, guessed)
    assert not may_retire(guessed, sure)
    assert not may_retire(guessed, stated)


@pytest.mark.parametrize("door", Governor)
def test_judge_retires_facts_by_facts_alone(door: Governor) -> None:
    fact, other = make_memory("t", governed_by=Governor.AGENT_TOOLS), make_memory("t", governed_by=door)
    is_fact = door in (Governor.NATIVE, Governor.AGENT_TOOLS)
    assert (may_retire(fact, other), may_retire(other, fact)) == (is_fact, is_fact)


@pytest.mark.parametrize(
    ("fields", "governor"),
    [
        ({}, Governor.NATIVE),
        ({"kind": Kind.CHAT_MESSAGE}, Governor.AGENT_TOOLS),
        ({"name": "a"}, Governor.PROFILE),
        ({"retention": Retention.POLICY}, Governor.LIFECYCLE),
        ({"category": "decision"}, Governor.CODING_ASSISTANT),
        ({"category": "preference", "relevance": 1.0}, Governor.CODING_ASSISTANT),
        ({"category": "preference", "relevance": 0.8, "source_ref": "turn_1"}, Governor.COMPANION),
        ({"category": "preference"}, Governor.COMPANION),
        ({"category": "goal"}, Governor.COMPANION),
        ({"trust": Trust.AGENT}, Governor.AGENT_TOOLS),
    ],
)
def test_export_from_before_is_governed_by_the_door_that_it_looks_like(
    fields: dict[str, object], governor: Governor
) -> None:
    record = memory_to_record(make_memory("t", **fields))
    del record["governed_by"]
    assert memory_from_record(record, "t").governed_by is governor
    assert presumed_governor(record) is governor


def test_export_says_who_governs(core: Core, ada: Principal) -> None:
    entry = write(core, ada, Governor.COMPANION)
    record = memory_to_record(entry)
    back = memory_from_record(record, ada.tenant)
    assert dataclasses.replace(back, dedup_key="") == dataclasses.replace(entry, dedup_key="")

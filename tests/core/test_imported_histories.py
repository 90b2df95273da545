"""What an import says happened to a memory: nothing that erasure alone tells, and nothing that cannot be read again."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from memorist.core import Core
from memorist.errors import InvalidField
from memorist.memories.values import Memory
from memorist.platform.erased_names import hexadecimal
from memorist.platform.values import HiddenOwner, Owner, Principal
from memorist.testing import make_event
from memorist.views.activity import ActivityFilter
from tests.core.test_feed import seen_by, told
from tests.core.test_transfer import export, import_all, line_with

Remember = Callable[..., Memory]

_VERDICT = {"against": "mem_01M7EP6PFH7WW0VHRT2WCNZR1A", "verdict": "unsure", "reason": "why", "confidence": 0.5}
_LEARNED = {"id": "mem_01M7EP6PFH7WW0VHRT2WCNZR1A", "was_new": True, "source": None, "start": 0, "end": 3}


def event(event_type: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"event_type": event_type, "source": "x", "payload": payload, "created_at": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("event_type", "payload"),
    [
        ("erased", {}),
        ("erased", {"id": "0" * 32, "salt": "00", "user": "0" * 64, "agent": ""}),
        ("purged", {"from": "hard_delete_pending", "to": "purged"}),
        ("redacted", {"rules": 5}),
        ("redacted", {"rules": {"github-token": "two"}}),
        ("judged", {"verdicts": 5}),
        ("judged", {"verdicts": [5]}),
        ("judged", {"verdicts": [{}]}),
        ("judged", {"verdicts": [_VERDICT | {"verdict": "guilty"}]}),
        ("judged", {"verdicts": [_VERDICT | {"verdict": ["same"]}]}),
        ("judged", {"verdicts": [_VERDICT | {"reason": 5}]}),
        ("judged", {"verdicts": [_VERDICT | {"confidence": "very"}]}),
        ("judged", {"verdicts": [_VERDICT | {"confidence": 10**400}]}),
        ("judged", {"verdicts": [_VERDICT | {"against": [1]}]}),
        ("superseded", {"reason": ["a"]}),
        ("superseded", {"judge": {}}),
        ("superseded", {"confidence": 7}),
        ("supersedes", {"reason": 5}),
        ("updated", {"before": "text"}),
        ("extracted", {"memories": [5]}),
        ("extracted", {"memories": [{"id": 5, "was_new": True}]}),
        ("extracted", {"with": 5}),
        ("extraction_failed", {"stand_in": {}}),
        ("extraction_failed", {"stand_in": {"memories": [{"id": None, "was_new": True}]}}),
        ("extraction_failed", {"stand_in": {"memories": [_LEARNED | {"start": "0"}]}}),
    ],
)
def test_history_that_no_memory_has_is_refused_with_its_line(
    core: Core, ada: Principal, remember: Remember, event_type: str, payload: dict[str, Any]
) -> None:
    memory = remember(ada)
    lines = line_with(core, ada, events=[event(event_type, payload)])
    core.erasure.reset(ada)
    with pytest.raises(InvalidField, match="Line 2: ") as refused:
        import_all(core, ada, lines)
    assert refused.value.field == "events"
    assert core.store.read(ada.tenant, lambda tx: tx.memories.get(memory.id)) is None


def test_what_was_written_before_something_of_it_was_erased_comes_in_again(
    core: Core, ada: Principal, remember: Remember
) -> None:
    remember(ada)
    gone = {"against": None, "verdict": "same", "confidence": 1}
    events = [
        event("created", {}),
        event("judged", {"judge": "local", "compared": 2, "verdicts": [_VERDICT, gone]}),
        event("superseded", {"by": None, "judge": "local", "confidence": 0.9}),
        event("restored", {"superseded_by": None}),
        event("updated", {"before": {"content": "old"}}),
        event("redacted", {"rules": {"github-token": 2}}),
        event("extracted", {"extractor": "local", "memories": [{"id": None, "was_new": True}]}),
        event("extracted", {"extractor": "local", "with": None}),
        event("extraction_failed", {"code": "x", "stand_in": {"extractor": "local", "memories": [_LEARNED]}}),
        event("judged", {"compared": 2}),
    ]
    lines = line_with(core, ada, events=events)
    core.erasure.reset(ada)
    assert import_all(core, ada, lines).imported == 1
    found = json.loads(export(core, ada)[1])["events"]
    assert [(one["event_type"], one["payload"]) for one in found] == [
        (one["event_type"], one["payload"]) for one in events
    ]


def test_erasure_that_a_memory_tells_of_itself_is_believed_by_nobody(
    core: Core, ada: Principal, bob: Principal, admin: Principal, remember: Remember
) -> None:
    """As one may stand there that was imported before such events were refused."""
    victim, own = remember(ada, "alive"), remember(bob, "bob's")
    hidden = HiddenOwner.of(Owner("ada"), "00")
    forged = {"id": own.id, "salt": "00", "user": hidden.user, "agent": ""}
    payloads: list[dict[str, Any]] = [{}, {"id": 5}, forged, forged | {"id": hexadecimal(victim.id)}]
    events = [make_event(own, "erased", payload=payload) for payload in payloads]
    core.store.write(ada.tenant, lambda tx: tx.events.append(events))
    last = remember(ada, "told after it")
    assert told(seen_by(core, ada)) == [("created", victim.id), ("created", last.id)]
    assert told(seen_by(core, bob)) == [("created", own.id)]
    assert [action for action, _ in told(seen_by(core, admin))] == ["created"] * 3
    for who in (ada, bob, admin):
        found = core.activity.page(who, ActivityFilter(), limit=20).items
        assert {one.what for one in found} == {"created"}
    core.erasure.erase(ada, [victim.id])
    assert told(seen_by(core, ada))[-1] == ("erased", victim.id)


def test_redactions_that_none_wrote_are_listed_without_rules(
    core: Core, ada: Principal, admin: Principal, remember: Remember
) -> None:
    memory = remember(ada)
    payloads: list[dict[str, Any]] = [{"rules": 5}, {"rules": {"a": "b", "c": 2}}, {}]
    events = [make_event(memory, "redacted", payload=payload) for payload in payloads]
    core.store.write(ada.tenant, lambda tx: tx.events.append(events))
    assert [dict(note.rules) for note in core.redaction_log.list(admin).items] == [{}, {"c": 2}, {}]

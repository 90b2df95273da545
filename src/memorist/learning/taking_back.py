"""What was learned from a message and is taken back or corrected in the user's next one: "Just kidding." """

from collections.abc import Sequence, Set

from memorist.learning.earlier import utterance_of
from memorist.learning.extractors.corrections import correction_of_before, is_last_said, takes_back
from memorist.memories.values import Kind, Memory
from memorist.ports import Reader

EXTRACTED = "extracted"
"""The event of a message that it was read for memories."""

# Between two messages of the user there may be an answer, and what tools returned.
_NEAR = 5


def taken_back(tx: Reader, sources: Sequence[Memory], session: str, quoted: Set[str]) -> set[str]:
    """The ids of what was learned from the last statement before these messages, where the first of the user plainly
    takes that back, and nobody but the assistant spoke since; or corrects it, and is told together with it: then the
    message is `quoted`. What is taken back among the messages themselves is not learned at all.
    """
    said = [source for source in sources if _is_of_user(source)]
    is_taken = bool(said) and takes_back(said[0].content)
    if not is_taken and not (said and quoted and correction_of_before(said[0].content)):
        return set()
    around = tx.surroundings.said_around(said[0], session, _NEAR, 0)[0]
    before = next((one for one in reversed(around) if not _is_reply(one)), None)
    if before is None or not (is_taken or before.id in quoted):
        return set()
    if not _is_of_user(before) or utterance_of(before).who != utterance_of(said[0]).who:
        return set()
    return {
        fact.id
        for fact in tx.memories.get_many(_learned_from(tx, before.id))
        if fact.meta_text("message_id") == before.id and is_last_said(fact.excerpt or "", before.content)
    }


def _is_of_user(row: Memory) -> bool:
    return row.kind is Kind.CHAT_MESSAGE and row.meta_text("role") == "user"


def _is_reply(row: Memory) -> bool:
    return row.kind is not Kind.CHAT_MESSAGE or row.meta_text("role") in ("assistant", "tool")


def _learned_from(tx: Reader, message_id: str) -> list[str]:
    """What was new when a message was read: the first message of those that were read together tells it."""
    read = [event.payload for event in tx.events.of([message_id]) if event.event_type == EXTRACTED]
    firsts = [str(payload["with"]) for payload in read if "with" in payload]
    read += [event.payload for event in tx.events.of(firsts) if event.event_type == EXTRACTED]
    return [one["id"] for payload in read for one in payload.get("memories", ()) if one["was_new"] and one["id"]]

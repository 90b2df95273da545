"""What was said around some messages of a session, as far as they are understood by it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from memorist.ingestion.values import UTC_OFFSET
from memorist.learning.extractors.transcripts import Utterance, role_of
from memorist.memories.values import Kind, Memory
from memorist.ports import Reader
from memorist.times import with_offset

T = TypeVar("T")

# Between two messages there may be what tools returned.
_NEAR = 24
# So far back it is looked for others who speak.
_FAR = 80
# What somebody asked for some messages ago, such as a story, the next ones are part of.
_PEOPLES = 6


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What was said before some messages, oldest first, and by what names others speak, before them and after."""

    before: list[Memory]
    others: list[Utterance]
    """One for each, without words."""
    alone: list[Memory]
    """What the only one said who had spoken until now: it was taken for the user's, and is that of one of several."""

    @classmethod
    def of(cls, tx: Reader, sources: Sequence[Memory], session: str) -> "Surroundings":
        named = any(utterance_of(row).name for row in sources)
        before, after = tx.surroundings.said_around(sources[0], session, _NEAR, _NEAR if named else 0)
        # Whom an assistant answers all the time is hardly one of several.
        is_long = len(before) == _NEAR and not any(utterance_of(row).role == "assistant" for row in before)
        if named and is_long and len(_names(before)) < 2:
            before, _ = tx.surroundings.said_around(sources[0], session, _FAR, 0)
        chat = [row for row in before if row.kind is Kind.CHAT_MESSAGE]
        if not named:
            return cls(chat, [], [])
        until_now = _names(chat)
        others = [Utterance("user", "", name) for name in (until_now | _names(after)).values()]
        is_joined = len(until_now) == 1 and bool(_names(sources).keys() - until_now.keys())
        alone = [row for row in chat if is_joined and utterance_of(row).name and utterance_of(row).role == "user"]
        return cls(chat, others, alone)


def understood_by(said: Sequence[T], of: Callable[[T], Utterance]) -> list[T]:
    """Of what was said before a message, what that is understood by: the last of it, and what people said before."""
    people = [one for one in said[:-1] if of(one).is_person]
    return [*people[-_PEOPLES:], *said[-1:]]


def utterance_of(row: Memory, *, is_live: bool = False) -> Utterance:
    """A stored message; `is_live`: it was said when it was stored."""
    said_at = row.event_time or (row.created_at if is_live else None)
    there = None if said_at is None else with_offset(said_at, row.meta_whole(UTC_OFFSET) or 0)
    return Utterance(role_of(row.meta_text("role") or ""), row.content, row.meta_text("speaker"), there)


def _names(rows: Sequence[Memory]) -> dict[str, str]:
    """Who speaks in some messages, and how the name is spelled."""
    said = [utterance_of(row) for row in rows if row.kind is Kind.CHAT_MESSAGE]
    return {one.who: one.name for one in said if one.is_person and one.name and one.who}

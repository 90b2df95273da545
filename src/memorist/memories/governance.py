"""Every memory is governed by the door that wrote it: one table of what each door's promises leave to the others. Pure.

Facts of the agent tools and of the native door (library, command line, dashboard, imports) are one set, of which a
newer one retires an older one. What another door keeps is never retired: where a fact contradicts it, somebody decides.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from memorist.errors import NotEditable
from memorist.memories.values import Draft, Governor, Kind, Memory, Retention
from memorist.platform.values import Owner


@dataclass(frozen=True, slots=True)
class GovernorRules:
    """`door` is what people read. What is not said here, nobody but its owner does to a memory."""

    door: str
    is_one_set: bool = False
    """Its facts are judged: equal ones are one, and a newer one retires an older one that it contradicts."""
    is_aged: bool = False
    """The tenant's policy may age it, where it is written so, and anonymizes what was retired."""
    is_aged_at_once: bool = False
    """Also while the tenant's policy still observes."""
    instead: str | None = None
    """What to do instead of changing it in place; None where that may be done."""


RULES = {
    Governor.NATIVE: GovernorRules("Memorist itself", is_one_set=True, is_aged=True),
    Governor.COMPANION: GovernorRules(
        "the companion API", instead="Write it anew and delete the old one: the newest counts."
    ),
    Governor.PROFILE: GovernorRules("the profile API"),
    Governor.CODING_ASSISTANT: GovernorRules(
        "the coding-assistant API", instead="Store the same text again: its score, session and excerpt follow."
    ),
    Governor.LIFECYCLE: GovernorRules(
        "the lifecycle API", is_aged=True, is_aged_at_once=True, instead="Add it anew and delete the old one."
    ),
    Governor.AGENT_TOOLS: GovernorRules(
        "the agent tools",
        is_one_set=True,
        is_aged=True,
        instead="Remember the fact anew: what it contradicts is retired.",
    ),
}

TESTED = "tested_hypothesis"
"""The category of the companion's bookkeeping: one entry for every finding, so that it is not proposed again."""

_COMPANION_CATEGORIES = frozenset({"goal", "insight", "preference", "history", TESTED})
_CHUNK_CATEGORIES = frozenset({"decision", "fact", "solution", "pattern", "summary"})


def outlives_quoted(kind: str, governed_by: str) -> bool:
    """Whether a memory stays when the time of a message is over that it quotes: a fact that no policy ages is kept
    until somebody asks for its end, or for that of the message.
    """
    return kind == Kind.FACT and not RULES[Governor(governed_by)].is_aged


def governor_of(draft: Draft) -> Governor:
    """Who governs what a draft will be: the door that says so, else whose business such a memory is."""
    if draft.governed_by is not None:
        return draft.governed_by
    if draft.kind is not Kind.FACT:
        return Governor.AGENT_TOOLS
    # A name makes it a profile's; but those are kept, and this one is to age.
    return Governor.NATIVE if draft.name is None or draft.retention is Retention.POLICY else Governor.PROFILE


def presumed_governor(values: Mapping[str, Any]) -> Governor:
    """Who governs a memory from before that was written down, as far as its fields tell. Migration 14 says the same."""
    category, source = values.get("category"), str(values.get("source_ref") or "")
    if values.get("kind", Kind.FACT) != Kind.FACT:
        return Governor.AGENT_TOOLS
    if values.get("name"):
        return Governor.PROFILE
    if values.get("retention") == Retention.POLICY:
        return Governor.LIFECYCLE
    is_chunk = values.get("relevance") is not None and not source.startswith("turn_")
    if category in _CHUNK_CATEGORIES or (category == "preference" and is_chunk):
        return Governor.CODING_ASSISTANT
    if category in _COMPANION_CATEGORIES:
        return Governor.COMPANION
    return Governor.AGENT_TOOLS if values.get("trust") == "agent" else Governor.NATIVE


def is_editable(memory: Memory) -> bool:
    """Whether it is a fact whose door lets it be changed in place."""
    return memory.kind is Kind.FACT and RULES[memory.governed_by].instead is None


VERBATIM = frozenset({"content", "excerpt", "meta"})
"""The fields of a message, a tool output or a chunk that tell what was seen."""


def require_editable(memory: Memory, fields: Collection[str] = VERBATIM) -> None:
    """Raises NotEditable where a fact's door lets nobody change it in place, and where these are the words of something
    that was seen.
    """
    if memory.kind is not Kind.FACT:
        if VERBATIM.isdisjoint(fields):
            return
        raise NotEditable("What was said, returned or uploaded is kept verbatim. Forget it, or store a fact beside it.")
    rules = RULES[memory.governed_by]
    if rules.instead is not None:
        raise NotEditable(f"What {rules.door} wrote is not changed in place. {rules.instead}")


def may_retire(newer: Memory, older: Memory) -> bool:
    """Whether a judge may let a fact take another's place: they are of one set, nothing less certain does so, and who
    sees the one that goes sees the other. What was inferred in a profile gives way to what all profiles know.
    """
    if not (is_judged(newer) and is_judged(older)):
        return False
    if newer.owner != older.owner:
        return newer.owner == Owner(older.owner.user) and not _is_certain(older)
    return _is_certain(newer) or not _is_certain(older)


def may_merge(newer: Memory, older: Memory) -> bool:
    """Whether of two facts that say the same the older one may go: each door keeps its own, and so does a profile."""
    is_one_set = is_judged(newer) and is_judged(older)
    return is_one_set and (newer.owner == older.owner or may_retire(newer, older))


def is_judged(memory: Memory) -> bool:
    """Whether it is one of the facts that retire each other."""
    return RULES[memory.governed_by].is_one_set


def are_compared(one: Memory, other: Memory) -> bool:
    """Whether a judge is asked about two facts: of one set and owner, or of one set where one is inferred and one of
    the two is all profiles' of the user; or kept by different doors. Never of two profiles, which share nothing.
    """
    if one.owner.user != other.owner.user or not _is_seen_by_one(one.owner, other.owner):
        return False
    if is_judged(one) and is_judged(other):
        is_inferred = not (_is_certain(one) and _is_certain(other))
        return one.owner == other.owner or (is_inferred and one.owner.user is not None)
    is_bookkeeping = TESTED in (one.category, other.category)
    return one.governed_by is not other.governed_by and not is_bookkeeping


def _is_seen_by_one(one: Owner, other: Owner) -> bool:
    """Whether some profile of the user sees what both of them have."""
    return one.agent == other.agent or None in (one.agent, other.agent)


def _is_certain(memory: Memory) -> bool:
    """Whether it was stated. What was extracted says how certain it is, and that is less."""
    return memory.confidence is None or memory.confidence >= 1

"""How what was erased is named without a word of it. Pure.

A memory's id is 128 bits that say nothing, and is kept as 32 hexadecimal digits. The name of a user or of a document
may say something: it is kept as a hash with a salt, which answers whether a given name is meant and gives none away.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memorist.ids import parse_id, to_uuid
from memorist.platform.values import ERASED, UNTOLD, Event, HiddenOwner, Owner

MEMORY, DOCUMENT, USER = "memory", "document", "user"
PURGED = "purged"
"""The state of what is gone, and the event that time brought it there."""

# What a memory or its history names beside memories: who read it, where it came from, what was done with it.
_ID = re.compile(r"(?:job|key|mem|rcpt|turn)_[0-7][0-9A-HJKMNP-TV-Z]{25}")
# The key of a tool output is its memory's id with another beginning.
_NAMED = re.compile(r"(?:mem|tout)_([0-7][0-9A-HJKMNP-TV-Z]{25})")


def hexadecimal(memory_id: str) -> str:
    return to_uuid(memory_id).hex


def memory_id_of(hexadecimal_id: str) -> str:
    return parse_id("mem", hexadecimal_id)


def is_bare_id(text: str) -> bool:
    """Whether a text is an id of ours and no more: 128 bits that say nothing."""
    return _ID.fullmatch(text) is not None


def ids_named_in(text: str) -> set[str]:
    """The memories that a text names."""
    return {f"mem_{bits}" for bits in _NAMED.findall(text)}


def subject_of(salt: str, user: str) -> str:
    """Whom a receipt is about, as the receipt has it."""
    return _hash(salt, USER, user)


def document_entry(salt: str, owner: Owner, document_id: str) -> str:
    return _hash(salt, DOCUMENT, owner.user or "", owner.agent or "", document_id)


def erased_event(memory_id: str, owner: Owner, salt: str, now: datetime, *, untold: bool = False) -> Event:
    """What tells followers that a memory went. It names neither it nor its owner in plain text. `untold`: it leaves no
    tombstone.
    """
    hidden = HiddenOwner.of(owner, salt)
    gone = hexadecimal(memory_id)
    payload = {
        "id": gone,
        "salt": salt,
        "user": hidden.user,
        "agent": hidden.agent,
        **({UNTOLD: True} if untold else {}),
    }
    return Event(gone, ERASED, "erasure", now, payload=payload)


def tombstone(events: Sequence[Event]) -> list[Event]:
    """The events of a memory that is gone, as they may be told: of an erasure that it was one, and of a purge, which is
    one too, the purge. None of what leaves no tombstone.
    """
    if any(event.payload.get(UNTOLD) for event in events):
        return []
    is_purged = any(event.event_type == PURGED for event in events)
    told = [event for event in events if not (is_purged and event.event_type == ERASED)]
    return [replace(one, payload={"to": PURGED}) if one.event_type == ERASED else one for one in told]


def _hash(salt: str, *parts: str) -> str:
    return hashlib.sha256("\0".join((salt, *parts)).encode()).hexdigest()

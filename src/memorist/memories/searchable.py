"""What of a memory is searched: its terms, the text that is embedded, and where it stands. Pure.

Who said it and when belong to the text: "what did Ada say in May" is answered by words that the message itself lacks.
"""

import hashlib
from dataclasses import dataclass
from enum import IntEnum

from memorist import words
from memorist.memories.values import Kind, Memory, Status
from memorist.models import passages


class Standing(IntEnum):
    """Whether recall may show a memory: by default, only when asked for the past, or never."""

    LIVE = 0
    RETIRED = 1
    GONE = 2


@dataclass(frozen=True, slots=True)
class Searchable:
    """A memory as text, and its parts as the models read them."""

    text: str
    speaker: str
    date: str
    context: str
    """What stands around it wherever it is found: a document's headings."""

    def terms(self) -> bytes:
        return words.pack(f"{self.date} {self.speaker} {self.context} {self.text}")

    def digest(self) -> int:
        """Changes when something changes that is embedded; 63 bits, which every database takes as an integer."""
        parts = "\0".join((self.text, self.speaker, self.date, self.context))
        return int.from_bytes(hashlib.blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 1

    def windows(self) -> list[str]:
        return passages.windows(self.text)


def searchable(memory: Memory) -> Searchable:
    if memory.repeats:
        return Searchable(text=memory.meta_text("tool_name") or "", speaker="", date="", context="")
    moment = memory.event_time or memory.created_at
    return Searchable(
        text=_named(memory),
        speaker=speaker_of(memory),
        date=passages.spoken_date(moment),
        context=" > ".join(memory.meta_texts("heading_path") or ()),
    )


def text_of(memory: Memory) -> str:
    """Its text alone, where nothing else is asked for."""
    return searchable(memory).text if memory.repeats else _named(memory)


def _named(memory: Memory) -> str:
    named = [memory.name.replace("_", " ").replace("-", " ") if memory.name else "", memory.description or ""]
    return "\n".join(part for part in (*named, memory.content) if part)


def speaker_of(memory: Memory) -> str:
    """Who or what said it; '' where nobody is named."""
    if memory.repeats:
        return ""
    return memory.meta_text("speaker") or memory.meta_text("tool_name") or memory.meta_text("role") or ""


def as_turn(memory: Memory) -> str:
    """A memory as the turn before or after another."""
    return passages.turn(speaker_of(memory), text_of(memory))


def is_turn(memory: Memory) -> bool:
    """Whether it was said in a session, so that turns stand before and after it."""
    return memory.said_in is not None


def thread_of(memory: Memory) -> str:
    """What a memory is a turn of: its session, or its document; '' for what stands alone."""
    if memory.kind is Kind.DOCUMENT_CHUNK:
        # No session has a space in its name.
        return f"document {memory.source_ref}" if memory.source_ref else ""
    return memory.said_in or ""


def standing(memory: Memory) -> Standing:
    # What another fact took the place of was true once; what was archived otherwise is to be out of every search.
    is_kept = memory.status is Status.ACTIVE or (memory.status is Status.ARCHIVED and memory.is_past)
    if not is_kept or memory.repeats or memory.anonymized_at is not None:
        return Standing.GONE
    return Standing.RETIRED if memory.is_past else Standing.LIVE

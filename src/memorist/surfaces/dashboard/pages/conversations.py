"""Conversations: a list of sessions, each read as it was said with what was learned from it, searched, and let go."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from memorist.errors import InvalidField
from memorist.memories.values import Memory
from memorist.surfaces.dashboard.document_text import RenderedBlock, blocks_of
from memorist.surfaces.dashboard.pages.memory import CONFIRMATION
from memorist.surfaces.dashboard.pages.memory_views import spoken_by
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Toast, Visit
from memorist.surfaces.dashboard.wording import number, say
from memorist.views.conversations import MOST_COUNTED, is_of_a_tool, said_at

pages = Pages()

ADDRESS = f"{HOME}/conversations"
_ON_A_PAGE = 20
_LONGEST_LINE = 4000
_SNIPPET = 160


@dataclass(frozen=True, slots=True)
class SpokenPiece:
    """A part of what was said; `fact` is the one that rests on it, `is_found` whether it was searched for."""

    text: str
    fact: Memory | None = None
    is_found: bool = False


@dataclass(frozen=True, slots=True)
class SpokenLine:
    """One line of a transcript."""

    memory: Memory
    speaker: str
    pieces: tuple[SpokenPiece, ...]
    facts: tuple[Memory, ...] = ()
    is_cut: bool = False

    @property
    def at(self) -> datetime:
        return said_at(self.memory)

    @property
    def blocks(self) -> list[RenderedBlock]:
        """An agent's words are Markdown, as models write; a person's, and what facts rest on, stay as they are."""
        is_plain = self.facts or self.is_cut or self.memory.meta_text("role") != "assistant"
        return [] if is_plain else blocks_of(self.memory.content, "text/markdown")

    @property
    def is_folded(self) -> bool:
        """Whether a tool speaks: it is long, and seldom what one came for."""
        return is_of_a_tool(self.memory)


@pages.get("/conversations")
def show_list(visit: Visit) -> Response:
    cursor = visit.query.get("cursor") or None
    page = visit.core.conversations.page(visit.principal, limit=_ON_A_PAGE, cursor=cursor)
    more = None if page.next_cursor is None else f"{ADDRESS}?{urlencode({'cursor': page.next_cursor})}"
    heads = [(one, address_of(one.user, one.session)) for one in page.items]
    return visit.page(
        "conversations.html",
        section="conversations",
        heads=heads,
        more=more,
        is_first=cursor is None,
        most=MOST_COUNTED,
    )


@pages.get("/conversations/read")
def show(visit: Visit) -> Response:
    user, session = _which(visit.query.get("user", ""), visit.query.get("session", ""))
    text = " ".join(visit.query.get("q", "").split())
    near, after, before = (visit.query.get(name) or None for name in ("near", "after", "before"))
    part = visit.core.conversations.read(visit.principal, user, session, near=near, after=after, before=before)
    found = visit.core.conversations.search(visit.principal, user, session, text) if text else None
    told: dict[str, Any] = {
        "head": part.conversation,
        "text": text,
        "most": MOST_COUNTED,
        "address": address_of(user, session),
    }
    if found is not None:
        hits = [(_hit(one, text), address_of(user, session, near=one.id)) for one in found]
        return visit.page("conversation.html", section="conversations", hits=hits, lines=(), **told)
    lines = [line_of(one, part.learned.get(one.id, ())) for one in part.lines]
    return visit.page(
        "conversation.html",
        section="conversations",
        hits=None,
        lines=lines,
        near=near,
        earlier=address_of(user, session, before=part.lines[0].id) if part.has_earlier else None,
        later=address_of(user, session, after=part.lines[-1].id) if part.has_later else None,
        **told,
    )


@pages.get("/conversations/leaving")
def show_leaving(visit: Visit) -> Response:
    """What goes with a conversation, counted, before anything does."""
    user, session = _which(visit.query.get("user", ""), visit.query.get("session", ""))
    leaving = visit.core.conversations.leaving(visit.principal, user, session)
    told: dict[str, Any] = {"user": user, "session": session, "leaving": leaving, "confirmation": say(CONFIRMATION)}
    if visit.is_partial:
        return visit.part("parts/conversation_leaving.html", **told)
    return visit.page("conversation_leaving.html", section="conversations", back=address_of(user, session), **told)


@pages.post("/conversations/forget")
def forget(visit: Visit) -> Response:
    user, session = _which(visit.text("user"), visit.text("session"))
    gone = visit.core.conversations.forget(visit.principal, user, session, facts=visit.text("facts") == "yes")
    said = say("{count} deleted. Under Memories, Deleted, they can be restored for a while.", count=number(gone))
    return visit.redirect(ADDRESS, toast=Toast(said))


@pages.post("/conversations/erase")
def erase(visit: Visit) -> Response:
    user, session = _which(visit.text("user"), visit.text("session"))
    if visit.text("confirm").lower() != say(CONFIRMATION):
        toast = Toast(say("Nothing was erased. Type “{word}” to confirm.", word=say(CONFIRMATION)), tone="bad")
        return visit.redirect(address_of(user, session), toast=toast)
    receipts = visit.core.conversations.erase(visit.principal, user, session, facts=visit.text("facts") == "yes")
    said = say("Erased for good. This is the receipt.")
    if len(receipts) > 1:
        said += " " + say("There are {count}, for a thousand memories each.", count=len(receipts))
    toast = Toast(said)
    return visit.redirect(f"{HOME}/privacy/receipts/{receipts[-1].id}", toast=toast)


def address_of(user: str, session: str, **where: str) -> str:
    """Where a conversation is read; with `near`, at that line."""
    query = urlencode({"session": session, "user": user, **where})
    return f"{ADDRESS}/read?{query}" + (f"#{where['near']}" if "near" in where else "")


def _which(user: str, session: str) -> tuple[str, str]:
    if not session:
        raise InvalidField(say("Say which conversation."), field="session")
    return user, session


# Lines


def line_of(memory: Memory, facts: Sequence[Memory] = ()) -> SpokenLine:
    """What was said, with the words marked that facts rest on."""
    text = memory.content
    pieces: list[SpokenPiece] = []
    end = 0
    for start, fact in sorted(((_start(text, fact), fact) for fact in facts), key=lambda one: one[0]):
        if start >= end:
            stop = start + len(fact.excerpt or "")
            pieces += [SpokenPiece(text[end:start]), SpokenPiece(text[start:stop], fact)]
            end = stop
    rest = text[end:]
    longest = max(_LONGEST_LINE - end, 0)
    pieces.append(SpokenPiece(rest[:longest]))
    shown = tuple(piece for piece in pieces if piece.text)
    return SpokenLine(memory, spoken_by(memory), shown, tuple(facts), len(rest) > longest)


def _start(text: str, fact: Memory) -> int:
    return text.find(fact.excerpt) if fact.excerpt else -1


def _hit(memory: Memory, text: str) -> SpokenLine:
    """What was found of a line: what stands around the first of the words, which are marked."""
    words = "|".join(map(re.escape, sorted(text.split(), key=len, reverse=True)))
    pattern = re.compile(f"({words})", re.IGNORECASE)
    content = memory.content
    first = pattern.search(content)
    start = max(0, first.start() - _SNIPPET) if first else 0
    shown = content[start : start + 3 * _SNIPPET]
    parts = pattern.split(shown)
    pieces = [SpokenPiece("…")] if start else []
    pieces += [SpokenPiece(part, is_found=index % 2 == 1) for index, part in enumerate(parts) if part]
    return SpokenLine(memory, spoken_by(memory), tuple(pieces), is_cut=start + len(shown) < len(content))

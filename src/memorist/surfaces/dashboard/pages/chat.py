"""Chat: a conversation with the language model, what memory put into each prompt, and what was learned from it.

What is kept is a session like any other: its turns are read from the store. Of a conversation that is tried without
keeping it, the page itself has what was said, and sends it along.
"""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from memorist.composing.values import LEAST_TOKENS, MOST_TOKENS
from memorist.errors import InvalidField, LlmNotConfigured
from memorist.facts.service import JUDGING
from memorist.ids import new_id
from memorist.ingestion.service import Message
from memorist.memories.accesses import unnoted
from memorist.platform import validation
from memorist.platform.values import JobStatus
from memorist.surfaces.dashboard.document_text import blocks_of
from memorist.surfaces.dashboard.pages import chat_context, conversations
from memorist.surfaces.dashboard.pages.turn_steps import answer_of, asked_of, model_of, steps_of
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Visit
from memorist.surfaces.dashboard.wording import say
from memorist.turns.service import MAX_MESSAGES
from memorist.turns.values import TurnStatus
from memorist.views.turn_stories import TurnStory

pages = Pages()

ADDRESS = f"{HOME}/chat"
_PREFIX = "chat_"
_SHOWN = 10
_ROLES = ("user", "assistant")
_MOST_JOBS = 50
_LEARNS_WITHIN = timedelta(seconds=20)
_NO_MORE = 286
"""The status that tells htmx to ask no more."""


@pages.get("/chat")
def show(visit: Visit) -> Response:
    hindrance = _hindrance(visit)
    budget = _budget(visit)
    question = visit.query.get("q", "").strip() if hindrance else ""
    later = visit.later(reranks=bool(question))
    if not question or later is not None:
        return _shown(visit, hindrance, None, later)
    with visit.reading(ADDRESS) as reading:
        with unnoted():
            composer = visit.core.composer
            laid_out = composer.lay_out(visit.principal, question, budget_tokens=budget, reading=reading)
        return _shown(visit, hindrance, chat_context.of_layout(laid_out), None)


def _shown(
    visit: Visit, hindrance: str | None, context: chat_context.ShownContext | None, later: str | None
) -> Response:
    if visit.is_partial:
        return visit.part("parts/chat_context.html", context=context)
    session = _session(visit.query.get("session", ""))
    stories = visit.core.turn_stories.of_session(visit.principal, session, _SHOWN) if session else []
    return visit.page(
        "chat.html",
        section="chat",
        hindrance=hindrance,
        context=context,
        later=later,
        question=visit.query.get("q", ""),
        longest=validation.MAX_QUERY,
        budget={"least": LEAST_TOKENS, "most": MOST_TOKENS, "usual": visit.settings.context_tokens},
        exchanges=[_told(visit, story) for story in stories],
        whole=conversations.address_of(visit.principal.user or "", session) if len(stories) == _SHOWN else None,
        **_composer(visit, session or new_id("chat"), keeps=True, has_begun=bool(stories)),
    )


@pages.post("/chat")
def answer(visit: Visit) -> Response:
    """A turn with what was said so far. What goes wrong before it begins leaves the page as it is."""
    keeps = visit.text("keep") == "yes"
    session = _session(visit.text("session")) or new_id("chat")
    text = visit.text("message")
    said = _kept(visit, session) if keeps else _sent(visit)
    if said and said[-1] == Message("user", text):
        said.pop()  # It was not answered, and is asked again.
    if len(said) >= MAX_MESSAGES:
        raise InvalidField(say("This conversation is as long as one may be. Begin a new one."), field="message")
    messages = [*said, Message("user", text)]
    turn = visit.core.turns.start(
        visit.principal, messages, include_memory=visit.text("memory") == "yes", session=session, trial=not keeps
    )
    address = f"{ADDRESS}?{urlencode({'session': session})}"
    if not visit.is_partial:
        return visit.redirect(address if keeps else f"{HOME}/turns/{turn.id}")
    told = _told(visit, visit.core.turn_stories.tell(visit.principal, turn.id)) | {"asked": text}
    headers = {"HX-Push-Url": address} if keeps else {}
    composer = _composer(visit, session, keeps=keeps, has_begun=True)
    return visit.part("parts/chat_exchange.html", headers=headers, beside=True, exchange=told, **composer)


@pages.get("/chat/turns/{id}")
def show_reply(visit: Visit) -> Response:
    story = visit.core.turn_stories.tell(visit.principal, visit.path("id"))
    return visit.part("parts/chat_reply.html", exchange=_told(visit, story))


@pages.get("/chat/turns/{id}/memory")
def show_memory(visit: Visit) -> Response:
    story = visit.core.turn_stories.tell(visit.principal, visit.path("id"))
    told = _told(visit, story)
    is_settled = not told["is_running"] and not told["is_unsettled"]
    return visit.part("parts/chat_memory.html", status=_NO_MORE if is_settled else 200, exchange=told)


# What was said before


def _session(given: str) -> str:
    """A session that was begun by chatting, here or in a terminal: others know their messages by other names."""
    if given and not given.startswith(_PREFIX):
        raise InvalidField(say("Only what began as a chat goes on here."), field="session")
    return validation.identifier("session", given) if given else ""


def _kept(visit: Visit, session: str) -> list[Message]:
    found = visit.core.conversations.last(visit.principal, visit.principal.user or "", session, MAX_MESSAGES)
    said = [Message(one.meta_text("role") or "", one.content) for one in found]
    return [one for one in said if one.role in _ROLES]


def _sent(visit: Visit) -> list[Message]:
    return [
        Message(name, value) for name, value in visit.form.multi_items() if name in _ROLES and isinstance(value, str)
    ]


# What the templates are given


def _hindrance(visit: Visit) -> str | None:
    """Why nothing can be asked of the language model here; None where it can."""
    if visit.core.llm is None:
        return say(LlmNotConfigured().message)
    if not visit.may_write:
        return say("This key only reads, and what is said in a chat is remembered. Chatting needs a key that writes.")
    if visit.principal.user is None:
        return say("A chat is one user’s. Choose whose memories to look at, and chat as that user.")
    return None


def _composer(visit: Visit, session: str, *, keeps: bool, has_begun: bool) -> dict[str, Any]:
    llm = visit.core.llm
    return {
        "session": session,
        "keeps": keeps,
        "has_begun": has_begun,
        "model": None if llm is None else llm.model_id,
        "most": validation.MAX_CONTENT,
    }


def _budget(visit: Visit) -> int:
    return visit.number("budget", visit.settings.context_tokens, least=LEAST_TOKENS, most=MOST_TOKENS)


def _told(visit: Visit, story: TurnStory) -> dict[str, Any]:
    turn = story.turn
    return {
        "turn": turn,
        "story": story,
        "is_running": turn.status is TurnStatus.RUNNING,
        "asked": "".join(asked_of(story)[-1:]),
        "answer": answer_of(story),
        "blocks": blocks_of(answer_of(story), "text/markdown"),
        "model": model_of(story),
        "context": chat_context.of_turn(story),
        "tools": [step for step in steps_of(story) if step.is_tool],
        "last": story.events[-1].seq if story.events else 0,
        "is_unsettled": _is_unsettled(visit, story),
    }


def _is_unsettled(visit: Visit, story: TurnStory) -> bool:
    """Whether more may be learned: of a turn that just failed, or by comparing with what was known."""
    turn = story.turn
    if not turn.has_session or turn.completed_at is None or not visit.may_write:
        return False
    if turn.error is not None and not story.learned:
        return visit.core.clock.now() - turn.completed_at < _LEARNS_WITHIN
    learned = {one.id for one in story.learned}
    jobs = visit.core.jobs.list(visit.principal, status=JobStatus.WAITING, kind=JUDGING, limit=_MOST_JOBS).items
    return any(job.key in learned for job in jobs)

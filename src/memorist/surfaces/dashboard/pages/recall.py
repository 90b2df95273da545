"""The playground: ask what an agent would ask, and see what it gets, why, and why not something else."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from memorist import tools
from memorist.errors import InvalidField, InvalidId, MemoristError, NotFound
from memorist.ids import parse_id
from memorist.languages import is_english
from memorist.memories.accesses import unnoted
from memorist.memories.kinds import KINDS
from memorist.memories.values import Memory
from memorist.platform import access
from memorist.platform.tokens import count_tokens
from memorist.platform.values import Principal
from memorist.recall.values import Question, Recalled, Scope, Shortfall
from memorist.surfaces.dashboard.pages import recall_answer
from memorist.surfaces.dashboard.pages.recall_question import LONGEST_QUERY, PAGE, RecallForm
from memorist.surfaces.dashboard.refusals import in_words
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import EVERYBODY, Visit
from memorist.surfaces.dashboard.wording import say, to_say

if TYPE_CHECKING:  # It brings what searches; most pages are shown without.
    from memorist.recall.reading import TimedReading

pages = Pages()

SCOPES = {
    Scope.ANY: to_say("Everything"),
    Scope.SESSION: to_say("This session"),
    Scope.USER: to_say("The user"),
    Scope.AGENT: to_say("The agent"),
    Scope.TENANT: to_say("Shared"),
}
_LABELS = {
    "as_of": to_say("True at"),
    "known_at": to_say("Known at"),
    "after": to_say("Said from"),
    "before": to_say("Said before"),
}
_NEEDED: dict[str, str] = {
    Scope.USER: to_say("To look among a user's facts, choose whose memories these are, beside the menu."),
    Scope.AGENT: to_say("To look among an agent's facts, name it in “As the agent”."),
}
NO_ROOM = to_say(
    "Some memories are found by their words alone: there is no room for their vectors. Raise MEMORIST_INDEX_MEMORY_MB."
)
_MOST_PICKS = 5
_MOST_RETIRED = 3


@pages.get("/recall")
def show(visit: Visit) -> Response:
    asked = RecallForm.of(visit.request.query_params)
    later = visit.later(reranks=bool(asked.query) and asked.fields["rerank"] != "off")
    if not asked.query or later is not None:
        return _shown(visit, asked, later)
    # Somebody tries: whatever address leads here, it is no recall of an agent's.
    with unnoted(), visit.reading(PAGE) as reading:
        return _shown(visit, asked, None, reading)


def _shown(visit: Visit, asked: RecallForm, later: str | None, reading: "TimedReading | None" = None) -> Response:
    context: dict[str, Any] = {"asked": asked, "page": PAGE, "longest_query": LONGEST_QUERY}
    status = 200
    try:
        context["answer"] = None if reading is None else _answer(visit, asked, reading)
        context["refusal"] = None
    except MemoristError as error:
        status = visit.site.status_of(error)
        if status >= 500:
            raise
        context |= {"answer": None, "refusal": refusal(error, asked)}
    if visit.is_partial:
        headers = {} if visit.is_later("answer") else {"HX-Push-Url": asked.address()}
        return visit.part("parts/recall_answer.html", beside=True, headers=headers, **context)
    choices = {
        "scopes": {scope: say(label) for scope, label in SCOPES.items()},
        "kinds": {kind: say(rules.many).capitalize() for kind, rules in KINDS.items()},
    }
    return visit.page("recall.html", status=status, section="recall", beside=False, later=later, **choices, **context)


@pages.get("/recall/section")
def show_section(visit: Visit) -> Response:
    """What an agent's session begins with, before it asks anything."""
    principal = access.in_profile(RecallForm.of(visit.request.query_params).by(visit.principal))
    section = visit.core.composer.section(principal, principal.agent)
    return visit.part(
        "parts/recall_section.html", text=section.text, count=section.count, tokens=count_tokens(section.text)
    )


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """Everything that the page says about one question.

    `picks` and `retired` are memories to ask about that did not come back; `is_bare` where nothing is remembered at
    all; `as_everybody` where the key itself, used elsewhere, would see only its own user's.
    """

    recalled: Recalled
    found: list[recall_answer.ShownMemory]
    agent: recall_answer.AgentText
    milliseconds: int
    by_meaning: bool
    notices: tuple[str, ...]
    why_not: "WhyNot | None"
    why_not_refusal: str | None
    picks: tuple[Memory, ...]
    retired: tuple[Memory, ...]
    is_bare: bool
    curl: str
    python: str
    as_everybody: bool

    @property
    def tokens(self) -> int:
        """Of the texts alone, which is what a budget counts."""
        return sum(one.tokens for one in self.found)


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why a memory did not come back, or at which place it did."""

    memory: Memory
    reason: str
    bars: tuple[recall_answer.ArmBar, ...]


def _answer(visit: Visit, asked: RecallForm, reading: "TimedReading") -> ShownAnswer:
    """Raises InvalidField or Forbidden."""
    principal = asked.by(visit.principal)
    question = replace(tools.question_of(asked.arguments), explain=True)
    started = time.perf_counter()
    recalled, refusal = _recall(visit, principal, question, reading)
    milliseconds = round(1000 * (time.perf_counter() - started))
    by_meaning = _by_meaning(visit, recalled)
    known = {hit.memory.id for hit in recalled.hits}
    newest = visit.core.memories.list(principal, limit=_MOST_PICKS + len(known)).items
    return ShownAnswer(
        recalled=recalled,
        found=recall_answer.shown(recalled, asked.query, by_meaning=by_meaning),
        agent=recall_answer.agent_text(recalled),
        milliseconds=milliseconds,
        by_meaning=by_meaning,
        notices=tuple(_notices(visit, principal, question, recalled, by_meaning=by_meaning)),
        why_not=_why_not(visit, principal, recalled, by_meaning=by_meaning),
        why_not_refusal=refusal,
        picks=tuple([one for one in newest if one.id not in known][:_MOST_PICKS]),
        retired=tuple(one.retired for one in visit.core.facts.retired(principal, limit=_MOST_RETIRED).items),
        is_bare=not newest,
        curl=asked.curl(visit),
        python=asked.python(visit),
        as_everybody=visit.whose == EVERYBODY and visit.session.key.user is not None,
    )


def refusal(error: MemoristError, asked: RecallForm) -> str:
    """What is wrong, and where on this page it is set right."""
    if isinstance(error, InvalidField) and error.field == "scope" and asked.fields["scope"] in _NEEDED:
        return say(_NEEDED[asked.fields["scope"]])
    return _in_words_of_the_page(in_words(error))


def _in_words_of_the_page(text: str) -> str:
    for name, label in _LABELS.items():
        text = text.replace(f"`{name}`", f"“{say(label)}”")
    return text


def _recall(
    visit: Visit, principal: Principal, question: Question, reading: "TimedReading"
) -> tuple[Recalled, str | None]:
    """The answer, and what is wrong with the memory of `why_not`: that alone does not take the answer away."""
    try:
        return visit.core.recall.recall(principal, question, reading), None
    except (InvalidId, NotFound) as error:
        if question.why_not is None:
            raise
        reading.wait()  # Its time is spent, and this one has its own.
        return visit.core.recall.recall(principal, replace(question, why_not=None), reading), say(error.message)


def _by_meaning(visit: Visit, recalled: Recalled) -> bool:
    """Whether meaning was searched: an embedder that does not answer is done without."""
    if visit.core.embedder is None:
        return False
    cosines = [hit.explanation["vector"]["cosine"] for hit in recalled.hits if hit.explanation]
    return not _lacks_vectors(recalled) or any(cosines)


def _lacks_vectors(recalled: Recalled) -> bool:
    return bool(set(recalled.degraded_by) - {Shortfall.USERS})


def _notices(
    visit: Visit, principal: Principal, question: Question, recalled: Recalled, *, by_meaning: bool
) -> Iterator[str]:
    if question.scope is Scope.SESSION and principal.session is None:
        yield say("No session is named, so there is nothing of it: name one in “Current session”.")
    if visit.core.embedder is None:
        yield say("By words alone: this server does not search by meaning. MEMORIST_EMBEDDER=local turns it on.")
    elif _lacks_vectors(recalled) and _lack_room(visit):
        yield say(NO_ROOM)
    elif _lacks_vectors(recalled) and by_meaning:
        yield say("Some memories still wait for their vectors. Until then they are found by their words alone.")
    elif _lacks_vectors(recalled):
        yield say(
            "By words alone for now: what reads the meaning of texts has not answered. The server's log says why."
        )
    if Shortfall.USERS in recalled.degraded_by:
        yield say(
            "There are too many users to look at all of them: these are those with the newest memories. "
            "Choose one under “Whose memories”."
        )
    if question.enable_rerank and recalled.hits and not recalled.rerank_used:
        settings = visit.settings
        if settings.reranker == "off" and not settings.reranker_url:
            yield say("Not reranked: this server has no reranker. MEMORIST_RERANKER=local turns it on.")
        elif _are_beyond_the_reranker(visit, question, recalled):
            yield say("Not reranked: the local reranker reads English alone, so this is the first order.")
        else:
            yield say("Not reranked: the reranker has not answered, so this is the first order.")


def _are_beyond_the_reranker(visit: Visit, question: Question, recalled: Recalled) -> bool:
    reranker = visit.core.reranker
    texts = (question.query, *(hit.excerpt for hit in recalled.hits))
    return reranker is not None and reranker.is_local and not all(map(is_english, texts))


def _lack_room(visit: Visit) -> bool:
    """Whether vectors that are there do not fit into memory, rather than being awaited."""
    return visit.core.recall.lacks_memory(visit.principal) and not visit.core.overview.waiting(visit.principal).vectors


def _why_not(visit: Visit, principal: Principal, recalled: Recalled, *, by_meaning: bool) -> WhyNot | None:
    said = recalled.why_not
    if said is None:
        return None
    memory_id = parse_id("mem", said["id"])
    # Read as a part of its history, which shows it in whatever state it is and counts as no read.
    history = visit.core.facts.history(principal, memory_id)
    return WhyNot(
        memory=next(one.memory for one in history if one.memory.id == memory_id),
        reason=_in_words_of_the_page(said["reason"]),
        bars=recall_answer.bars(said.get("explanation", {}), by_meaning=by_meaning, reranked=recalled.rerank_used),
    )

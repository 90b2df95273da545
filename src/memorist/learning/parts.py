"""A part of a conversation is read, as a job: what is found in it is stored once, whoever finds it, and however often
the job runs.

Where the language model fails the local extractor stands in for it at once. The job is tried again, and what the model
then finds takes the place of what was found meanwhile, except where somebody decided about that. Entries of the
companion are only ever added: they stay, and what the model finds besides is added.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from memorist.errors import Conflict, IdempotencyMismatch, LlmError, LlmUnavailable, ModelError, NotFound
from memorist.facts.service import Facts
from memorist.learning.drafts import MessageOrigin, assignment_of
from memorist.learning.earlier import Surroundings, understood_by, utterance_of
from memorist.learning.extractors.kinds import Dropped, Vocabulary
from memorist.learning.extractors.transcripts import Utterance
from memorist.learning.finding import LOCAL, Finder, FoundDrafts
from memorist.learning.outcomes import INSTEAD_OF, told_dropped
from memorist.learning.sources import Sources
from memorist.learning.taking_back import EXTRACTED, taken_back
from memorist.memories.lifecycle import EXTRACTOR
from memorist.memories.values import QUOTES, Draft, Governor, Memory, Remembered, Status
from memorist.models.values import Usage
from memorist.platform.actors import event_by
from memorist.platform.jobs import Jobs, Result
from memorist.platform.spending import Spending
from memorist.platform.values import Event, Job
from memorist.ports import Reader, Store, Writer
from memorist.secrets.logs import redacting_logger
from memorist.times import Clock

_log = redacting_logger(__name__)

FAILED = "extraction_failed"
"""The event of a message that it was to be read, and that went wrong."""

STAND_IN = "stand_in"
"""Where the event of a failure says what the local extractor found instead."""

_MOST_LEARNED = 50
_GONE = "The messages are gone."


@dataclass(slots=True)
class AwaitedPart:
    """What came of a job that somebody waits for: what its calls took, and what was found while it has to wait."""

    usage: Usage = Usage()
    stand_ins: Sequence[Mapping[str, Any]] = ()
    gone: LlmUnavailable | None = None
    """Why the language model is not asked now, or no more."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The messages of a job that were not read yet, what they are understood by, and what was found meanwhile."""

    sources: list[Memory]
    known: list[Utterance]
    """What tools returned, and who else speaks."""
    earlier: list[Memory]
    again: list[Memory]
    """What was read before and is read anew, since others have joined whoever said it."""
    retold: Mapping[tuple[str, str], str]
    """The facts that were learned from that as the user's, by the message and the words that they rest on."""
    read_before: Event | None
    read_locally: Set[str]
    """The messages for which the local extractor stood in already."""
    settled: list[Mapping[str, Any]]
    """What it found there and somebody decided about."""
    giving_way: list[Memory]
    """The rest of that, unless it stays and counts as known."""

    def first_read(self) -> "_Part":
        """What of it nobody read yet."""
        fresh = [row for row in self.sources if row.id not in self.read_locally]
        before = self.sources[: self.sources.index(fresh[0])] if fresh else []
        return replace(self, sources=fresh, earlier=understood_by([*self.earlier, *before], utterance_of))


class Parts:
    def __init__(
        self, store: Store, clock: Clock, sources: Sources, facts: Facts, jobs: Jobs, finder: Finder, spending: Spending
    ) -> None:
        self._store = store
        self._clock = clock
        self._sources = sources
        self._facts = facts
        self._jobs = jobs
        self._finder = finder
        self._spending = spending
        self._awaited: dict[str, AwaitedPart] = {}

    def run(self, job: Job, gone: LlmUnavailable | None = None) -> tuple[Job, AwaitedPart]:
        """Do a claimed job here and now. Never raises: how it went is in what comes back. Where the language model is
        `gone`, nobody waits for it once more: it is asked later.
        """
        awaited = self._awaited[job.id] = AwaitedPart(gone=gone)
        try:
            return self._jobs.run(job), awaited
        finally:
            del self._awaited[job.id]

    def work(self, job: Job) -> Result:
        """Do a job of the kind EXTRACTING. Raises LlmError, which the messages' history then tells."""
        part = self._store.read(job.tenant, partial(self._load, job))
        if not part.sources:
            if part.read_before is not None:
                return dict(part.read_before.payload)
            return self._nothing(job, _GONE)
        spent: list[Usage] = []
        awaited = self._awaited.get(job.id, AwaitedPart())
        try:
            if awaited.gone is not None:
                raise LlmUnavailable(awaited.gone.message, retry_after=awaited.gone.retry_after)
            found = self._found(job, part, spent)
        except LlmError as error:
            awaited.gone = error if isinstance(error, LlmUnavailable) else None
            error.so_far = self._stand_in(job, part, error, Usage.of_all(spent))
            raise
        finally:
            self._count(job, spent)
        return self._store_found(job, part, _without_settled(found, part), Usage.of_all(spent))

    def _load(self, job: Job, tx: Reader) -> _Part:
        ids = [str(id_) for id_ in job.payload["messages"]]
        session = str(job.payload["session"])
        events = tx.events.of(ids)
        read = {event.memory_id: event for event in events if event.event_type == EXTRACTED}
        rows = {row.id: row for row in tx.memories.get_many(ids) if row.status in (Status.ACTIVE, Status.ARCHIVED)}
        sources = [rows[id_] for id_ in ids if id_ in rows and id_ not in read]
        stand_ins = _stand_ins(tx, job, events)
        # The id of one that was erased is gone.
        settled = [one for one in _new_ones(stand_ins) if not one["id"] or self._facts.is_settled(tx, one["id"])]
        around = Surroundings.of(tx, sources, session) if sources else Surroundings([], [], [])
        tools = self._sources.tool_texts(tx, job.principal, session, _said_at(sources[-1])) if sources else []
        retold = self._told_as_users(tx, job, around.alone)
        first = min((number for number, row in enumerate(around.before) if _is_source(row, retold)), default=None)
        return _Part(
            sources,
            [*(Utterance("tool", text) for text in tools), *around.others],
            understood_by(around.before[:first], utterance_of),
            [] if first is None else around.before[first:],
            retold,
            read.get(ids[0]),
            stand_ins.keys(),
            settled,
            tx.memories.get_many([one["id"] for one in _new_ones(stand_ins) if one not in settled])
            if _is_replaced(job)
            else [],
        )

    def _told_as_users(self, tx: Reader, job: Job, messages: Sequence[Memory]) -> dict[tuple[str, str], str]:
        """What was learned from messages as the user's, unless somebody had a hand in it since."""
        if not messages or not _is_replaced(job) or self._name(job) != LOCAL:
            return {}
        speakers = {row.id: utterance_of(row).name for row in messages}
        now = self._clock.now()
        return {
            (str(fact.source_ref), fact.excerpt or ""): fact.id
            for fact in tx.surroundings.list_learned_of(list(speakers), _MOST_LEARNED)
            if (fact.is_current(now) or fact.superseded_by is not None)
            and fact.meta_text(EXTRACTOR) == LOCAL
            and fact.meta_text("about") != speakers[str(fact.source_ref)]
            and not self._facts.is_settled(tx, fact.id)
        }

    def _found(self, job: Job, part: _Part, spent: list[Usage], *, locally: bool = False) -> FoundDrafts:
        known = [*part.known, *(_utterance(row, job) for row in part.earlier)]
        read = [*part.again, *part.sources]
        said = [*known, *(_utterance(row, job) for row in read)]
        # One that was only made up to keep the messages by is told to nobody.
        session = str(job.payload["session"]) if job.payload.get("tells_session", True) else None
        origins = [MessageOrigin()] * len(part.known)
        # What is read late is as old as what was said: it is not to retire what was said since.
        origins += [MessageOrigin(row.id, session, _said_at(row)) for row in (*part.earlier, *read)]
        found = self._finder.drafts(
            assignment_of(job),
            said,
            origins,
            spent,
            since=len(known),
            shows_known=job.payload.get("shows_known", True),
            giving_way=part.giving_way,
            locally=locally,
        )
        again = {row.id for row in part.again}
        kept = [one for one in found.drafts if _rests_on(one)[0] not in again or _rests_on(one) in part.retold]
        return found._replace(drafts=kept)

    # Storing

    def _store_found(self, job: Job, part: _Part, found: FoundDrafts, usage: Usage) -> Result:
        sources = part.sources
        extractor = self._name(job)
        result: dict[str, Any] = {"extractor": extractor}

        def note(tx: Writer, results: Sequence[Remembered]) -> None:
            _hold(tx, job, sources, part.again)
            stays = {one.memory.id for one in results}
            stood_in = _new_ones(_stand_ins(tx, job, tx.events.of([source.id for source in sources])))
            quoted = {id_ for one in found.drafts for id_ in (one.meta or {}).get(QUOTES) or ()}
            gone = {one["id"] for one in stood_in if one["id"]}
            gone |= taken_back(tx, sources, str(job.payload["session"]), quoted)
            gone = gone - stays if _is_replaced(job) else set()
            retold = {part.retold[_rests_on(one)] for one in found.drafts if _rests_on(one) in part.retold} - stays
            gone |= retold
            result["replaced"] = sum(
                self._facts.take_back(tx, job.principal, id_, together=retold) for id_ in sorted(gone)
            )
            result["memories"] = [{"id": one.memory.id, "was_new": one.was_new} for one in results]
            result["dropped"] = dict(found.dropped)
            result.update(spent_on(usage))
            # The first message tells all; the others, that they were read.
            payloads = [result, *[{"extractor": extractor, "with": sources[0].id} for _ in sources[1:]]]
            tx.events.append(
                event_by(job.principal, source.id, EXTRACTED, self._clock.now(), payload)
                for source, payload in zip(sources, payloads, strict=True)
            )

        skipped = self._remember(job, found.drafts, f"extract-{job.id}", note)
        if skipped is not None:
            return self._nothing(job, skipped)
        if found.dropped:
            _log.info("the job %s (%s): %s", job.id, job.kind, told_dropped(found.dropped))
        return result

    def _stand_in(self, job: Job, part: _Part, error: LlmError, usage: Usage) -> Result:
        """Tell of a failure and, the first time, store what the local extractor finds. Returns what the job has."""
        told = {"code": error.code, "attempt": job.attempts, "extractor": self._name(job), **spent_on(usage)}
        first = part.sources[0]
        fresh = part.first_read()
        found = self._found_locally(job, fresh) if fresh.sources else None
        if found is None:
            event = event_by(job.principal, first.id, FAILED, self._clock.now(), told)
            self._store.write(job.tenant, lambda tx: tx.events.append([event]))
            return job.result
        texts = {source.id: source.content for source in fresh.sources}

        def note(tx: Writer, results: Sequence[Remembered]) -> None:
            _hold(tx, job, part.sources)
            if any(event.event_type == EXTRACTED for event in tx.events.of(list(texts))):
                raise NotFound("Another attempt has read the messages meanwhile.")
            stored = [_stood_in(draft, one, texts) for draft, one in zip(found.drafts, results, strict=True)]
            # Each message tells what was found in it: another job may read it at last.
            payloads: dict[str, dict[str, Any]] = {first.id: told}
            for id_ in texts:
                in_it = {"extractor": LOCAL, "memories": [one for one in stored if one["source"] == id_]}
                payloads[id_] = payloads.get(id_, {"with": first.id}) | {STAND_IN: in_it}
            now = self._clock.now()
            tx.events.append(event_by(job.principal, id_, FAILED, now, payload) for id_, payload in payloads.items())
            if job.id in self._awaited:
                self._awaited[job.id].stand_ins = stored

        if self._remember(job, found.drafts, f"extract-{job.id}-{LOCAL}", note) is not None:
            return job.result
        # Their ids are in the event alone: a job that names a memory goes when that is erased.
        return {"extractor": LOCAL, INSTEAD_OF: self._name(job), "found": len(found.drafts)}

    def _found_locally(self, job: Job, part: _Part) -> FoundDrafts | None:
        try:
            return self._found(job, part, [], locally=True)
        except ModelError as error:
            _log.warning("nothing stands in for the job %s (%s): %s", job.id, job.kind, error.message)
            return None

    def _remember(
        self, job: Job, drafts: Sequence[Draft], key: str, note: Callable[[Writer, Sequence[Remembered]], None]
    ) -> str | None:
        """Store drafts, once. Returns why nothing was stored, where that is so."""
        # A memory outlives its session: the same one, stated in another session, is the same memory.
        principal = replace(job.principal, session=None)
        try:
            self._facts.remember_all(principal, drafts, idempotency_key=key, also=note)
        except IdempotencyMismatch:
            # It was given up for lost.
            return "Another attempt stored them."
        except NotFound:
            return _GONE
        return None

    def _nothing(self, job: Job, skipped: str) -> dict[str, Any]:
        return {"extractor": self._name(job), "memories": [], "skipped": skipped}

    def _name(self, job: Job) -> str:
        return self._finder.name(Vocabulary(job.payload["vocabulary"]))

    def _count(self, job: Job, spent: Sequence[Usage]) -> None:
        """Whatever comes of them, calls were made."""
        if job.id in self._awaited:
            self._awaited[job.id].usage = Usage.of_all([self._awaited[job.id].usage, *spent])
        self._spending.add(job.tenant, spent, budgeted=_is_of_a_turn(job))


def spent_on(usage: Usage) -> dict[str, Any]:
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "cost_usd": usage.cost_usd}


def _hold(tx: Writer, job: Job, sources: Sequence[Memory], again: Sequence[Memory] = ()) -> None:
    """Let the job and its messages stay until this is written, so that an erasure finds what was learned from them, and
    no other attempt learns it as well. Raises NotFound, or Conflict where only what is read again is gone.
    """
    ids = {source.id for source in sources}
    others = {row.id for row in again}
    # In the order in which they are erased.
    held = tx.memories.hold(sorted(ids | others))
    if not held >= ids or not tx.jobs.hold(job.id):
        raise NotFound("A message was erased, or the job dropped, while it was read.")
    if not held >= others:
        raise Conflict


# What stands in


def _stand_ins(tx: Reader, job: Job, events: Sequence[Event]) -> dict[str, Sequence[Mapping[str, Any]]]:
    """What the local extractor found in each message for which it stood in; not what an import named of others."""
    told = [event for event in events if event.event_type == FAILED and STAND_IN in event.payload]
    found = {event.memory_id: event.payload[STAND_IN]["memories"] for event in told}
    facts = tx.memories.get_many(sorted({one["id"] for ones in found.values() for one in ones if one["id"]}))
    foreign = {fact.id for fact in facts if fact.owner.user != job.user and not fact.owner.is_nobody}
    return {id_: [one for one in ones if one["id"] not in foreign] for id_, ones in found.items()}


def _new_ones(stand_ins: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Mapping[str, Any]]:
    return [one for found in stand_ins.values() for one in found if one["was_new"]]


def _stood_in(draft: Draft, stored: Remembered, texts: Mapping[str, str]) -> dict[str, Any]:
    """Where the words stand is told as numbers: a memory may be erased whose source stays."""
    source, (start, end) = _where_said(draft, texts)
    return {"id": stored.memory.id, "was_new": stored.was_new, "source": source, "start": start, "end": end}


def _where_said(draft: Draft, texts: Mapping[str, str]) -> tuple[str, tuple[int, int]]:
    source = str((draft.meta or {})["message_id"])
    start = texts[source].find(draft.excerpt or "")
    return source, (start, start + len(draft.excerpt or ""))


def _without_settled(found: FoundDrafts, part: _Part) -> FoundDrafts:
    """What was found, but not what rests on the same words as what somebody decided about meanwhile."""
    texts = {source.id: source.content for source in (*part.again, *part.sources)}

    def is_settled(draft: Draft) -> bool:
        source, (start, end) = _where_said(draft, texts)
        return any(one["source"] == source and start < one["end"] and one["start"] < end for one in part.settled)

    kept = [draft for draft in found.drafts if not is_settled(draft)]
    settled = len(found.drafts) - len(kept)
    return FoundDrafts(kept, found.dropped + Counter({Dropped.SETTLED: settled})) if settled else found


# Messages


def _utterance(row: Memory, job: Job) -> Utterance:
    # What is said in a turn is said now: "tomorrow" has a date there.
    return utterance_of(row, is_live=_is_of_a_turn(job))


def _said_at(row: Memory) -> datetime:
    return row.event_time or row.created_at


def _rests_on(draft: Draft) -> tuple[str, str]:
    """The message and its words that a draft rests on, as what was learned of them before is known by."""
    return str((draft.meta or {}).get("message_id")), draft.excerpt or ""


def _is_source(row: Memory, retold: Mapping[tuple[str, str], str]) -> bool:
    return any(source == row.id for source, _ in retold)


def _is_replaced(job: Job) -> bool:
    """Whether what stood in gives way to what the model finds: not where nothing is ever deleted but by its owner."""
    return assignment_of(job).governed_by is not Governor.COMPANION


def _is_of_a_turn(job: Job) -> bool:
    return (job.payload["source_ref"] or "").startswith("turn_")

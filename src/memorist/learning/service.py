"""From conversations to memories: what was said is stored first, then what is worth remembering is found in it.

Finding it is a job, promised in the transaction that stores the messages: what goes wrong with it is seen in the
message's history and in `memorist jobs`, is tried again, and is never the caller's error. The memories of a job and the
note that its messages were read are one transaction, so that nothing is stored twice when a job runs again.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from memorist.context.companion import Companion
from memorist.context.values import MAX_ENTRY
from memorist.errors import IdempotencyMismatch, LlmError, NotFound
from memorist.facts.service import Facts
from memorist.ingestion.service import Message
from memorist.learning.drafts import Assignment, MessageOrigin, assignment_of, draft_of
from memorist.learning.extractors.kinds import Candidate, Vocabulary
from memorist.learning.extractors.transcripts import Transcript, Utterance, keyed, parse_transcript, role_of
from memorist.learning.sources import Sources
from memorist.memories.values import Draft, Governor, Kind, Memory, Remembered, Status
from memorist.models.port import Llm, Tagger
from memorist.models.values import Usage
from memorist.platform import validation
from memorist.platform.audit import event_by
from memorist.platform.jobs import Jobs, Result
from memorist.platform.redaction import Redaction
from memorist.platform.spending import Spending
from memorist.platform.values import Event, Job, JobStatus, Principal
from memorist.ports import Reader, Store, Writer
from memorist.times import Clock

EXTRACTING = "extract"
"""The kind of the jobs that look for memories in messages."""

EXTRACTED = "extracted"
FAILED = "extraction_failed"
"""Events of a message: it was read for memories, or that went wrong."""

_MESSAGES_AT_ONCE = 40
# About what a small model reads with full attention.
_CHARACTERS_AT_ONCE = 16_000
# Between a message and the one that it answers there may be what tools returned.
_NEAR = 5
_NO_IDENTIFIER = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")

Report = Callable[[int, int], None]
"""Told how many parts of a conversation were read, and how many there are."""


class LearningMode(StrEnum):
    """Who looks for memories: the language model where there is one, the local extractor, or nobody."""

    AUTO = "auto"
    LOCAL = "local"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Preview:
    """What was found in a conversation that is not stored: what, by whom, and what it took."""

    candidates: tuple[Candidate, ...]
    messages: tuple[Utterance, ...]
    skipped: int
    extractor: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class ExtractedMemories:
    """What came of a conversation. `waiting`: parts of it that could not be read now and are tried again later."""

    memories: tuple[Remembered, ...]
    session: str
    messages: int
    known: int
    skipped: int
    waiting: int
    extractor: str
    usage: Usage


class Extraction:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        sources: Sources,
        facts: Facts,
        jobs: Jobs,
        redaction: Redaction,
        companion: Callable[[], Companion],
        llm: Callable[[], Llm | None],
        tagger: Callable[[], Tagger | None],
        mode: str = LearningMode.AUTO,
        sessions_llm: Callable[[], Llm | None] = lambda: None,
    ) -> None:
        """`sessions_llm` reads the messages of every session; without one the local extractor does, for nothing."""
        self._store = store
        self._clock = clock
        self._sources = sources
        self._facts = facts
        self._jobs = jobs
        self._redaction = redaction
        self._companion = companion
        self._llm = llm
        self._tagger = tagger
        self._sessions_llm = sessions_llm
        self._mode = LearningMode(mode)
        self._spending = Spending(store, clock)
        # What jobs have taken that somebody waits for, by their ids.
        self._awaited: dict[str, Usage] = {}

    # Doing

    def extract_transcript(
        self, principal: Principal, text: str, *, session: str | None = None, project: str | None = None
    ) -> list[Remembered]:
        """Store a transcript and what is worth remembering of it; what is stored already is not stored again.

        Raises InvalidField, Forbidden or StoreError, never because of what goes wrong with finding memories.
        """
        return list(self.read_transcript(principal, text, session=session, project=project).memories)

    def extract_messages(self, principal: Principal, session: str, messages: Sequence[Message]) -> list[Remembered]:
        """The same of messages, such as those of a turn: what the session has already may be among them."""
        return list(self.read_messages(principal, session, messages).memories)

    def read_transcript(
        self,
        principal: Principal,
        text: str,
        *,
        session: str | None = None,
        project: str | None = None,
        vocabulary: Vocabulary = Vocabulary.CODING,
        report: Report | None = None,
    ) -> ExtractedMemories:
        """What `extract_transcript` does, and how it went."""
        transcript = parse_transcript(text)
        project = project or transcript.project
        return self._read(
            principal,
            replace(
                transcript,
                session=session or _session_of(transcript),
                project=None if project is None else project[: validation.MAX_LINE],
            ),
            vocabulary=vocabulary,
            report=report,
        )

    def read_messages(
        self,
        principal: Principal,
        session: str,
        messages: Sequence[Message],
        *,
        vocabulary: Vocabulary = Vocabulary.COMPANION,
        source_ref: str | None = None,
        governed_by: Governor = Governor.AGENT_TOOLS,
        wait: bool = True,
    ) -> ExtractedMemories:
        """What `extract_messages` does, and how it went. Without `wait` the memories are found in the background.

        `source_ref` is what the memories name as their source, instead of the message itself.
        """
        transcript = Transcript(_utterances(messages), session)
        return self._read(
            principal, transcript, vocabulary=vocabulary, source_ref=source_ref, governed_by=governed_by, wait=wait
        )

    def keep_messages(
        self, principal: Principal, session: str, messages: Sequence[Message], *, index: bool = True
    ) -> list[Memory]:
        """Store messages of which the session may have some, and find nothing in them yet. Returns those that are new.

        Raises InvalidField, Forbidden or StoreError.
        """
        return self._sources.add(principal, session, _utterances(messages), lambda _, __: None, index=index)

    def index_kept(self, principal: Principal, kept: Sequence[Memory]) -> None:
        """Let messages be found by meaning that were kept without it."""
        self._sources.index(principal, list(kept))

    def read_kept(
        self,
        principal: Principal,
        session: str,
        kept: Sequence[Memory],
        *,
        vocabulary: Vocabulary = Vocabulary.COMPANION,
        source_ref: str | None = None,
        shows_known: bool = True,
    ) -> ExtractedMemories:
        """Find what is worth remembering in messages that were kept before. It never fails: see `waiting`.

        With `shows_known` a language model is told what is remembered already.
        """
        payload = {
            "session": session,
            "project": None,
            "vocabulary": str(vocabulary),
            "source_ref": source_ref,
            "shows_known": shows_known,
        }
        promised = (
            self._store.write(principal.tenant, lambda tx: self._promise(tx, principal, payload, kept, claimed=True))
            if kept
            else []
        )
        return self._done(principal, session, promised, messages=len(kept))

    def read_unkept(
        self,
        principal: Principal,
        messages: Sequence[Message],
        *,
        source_ref: str,
        spent: list[Usage],
        shows_known: bool = True,
    ) -> ExtractedMemories:
        """Find entries of the companion in messages of which nothing is stored, once and now: none of it is kept to be
        read again. What the calls take is added to `spent`, also where one fails. Raises LlmError.
        """
        found: list[Remembered] = []
        now = self._clock.now()
        said = [
            replace(one, content=self._redaction.text(one.content), time=one.time or now)
            for one in _utterances(messages)
        ]
        assignment = Assignment(principal, Governor.COMPANION, Vocabulary.COMPANION, source_ref)
        for window in windows(said) if self._mode is not LearningMode.OFF else ():
            before = len(spent)
            try:
                drafts = self._drafts(assignment, window, [MessageOrigin()] * len(window), spent, shows_known)
            finally:
                self._spending.add(principal.tenant, spent[before:])
            found += self._facts.remember_all(replace(principal, session=None), drafts)
        return ExtractedMemories(tuple(found), "", len(messages), 0, 0, 0, self._name(), _sum(spent))

    def find(self, text: str, *, vocabulary: Vocabulary = Vocabulary.CODING, report: Report | None = None) -> Preview:
        """What would be found in a transcript; nothing is stored. Raises LlmError."""
        transcript = parse_transcript(text)
        messages = tuple(replace(one, content=self._redaction.text(one.content)) for one in transcript.messages)
        tools = [one for one in messages if one.role == "tool"]
        usage = Usage()
        found: list[Candidate] = []
        parts = list(windows([(index, one) for index, one in enumerate(messages) if one.role != "tool"]))
        for number, window in enumerate(parts if self._mode is not LearningMode.OFF else []):
            spent: list[Usage] = []
            earlier = [messages[window[0][0] - 1]] if window[0][0] else []
            known = [*tools, *earlier]
            candidates = self._candidates([*known, *(one for _, one in window)], vocabulary, spent, len(known))
            found += [replace(one, source=window[one.source - len(known)][0]) for one in candidates]
            usage = _sum([usage, *spent])
            if report is not None:
                report(number + 1, len(parts))
        return Preview(tuple(found), messages, transcript.skipped, self._name(), usage)

    # Promising

    def promise(self, tx: Writer, principal: Principal, session: str, messages: Sequence[Memory]) -> None:
        """Promise to look for facts in messages of a session, inside the transaction that stores them."""
        if any((row.meta or {}).get("role") == "user" or (row.meta or {}).get("speaker") for row in messages):
            payload = {
                "session": session,
                "project": None,
                "vocabulary": str(Vocabulary.FACTS),
                "source_ref": None,
            }
            self._promise(tx, principal, payload, messages, claimed=False)

    def begin(self, tenant: str) -> None:
        """Do what was promised, in the background."""
        self._jobs.wake(tenant)

    def _read(
        self,
        principal: Principal,
        transcript: Transcript,
        *,
        vocabulary: Vocabulary,
        source_ref: str | None = None,
        governed_by: Governor | None = None,
        report: Report | None = None,
        wait: bool = True,
    ) -> ExtractedMemories:
        session = transcript.session or ""
        payload = {
            "session": session,
            "project": transcript.project,
            "vocabulary": str(vocabulary),
            "source_ref": source_ref,
            "governed_by": governed_by,
        }
        promised: list[Job] = []

        def promise(tx: Writer, new: Sequence[Memory]) -> None:
            promised[:] = self._promise(tx, principal, payload, new, claimed=wait)

        new = self._sources.add(principal, session, transcript.messages, promise)
        if promised and not wait:
            self._jobs.wake(principal.tenant)
        said = sum(one.role != "tool" for one in transcript.messages)
        return self._done(
            principal,
            session,
            promised,
            messages=len(new),
            known=said - len(new),
            skipped=transcript.skipped,
            report=report,
            wait=wait,
        )

    def _promise(
        self, tx: Writer, principal: Principal, payload: Mapping[str, Any], messages: Sequence[Memory], *, claimed: bool
    ) -> list[Job]:
        """A job for each part of the messages, inside the transaction that stores them."""
        if self._mode is LearningMode.OFF:
            return []
        return [
            self._jobs.add(
                tx,
                principal,
                EXTRACTING,
                {**payload, "messages": [memory.id for memory in window]},
                claimed=claimed,
            )
            for window in windows(messages)
        ]

    def _done(
        self,
        principal: Principal,
        session: str,
        promised: Sequence[Job],
        *,
        messages: int,
        known: int = 0,
        skipped: int = 0,
        report: Report | None = None,
        wait: bool = True,
    ) -> ExtractedMemories:
        """Do what was promised, unless the background does, and tell what came of it."""
        done: list[Job] = []
        usage = Usage()
        for job in promised if wait else ():
            self._awaited[job.id] = Usage()
            done.append(self._jobs.run(job))
            usage = usage.plus(self._awaited.pop(job.id))
            if report is not None:
                report(len(done), len(promised))
        results = [job.result or {} for job in done if job.status is JobStatus.DONE]
        return ExtractedMemories(
            memories=self._remembered(principal, results),
            session=session,
            messages=messages,
            known=known,
            skipped=skipped,
            waiting=len(promised) - len(results),
            extractor=self._name(),
            usage=usage,
        )

    def _remembered(self, principal: Principal, results: Sequence[Mapping[str, Any]]) -> tuple[Remembered, ...]:
        was_new: dict[str, bool] = {}
        for one in (one for result in results for one in result.get("memories", ())):
            # What is found in several parts is new where the first of them had it.
            was_new[one["id"]] = was_new.get(one["id"], False) or one["was_new"]
        rows = self._store.read(principal.tenant, lambda tx: tx.memories.get_many(list(was_new))) if was_new else []
        by_id = {memory.id: memory for memory in rows}
        return tuple(Remembered(by_id[id_], is_new) for id_, is_new in was_new.items() if id_ in by_id)

    # The job

    def work(self, job: Job) -> Result:
        """Do a job of the kind EXTRACTING. Raises LlmError, which the messages' history then tells."""
        ids = [str(id_) for id_ in job.payload["messages"]]
        session = str(job.payload["session"])

        def load(tx: Reader) -> tuple[list[Memory], list[Event], list[str], list[Memory]]:
            rows = tx.memories.get_many(ids)
            return (
                rows,
                tx.events.of(ids[:1]),
                self._sources.tool_texts(tx, job.principal, session),
                _said_before(tx, [row for row in rows if row.id == ids[0]], session),
            )

        rows, events, tools, earlier = self._store.read(job.tenant, load)
        read_before = next((event for event in events if event.event_type == EXTRACTED), None)
        if read_before is not None:
            return dict(read_before.payload)
        by_id = {row.id: row for row in rows if row.status in (Status.ACTIVE, Status.ARCHIVED)}
        sources = [by_id[id_] for id_ in ids if id_ in by_id]
        if not sources:
            return {"extractor": self._name(), "memories": [], "skipped": "The messages are gone."}
        assignment = assignment_of(job)
        known = [*(Utterance("tool", text) for text in tools), *(_utterance(row, job) for row in earlier)]
        said = [*known, *(_utterance(row, job) for row in sources)]
        origins = [MessageOrigin()] * len(known) + [MessageOrigin(row.id, session, row.event_time) for row in sources]
        spent: list[Usage] = []
        try:
            shows_known = job.payload.get("shows_known", True)
            drafts = self._drafts(assignment, said, origins, spent, shows_known, since=len(known))
        except LlmError as error:
            self._tell_failure(job, sources[0], error, spent)
            raise
        finally:
            self._count(job, spent)
        return self._store_found(job, sources, drafts, _sum(spent))

    def _drafts(
        self,
        assignment: Assignment,
        said: Sequence[Utterance],
        origins: Sequence[MessageOrigin],
        spent: list[Usage],
        shows_known: bool,
        since: int = 0,
    ) -> list[Draft]:
        """What is found, without what its door would not take: entries of the companion are short, and not repeated."""
        is_entry = assignment.governed_by is Governor.COMPANION and assignment.principal.user is not None
        told = self._companion().told(assignment.principal) if is_entry and shows_known else ""
        known = set(self._companion().texts(assignment.principal)) if is_entry else set()
        drafts = []
        for one in self._candidates(said, assignment.vocabulary, spent, since, told):
            text = one.content.casefold()
            if not is_entry or (len(one.content) <= MAX_ENTRY and text not in known):
                drafts.append(draft_of(one, assignment, origins[one.source], self._name(assignment.vocabulary)))
                known.add(text)
        return drafts

    def _count(self, job: Job, spent: Sequence[Usage]) -> None:
        """Whatever comes of them, calls were made."""
        if job.id in self._awaited:
            self._awaited[job.id] = _sum([self._awaited[job.id], *spent])
        if _is_of_a_turn(job):
            self._spending.add(job.tenant, spent)

    def _store_found(self, job: Job, sources: Sequence[Memory], drafts: Sequence[Draft], usage: Usage) -> Result:
        result: dict[str, Any] = {"extractor": self._name()}

        def note(tx: Writer, results: Sequence[Remembered]) -> None:
            ids = {source.id for source in sources}
            # They stay until this is written, so that an erasure of one of them finds what was learned from it.
            if tx.memories.hold(sorted(ids)) != ids:
                raise NotFound("A message was erased while it was read.")
            result["memories"] = [{"id": one.memory.id, "was_new": one.was_new} for one in results]
            result.update(_spent(usage))
            # The first message tells all; the others, that they were read.
            payloads = [result, *[{"extractor": self._name(), "with": sources[0].id} for _ in sources[1:]]]
            tx.events.append(
                event_by(job.principal, source.id, EXTRACTED, self._clock.now(), payload)
                for source, payload in zip(sources, payloads, strict=True)
            )

        # A memory outlives its session: the same one, stated in another session, is the same memory.
        principal = replace(job.principal, session=None)
        try:
            self._facts.remember_all(principal, drafts, idempotency_key=f"extract-{job.id}", also=note)
        except IdempotencyMismatch:
            # Another attempt, which was given up for lost, has stored what it found.
            return {"extractor": self._name(), "memories": [], "skipped": "Another attempt stored them."}
        except NotFound:
            return {"extractor": self._name(), "memories": [], "skipped": "The messages are gone."}
        return result

    def _candidates(
        self,
        messages: Sequence[Utterance],
        vocabulary: Vocabulary,
        spent: list[Usage],
        since: int = 0,
        known: str = "",
    ) -> list[Candidate]:
        """What is found in the messages from number `since` on."""
        llm = self._model(vocabulary)
        if llm is not None:
            from memorist.learning.asking import ask  # Likewise.

            return [one for one in ask(llm, messages, spent, known) if one.source >= since]
        from memorist.learning.extractors.local import extract_locally  # Its rules take a moment to load.

        return extract_locally(messages, vocabulary, self._tagger(), since=since)

    def _model(self, vocabulary: Vocabulary | None = None) -> Llm | None:
        if self._mode is not LearningMode.AUTO:
            return None
        return self._sessions_llm() if vocabulary is Vocabulary.FACTS else self._llm()

    def _name(self, vocabulary: Vocabulary | None = None) -> str:
        llm = self._model(vocabulary)
        return llm.model_id if llm is not None else "off" if self._mode is LearningMode.OFF else "local"

    def _tell_failure(self, job: Job, source: Memory, error: LlmError, spent: Sequence[Usage]) -> None:
        payload = {"code": error.code, "attempt": job.attempts, "extractor": self._name(), **_spent(_sum(spent))}
        event = event_by(job.principal, source.id, FAILED, self._clock.now(), payload)
        self._store.write(job.tenant, lambda tx: tx.events.append([event]))


def _said_before(tx: Reader, rows: Sequence[Memory], session: str) -> list[Memory]:
    """The last message before one, where it has one near."""
    earlier = [one for row in rows for one in tx.surroundings.said_around(row, session, _NEAR, 0)[0]]
    return [one for one in earlier if one.kind is Kind.CHAT_MESSAGE][-1:]


def _utterances(messages: Sequence[Message]) -> tuple[Utterance, ...]:
    return keyed(
        [Utterance(role_of(message.role), message.content, message.name, message.event_time) for message in messages]
    )


def _utterance(row: Memory, job: Job) -> Utterance:
    meta = row.meta or {}
    # What is said in a turn is said now: "tomorrow" has a date there.
    said_at = row.event_time or (row.created_at if _is_of_a_turn(job) else None)
    return Utterance(role_of(str(meta.get("role"))), row.content, meta.get("speaker"), said_at)


def _is_of_a_turn(job: Job) -> bool:
    return (job.payload["source_ref"] or "").startswith("turn_")


def _session_of(transcript: Transcript) -> str:
    """The transcript's own session or, where it names none, one that is the same whenever it is sent."""
    if transcript.session:
        return _NO_IDENTIFIER.sub("_", transcript.session)[: validation.MAX_IDENTIFIER]
    first = transcript.messages[0].key if transcript.messages else ""
    return f"transcript-{hashlib.sha256(first.encode()).hexdigest()[:16]}"


def windows(items: Sequence[Any]) -> Iterator[list[Any]]:
    """Messages that follow each other, as many as are read at once."""
    window: list[Any] = []
    size = 0
    for item in items:
        length = len((item[1] if isinstance(item, tuple) else item).content)
        if window and (len(window) == _MESSAGES_AT_ONCE or size + length > _CHARACTERS_AT_ONCE):
            yield window
            window, size = [], 0
        window.append(item)
        size += length
    if window:
        yield window


def _sum(usages: Sequence[Usage]) -> Usage:
    total = Usage()
    for usage in usages:
        total = total.plus(usage)
    return total


def _spent(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost_usd,
    }

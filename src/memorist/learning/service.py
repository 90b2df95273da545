"""From conversations to memories: what was said is stored first, then what is worth remembering is found in it.

Finding it is a job, promised in the transaction that stores the messages: what goes wrong with it is seen in the
message's history and in `memorist jobs`, is tried again, and is never the caller's error. How a job is done is told in
`parts`.
"""

import hashlib
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from memorist.errors import LlmError, LlmUnavailable, StoreError
from memorist.facts.service import Facts
from memorist.ingestion.service import Message
from memorist.learning.drafts import Assignment, MessageOrigin
from memorist.learning.earlier import understood_by
from memorist.learning.extractors.kinds import Candidate, Vocabulary
from memorist.learning.extractors.transcripts import Transcript, Utterance, keyed, parse_transcript, role_of
from memorist.learning.finding import LOCAL, Finder, LearningMode
from memorist.learning.outcomes import EXTRACTING
from memorist.learning.parts import Parts
from memorist.learning.sources import Sources
from memorist.memories.values import Governor, Memory, Remembered
from memorist.models.values import Usage
from memorist.platform import validation
from memorist.platform.jobs import CLAIMED_FOR, Jobs
from memorist.platform.redaction import Redaction
from memorist.platform.spending import Spending
from memorist.platform.values import Job, JobStatus, Principal
from memorist.ports import Store, Writer
from memorist.secrets.logs import redacting_logger
from memorist.times import Clock

_log = redacting_logger(__name__)

_MESSAGES_AT_ONCE = 40
# About what a small model reads with full attention.
_CHARACTERS_AT_ONCE = 16_000
_NO_IDENTIFIER = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")

Report = Callable[[int, int], None]
"""Told how many parts of a conversation were read, and how many there are."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What was found in a conversation that is not stored: what, by whom, and what it took."""

    candidates: tuple[Candidate, ...]
    messages: tuple[Utterance, ...]
    skipped: int
    extractor: str
    usage: Usage
    dropped: Mapping[str, int]
    """How much was found and dropped, by the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedMemories:
    """What came of a conversation. `waiting`: parts of it that a language model could not read now. The local extractor
    read these, and the model is asked again later.
    """

    memories: tuple[Remembered, ...]
    messages: int
    extractor: str
    usage: Usage
    dropped: Mapping[str, int]
    session: str = ""
    known: int = 0
    skipped: int = 0
    waiting: int = 0
    failure: str | None = None
    """The code of the error for which the local extractor read what is not tried again."""


class Extraction:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        sources: Sources,
        facts: Facts,
        jobs: Jobs,
        redaction: Redaction,
        finder: Finder,
    ) -> None:
        self._store = store
        self._clock = clock
        self._sources = sources
        self._facts = facts
        self._jobs = jobs
        self._redaction = redaction
        self._finder = finder
        self._spending = Spending(store, clock)
        self.parts = Parts(store, clock, sources, facts, jobs, finder, self._spending)

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
        if project is not None:
            validation.text("project", project, longest=validation.MAX_LINE, empty=True, one_line=True)
        transcript = parse_transcript(validation.kind_of("transcript", text, str, "a text"))
        return self._read(
            principal,
            replace(
                transcript,
                session=session or _own_session(transcript),
                project=(project or "").strip() or _own_project(transcript),
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
        self,
        principal: Principal,
        session: str,
        messages: Sequence[Message],
        *,
        turn: str,
        before: Sequence[Message] = (),
    ) -> list[Memory]:
        """Store what is said in a turn, one message of a role, and of what was said `before` what the session does not
        have. Nothing is found in them yet, nor are they found by meaning. Returns those that are new.

        Raises InvalidField, Forbidden or StoreError.
        """
        said = [replace(one, key=f"{turn}/{one.role}") for one in _utterances(messages)]
        return self._sources.add_said(principal, session, said, before=_utterances(before))

    def index_kept(self, principal: Principal, kept: Sequence[Memory]) -> None:
        """Let messages that were kept be found by meaning."""
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
        wait: bool = True,
    ) -> ExtractedMemories:
        """Find what is worth remembering in messages that were kept before. It never fails: see `waiting`.

        With `shows_known` a language model is told what is remembered already. Without `wait` the memories are found in
        the background, or after the next start.
        """
        payload = {
            "session": session,
            "project": None,
            "vocabulary": str(vocabulary),
            "source_ref": source_ref,
            "shows_known": shows_known,
        }
        promised = (
            self._store.write(principal.tenant, lambda tx: self._promise(tx, principal, payload, kept, claimed=wait))
            if kept
            else []
        )
        return self._done(principal, session, vocabulary, promised, messages=len(kept), wait=wait)

    def read_unkept(
        self,
        principal: Principal,
        messages: Sequence[Message],
        *,
        before: Sequence[Message] = (),
        source_ref: str,
        spent: list[Usage],
        shows_known: bool = True,
        locally: bool = False,
    ) -> ExtractedMemories:
        """Find entries of the companion in messages of which nothing is stored, once and now: none of it is kept to be
        read again, so that what a language model fails to read is read by the local extractor alone. What was said
        `before` tells what they are about. What the calls take is added to `spent`, also where one fails. With
        `locally` no language model is asked.
        """
        found: list[Remembered] = []
        dropped: Counter[str] = Counter()
        failure: str | None = None
        now = self._clock.now()
        earlier, said = (
            [replace(one, content=self._redaction.text(one.content), time=one.time or now) for one in some]
            for some in (understood_by(_utterances(before), _itself), _utterances(messages))
        )
        assignment = Assignment(principal, Governor.COMPANION, Vocabulary.COMPANION, source_ref)
        for window in windows(said) if self._finder.mode is not LearningMode.OFF else ():
            spent_before = len(spent)
            read = partial(
                self._finder.drafts,
                assignment,
                [*earlier, *window],
                [MessageOrigin()] * len([*earlier, *window]),
                spent,
                since=len(earlier),
            )
            try:
                of_window = read(shows_known=shows_known, locally=locally)
            except LlmError as error:
                failure = error.code
                _log.warning("a turn is read locally: %s", error.message)
                of_window = read(locally=True)
            finally:
                self._spending.add(principal.tenant, spent[spent_before:])
            earlier = understood_by([*earlier, *window], _itself)
            found += self._facts.remember_all(replace(principal, session=None), of_window.drafts)
            dropped += of_window.dropped
        return ExtractedMemories(
            memories=tuple(found),
            messages=len(messages),
            extractor=self._finder.name(Vocabulary.COMPANION),
            usage=Usage.of_all(spent),
            dropped=dropped,
            failure=failure,
        )

    def find(self, text: str, *, vocabulary: Vocabulary = Vocabulary.CODING, report: Report | None = None) -> Preview:
        """What would be found in a transcript; nothing is stored. Raises LlmError."""
        transcript = parse_transcript(text)
        messages = tuple(replace(one, content=self._redaction.text(one.content)) for one in transcript.messages)
        tools = [one for one in messages if one.role == "tool"]
        usage = Usage()
        found: list[Candidate] = []
        dropped: Counter[str] = Counter()
        parts = list(windows([(index, one) for index, one in enumerate(messages) if one.role != "tool"]))
        for number, window in enumerate(parts if self._finder.mode is not LearningMode.OFF else []):
            spent: list[Usage] = []
            before = [one for one in messages[: window[0][0]] if one.role != "tool"]
            known = [*tools, *understood_by(before, _itself)]
            said = [*known, *(one for _, one in window)]
            findings = self._finder.find(said, vocabulary, spent, since=len(known))
            found += [replace(one, source=window[one.source - len(known)][0]) for one in findings.candidates]
            dropped += findings.dropped
            usage = Usage.of_all([usage, *spent])
            if report is not None:
                report(number + 1, len(parts))
        name = self._finder.name(vocabulary)
        return Preview(tuple(found), messages, transcript.skipped, name, usage, dropped)

    # Promising

    def promise(self, tx: Writer, principal: Principal, session: str, messages: Sequence[Memory]) -> None:
        """Promise to look for facts in messages of a session, inside the transaction that stores them."""
        if any(row.meta_text("role") == "user" or row.meta_text("speaker") for row in messages):
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
        session = _made_up_session(transcript) if transcript.session is None else transcript.session
        payload = {
            "session": session,
            "tells_session": transcript.session is not None,
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
            vocabulary,
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
        if self._finder.mode is LearningMode.OFF:
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
        vocabulary: Vocabulary,
        promised: Sequence[Job],
        *,
        messages: int,
        known: int = 0,
        skipped: int = 0,
        report: Report | None = None,
        wait: bool = True,
    ) -> ExtractedMemories:
        """Do what was promised, unless the background does, and tell what came of it."""
        results: list[Mapping[str, Any]] = []
        usage = Usage()
        waiting = len(promised)
        gone: LlmUnavailable | None = None
        for number, job in enumerate(self._kept(promised) if wait else ()):
            done, awaited = self.parts.run(job, gone)
            gone = awaited.gone
            usage = usage.plus(awaited.usage)
            is_done = done.status is JobStatus.DONE
            waiting -= is_done
            results.append((done.result or {}) if is_done else {"memories": awaited.stand_ins})
            if report is not None:
                report(number + 1, len(promised))
        dropped: Counter[str] = Counter()
        for result in results:
            dropped.update(result.get("dropped", {}))
        return ExtractedMemories(
            memories=self._remembered(principal, results),
            session=session,
            messages=messages,
            known=known,
            skipped=skipped,
            waiting=waiting,
            extractor=_readers(self._finder.name(vocabulary), parts=len(promised), waiting=waiting if wait else 0),
            usage=usage,
            dropped=dropped,
        )

    def _kept(self, promised: Sequence[Job]) -> Iterator[Job]:
        """Jobs one after the other. Those that are not done yet stay claimed, however long the ones before them take.
        One that was given away nevertheless is left to whoever has it.
        """
        renewed = self._clock.now()
        left = deque(promised)
        while left:
            if self._clock.now() - renewed > CLAIMED_FOR / 2:
                renewed = self._clock.now()
                left = deque(job for job in left if self._is_kept(job))
            if left:
                yield left.popleft()

    def _is_kept(self, job: Job) -> bool:
        try:
            return self._jobs.keep(job)
        except StoreError as error:
            _log.warning("the job %s is not kept: %s", job.id, error.message)
            return False

    def _remembered(self, principal: Principal, results: Sequence[Mapping[str, Any]]) -> tuple[Remembered, ...]:
        was_new: dict[str, bool] = {}
        for one in (one for result in results for one in result.get("memories", ())):
            # What is found in several parts is new where the first of them had it.
            was_new[one["id"]] = was_new.get(one["id"], False) or one["was_new"]
        rows = self._store.read(principal.tenant, lambda tx: tx.memories.get_many(list(was_new))) if was_new else []
        by_id = {memory.id: memory for memory in rows}
        return tuple(Remembered(by_id[id_], is_new) for id_, is_new in was_new.items() if id_ in by_id)


def _itself(one: Utterance) -> Utterance:
    return one


def _utterances(messages: Sequence[Message]) -> tuple[Utterance, ...]:
    return keyed(
        [Utterance(role_of(message.role), message.content, message.name, message.event_time) for message in messages]
    )


def _readers(extractor: str, *, parts: int, waiting: int) -> str:
    """Who read the parts of a conversation: of those that wait for a language model, the local extractor."""
    named = [extractor] * (waiting < parts or not parts) + [LOCAL] * (waiting > 0)
    return " and ".join(dict.fromkeys(named))


def _own_session(transcript: Transcript) -> str | None:
    """The session that the transcript names, as it can be stored."""
    return _NO_IDENTIFIER.sub("_", transcript.session or "")[: validation.MAX_IDENTIFIER] or None


def _own_project(transcript: Transcript) -> str | None:
    """The project that the transcript names, likewise: a folder may have any name."""
    # JSON can spell a NUL and a lone surrogate.
    named = (transcript.project or "").replace("\0", " ").encode("utf-8", "replace").decode()
    return " ".join(named.splitlines()).strip()[: validation.MAX_LINE] or None


def _made_up_session(transcript: Transcript) -> str:
    """Where the messages of a transcript go that names no session: the same whenever it is sent."""
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

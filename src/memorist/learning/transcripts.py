"""A conversation that goes on: stored as it grows, and read for memories once it is over.

Reading it in one go costs a language model far less than reading it turn by turn, and it understands more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from memorist.learning.extractors.kinds import Vocabulary
from memorist.learning.extractors.transcripts import parse_transcript
from memorist.learning.finding import LearningMode
from memorist.learning.outcomes import EXTRACTING
from memorist.learning.service import windows
from memorist.learning.sources import Sources
from memorist.learning.taking_back import EXTRACTED
from memorist.memories.values import Kind, Memory, Position, Query
from memorist.platform import access, validation
from memorist.platform.jobs import Jobs
from memorist.platform.values import Job, JobStatus, OwnerFilter, Principal
from memorist.ports import Reader, Store, Writer
from memorist.times import Clock

_PAGE = 500


class Transcripts:
    def __init__(self, store: Store, clock: Clock, sources: Sources, jobs: Jobs, mode: str) -> None:
        self._store = store
        self._clock = clock
        self._sources = sources
        self._jobs = jobs
        self._mode = LearningMode(mode)

    def keep(self, principal: Principal, session: str, text: str) -> int:
        """Store a part of a transcript, without what the session has already. Returns how many messages are new.

        Raises InvalidField, Forbidden or StoreError.
        """
        return len(self._sources.add(principal, session, parse_transcript(text).messages, _promise_nothing))

    def read(self, principal: Principal, session: str, *, project: str | None = None) -> int:
        """Look for memories in what was kept of a session and not read before. Returns how many parts were read.

        What goes wrong with finding them is tried again in the background. Raises Forbidden or StoreError.
        """
        if self._mode is LearningMode.OFF:
            return 0
        begun = self._clock.now()
        unread = self._store.read(principal.tenant, lambda tx: self._unread(tx, principal, session))

        def promise(tx: Writer) -> list[Job]:
            payload = {
                "session": session,
                "project": None if project is None else project[: validation.MAX_LINE],
                "vocabulary": str(Vocabulary.CODING),
                "source_ref": None,
            }
            return [
                self._jobs.add(
                    tx,
                    principal,
                    EXTRACTING,
                    {**payload, "messages": [memory.id for memory in window]},
                    # Whoever promised it first does it.
                    key=f"{window[0].id} {window[-1].id}",
                    claimed=True,
                )
                for window in windows(unread)
            ]

        promised = self._store.write(principal.tenant, promise) if unread else []
        # What was promised before is another's, unless its time has come again, or is over.
        own = [job for job in promised if job.created_at >= begun or job.run_at <= begun]
        read = [job for job in own if job.status is JobStatus.WAITING]
        for job in read:
            self._jobs.run(job)
        return len(read)

    def _unread(self, tx: Reader, principal: Principal, session: str) -> list[Memory]:
        rows = sorted(self._messages(tx, principal, session), key=lambda row: (row.created_at, row.id))
        read = {
            event.memory_id
            for start in range(0, len(rows), _PAGE)
            for event in tx.events.of([row.id for row in rows[start : start + _PAGE]])
            if event.event_type == EXTRACTED
        }
        return [row for row in rows if row.id not in read]

    def _messages(self, tx: Reader, principal: Principal, session: str) -> Iterator[Memory]:
        owner = access.writable_owner(principal, None)
        query = Query((OwnerFilter(owner.user, owner.agent),), kind=Kind.CHAT_MESSAGE, session=session, limit=_PAGE)
        while page := tx.memories.page(query, self._clock.now()):
            yield from page
            query = replace(query, after=Position(page[-1].created_at, page[-1].id))


def _promise_nothing(tx: Writer, new: Sequence[Memory]) -> None:
    """What is kept is read later."""

"""Work that is promised now and done later: judging and extraction.

A job is a row, written in the transaction of what caused it: it is not lost when a process dies. Whoever takes one
moves its time on, and does so again while it works, so that others leave it alone, and find it where the taker is gone.
A job that fails is tried again, later each time, and at last is dead: kept, with its error, until somebody retries or
drops it. An attempt may be interrupted anywhere, so a handler must not mind running twice; what must happen once goes
into the function that a handler returns, which runs in the transaction that notes the job as done.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from memorist.errors import Conflict, Forbidden, Invalid, LlmRefused, MemoristError, NotFound
from memorist.ids import new_id, parse_id
from memorist.models.fair_share import BACKGROUND, WHOSE
from memorist.platform import access, validation
from memorist.platform.acts import working
from memorist.platform.loop import Loop, TenantLoop, unexpected_is_logged
from memorist.platform.paging import Page, id_cursors, page_of
from memorist.platform.redaction import Redaction
from memorist.platform.rounds import all_due
from memorist.platform.values import DueWork, Job, JobStatus, Principal
from memorist.ports import Reader, Store, Writer
from memorist.secrets.logs import redacting_logger
from memorist.times import Clock
from memorist.watching import Watch

_log = redacting_logger(__name__)

Result = Mapping[str, Any] | None
Handler = Callable[[Job], Result | Callable[[Writer], Result]]
"""Does a job and returns what to note as its result, or a function that does the rest in the noting transaction.

Whatever it raises is a failed attempt; `retry_after` on the error (seconds) puts the next one off at least so long, and
`so_far` is the result until there is a better one.
"""

ATTEMPTS = 8
CLAIMED_FOR = timedelta(minutes=5)
_EXTEND_EVERY_S = 60.0
_FIRST_WAIT_S = 5.0
_WAIT_FACTOR = 3.0
_LONGEST_WAIT_S = 900.0
_LONGEST_RETRY_AFTER_S = 3600.0
_DONE_KEPT_FOR = timedelta(days=7)
_TIDY_EVERY_S = 3600.0
_AT_ONCE = 4
_MOST_LOOKED_AT = 100_000
_POLL_SECONDS = 1.0
_MOST_DOUBLINGS = 5
_GRACE_S = 5.0
_LONGEST_ERROR = 1000
# Trying again gives the same answer.
_FINAL = (Invalid, Forbidden, NotFound, LlmRefused)
_CURSORS = id_cursors("jobs", "job")


class Jobs:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        handlers: Mapping[str, Handler],
        redaction: Redaction | None = None,
        *,
        before: Callable[[Job], bool] = lambda _: True,
        background: bool = True,
        watch: Watch | None = None,
    ) -> None:
        """Without `background` nothing is done before it is asked for: by `run` or `run_due`. `before` may wait a while
        for what goes first, where a job is done in the background, and says whether it is done.
        """
        self._before = before
        self._watch = watch or Watch()
        self._redaction = redaction or Redaction()
        self._store = store
        self._clock = clock
        self._handlers = handlers
        self._tidied = float("-inf")
        self._looked: set[str] = set()
        self._running: set[threading.Thread] = set()
        self._handing_out = threading.Lock()
        self._worked_on: dict[tuple[str, int], Job] = {}
        """What is done here and now, by its id and attempt."""
        self._claims = Loop("claims", self.extend_claims, _EXTEND_EVERY_S, at_once=False, background=background)
        self._loop = TenantLoop(
            "jobs",
            self._find_due,
            self._hand_out,
            _POLL_SECONDS,
            _MOST_DOUBLINGS,
            background=background,
            last=self._give_them_a_moment,
        )

    # Promising

    def add(
        self,
        tx: Writer,
        principal: Principal,
        kind: str,
        payload: Mapping[str, Any],
        *,
        key: str | None = None,
        claimed: bool = False,
    ) -> Job:
        """Promise a job inside the transaction of its cause; it will act as the principal.

        Under a `key` a job of a kind is added once, and the one that was added comes back. After the transaction, call
        `wake`, or `run` where it was `claimed`: then nobody else takes it for some minutes.
        """
        now = self._clock.now()
        return tx.jobs.insert(
            Job(
                id=new_id("job"),
                kind=kind,
                principal=replace(principal, key_id=None),
                payload=self._redaction.json(validation.payload(payload)),
                run_at=now + CLAIMED_FOR if claimed else now,
                created_at=now,
                updated_at=now,
                key=key,
                attempts=1 if claimed else 0,
            )
        )

    def promise(self, principal: Principal, kind: str, payload: Mapping[str, Any], *, key: str | None = None) -> Job:
        """Promise a job that nothing else in the store goes with, and have it done soon. Raises StoreError."""
        job = self._store.write(principal.tenant, lambda tx: self.add(tx, principal, kind, payload, key=key))
        self.wake(principal.tenant)
        return job

    def note(self, job: Job, so_far: Mapping[str, Any]) -> bool:
        """Say how far an attempt is, and keep the job for it some minutes more. False where it is no longer its own:
        then it must not go on.
        """
        now = self._clock.now()
        noted = replace(job, run_at=now + CLAIMED_FOR, result=so_far, updated_at=now)
        is_its_own = self._store.write(job.tenant, lambda tx: tx.jobs.finish(noted))
        if (job.id, job.attempts) in self._worked_on:
            self._worked_on[job.id, job.attempts] = noted
        return is_its_own

    def keep(self, job: Job) -> bool:
        """Keep a job that is claimed here, and not begun, some minutes more. False where it is no longer its own."""
        until = self._clock.now() + CLAIMED_FOR
        return self._store.write(job.tenant, lambda tx: tx.jobs.extend(job, until), is_told=False)

    def wake(self, tenant: str) -> None:
        """See to it that what was added is done soon, in the background. Never waits and never fails."""
        self._loop.tell(tenant)

    # Doing

    def run(self, job: Job) -> Job:
        """Do a claimed job here and now, and forget it where it succeeds; otherwise it is retried in the background.
        One that is over comes back as it is: a dead one waits for somebody to retry it.

        Never raises: how it went is in the job that comes back.
        """
        if job.status is not JobStatus.WAITING:
            return job
        with self._working_on(job):
            done = self._attempt(job, forget=True)
        if done.status is JobStatus.WAITING or self._was_left(job.tenant):
            self.wake(job.tenant)
        return done

    def _was_left(self, tenant: str) -> bool:
        """Whether a process that is gone left something to do; looked at once, where no server does."""
        if tenant in self._looked:
            return False
        if len(self._looked) >= _MOST_LOOKED_AT:
            self._looked.clear()
        self._looked.add(tenant)
        now = self._clock.now()
        try:
            return self._store.read(tenant, lambda tx: tx.jobs.has_due(now), snapshot=False)
        except MemoristError as error:
            _log.warning("jobs of %s wait: %s", tenant, error.message)
            return False

    def run_due(self, tenant: str) -> int:
        """Do all jobs of a tenant that are due, here and now, one after the other. Returns how many there were."""
        count = 0
        while claimed := self._claim(tenant, 1):
            with self._working_on(claimed[0]):
                self._attempt(claimed[0])
            count += 1
        return count

    def finish(self, tenant: str) -> None:
        """Do all jobs of a tenant that are due, and wait for those that the background is at, with whatever comes of
        them: for who ends then, and whom nobody follows.
        """
        with self._handing_out:  # Nothing is begun in the background meanwhile.
            while True:
                running = list(self._running)
                count = self.run_due(tenant)
                for thread in running:
                    thread.join()
                if not count and not running:
                    return

    def _claim(self, tenant: str, limit: int) -> list[Job]:
        now = self._clock.now()
        # Looked for before it is claimed: a claim is a write, and there is mostly nothing to do.
        if not self._store.read(tenant, lambda tx: tx.jobs.has_due(now), snapshot=False):
            return []
        until = now + CLAIMED_FOR

        def work(tx: Writer) -> list[Job]:
            # What is worked on here is late, not lost, even where it could not be said in time.
            self._extend(tx, tenant, until)
            return tx.jobs.claim(now, until, limit)

        return self._store.write(tenant, work)

    @contextmanager
    def _working_on(self, job: Job) -> Iterator[None]:
        self._worked_on[job.id, job.attempts] = job
        self._claims.start()
        try:
            yield
        finally:
            self._worked_on.pop((job.id, job.attempts), None)

    def extend_claims(self) -> None:
        """Keep what is worked on here some minutes more, however long a model takes: others would begin it again."""
        until = self._clock.now() + CLAIMED_FOR
        self._claims.each(
            sorted({job.tenant for job in list(self._worked_on.values())}),
            lambda name: self._store.write(name, lambda tx: self._extend(tx, name, until), is_told=False),
        )

    def _extend(self, tx: Writer, tenant: str, until: datetime) -> None:
        # In the order of ids, so that no two processes wait for each other.
        for _, job in sorted(list(self._worked_on.items())):
            if job.tenant == tenant:
                tx.jobs.extend(job, until)

    @property
    def running(self) -> int:
        """How many jobs are worked on in the background."""
        return len(self._running)

    def _attempt(self, job: Job, *, forget: bool = False) -> Job:
        # A row may be of a kind that another release knew.
        with self._watch.timed("job", job.kind if job.kind in self._handlers else "other"):
            done = self._tried(job, forget=forget)
        self._watch.count("attempt", done.status)
        return done

    def _tried(self, job: Job, *, forget: bool) -> Job:
        try:
            if job.attempts > ATTEMPTS:
                raise Conflict("Every attempt ended before it could say how: the process was stopped, or hung.")
            handler = self._handlers.get(job.kind)
            if handler is None:
                raise NotFound(f"Nothing here does jobs of the kind {job.kind!r}.")
            with working(job.principal, f"job {job.kind}"), unexpected_is_logged(f"the job {job.id} ({job.kind})"):
                return self._succeed(job, handler(job), forget=forget)
        except MemoristError as error:
            return self._fail(job, error)

    def _succeed(self, job: Job, result: Result | Callable[[Writer], Result], *, forget: bool) -> Job:
        def work(tx: Writer) -> Job:
            noted = result(tx) if callable(result) else result
            now = self._clock.now()
            done = replace(job, status=JobStatus.DONE, run_at=now, result=noted, error=None, updated_at=now)
            if not tx.jobs.finish(done):
                raise _GivenAway
            if forget:
                tx.jobs.drop(job.id)
            return done

        try:
            return self._store.write(job.tenant, work)
        except _GivenAway:
            return job

    def _fail(self, job: Job, error: MemoristError) -> Job:
        now = self._clock.now()
        is_dead = isinstance(error, _FINAL) or job.attempts >= ATTEMPTS
        failed = replace(
            job,
            status=JobStatus.DEAD if is_dead else JobStatus.WAITING,
            run_at=now if is_dead else now + timedelta(seconds=wait_before(job.attempts + 1, _retry_after(error))),
            error=self._redaction.text(f"{error.message} [{error.code}]")[:_LONGEST_ERROR],
            result=getattr(error, "so_far", None) or job.result,
            updated_at=now,
        )
        _log.warning("the job %s (%s) %s: %s", job.id, job.kind, "is dead" if is_dead else "waits", failed.error)
        try:
            self._store.write(job.tenant, lambda tx: tx.jobs.finish(failed))
        except MemoristError as refusal:
            # Nothing is lost: it is due again when the claim ends.
            _log.warning("how the job %s went was not noted: %s", job.id, refusal.message)
        return failed

    # In the background

    def start(self, *, everybody: bool = True) -> None:
        """For servers: do what is due of all tenants, from now on, or what is promised here."""
        if everybody:
            self._loop.tell_of_everybody()
        else:
            self._loop.leave_to_another()

    def let_go(self) -> None:
        """Take no more jobs: everything ends. Those that run are given their moment while others end as well."""
        self._loop.stop()

    def close(self) -> None:
        """Take no more jobs, and give those that run a moment; what they do not finish is done again later."""
        self._loop.close()
        self._claims.close()

    def _give_them_a_moment(self) -> None:
        deadline = time.monotonic() + _GRACE_S
        for thread in list(self._running):
            thread.join(max(0.0, deadline - time.monotonic()))

    def _hand_out(self, tenant: str) -> None:
        """Start what is due, as far as there is room. Raises StoreError."""
        free = _AT_ONCE - len(self._running)
        if free <= 0:
            self._loop.again(tenant)
            return
        with self._handing_out:
            for job in self._claim(tenant, free):
                thread = threading.Thread(target=self._work, args=(job,), name="memorist-job", daemon=True)
                self._running.add(thread)
                thread.start()
        self._tidy()

    def _work(self, job: Job) -> None:
        WHOSE.set(BACKGROUND)
        try:
            with self._working_on(job):
                is_wanted = self._before(job) or not self._loop.stopping
                if is_wanted:
                    self._attempt(job)
            if not is_wanted:
                self._give_back(job)
        finally:
            self._running.discard(threading.current_thread())
            # More may be due than there was room for.
            self._loop.tell(job.tenant)

    def _give_back(self, job: Job) -> None:
        """Let another process have it at once."""
        now = self._clock.now()
        try:
            self._store.write(job.tenant, lambda tx: tx.jobs.finish(replace(job, run_at=now, updated_at=now)))
        except MemoristError as refusal:
            _log.warning("the job %s is due when its claim ends: %s", job.id, refusal.message)

    def _find_due(self, after: str, limit: int) -> list[str]:
        self._tidy()
        return self._store.due_tenants(DueWork.JOBS, self._clock.now(), after=after, limit=limit)

    def _tidy(self) -> None:
        """Remove the jobs that were done long ago, now and then, whoever's they are. Raises StoreError."""
        if time.monotonic() - self._tidied > _TIDY_EVERY_S:
            self._tidied = time.monotonic()
            before = self._clock.now() - _DONE_KEPT_FOR
            due = all_due(self._store, DueWork.OLD_JOBS, before)
            self._loop.each(
                due, lambda name: self._store.write(name, lambda tx: tx.jobs.drop_done(before), is_told=False)
            )

    # Looking after them

    def list(
        self,
        principal: Principal,
        *,
        status: JobStatus | None = None,
        kind: str | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Page[Job]:
        """A page of the caller's jobs, newest first; of everybody's for an admin that acts for nobody.

        Raises InvalidField, InvalidCursor or Forbidden.
        """
        validation.page_limit(limit)
        status = None if status is None else validation.choice("status", status, JobStatus)
        if kind is not None:
            validation.slug("kind", kind)
        before = _CURSORS.decode(cursor)
        slices = access.own_slices(principal)

        def work(tx: Reader) -> list[Job]:
            found = [job for part in slices for job in tx.jobs.page(part, before, limit + 1, status=status, kind=kind)]
            return sorted(found, key=lambda job: job.id, reverse=True)

        found = self._store.read(principal.tenant, work)
        return page_of(found, limit, lambda last: _CURSORS.encode(last.id))

    def get(self, principal: Principal, job_id: str) -> Job:
        """One job of the caller's. Raises NotFound or InvalidId."""
        job_id = parse_id("job", job_id)
        return _own(principal, self._store.read(principal.tenant, lambda tx: tx.jobs.get(job_id)), job_id)

    def retry(self, principal: Principal, job_id: str) -> Job:
        """Make a job due now, whatever it waits for; a dead one gets all its attempts again.

        Raises NotFound, Forbidden, or Conflict where it is done.
        """
        job_id = parse_id("job", job_id)

        def work(tx: Writer) -> Job:
            _own(principal, tx.jobs.get(job_id), job_id)
            access.require(principal, access.Action.WRITE)
            if not tx.jobs.retry(job_id, self._clock.now()):
                raise Conflict("That job is done: there is nothing to retry.")
            return _own(principal, tx.jobs.get(job_id), job_id)

        job = self._store.write(principal.tenant, work)
        self.wake(principal.tenant)
        return job

    def drop(self, principal: Principal, job_id: str) -> Job:
        """Remove a job: what it was to do is not done. Raises NotFound or Forbidden."""
        job_id = parse_id("job", job_id)

        def work(tx: Writer) -> Job:
            job = _own(principal, tx.jobs.get(job_id), job_id)
            access.require(principal, access.Action.WRITE)
            tx.jobs.drop(job_id)
            return job

        return self._store.write(principal.tenant, work)


def wait_before(attempt: int, retry_after: float | None = None) -> float:
    """Seconds before an attempt, counted from 1: three times as long each time, spread, and not before it is asked."""
    wait = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * _WAIT_FACTOR ** max(0, attempt - 2)) * random.uniform(0.75, 1.25)
    return max(wait, min(retry_after or 0.0, _LONGEST_RETRY_AFTER_S))


class _GivenAway(Exception):
    """Undoes an attempt that took too long: another one has the job now."""


def _retry_after(error: MemoristError) -> float | None:
    seconds = getattr(error, "retry_after", None)
    return float(seconds) if isinstance(seconds, int | float) else None


def _own(principal: Principal, job: Job | None, job_id: str) -> Job:
    if job is None or not any(part.matches(job.owner) for part in access.own_slices(principal)):
        raise NotFound(f"There is no job {job_id} that you may see.")
    return job

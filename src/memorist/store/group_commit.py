"""Concurrent writers share one transaction: each pays for its own statements, and together for one flush to disk."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from memorist.errors import StoreError

T = TypeVar("T")

# Enough to spread the cost of a flush; few enough that nobody waits long behind others.
_LARGEST_BATCH = 128


class QueuedWork:
    """One caller's work, and how it ended."""

    __slots__ = ("error", "leads", "result", "wake", "work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.result: Any = None
        self.error: BaseException | None = None
        self.leads = False
        self.wake: threading.Lock | None = None


class GroupCommit:
    """The first writer to come leads: it commits everybody who is waiting, then hands the lead to the next in line.

    There is no writer thread, so a lone writer never waits for another thread to wake up.
    """

    def __init__(self, commit: Callable[[Sequence[QueuedWork]], None]) -> None:
        self._commit = commit
        self._mutex = threading.Lock()
        self._waiting: deque[QueuedWork] = deque()
        self._busy = False
        self.batches = 0
        self.writes = 0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def submit(self, work: Callable[[], T]) -> T:
        """Run `work` in a transaction and return its result once that is durable. Raises what `work` raised."""
        job = QueuedWork(work)
        try:
            self._join(job)
            self._take_turn(job)
        except BaseException:
            self._step_out(job)
            raise
        if job.error is not None:
            raise job.error
        return job.result  # type: ignore[no-any-return]

    def _join(self, job: QueuedWork) -> None:
        with self._mutex:
            self._waiting.append(job)
            if self._busy:
                job.wake = threading.Lock()
                job.wake.acquire()
            else:
                self._busy = job.leads = True

    def _take_turn(self, job: QueuedWork) -> None:
        if job.wake is not None:
            job.wake.acquire()
        if job.leads:
            self._lead(job)

    def _step_out(self, job: QueuedWork) -> None:
        """Interrupted: leave the line, and do not take the lead along."""
        with self._mutex:
            if job in self._waiting:
                self._waiting.remove(job)
            self._hand_over(job)

    def _lead(self, own: QueuedWork) -> None:
        batch: list[QueuedWork] = []
        try:
            with self._mutex:
                while self._waiting and len(batch) < _LARGEST_BATCH:
                    batch.append(self._waiting.popleft())
                self.batches += 1
                self.writes += len(batch)
            self._commit(batch)
        except BaseException as error:
            # Nobody may be told that it was written.
            for job in batch:
                job.error = error if job is own or isinstance(error, Exception) else _interrupted()
            if own not in batch:
                raise
        finally:
            with self._mutex:
                self._hand_over(own)
            for job in batch:
                if job is not own and job.wake is not None:
                    job.wake.release()

    def _hand_over(self, leader: QueuedWork) -> None:
        """Give the lead, if this job has it, to the next in line."""
        if not leader.leads:
            return
        leader.leads = False
        if not self._waiting:
            self._busy = False
            return
        successor = self._waiting[0]
        successor.leads = True
        assert successor.wake is not None
        successor.wake.release()


def _interrupted() -> StoreError:
    # An interrupt is for the thread that got it; those it wrote for just try again.
    return StoreError("Another thread was interrupted while it wrote for this one as well. Try again.")

"""Work that is done again and again in the background: one thread, which waits, is woken, backs off and is joined.

Whoever has such work keeps only the work: how it waits, what becomes of a failure and how it ends are decided here.
"""

import atexit
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import takewhile
from typing import TypeVar

from memorist.errors import MemoristError
from memorist.models.fair_share import BACKGROUND, IS_ENDING, WHOSE
from memorist.platform.rounds import FindDue, Rounds
from memorist.secrets.logs import redacting_logger

_log = redacting_logger(__name__)

T = TypeVar("T")

_NEVER = (0, float("-inf"))


class Loop:
    """Does its work until it is closed. Whatever fails is logged, once for as long as it fails the same way."""

    def __init__(
        self,
        name: str,
        work: Callable[[], float | None],
        every: float,
        backoff: int = 0,
        *,
        at_once: bool = True,
        background: bool = True,
        last: Callable[[], None] = lambda: None,
    ) -> None:
        """`work` is done every so many seconds, or after as many as it returned.

        `backoff` is how often the wait doubles at most while it fails. `at_once`: the first time is not waited for.
        Without `background` it never starts. `last` is done on the thread, after the work.
        """
        self.every = every
        self._name = name
        self._work = work
        self._backoff = backoff
        self._at_once = at_once
        self._background = background
        self._last = last
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._failed = False
        self._told: dict[str, str] = {}

    @property
    def stopping(self) -> bool:
        """Whether it was told to end: long work looks at this now and then."""
        return self._stopping.is_set()

    @property
    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self, *, first: Callable[[], None] = lambda: None) -> None:
        """Begin, unless it has begun or was told to end. `first` is done on the thread, before the work."""
        if self._thread is not None or self.stopping or not self._background:
            return
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(target=self._run, args=(first,), name=f"memorist-{self._name}", daemon=True)
                # A program that ends without closing must not be torn down in the middle of a computation.
                atexit.register(self.close)
                thread.start()
                self._thread = thread  # One that could not be started is not waited for.

    def wake(self) -> None:
        """Do the work now, or once more after what is being done. Never waits and never fails."""
        self._woken.set()

    def rest(self, seconds: float) -> bool:
        """Pause in the middle of the work. Returns whether it was told to end."""
        return self._stopping.wait(seconds)

    def stop(self) -> None:
        """End soon; who waits for that closes it."""
        self._stopping.set()
        self._woken.set()

    def close(self) -> None:
        """End, and wait until what is being done is done."""
        self.stop()
        with self._lock:  # Another may be about to start it.
            thread = self._thread
        if thread is not None:
            thread.join()

    def each(self, names: Iterable[str], work: Callable[[str], object]) -> list[str]:
        """Do a part of the work for each, until told to end: one that fails keeps no other from it.

        Returns those that failed.
        """
        going_on = takewhile(lambda _: not self.stopping, names)
        return [name for name in going_on if not self._attempt(name, partial(work, name))[0]]

    def _run(self, first: Callable[[], None]) -> None:
        WHOSE.set(BACKGROUND)
        IS_ENDING.set(self._stopping.is_set)
        self._attempt("", first)
        failures = 0
        wait: float = 0 if self._at_once else self.every
        while not self.stopping:
            self._woken.wait(wait)
            self._woken.clear()
            if self.stopping:
                break
            self._failed = False
            _, asked = self._attempt("", self._work)
            failures = min(failures + 1, self._backoff) if self._failed else 0
            wait = (self.every if asked is None else asked) * 2**failures
        self._attempt("", self._last)
        atexit.unregister(self.close)

    def _attempt(self, name: str, work: Callable[[], T]) -> tuple[bool, T | None]:
        """Whether it went well, and what came of it."""
        try:
            with unexpected_is_logged(f"memorist-{self._name}"):
                result = work()
        except MemoristError as error:
            self._failed = True
            if self._told.get(name) != error.message:
                self._told[name] = error.message
                told = f" for {name}" if name else ""
                _log.warning("background work %r failed%s and is done again: %s", self._name, told, error.message)
            return False, None
        self._told.pop(name, None)
        return True, result


class TenantLoop(Loop):
    """Work for one tenant after the other: those it is told of, and those that have work, a few at a time."""

    def __init__(
        self,
        name: str,
        find_due: FindDue,
        work: Callable[[str], object],
        every: float,
        backoff: int,
        *,
        background: bool = True,
        last: Callable[[], None] = lambda: None,
        spare: Callable[[], bool] = lambda: False,
    ) -> None:
        """`spare` is what can wait until nobody has work: it does a little, and says whether there is more."""
        super().__init__(name, self._go_round, every, backoff, background=background, last=last)
        self._rounds = Rounds(find_due)
        self._work_for = work
        self._spare = spare
        self._failing: dict[str, tuple[int, float]] = {}
        """For whom the work failed: how often, and before when it is not tried again."""

    def tell(self, tenant: str) -> None:
        """There is something to do for a tenant: it is done soon, even if the last time failed."""
        self._failing.pop(tenant, None)
        self.again(tenant)
        self.start()
        self.wake()

    def tell_of_everybody(self, *, first: Callable[[], None] = lambda: None) -> None:
        """Look after all tenants that there are, from now on, once `first` is done."""
        self._rounds.tell_of_everybody()
        self.start(first=first)
        self.wake()

    def leave_to_another(self, *, first: Callable[[], None] | None = None) -> None:
        """Do what it is told of from now on, and nothing else; with `first`, begin with that."""
        self._rounds.leave_to_another()
        if first is not None:
            self.start(first=first)

    def again(self, tenant: str) -> None:
        """Look at a tenant the next time too, whenever that is."""
        self._rounds.tell(tenant)

    def _go_round(self) -> float | None:
        now = time.monotonic()
        taken = self._rounds.take()
        later = {tenant for tenant in taken if self._failing.get(tenant, _NEVER)[1] > now}
        tried = [tenant for tenant in taken if tenant not in later]
        failed = set(self.each(tried, self._work_for))
        for tenant in tried:
            if tenant in failed:
                self._put_off(tenant)
            else:
                self._failing.pop(tenant, None)
        for tenant in later | failed:
            self.again(tenant)
        has_more = not self.stopping and self._spare()
        return 0 if has_more else None

    def _put_off(self, tenant: str) -> None:
        """However much there is to do for others meanwhile, who fails is tried ever less often."""
        times = min(self._failing.get(tenant, _NEVER)[0] + 1, self._backoff)
        self._failing[tenant] = times, time.monotonic() + self.every * 2**times


def do_each(names: Iterable[str], work: Callable[[str], object]) -> None:
    """Do a part of the work for each, to the last: one that fails keeps no other from it. Raises the first failure."""
    failures: list[MemoristError] = []
    for name in names:
        try:
            with unexpected_is_logged(f"the work for {name}"):
                work(name)
        except MemoristError as error:
            failures.append(error)
    if failures:
        raise failures[0]


@contextmanager
def unexpected_is_logged(what: str) -> Iterator[None]:
    """Nothing but a MemoristError leaves this block: anything else is logged, and told by its kind alone."""
    try:
        yield
    except MemoristError:
        raise
    except Exception as error:
        _log.exception("%s failed unexpectedly", what)
        raise MemoristError(f"Something unexpected went wrong: {type(error).__name__}.") from error

"""The feed of changes: every change that a caller may see, in the order of the commits, from any position on.

SQL is the truth: the feed is the history of memories, written with the change itself. A follower that fell behind, or
comes back, reads it page by page; one that is up to date takes what is new from memory, where one thread puts it for
all followers of a tenant. That thread looks when a write of this process was committed, and otherwise a few times a
second, since other processes write too. It lives as long as somebody follows.
"""

import bisect
import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from types import TracebackType
from typing import Self

from memorist.errors import InvalidCursor
from memorist.ids import parse_id
from memorist.platform import access, acts
from memorist.platform.loop import Loop
from memorist.platform.values import Change, FeedPage, FeedPosition, FeedRow, Principal
from memorist.ports import Reader, Store

START = "0-0"
"""The position before the first change."""
QUIET = "quiet"
"""How a stream says that nothing came for as long as was asked for, and that it ends."""
LONGEST_WAIT = 31_536_000
"""The most seconds that one asks for."""

_POSITION = re.compile(r"(\d{1,18})-(\d{1,18})", re.ASCII)
_PAGE = 500
_KEPT = 2000
_POLL_SECONDS = 0.5
# Between two looks, so that a burst of writes costs a few of them.
_PAUSE_SECONDS = 0.02


class Feed:
    def __init__(self, store: Store, *, background: bool = True) -> None:
        """Without `background` followers hear of what is new when `look` is called."""
        self._store = store
        self._background = background
        self._lock = threading.Lock()
        self._watches: dict[str, _Watch] = {}
        self._closed = False
        self.loop = self._new_loop()
        store.on_write(self._written)

    def follow(
        self, who: Callable[[], Principal], after: str | None = None, *, wake: Callable[[], object] | None = None
    ) -> "Follower":
        """Follow what `who` may see, asked anew at every read, from a position on or, without one, from now on.

        `wake` is called, on another thread, whenever there may be something to read, and when the feed is closed.
        Raises Forbidden, InvalidCursor where the position is none, or what `who` raises.
        """
        start = None if after is None else parse_position(after)
        principal = who()
        access.require(principal, access.Action.READ)
        tenant = principal.tenant
        foreign_until: int = self._store.read(tenant, lambda tx: tx.feed.foreign_until())
        if foreign_until:
            with acts.aside():
                self._store.write(tenant, lambda tx: tx.feed.restart(foreign_until))
        follower = Follower(self, self._store, who, tenant, wake)
        with self._lock:
            follower.closed = self._closed
            watch = self._watches.setdefault(tenant, _Watch())
            watch.followers.append(follower)
            if self.loop.stopping and not self._closed:
                self.loop = self._new_loop()
            self.loop.start()
        try:
            # Read once the watch is there, so that nothing falls between the two.
            head, is_known = self._store.read(tenant, partial(_head_and_whether_known, start))
        except BaseException:
            self.leave(follower)
            raise
        watch.begin(head)
        follower.begin(watch, start if start is not None and is_known else head, is_lost=not is_known)
        self.loop.wake()
        return follower

    def leave(self, follower: "Follower") -> None:
        with self._lock:
            watch = self._watches.get(follower.tenant)
            if watch is not None and follower in watch.followers:
                watch.followers.remove(follower)
                if not watch.followers:
                    del self._watches[follower.tenant]
                if not self._watches:
                    self.loop.stop()

    def close(self) -> None:
        """End every follower and the thread."""
        with self._lock:
            self._closed = True
            followers = [follower for watch in self._watches.values() for follower in watch.followers]
        for follower in followers:
            follower.closed = True
            follower.wake()
        self.loop.close()

    def _written(self, tenant: str) -> None:
        if tenant in self._watches:
            self.loop.wake()

    def _new_loop(self) -> Loop:
        return Loop("feed", self.look, _POLL_SECONDS, background=self._background)

    def look(self) -> float:
        """Take what is new for all who follow, and say in how many seconds to look again."""
        with self._lock:
            watches = dict(self._watches)
        self.loop.each(watches, lambda tenant: self._take(tenant, watches[tenant]))
        self.loop.rest(_PAUSE_SECONDS)
        return min((watch.look_again_in for watch in watches.values()), default=_POLL_SECONDS)

    def _take(self, tenant: str, watch: "_Watch") -> None:
        head = watch.head
        if head is None:
            return
        watch.look_again_in = _POLL_SECONDS
        page = self._store.read(tenant, partial(_page_after, head))
        if page.rows:
            watch.add(page.rows)
            with self._lock:
                followers = list(watch.followers)
            for follower in followers:
                follower.wake()
        # A transaction that holds others back mostly ends at once; one that does not is waited for with patience.
        watch.patience = min(watch.patience * 2, _POLL_SECONDS) if page.has_unsafe else _PAUSE_SECONDS
        if page.has_unsafe:
            watch.look_again_in = watch.patience
        elif not page.is_last:
            watch.look_again_in = 0


class _Watch:
    """The newest events of one tenant, for those who follow it."""

    def __init__(self) -> None:
        self.followers: list[Follower] = []
        self.head: FeedPosition | None = None
        self.look_again_in = _POLL_SECONDS
        self.patience = _PAUSE_SECONDS
        self._lock = threading.Lock()
        self._rows: list[FeedRow] = []
        self._start = FeedPosition(0, 0)

    def begin(self, head: FeedPosition) -> None:
        with self._lock:
            if self.head is None:
                self.head = self._start = head

    def add(self, rows: tuple[FeedRow, ...]) -> None:
        with self._lock:
            self._rows = [*self._rows, *rows]
            if len(self._rows) > _KEPT:
                self._start = self._rows[-_KEPT - 1].position
                self._rows = self._rows[-_KEPT:]
            self.head = rows[-1].position

    def rows_after(self, position: FeedPosition) -> FeedPage | None:
        """What is new; None where that is to be read from the store."""
        with self._lock:
            if self.head is None or position < self._start:
                return None
            first = bisect.bisect_right(self._rows, position, key=lambda row: row.position)
            rows = tuple(self._rows[first : first + _PAGE])
        return FeedPage(rows, is_last=len(rows) < _PAGE, has_unsafe=False)


class Follower:
    """One reader of the feed. Used by one thread at a time; to be closed, or used in a `with`."""

    def __init__(
        self,
        feed: Feed,
        store: Store,
        who: Callable[[], Principal],
        tenant: str,
        wake: Callable[[], object] | None,
    ) -> None:
        self._feed = feed
        self._store = store
        self._who = who
        self._woken = threading.Event()
        self._wake = wake or self._woken.set
        self._watch = _Watch()
        self._position = FeedPosition(0, 0)
        self.tenant = tenant
        self.is_lost = False
        """The position is not of this database, or of a state of it that a restored backup knows nothing of."""
        self.closed = False
        self.is_behind = True
        """Whether there is more to read at once."""

    def begin(self, watch: _Watch, position: FeedPosition, *, is_lost: bool) -> None:
        self._watch = watch
        self._position = position
        self.is_lost = is_lost

    def require_known(self) -> None:
        """Raises InvalidCursor where the position is not of this feed."""
        if self.is_lost:
            raise InvalidCursor("The feed has no such position yet: it is of another database, or of a lost state.")

    @property
    def position(self) -> str:
        """Up to where everything was read."""
        return f"{self._position.change}-{self._position.seq}"

    def read(self, *, fresh: bool = False) -> list[Change]:
        """The next changes, none of which was read before; after an empty answer more may be there (`is_behind`).

        `fresh`: ask the store, though nothing new was noticed yet.
        Raises StoreError, or Unauthenticated once the credential is revoked.
        """
        slices = access.visible_slices(self._who())
        page = None if fresh else self._watch.rows_after(self._position)
        if page is None:
            page = self._store.read(self.tenant, partial(_page_after, self._position))
        # What cannot be told yet is not read again and again: the watch wakes when it can.
        self.is_behind = not page.is_last and not page.has_unsafe
        found = [_change(row) for row in page.rows if row.is_change and row.is_in(slices)]
        if page.rows:
            self._position = page.rows[-1].position
        return found

    def wait(self, seconds: float | None = None) -> bool:
        """Until there may be something to read, or the time is over. For followers without a `wake` of their own."""
        woken = self._woken.wait(seconds)
        self._woken.clear()
        return woken

    def wake(self) -> None:
        # Whoever waited may be gone with its event loop.
        with contextlib.suppress(RuntimeError):
            self._wake()

    def close(self) -> None:
        self.closed = True
        self._feed.leave(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def changes(
    feed: Feed,
    who: Callable[[], Principal],
    after: str | None = None,
    *,
    wait: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Change]:
    """Changes as they happen, from a position on or from now on; ends when none was told for `wait` seconds.

    Raises InvalidCursor where the position is not of this feed.
    """
    with feed.follow(who, after) as follower:
        follower.require_known()
        told_at, is_over = clock(), False
        while not follower.closed:
            found = follower.read(fresh=is_over)
            yield from found
            if found:
                told_at, is_over = clock(), False
            elif not follower.is_behind:
                if is_over:
                    return
                # Not from the last wake on: that may be of what the caller does not see.
                left = None if wait is None else max(0.0, told_at + wait - clock())
                # What other processes wrote is noticed a moment later, so that the last look asks the store.
                is_over = not follower.wait(left) or left == 0


def parse_position(text: str) -> FeedPosition:
    """Raises InvalidCursor."""
    found = _POSITION.fullmatch(text.strip())
    if found is None:
        raise InvalidCursor("That is no position of the feed: send back an id that it gave, or leave it out.")
    return FeedPosition(int(found[1]), int(found[2]))


def _head_and_whether_known(start: FeedPosition | None, tx: Reader) -> tuple[FeedPosition, bool]:
    return tx.feed.head(), start is None or tx.feed.has_given(start)


def _page_after(position: FeedPosition, tx: Reader) -> FeedPage:
    return tx.feed.read(position, _PAGE)


def _change(row: FeedRow) -> Change:
    position = f"{row.position.change}-{row.position.seq}"
    return Change(position, row.event_type, parse_id("mem", row.memory_id), row.at)

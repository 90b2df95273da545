"""That nobody takes the server from the others: how much one key and one user may ask for, and what wrong keys cost."""

import asyncio
import math
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from memorist.addresses import network_of
from memorist.errors import ServerBusy, TooManyRequests
from memorist.platform.values import Principal
from memorist.settings import Settings

_BURST_SECONDS = 2
_WAITING_FOR_EACH = 8
"""How many requests may wait for each that may be worked on."""
_MOST_KNOWN = 10_000
_FREE_FAILURES = 10
# How much of the room of all one key may take: whoever acts for many users has a share for each of them.
_OF_A_KEY = 3 / 4
_MOST_STREAMS = 32
_RETRY_STREAM = 15
_TOO_MANY_STREAMS = f"{_MOST_STREAMS} streams are open already. Close those that are not used, and try again."
_FIRST_DELAY = 0.1
_FORGIVEN_AFTER = 600.0


@dataclass(slots=True)
class _Share:
    tokens: float
    filled_at: float
    at_work: int = 0
    waiting: deque["asyncio.Future[None]"] = field(default_factory=deque)


class Quota:
    """So many requests a second, and so many at once, for each of many. 0 is any number.

    What is over the number at once waits its turn. Of those that have nothing under way, the last used are remembered.
    """

    def __init__(self, rate: float, at_once: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._at_once = at_once or math.inf
        self._clock = clock
        self._shares: OrderedDict[tuple[str, str], _Share] = OrderedDict()

    def enter(self, whose: tuple[str, str]) -> "asyncio.Future[None] | None":
        """What to wait for first, if anything. Raises TooManyRequests. What has entered must leave."""
        share = self._share(whose)
        self._take(share)
        if share.at_work < self._at_once:
            share.at_work += 1
            return None
        if len(share.waiting) >= self._at_once * _WAITING_FOR_EACH:
            raise TooManyRequests(retry_after=1)
        turn = asyncio.get_running_loop().create_future()
        share.waiting.append(turn)
        return turn

    def leave(self, whose: tuple[str, str]) -> None:
        share = self._shares[whose]
        while share.waiting:
            turn = share.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        share.at_work -= 1

    def _share(self, whose: tuple[str, str]) -> _Share:
        share = self._shares.get(whose)
        if share is not None:
            self._shares.move_to_end(whose)
            return share
        if len(self._shares) >= _MOST_KNOWN:
            idle = next((one for one, known in self._shares.items() if not known.at_work), None)
            if idle is not None:
                del self._shares[idle]
        share = self._shares[whose] = _Share(self._rate * _BURST_SECONDS, self._clock())
        return share

    def _take(self, share: _Share) -> None:
        if not self._rate:
            return
        now = self._clock()
        share.tokens = min(self._rate * _BURST_SECONDS, share.tokens + (now - share.filled_at) * self._rate)
        share.filled_at = now
        if share.tokens < 1:
            raise TooManyRequests(retry_after=(1 - share.tokens) / self._rate)
        share.tokens -= 1


class Fairness:
    """Who takes how much of the server. Of streams, which take no share, there are only so many of each."""

    def __init__(self, settings: Settings) -> None:
        self._users = Quota(settings.user_rate, settings.user_at_once)
        self._keys = Quota(settings.key_rate, settings.key_at_once)
        self._room = settings.requests_at_once
        self._room_of_a_key = max(1, int(settings.requests_at_once * _OF_A_KEY))
        self._of_keys: Counter[tuple[str, str]] = Counter()
        self._streams: Counter[tuple[str, str | None, str | None]] = Counter()
        # Pages begin theirs on a thread.
        self._streaming = threading.Lock()

    async def enter(self, holder: Principal, user: str | None, taken: "Holding") -> None:
        """Take part, as a key and as the user that it acts for, until that is given back.

        Raises TooManyRequests, or ServerBusy where all together are too many; it is to be given back then, too.
        """
        if not self._room:
            raise ServerBusy
        key = (holder.tenant, holder.key_id or "")
        if self._of_keys[key] >= self._room_of_a_key:
            raise TooManyRequests(retry_after=1)
        self._room -= 1
        self._of_keys[key] += 1
        taken.give_back = partial(self._left, key)
        # The user first: one that waits does not take its key's place.
        if user is not None:
            await taken.enter(self._users, (holder.tenant, user))
        await taken.enter(self._keys, key)

    def follow(self, principal: Principal, taken: "Holding") -> None:
        """Begin a stream of what happens to the user, or of what a key that acts for nobody may see.

        Raises TooManyRequests where they have too many. It ends with what is taken.
        """
        user = principal.user
        whose = (principal.tenant, user, None if user is not None else principal.key_id)
        with self._streaming:
            if self._streams[whose] >= _MOST_STREAMS:
                raise TooManyRequests(_TOO_MANY_STREAMS, retry_after=_RETRY_STREAM)
            self._streams[whose] += 1
        taken.streams.append(partial(self._ended, whose))

    def _ended(self, whose: tuple[str, str | None, str | None]) -> None:
        with self._streaming:
            self._streams[whose] -= 1
            if not self._streams[whose]:
                del self._streams[whose]

    def _left(self, key: tuple[str, str]) -> None:
        self._room += 1
        self._of_keys[key] -= 1
        if not self._of_keys[key]:
            del self._of_keys[key]


class Holding:
    """What one request takes of the server."""

    __slots__ = ("_entered", "give_back", "streams")

    def __init__(self) -> None:
        self.give_back: Callable[[], None] | None = None
        """Gives the room back that it has."""
        self.streams: list[Callable[[], None]] = []
        """What ends the streams that it has."""
        self._entered: list[tuple[Quota, tuple[str, str]]] = []

    async def enter(self, quota: Quota, whose: tuple[str, str]) -> None:
        turn = quota.enter(whose)
        if turn is not None:
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    quota.leave(whose)
                raise
        self._entered.append((quota, whose))

    def leave(self) -> None:
        """Whoever left already stays outside."""
        if self.give_back is not None:
            for quota, whose in self._entered:
                quota.leave(whose)
            self.give_back()
            self.give_back = None

    def end(self) -> None:
        """The same, once there is nothing left of the request, also no stream."""
        self.leave()
        while self.streams:
            self.streams.pop()()


class Share:
    """What a request takes of the server, for who finds out on the way whose it is."""

    def __init__(self, fairness: Fairness, taken: Holding) -> None:
        self._fairness = fairness
        self._taken = taken

    async def enter(self, principal: Principal) -> None:
        """Raises TooManyRequests or ServerBusy."""
        await self._fairness.enter(principal, principal.user, self._taken)

    def follow(self, principal: Principal) -> None:
        """Raises TooManyRequests."""
        self._fairness.follow(principal, self._taken)


class Failures:
    """Wrong keys by address: after a few, each waits longer for its answer. A valid key from there ends that."""

    def __init__(self, longest: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`longest`: the most seconds that an answer waits."""
        self._longest = longest
        self._clock = clock
        self._known: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def note(self, address: str) -> float:
        """A wrong key came. Returns the seconds that its answer is to wait."""
        network = network_of(address)
        count, at = self._known.pop(network, (0, 0.0))
        now = self._clock()
        count = 1 if now - at > _FORGIVEN_AFTER else count + 1
        self._known[network] = (count, now)
        if len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        over = min(count - _FREE_FAILURES, 30)
        return min(self._longest, _FIRST_DELAY * 2 ** (over - 1)) if over > 0 else 0.0

    def forgive(self, address: str) -> None:
        if self._known:
            self._known.pop(network_of(address), None)

"""Adds tokens to rows with vectors of a model of before, which are the same as those of the model that is set.

They are searched as they are meanwhile. It is done a few at a time, where nobody waits for anything else. A row says by
its model whether it is done: whoever begins anew goes on where another ended, and several processes share the work.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice

from memorist.errors import MemoristError
from memorist.models.port import Embedder
from memorist.ports import Store
from memorist.recall.index import tokens
from memorist.recall.index.embedding import pieces_of, save, texts_of, tokens_alone
from memorist.times import Clock

_CLAIM = 32
"""Memories at a time: whoever has something to embed waits for no more."""
_CLAIMED_FOR = timedelta(seconds=60)
_START = ("", "")
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Place:
    """The user and id after which to go on, and when."""

    after: tuple[str, str] = _START
    not_before: datetime = _LONG_AGO


class Renewal:
    def __init__(self, store: Store, clock: Clock, embedder: Embedder | None, is_stopping: Callable[[], bool]) -> None:
        self._store = store
        self._clock = clock
        self._embedder = embedder
        self._is_stopping = is_stopping
        self._places: dict[str, _Place] = {}
        self._held: set[str] = set()
        self.failure: str | None = None
        """Why the last attempt failed; None where it did not."""

    def begin(self, tenant: str) -> None:
        """A tenant has such rows, or had them until now."""
        self._places.setdefault(tenant, _Place())

    @contextmanager
    def holding(self, tenant: str) -> Iterator[None]:
        """Within this block `some` leaves a tenant alone: whoever is here sees to it."""
        self._held.add(tenant)
        try:
            yield
        finally:
            self._held.discard(tenant)

    def some(self) -> bool:
        """Add what some rows lack, of one tenant after the other. Returns whether there is more to do now. Raises
        ModelError or StoreError.
        """
        now = self._clock.now()
        places = list(self._places.items())
        due = [tenant for tenant, place in places if place.not_before <= now and tenant not in self._held]
        try:
            has_more = any(self.some_of(tenant) for tenant in due)
        except MemoristError as error:
            self.failure = error.message
            raise
        self.failure = None
        return has_more

    def some_of(self, tenant: str) -> int:
        """The same for one tenant. Returns how many rows there were: 0 where others have taken the rest, or all have
        what they lacked, which is noted.
        """
        place, embedder = self._places.pop(tenant, None), self._embedder
        if place is None or embedder is None:
            return 0
        same = embedder.same_vectors_as
        try:
            claimed = self._claim(tenant, same, place.after)
            if not claimed and place.after != _START:
                claimed = self._claim(tenant, same, _START)
            if claimed:
                place = _Place(claimed[-1])
                return self._renew(tenant, embedder, claimed)
            if self._store.read(tenant, lambda tx: tx.index.has_any_of(same)):
                place = _Place(not_before=self._clock.now() + _CLAIMED_FOR)
            else:
                if self._store.index_model(tenant) in same:
                    self._store.set_index_model(tenant, embedder.model_id)
                place = None
            return 0
        finally:
            if place is not None:
                self._places[tenant] = place  # Behind all others.

    def _claim(self, tenant: str, models: Sequence[str], after: tuple[str, str]) -> list[tuple[str, str]]:
        now = self._clock.now()
        return self._store.write(tenant, lambda tx: tx.index.claim_of(models, after, now, now + _CLAIMED_FOR, _CLAIM))

    def _renew(self, tenant: str, embedder: Embedder, claimed: Sequence[tuple[str, str]]) -> int:
        """Returns how many there were; 0 where it was stopped before it was done."""
        is_done = False
        try:
            is_done = self._add(tenant, embedder, [memory_id for _, memory_id in claimed])
        finally:
            if not is_done:
                self._store.write(tenant, lambda tx: tx.index.give_back(claimed))
        return len(claimed) if is_done else 0

    def _add(self, tenant: str, embedder: Embedder, memory_ids: Sequence[str]) -> bool:
        memories = self._store.read(tenant, lambda tx: tx.memories.get_many(memory_ids), snapshot=False)
        texts = self._store.read(tenant, partial(texts_of, memories))
        firsts = [one[: tokens.MOST_WINDOWS] for one in texts]
        signs: list[bytes] = []
        for piece in pieces_of([text for one in firsts for text in one], is_local=embedder.is_local):
            if signs and self._is_stopping():
                return False
            signs += map(tokens.signs_of, embedder.tokens(piece))
        left = iter(signs)
        made = [
            tokens_alone(memory, list(islice(left, len(one))), embedder.model_id)
            for memory, one in zip(memories, firsts, strict=True)
        ]
        # What was said before some of them may have changed: they wait for their vectors now.
        save(
            self._store,
            tenant,
            list(zip(memories, texts, made, strict=True)),
            lambda tx, found: tx.index.renew(found, embedder.same_vectors_as),
        )
        return True

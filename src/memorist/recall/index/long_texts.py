"""Long texts, which are embedded a piece at a time: whatever is short goes before each of them.

A text is claimed in the database for as long as it takes, and what was made of it is kept in memory until it is whole.
Where a process is gone, another begins anew.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import islice, takewhile

from memorist.errors import ModelError, StoreBusy, StoreUnavailable
from memorist.memories.values import Memory
from memorist.models.port import Embedder
from memorist.ports import Reader, Store
from memorist.recall.index.embedding import Readable, Window, embedded_one, pieces_of, readable_of, save, windows_of
from memorist.recall.values import Unembedded
from memorist.times import Clock

CLAIMED_FOR = timedelta(seconds=60)
_MOST = 8
"""Texts at a time, each of another user: of each of them some megabytes are kept."""
_SHARE = 2
"""A piece takes about half a second: who has something short to embed waits for one."""
_MOST_FAILURES = 3
"""In a row: then another text of that user comes first, and this one is tried again when its claim has ended."""
_PASSING = (ModelError, StoreBusy, StoreUnavailable)
"""What was made of a text is kept in spite of these."""


@dataclass(slots=True, eq=False)
class _Text:
    """One that was begun."""

    user: str
    memory_id: str
    until: datetime
    """Until when it is claimed."""

    memory: Memory | None = None
    readable: Readable | None = None
    texts: Sequence[str] = ()
    made: list[Window] = field(default_factory=list)
    pieces: Iterator[list[str]] = iter(())
    piece: list[str] = field(default_factory=list)
    """What is to be embedded next."""

    failures: int = 0

    @property
    def row(self) -> tuple[str, str]:
        return self.user, self.memory_id

    def begin(self, memory: Memory, readable: Readable, *, is_local: bool) -> None:
        """From its first word; or go on, where nothing of it was changed that is embedded."""
        self.memory = memory
        if readable == self.readable:
            return
        self.readable, self.texts, self.made = readable, readable.texts(), []
        self.pieces = pieces_of(self.texts, is_local=is_local, share=_SHARE)
        self.piece = next(self.pieces)


class LongTexts:
    """Those that one thread embeds, in turn: a piece of one user's, then one of another's."""

    def __init__(self, store: Store, clock: Clock, embedder: Embedder | None) -> None:
        self._store = store
        self._clock = clock
        self._embedder = embedder
        self._begun: OrderedDict[tuple[str, str], _Text] = OrderedDict()
        self._left: dict[str, None] = {}
        """Who waits for a place, in turn, and who may have more since a text of theirs ended."""
        self._refused: OrderedDict[tuple[str, str], _Text] = OrderedDict()
        """By tenant and id those that the model failed at: what was made of them is kept for a while."""

    def __len__(self) -> int:
        return len(self._begun)

    def has_some_of(self, tenant: str) -> bool:
        """Whether some of a tenant's were begun, or were left for later."""
        return tenant in self._left or any(whose == tenant for whose, _ in self._begun)

    def next_in_turn(self) -> list[str]:
        """Tenants for which there is room."""
        return list(islice(self._left, _MOST - len(self._begun)))

    def leave(self, tenant: str) -> None:
        """Keep no place for a tenant: it is not known when it is looked at again."""
        self._left.pop(tenant, None)

    def take(self, tenant: str, waiting: Sequence[Unembedded]) -> None:
        """Begin the first of each user, who has one at a time; the others are left until there is room for them, in
        this process or in another. Tenants come in turn: who has got a place has those after it that others wait for.
        """
        before = len(list(takewhile(lambda one: one != tenant, self._left)))
        for one in waiting:
            if (tenant, one.user) in self._begun:
                continue  # It is looked at again when that ends.
            if len(self._begun) + before >= _MOST:
                self._left.setdefault(tenant)
                return
            refused = self._refused.pop((tenant, one.memory_id), None)
            text = refused or _Text(one.user, one.memory_id, self._clock.now())
            if self._claim(tenant, text):
                self._begun[tenant, one.user] = text
                self.leave(tenant)
                before = len(self._left)
        self.leave(tenant)

    def keep(self) -> None:
        """Claim for longer whatever would soon be anybody's, and forget what the model failed at long ago."""
        now = self._clock.now()
        soon = now + CLAIMED_FOR / 2
        for (tenant, user), text in list(self._begun.items()):
            if text.until < soon and not self._claim(tenant, text):
                self._end(tenant, user)
        while self._refused and next(iter(self._refused.values())).until + CLAIMED_FOR < now:
            self._refused.popitem(last=False)

    def some(self) -> str:
        """Embed a piece of the next text. Returns whose it was, where there is no more of it to do: it is whole, was
        erased, or is another's now; '' otherwise. Raises ModelError or StoreError.
        """
        (tenant, user), text = next(iter(self._begun.items()))
        self._begun.move_to_end((tenant, user))
        is_kept = False
        try:
            is_kept = self._embed(tenant, text)
        except _PASSING:
            is_kept = text.failures < _MOST_FAILURES
            raise
        finally:
            if not is_kept:
                self._end(tenant, user)
        return "" if is_kept else tenant

    def give_back(self) -> None:
        """Let anybody take them: nobody goes on here."""
        begun, self._begun = self._begun, OrderedDict()
        self._refused.clear()
        for (tenant, _), text in begun.items():
            self._release(tenant, text)

    def _end(self, tenant: str, user: str) -> None:
        del self._begun[tenant, user]
        self._left.setdefault(tenant)

    def _embed(self, tenant: str, text: _Text) -> bool:
        """Returns whether there is more of it to do."""
        assert self._embedder is not None
        # Who edits a text, or the message before it, ends the claim; who erases it leaves nothing to claim.
        if not self._claim(tenant, text):
            return False
        found = self._store.read(tenant, partial(_read, text.memory_id))
        if found is None:
            return False
        text.begin(*found, is_local=self._embedder.is_local)
        try:
            if text.piece:  # Otherwise it is whole, and could not be saved the last time.
                text.made += windows_of(self._embedder.embed_tokens(text.piece))
        except ModelError:
            text.failures += 1
            if text.failures < _MOST_FAILURES:
                self._release(tenant, text)  # Another may have a model that works.
            else:
                self._refused[tenant, text.memory_id] = text
                if len(self._refused) > _MOST:
                    self._refused.popitem(last=False)
            raise
        text.failures = 0
        text.piece = next(text.pieces, [])
        if text.piece:
            return True
        # Where it is not kept, it is read again: it may be whole as it is.
        return not self._save(tenant, text)

    def _save(self, tenant: str, text: _Text) -> bool:
        assert self._embedder is not None
        assert text.memory is not None
        made = embedded_one(text.memory, text.made, self._embedder.model_id)
        read = [(text.memory, text.texts, made)]
        return save(self._store, tenant, read, lambda tx, found: tx.index.save_vectors(found))

    def _claim(self, tenant: str, text: _Text) -> bool:
        now = self._clock.now()
        until = now + CLAIMED_FOR
        if not self._store.write(tenant, lambda tx: tx.index.claim_waiting([text.row], now, until, text.until)):
            return False
        text.until = until
        return True

    def _release(self, tenant: str, text: _Text) -> None:
        self._store.write(tenant, lambda tx: tx.index.release_claims(text.until))


def _read(memory_id: str, tx: Reader) -> tuple[Memory, Readable] | None:
    found = tx.memories.get_many([memory_id])
    return (found[0], readable_of(found[0], tx)) if found else None

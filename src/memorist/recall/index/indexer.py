"""The indexer: gives every memory its vectors, at once for a small local batch, in the background otherwise.

A row waits in the database itself (`model = ''`), written with the memory in one transaction: what is interrupted is
found again by the next process, and several processes share the work.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar

from memorist.errors import MemoristError, ModelError, StoreBusy, StoreFull, StoreReadOnly, StoreUnavailable
from memorist.memories import writing
from memorist.memories.searchable import is_turn
from memorist.memories.values import Memory
from memorist.models import passages
from memorist.models.port import Embedder
from memorist.platform import acts
from memorist.platform.loop import TenantLoop
from memorist.platform.values import DueWork
from memorist.ports import Store, Writer
from memorist.recall.index.embedding import LONG, Window, embedded, next_of, pieces_of, save, texts_of, windows_of
from memorist.recall.index.long_texts import CLAIMED_FOR, LongTexts
from memorist.recall.index.renewal import Renewal
from memorist.recall.index.sameness import has_changed
from memorist.recall.values import IndexCounts
from memorist.secrets.logs import redacting_logger
from memorist.times import Clock

_log = redacting_logger(__name__)

T = TypeVar("T")

_CLAIM = 128
_LOOKED_AT = 1024
"""Of so many rows that wait, the newest, those to embed next are chosen: what is short among them goes first."""
_ATTEMPTS = 3
"""How often rows are chosen which another process takes at the same moment."""
_POLL_SECONDS = 1.0
_MOST_DOUBLINGS = 5
_INLINE_WORDS = 3 * passages.WINDOW_WORDS
"""What a write waits for at most, however few memories it has: tens of milliseconds of a local model."""
_UNINDEX_BATCH = 2000
_GIVEN_UP_S = 3 * CLAIMED_FOR.total_seconds()
"""What nobody does in this time, which others had claimed at first, cannot be done."""
_ADOPT_BATCH = 500
_NO_MODEL = "none"
_MOST_KNOWN = 100_000
"""Tenants of which it is known that they are ready."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_DOUBTED_AGAIN = timedelta(hours=1)
_COUNTING_SHARE = 20
"""Counting reads the whole index: so many times as long as it takes is worked before it is done again."""
_LONG_WORD = 24
"""Characters: what has more of them than so many long words is not counted, which takes a while itself."""


class _Stopped(Exception):
    """Everything ends, in the middle of a long text."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a tenant's index is. `lacking` have vectors that a model of before made, and no tokens yet; `refused`
    have none, since the model cannot read their texts.
    """

    model: str | None
    total: int
    waiting: int
    lacking: int = 0
    refused: int = 0

    @property
    def done(self) -> int:
        return self.total - self.waiting


class Indexer:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        embedder: Embedder | None,
        *,
        inline: int,
        background: bool = True,
        is_brief: bool = False,
    ) -> None:
        """Up to `inline` short memories of one write are embedded before it returns. No embedder: keywords only. Where
        it `is_brief`, who only asks does not have a remote model compared with the one before.
        """
        self._store = store
        self._clock = clock
        self._embedder = embedder
        self._inline = inline if embedder is not None and embedder.is_local else 0
        self._same = () if embedder is None else tuple(embedder.same_vectors_as)
        self._prepared: set[str] = set()
        self._unnoted: dict[str, str] = {}
        """The model of those whose rows are ready, until it is noted: not by who asks, since that takes every node."""
        self._compared: set[str] = set()
        self._doubted: dict[str, datetime] = {}
        """Whose vectors are known to be those that the model makes now. A local one says by its name what it is."""
        self._loop = TenantLoop(
            "indexer",
            self._find_due,
            self._catch_up,
            _POLL_SECONDS,
            _MOST_DOUBLINGS,
            background=background,
            last=lambda: self._long.give_back(),
            spare=self._spare,
        )
        self._long = LongTexts(store, clock, embedder)
        self._renewal = Renewal(store, clock, embedder, lambda: self._loop.stopping)
        self._has_more = False
        self._failed: str | None = None
        self._background = background
        self._is_brief = is_brief
        self._told: Counter[str] = Counter()
        self._since: dict[str, float] = {}
        self._caught_up = threading.Condition()
        self._is_closing = False

    @property
    def model(self) -> str:
        """Names the vectors that are made now; '' where none are."""
        return "" if self._embedder is None else self._embedder.model_id

    @property
    def models(self) -> tuple[str, ...]:
        """All whose vectors are searched, which are the same: the one that makes them now is the last."""
        return (*self._same, self.model)

    @property
    def failure(self) -> str | None:
        """Why the last attempt to embed failed; None where it did not."""
        return self._failed or self._renewal.failure

    @property
    def lag(self) -> float:
        """For how many seconds the oldest of what was written here has waited for its vectors."""
        with self._caught_up:
            return time.monotonic() - min(self._since.values()) if self._since else 0.0

    # After a write

    def follow(self, tenant: str, memories: Sequence[Memory]) -> None:
        """Embed what was just written, or see to it that it is embedded soon. Never fails a write."""
        if self._embedder is None or not memories:
            return
        try:
            texts = self._few_words(tenant, memories)
            if texts is not None:
                # In this order: what was just written does not wait, and nobody is started to embed it as well.
                self._embed(tenant, memories, texts)
                self._get_ready(tenant)
                if any(is_turn(memory) and memory.updated_at > memory.created_at for memory in memories):
                    self.look_again(tenant)  # What was said next is embedded with its words.
                return
        except MemoristError as error:
            self._note(error)
        with self._caught_up:
            self._told[tenant] += self._background
            self._since.setdefault(tenant, time.monotonic())
        self._loop.tell(tenant)

    def look_again(self, tenant: str) -> None:
        """Rows may wait again: what they were embedded with was changed or erased."""
        if self._embedder is not None:
            self._loop.tell(tenant)

    def wait_for(self, tenant: str, seconds: float) -> bool:
        """Wait until what was written here has its vectors, and at most so long: for work that would take its time.
        Returns whether it has them.
        """
        with self._caught_up:
            self._caught_up.wait_for(lambda: not self._told[tenant] or self._is_closing, seconds)
            return not self._told[tenant]

    def let_go(self) -> None:
        """Keep nobody waiting any more: everything ends."""
        with self._caught_up:
            self._is_closing = True
            self._caught_up.notify_all()

    def _few_words(self, tenant: str, memories: Sequence[Memory]) -> list[list[str]] | None:
        """The texts to embed for what was written; None where that would take too long to wait for."""
        if len(memories) > self._inline or sum(len(one.content) for one in memories) > _INLINE_WORDS * _LONG_WORD:
            return None
        texts = self._store.read(tenant, partial(texts_of, memories), snapshot=False)
        words = sum(passages.count_words(text) for one in texts for text in one)
        return texts if words <= _INLINE_WORDS else None

    # Before a search

    def prepare(self, tenant: str) -> None:
        """Make sure that a tenant's rows are in the index, and wait for vectors where they have those of another model
        that makes others; and note the model.

        Where nothing can be written now, what is in the index must do, and it is tried again the next time. Raises
        StoreBusy where somebody else writes: who works on the index does it again.
        """
        with self._as_far_as_possible():
            self._prepare(tenant)
            self._note_model(tenant)

    def _get_ready(self, tenant: str) -> None:
        """The same, and leave it to the background to note the model, which all nodes of a cluster take part in."""
        if tenant in self._prepared:
            return
        with self._as_far_as_possible():
            self._prepare(tenant)
        if tenant in self._unnoted:
            self._loop.tell(tenant)

    @contextmanager
    def _as_far_as_possible(self) -> Iterator[None]:
        try:
            with acts.aside():
                yield
        except (StoreFull, StoreReadOnly, StoreUnavailable) as error:
            self._note(error)

    def prepare_to_search(self, tenant: str) -> None:
        """Get ready, for who would rather search what is there than fail because somebody else writes."""
        try:
            self._get_ready(tenant)
        except StoreBusy as error:
            _log.warning("an index is made ready later: %s", error.message)

    def _note_model(self, tenant: str) -> None:
        if model := self._unnoted.get(tenant):
            self._store.set_index_model(tenant, model)
            self._unnoted.pop(tenant, None)

    def _prepare(self, tenant: str) -> None:
        if tenant in self._prepared:
            return
        known = self._store.index_model(tenant)
        if known is None:
            return
        if known == "":
            while self._store.write(tenant, lambda tx: writing.adopt(tx, _ADOPT_BATCH)) == _ADOPT_BATCH:
                pass
            self._unnoted[tenant] = self.model or _NO_MODEL
        elif known in self._same:
            self._renewal.begin(tenant)
        elif self.model and known != self.model:
            self._unindex(tenant, "-" if known == self._before else self.model)
            self._unnoted[tenant] = self.model
        if len(self._prepared) >= _MOST_KNOWN:
            self._prepared.clear()  # They are looked at again, which costs little.
        self._prepared.add(tenant)
        if self._embedder is not None and self._store.read(tenant, lambda tx: tx.index.has_waiting()):
            try:
                # A process that is gone may have claimed them. Not what is long: one that goes on would lose a lot.
                self._store.write(tenant, lambda tx: tx.index.release_claims(longest=LONG))
            except StoreBusy:
                self._prepared.discard(tenant)
                raise
            self._loop.tell(tenant)
        elif known in self._same or (self._is_to_compare(tenant) and not self._is_brief):
            self._loop.tell(tenant)

    # Where another model answers under the name of the one before

    @property
    def _before(self) -> str:
        """Names the vectors of a tenant until all of them wait to be made anew."""
        return f"{self.model} (before)"

    def has_changed(self, tenant: str) -> bool:
        """Whether the model makes other vectors than those there are. It is asked. Raises ModelError or StoreError."""
        embedder = self._embedder
        return embedder is not None and not embedder.is_local and has_changed(self._store, tenant, embedder)

    def doubt(self, tenant: str) -> None:
        """A question got a vector that cannot be compared: look soon whether the model is still the same. Not at each
        question: two models that take turns would have all made anew without end.
        """
        now = self._clock.now()
        if self._is_remote and now - self._doubted.get(tenant, _LONG_AGO) >= _DOUBTED_AGAIN:
            if len(self._doubted) >= _MOST_KNOWN:
                self._doubted.clear()
            self._doubted[tenant] = now
            self._compared.discard(tenant)
            self._loop.tell(tenant)

    @property
    def _is_remote(self) -> bool:
        return self._embedder is not None and not self._embedder.is_local

    def _is_to_compare(self, tenant: str) -> bool:
        return self._is_remote and tenant not in self._compared

    def _compare(self, tenant: str) -> None:
        """Once in a process that lasts or embeds, or where there is doubt: see to it that all is made anew where the
        model is another.
        """
        if not self._is_to_compare(tenant):
            return
        if self.has_changed(tenant):
            _log.warning("%s makes other vectors than before: those of %s are made anew", self.model, tenant)
            # Noted first: whoever is interrupted in the middle of it goes on.
            self._store.set_index_model(tenant, self._before)
            self._prepared.discard(tenant)
            self.prepare(tenant)
        if len(self._compared) >= _MOST_KNOWN:
            self._compared.clear()
        self._compared.add(tenant)
        self._failed = None

    def _unindex(self, tenant: str, model: str, same: Sequence[str] = ()) -> None:
        while self._store.write(tenant, lambda tx: tx.index.unindex(model, _UNINDEX_BATCH, same)) == _UNINDEX_BATCH:
            pass

    # In the background

    def start(self, *, warm: Callable[[], None] = lambda: None, everybody: bool = True) -> None:
        """For servers: work on all tenants from now on, or on those written here. `warm` runs first, on the thread."""
        if self._embedder is None:
            return
        begin = self._loop.tell_of_everybody if everybody else self._loop.leave_to_another
        begin(first=lambda: self._noting(warm))

    def close(self) -> None:
        self.let_go()
        self._loop.close()
        with suppress(MemoristError), acts.aside():
            for tenant in list(self._unnoted):
                self._note_model(tenant)

    def _find_due(self, after: str, limit: int) -> list[str]:
        found: list[str] = self._store.due_tenants(DueWork.VECTORS, self._clock.now(), after=after, limit=limit)
        if after or not self.model:
            return found
        if len(found) == limit:
            return found
        others = set(self._store.tenants_of_other_models(self.model, self._same, limit=limit))
        others.update(*(self._store.tenants_of_model(one, limit=limit) for one in self._same))
        others -= self._prepared
        # Fewer than were asked for, so that nobody goes on after the last: only the database knows the order of names.
        return [*found, *others.difference(found)][: limit - 1]

    def _catch_up(self, tenant: str) -> None:
        """Embed some of what waits, after which it is the next one's turn. Raises what keeps it from that, or from
        noting the model.
        """
        if self._embedder is not None:
            self._embed_some(tenant)
        self._note_model(tenant)

    def _embed_some(self, tenant: str) -> None:
        def work() -> int:
            with self._as_far_as_possible():
                self._prepare(tenant)
            self._compare(tenant)
            return self._work_once(tenant, self._long)

        told = self._told[tenant]
        done: int | None = None
        try:
            done = self._noting(work)
        finally:
            if done is None:
                self._long.leave(tenant)
            with self._caught_up:
                # Otherwise there is more, or more was written meanwhile. Nobody is kept waiting for a long text.
                if not done and self._told[tenant] == told:
                    del self._told[tenant]
                    if done is not None and not self._long.has_some_of(tenant):
                        self._since.pop(tenant, None)
                self._caught_up.notify_all()
        if done:
            self._has_more = True
            self._loop.again(tenant)

    def _spare(self) -> bool:
        """A piece of a long text; or, where nobody has anything to embed, what rows lack. Returns whether there is more
        to do now.
        """
        has_more, self._has_more = self._has_more, False
        try:
            self._long.keep()
            if is_working := bool(self._long):
                self._noting(lambda: self._go_on(self._long))
        except MemoristError:
            if has_more:
                self._loop.wake()  # What is short was embedded, and goes on.
            raise
        # Not all who wait for a place: looking at each of them after every piece would cost more than the piece.
        in_turn = self._long.next_in_turn()
        for tenant in in_turn:
            self._loop.again(tenant)
        return is_working or bool(in_turn) or has_more or self._renewal.some()

    def _noting(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except MemoristError as error:
            self._failed = error.message
            raise

    def _work_once(self, tenant: str, long: LongTexts) -> int:
        """Embed the next few memories that wait, and have those that are long embedded apart. Returns how many there
        were, without the long ones.
        """
        long.keep()
        until, ids = self._claim(tenant, long)
        if ids:
            memories = self._store.read(tenant, lambda tx: tx.memories.get_many(ids), snapshot=False)
            try:
                texts = self._store.read(tenant, partial(texts_of, memories), snapshot=False)
                if self._embed(tenant, memories, texts):
                    return len(ids)
            except ModelError:
                self._store.write(tenant, lambda tx: tx.index.release_claims(until))
                raise
            self._store.write(tenant, lambda tx: tx.index.release_claims(until))
        return 0

    def _claim(self, tenant: str, long: LongTexts) -> tuple[datetime, list[str]]:
        """Take the next few that wait. Returns until when, and their ids."""
        for _ in range(_ATTEMPTS):
            now = self._clock.now()
            rows = self._choose(tenant, now, long)
            until = now + CLAIMED_FOR
            if not rows:
                break
            if ids := self._store.write(tenant, partial(_take, rows, now, until)):
                return until, ids
        return until, []

    def _choose(self, tenant: str, now: datetime, long: LongTexts) -> list[tuple[str, str]]:
        # Looked for before it is claimed: a claim is a write, and there is mostly nothing to do.
        waiting = self._store.read(tenant, lambda tx: tx.index.waiting(now, _LOOKED_AT), snapshot=False)
        long.take(tenant, [one for one in waiting if one.size > LONG])
        short = [one for one in waiting if one.size <= LONG]
        if not short and len(waiting) == _LOOKED_AT:
            short = self._store.read(tenant, lambda tx: tx.index.waiting(now, _CLAIM, longest=LONG), snapshot=False)
        chosen = next_of(short, _CLAIM)
        return [(one.user, one.memory_id) for one in chosen]

    def _go_on(self, long: LongTexts) -> str:
        ended = long.some()
        self._failed = None
        return ended

    def _embed(self, tenant: str, memories: Sequence[Memory], texts: Sequence[Sequence[str]]) -> bool:
        """Save the vectors of memories. False where some wait for theirs again: all where the indexer was stopped in
        the middle of a long text, or those whose message before was changed meanwhile.
        """
        try:
            made = embedded(memories, texts, self._windows(texts), self.model)
        except _Stopped:
            return False
        read = list(zip(memories, texts, made, strict=True))
        is_whole = save(self._store, tenant, read, lambda tx, found: tx.index.save_vectors(found))
        self._failed = None
        if not is_whole:
            self.look_again(tenant)
        return is_whole

    def _windows(self, texts: Sequence[Sequence[str]]) -> Iterator[Window]:
        """What the model makes of texts, a piece at a time: of what is long little is kept. Raises _Stopped."""
        assert self._embedder is not None
        pieces = pieces_of([text for one in texts for text in one], is_local=self._embedder.is_local)
        for number, piece in enumerate(pieces):
            if number and self._loop.stopping:
                raise _Stopped
            yield from windows_of(self._embedder.embed_tokens(piece))

    def _note(self, error: MemoristError) -> None:
        if self._failed != error.message:
            _log.warning("memories wait for their vectors: %s", error.message)
        self._failed = error.message

    # For those who wait

    def progress(self, tenant: str) -> Progress:
        """How far the index is. Without an embedder nothing waits."""
        counts: IndexCounts = self._store.read(tenant, lambda tx: tx.index.count(self.model, self._same))
        if self._embedder is None:
            return Progress(None, counts.total, 0)
        return Progress(self.model, counts.total, counts.waiting + counts.outdated, counts.kept, counts.refused)

    def finish(self, tenant: str, *, tokens: bool = False) -> Iterator[Progress]:
        """Embed everything that waits, here and now, yielding the progress; with `tokens`, look first whether the model
        is still the same, and at last add what is lacking. Raises ModelError.
        """
        self.prepare(tenant)
        if tokens:
            self._compare(tenant)
        if self.model:
            # Another process may have gone on with its own model after the one of this tenant changed.
            self._unindex(tenant, self.model, self._same)
        long = LongTexts(self._store, self._clock, self._embedder)
        try:
            yield from self._do(tenant, "waiting", partial(self._work_until_done, long=long))
        finally:
            long.give_back()
        if tokens and self._same:
            with self._renewal.holding(tenant):
                yield from self._do(tenant, "lacking", self._renew)
                self._renew(tenant)  # Which notes that nothing is left.

    def _work_until_done(self, tenant: str, *, long: LongTexts) -> int:
        """Embed the next few that wait, and a piece of a long one, until some have their vectors. Returns how many."""
        while True:
            done = self._work_once(tenant, long)
            is_working = bool(long)
            if is_working:
                done += bool(self._go_on(long))
            if done or not is_working or self._loop.stopping:
                return done

    def _renew(self, tenant: str) -> int:
        self._renewal.begin(tenant)
        return self._renewal.some_of(tenant)

    def _do(self, tenant: str, what: str, work: Callable[[str], int]) -> Iterator[Progress]:
        counted_at, progress, cost = self._count(tenant)
        yield progress
        least, changed_at, claim = getattr(progress, what), counted_at, None
        while (left := getattr(progress, what)) and self._embedder is not None:
            worked = work(tenant)
            if worked or left < least:
                least, changed_at = left, time.monotonic()
            if not worked:
                if self._failed is not None:
                    raise ModelError(self._failed)
                before, claim = claim, self._store.read(tenant, lambda tx: tx.index.latest_claim())
                if claim != before:  # Somebody goes on with a long text.
                    changed_at = time.monotonic()
                if time.monotonic() - changed_at > _GIVEN_UP_S:
                    raise ModelError(f"{left} memories stay as they are: `memorist doctor` says what is wrong.")
                self._loop.rest(0.05)  # Others have claimed the rest.
            # Counting reads the whole index: it is done now and then, and in between what was done here is subtracted.
            if not worked or time.monotonic() - counted_at > max(1.0, _COUNTING_SHARE * cost):
                counted_at, progress, cost = self._count(tenant)
            else:
                progress = replace(progress, **{what: max(1, left - worked)})
            yield progress

    def _count(self, tenant: str) -> tuple[float, Progress, float]:
        """The progress, with when it was counted and how long that took."""
        before = time.monotonic()
        progress = self.progress(tenant)
        now = time.monotonic()
        return now, progress, now - before

    def rebuild(self, tenant: str) -> Iterator[Progress]:
        """Embed everything anew, while recall goes on with what is there. Raises ModelError."""
        self.prepare(tenant)
        self._unindex(tenant, "-")
        yield from self.finish(tenant, tokens=True)


def _take(rows: Sequence[tuple[str, str]], now: datetime, until: datetime, tx: Writer) -> list[str]:
    return tx.index.claim_waiting(rows, now, until)

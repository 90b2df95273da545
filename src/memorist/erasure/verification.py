"""Looks again for what was erased: in every table of the database, and in the bytes of its files."""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import cache, partial

from memorist.erasure.ledger import erased_ids
from memorist.erasure.naming import PAGE, events_naming, in_pages, memories_naming, turns_naming
from memorist.erasure.samples import SHORTEST
from memorist.erasure.values import EVERYTHING, ErasureKind, Receipt, Verification
from memorist.memories.values import Memory
from memorist.platform.erased_names import ids_named_in
from memorist.ports import Reader, Store
from memorist.times import Clock

# So many of the pieces that were found are looked for among living rows; each takes a walk through all of them.
_ASKED = 100

_Tenants = Callable[[], Collection[str]]


class Verifier:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def verify(
        self,
        receipt: Receipt,
        *,
        samples: Collection[bytes] = (),
        user: str | None = None,
        ids: Collection[str] = (),
    ) -> Verification:
        """What is left of an erasure. `samples` are pieces of the texts and `user` is the name, where they are known;
        `ids` are those of a receipt that this database has no ledger of. Raises StoreError.
        """
        pages = [list(page) for page in erased_ids(self._store, receipt)] or list(in_pages(ids))
        rows = self._rows(receipt, pages)
        memory_ids = {memory_id for page in pages for memory_id in page}
        # Listed only where something is found; its own too, where nobody has entered it among the others.
        tenants = cache(lambda: {receipt.tenant, *(tenant.id for tenant in self._store.list_tenants())})
        found_ids = self._ids_in_files(memory_ids, tenants)
        found = self._pieces_in_files(samples, tenants)
        named = None
        if user is not None and len(user.encode()) >= SHORTEST:
            named = self._pieces_in_files([user.encode()], tenants, across=False)
        return Verification(
            ok=not rows and not found_ids and not found and not named,
            checked_at=self._clock.now(),
            ids=len(memory_ids),
            rows=rows,
            ids_in_files=found_ids,
            samples=len(samples),
            samples_in_files=found,
            name_in_files=named,
        )

    # In the database

    def _rows(self, receipt: Receipt, pages: Iterable[list[str]]) -> dict[str, int]:
        found: Counter[str] = Counter()
        erased: set[str] = set()
        for page in pages:
            found.update(self._store.read(receipt.tenant, partial(_count_named, page)))
            erased.update(page)
        found.update(self._mentions(receipt.tenant, erased))
        if receipt.kind in (ErasureKind.USER, ErasureKind.TENANT):
            found.update(self._of_users(receipt))
        return {table: count for table, count in found.items() if count}

    def _mentions(self, tenant: str, erased: set[str]) -> Counter[str]:
        found: Counter[str] = Counter()
        if erased:
            read = partial(self._store.read, tenant)
            for memory in memories_naming(read):
                found["memories"] += bool(ids_named_in(memory.meta or "") & erased)
            for _, payload in events_naming(read):
                found["memory_events"] += bool(ids_named_in(payload) & erased)
            for *_, data in turns_naming(read):
                found["turn_events"] += bool(ids_named_in(data) & erased)
        return found

    def _of_users(self, receipt: Receipt) -> Counter[str]:
        """What is left from before the erasure: a user may have come back since."""
        found: Counter[str] = Counter()
        is_tenants = receipt.kind is ErasureKind.TENANT
        for user in self._store.read(receipt.tenant, lambda tx: tx.erasure.list_users()):
            if is_tenants or receipt.is_about(user):
                found.update(self._store.read(receipt.tenant, partial(_count_of_user, user, receipt)))
        if is_tenants:
            left = self._store.read(receipt.tenant, lambda tx: tx.memories.scan(EVERYTHING, "", PAGE))
            found["memories"] = max(found["memories"], sum(memory.created_at <= receipt.started_at for memory in left))
        elif "api_keys" not in receipt.counts:
            del found["api_keys"]
        return found

    # In the files

    def _ids_in_files(self, memory_ids: Collection[str], tenants: _Tenants) -> int | None:
        """How many of the ids are in the files and nobody's: an import may have brought some to another tenant."""
        found = self._store.search_files([memory_id.removeprefix("mem_").encode() for memory_id in memory_ids])
        if not found:
            return None if found is None else 0
        here = [f"mem_{piece.decode()}" for piece in found]
        living = {
            memory.id
            for tenant in tenants()
            for page in in_pages(here)
            for memory in self._store.read(tenant, partial(_memories, page))
        }
        return len(set(here) - living)

    def _pieces_in_files(self, pieces: Collection[bytes], tenants: _Tenants, *, across: bool = True) -> int | None:
        """How many pieces are in the files and explained by nothing; with `across` also not by values of rows that lie
        one after the other.

        How many a living row explains is told to nobody: by such a number a caller who erases guesses of their own
        would read what others wrote, letter by letter.
        """
        found = self._store.search_files(pieces)
        if not found:
            return None if found is None else 0
        asked = sorted(found) if len(found) <= _ASKED else random.sample(sorted(found), _ASKED)
        own = self._store.own_words()
        left = [piece for piece in asked if piece not in own and not self._is_living(piece.decode(), tenants)]
        return len(set(left) - (self._store.held_by_rows(left) if across else set())) if left else 0

    def _is_living(self, piece: str, tenants: _Tenants) -> bool:
        return any(
            piece in tenant or self._store.read(tenant, lambda tx: tx.erasure.find_text(piece)) for tenant in tenants()
        )


def _count_named(ids: list[str], tx: Reader) -> dict[str, int]:
    return tx.erasure.count_named(ids)


def _count_of_user(user: str, receipt: Receipt, tx: Reader) -> dict[str, int]:
    return tx.erasure.count_of_user(user, receipt.started_at)


def _memories(ids: list[str], tx: Reader) -> list[Memory]:
    return tx.memories.get_many(ids)

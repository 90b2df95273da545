"""What redaction took out of memories: where, when and by which rules. The secrets themselves are nowhere."""

from collections.abc import Sequence
from functools import partial

from memorist.platform import access, validation
from memorist.platform.paging import Cursors, Page, number_part, page_of
from memorist.platform.values import OwnerFilter, Principal, RedactionNote
from memorist.ports import Reader, Store

_CURSORS: Cursors[int] = Cursors("redactions", lambda seq: (seq,), number_part)
_BATCH = 100
# So many batches are looked at for a page: somebody who has none among very many is not kept waiting.
_BATCHES = 5


class RedactionLog:
    def __init__(self, store: Store) -> None:
        self._store = store

    def list(self, principal: Principal, *, limit: int = 20, cursor: str | None = None) -> Page[RedactionNote]:
        """A page of what was taken out of memories that the caller sees, newest first.

        It may hold fewer than `limit`, even none, and still have a `next_cursor`. Raises InvalidField or InvalidCursor.
        """
        validation.page_limit(limit)
        before = _CURSORS.decode(cursor)
        slices = access.visible_slices(principal)
        found: list[RedactionNote] = []
        for _ in range(_BATCHES):
            batch = self._store.read(principal.tenant, partial(_read, before), snapshot=False)
            found += [note for note in batch if _is_visible(note, slices)]
            if len(found) > limit or len(batch) < _BATCH:
                return page_of(found, limit, lambda last: _CURSORS.encode(last.seq))
            before = batch[-1].seq
        return Page(tuple(found), _CURSORS.encode(before or 0))


def _read(before: int | None, tx: Reader) -> Sequence[RedactionNote]:
    return tx.events.redactions(before, _BATCH)


def _is_visible(note: RedactionNote, slices: Sequence[OwnerFilter]) -> bool:
    return any(part.matches(note.owner) for part in slices)

"""Tool outputs that repeat memories word for word: what a model was told by `recall`, for one. They go with these."""

import json
from collections.abc import Collection, Iterator

from memorist.erasure import ledger
from memorist.erasure.values import Naming
from memorist.memories.searchable import QUOTES
from memorist.memories.values import Kind
from memorist.ports import Reader

_PAGE = 500


def is_copy(naming: Naming) -> bool:
    return naming.kind == Kind.TOOL_OUTPUT and QUOTES in json.loads(naming.meta or "{}")


def copies_of(tx: Reader, memory_ids: Collection[str]) -> list[str]:
    """The ids of those that repeat any of these memories. It looks at every memory that names another one."""
    wanted = set(memory_ids)
    return [one.id for one in _naming(tx) if is_copy(one) and wanted & ledger.ids_named_in(one.meta or "")]


def _naming(tx: Reader) -> Iterator[Naming]:
    after = ""
    while page := tx.erasure.scan_naming(after, _PAGE):
        yield from page
        after = page[-1].id

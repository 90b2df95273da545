"""The chain of the audit log: each entry carries the hash of the one before. Pure."""

import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from json.encoder import JSONEncoder, encode_basestring_ascii
from typing import Any

from memorist.audit.values import AuditEntry, ChainHead, NotedAct
from memorist.platform.acts import ActKind
from memorist.times import to_micros

_SHORT = 16
_to_json = JSONEncoder(separators=(",", ":")).encode
_quoted = encode_basestring_ascii
_MOST_FINDINGS = 20


def hidden(salt: str, name: str | None) -> str:
    """A name or an id as the log has it: who knows it can look for it, and nobody can read it."""
    if not name:
        return ""
    return hashlib.sha256(f"{salt}\0{name}".encode("utf-8", "replace")).hexdigest()[:_SHORT]


def hash_of(tenant: str, before: str, number: int, act: NotedAct) -> str:
    """Of a list in JSON: the hash before, the tenant, the number, the time in microseconds, and what else there is."""
    told = f"{_described(act[1:-2])},{_quoted(act.ids)},{act.times}"
    covered = f"[{_quoted(before)},{_quoted(tenant)},{number},{to_micros(act.at)},{told}]"
    return hashlib.sha256(covered.encode()).hexdigest()


@lru_cache(maxsize=256)
def _described(values: tuple[Any, ...]) -> str:
    """What many acts of one caller have in common, without its brackets."""
    return _to_json(values)[1:-1]


def linked(tenant: str, head: ChainHead, acts: Iterable[NotedAct]) -> list[AuditEntry]:
    """The acts as the next entries of a chain."""
    number, before = head.number, head.hash
    entries = []
    for act in acts:
        number += 1
        before = hash_of(tenant, before, number, act)
        entries.append(AuditEntry(number, act, before))
    return entries


def anchor_of(number: int, digest: str) -> str:
    """What an entry that tells of removed ones has in the place of ids: where the chain goes on."""
    return f"{number}:{digest}"


class ChainReader:
    """Looks through a chain, entry by entry, oldest first, and collects what is wrong with it."""

    def __init__(self, tenant: str, expected: tuple[int, str] | None = None) -> None:
        """`expected`: the number and hash of an entry, as somebody noted them outside of the database."""
        self._tenant = tenant
        self._expected = expected
        self._was_met = expected is None or expected[0] < 1
        self._head: ChainHead | None = None
        self._next, self._before = 0, ""
        self._trimmed: set[str] = set()
        self.entries = 0
        self._findings: list[str] = []

    def read(self, head: ChainHead, entries: Iterable[AuditEntry]) -> None:
        """The next entries, and the head at the same moment."""
        if self._head is None or head.first > self._next:
            self._next, self._before = head.first, head.anchor
        self._head = head
        for entry in entries:
            self._read(head, entry)

    def _read(self, head: ChainHead, entry: AuditEntry) -> None:
        self.entries += 1
        number = entry.number
        if number != self._next:
            self._find(f"{_range(self._next, number - 1)} missing" if number > self._next else _misplaced(number))
        elif hash_of(self._tenant, self._before, number, entry.act) != entry.hash:
            self._find(f"entry {number} was changed, or is not the one that followed entry {number - 1}")
        if number > head.number:
            self._find(f"entry {number} was added behind the end of the chain")
        if self._expected is not None and number == self._expected[0]:
            self._was_met = True
            if entry.hash != self._expected[1]:
                self._find(f"entry {number} is not the one that was noted")
        if entry.act.kind == ActKind.TRIMMED:
            self._trimmed.add(entry.act.ids)
        # From here on as if nothing had been wrong, so that one change is told once.
        self._next, self._before = number + 1, entry.hash

    def finish(self) -> tuple[str, ...]:
        """What is wrong."""
        head = self._head
        if head is None:
            return ()
        if self._next <= head.number:
            self._find(f"{_range(self._next, head.number)} missing at the end")
        elif self._next == head.number + 1 and self._before != head.hash:
            self._find(f"entry {head.number} is not the one that the chain ended with")
        if head.first > 1 and anchor_of(head.first - 1, head.anchor) not in self._trimmed:
            self._find(f"{_range(1, head.first - 1)} missing, and no entry tells that they were removed")
        if not self._was_met and self._expected is not None and self._expected[0] >= head.first:
            self._find(f"entry {self._expected[0]}, which was noted, is not there")
        return tuple(self._findings)

    def _find(self, what: str) -> None:
        if len(self._findings) < _MOST_FINDINGS:
            self._findings.append(what)


def _range(first: int, last: int) -> str:
    return f"entry {first} is" if first == last else f"entries {first} to {last} are"


def _misplaced(number: int) -> str:
    return f"entry {number} is not where it belongs"


def merged(*groups: Iterable[NotedAct]) -> Iterator[NotedAct]:
    """Acts in the order of their time."""
    return iter(sorted((act for group in groups for act in group), key=lambda act: act.at))

"""How long memories are kept, erasing them for good, moving them, and what the operator of a tenant does."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from datetime import datetime
from itertools import islice
from typing import Any

from memorist.codec import to_record
from memorist.erasure.values import Receipt, Verification
from memorist.memories.policies import PolicyChange
from memorist.memories.policy import PolicyRevision
from memorist.memories.sweeper import Sweep
from memorist.memories.values import Kind
from memorist.platform import access, validation
from memorist.platform.values import Principal
from memorist.times import to_iso
from memorist.transfer.service import ImportReport, chosen
from memorist.verbs.kinds import Acting, Call, Lines, Stream, Verb, id_part, reading, told, told_as, without_none
from memorist.verbs.memories import RECORDS

_LINES_AT_ONCE = 100
# So much is done well within the time of a request; a line that is longer goes by itself, as a server takes it.
_CHARACTERS_AT_ONCE = 250_000


def principal() -> Verb[Principal]:
    """Whom this acts as. Raises Unauthenticated once the API key is revoked."""
    return Verb(lambda me: me.principal, lambda: reading("/v1/principal", Principal))


def policy() -> Verb[PolicyRevision]:
    """The tenant's retention policy, for an admin. Raises Forbidden."""
    return Verb(lambda me: me.core.policies.get(me.principal), lambda: reading("/v1/admin/policy", PolicyRevision))


def set_policy(changes: Mapping[str, Any], *, dry_run: bool = False) -> Verb[PolicyChange]:
    """Change the tenant's retention policy, for an admin; the answer says how many rows that touches.

    Raises Forbidden, InvalidField or Conflict.
    """
    return Verb(
        lambda me: me.core.policies.change(me.principal if dry_run else me.writing(), changes, dry_run=dry_run),
        lambda: Call("PUT", "/v1/admin/policy", told(PolicyChange), {"dry_run": dry_run}, body=to_record(changes)),
    )


def sweep(*, dry_run: bool = False) -> Verb[Sweep]:
    """Do what time asks for in the tenant, once, for an admin. Raises Forbidden."""

    def work(me: Acting) -> Sweep:
        access.require(me.principal, access.Action.ADMINISTER)
        tenant = me.principal.tenant
        if dry_run:
            return me.core.sweeper.dry_run(tenant)
        swept = me.core.sweeper.sweep(tenant)
        # A server finishes its receipts by itself. Here nobody else does.
        me.core.erasure.resume(tenant)
        return swept

    return Verb(work, lambda: Call("POST", "/v1/admin/retention/sweep", told(Sweep), {"dry_run": dry_run}))


# Erasure


def erase(*memory_ids: str) -> Verb[Receipt]:
    """Erase memories for good, whatever their state, also from the bytes of the files; the receipt proves it.

    Raises NotFound or Forbidden before anything is erased, and StoreError where it is to be finished later.
    """
    return Verb(
        lambda me: me.core.erasure.erase(me.principal, memory_ids),
        lambda: Call("POST", f"{RECORDS}/erase", told(Receipt), body={"ids": [*memory_ids]}),
    )


def purge(user: str | None = None, *, keys: bool = False) -> Verb[Receipt]:
    """Erase everything of one's own, with every agent, or for an admin of any user; `keys`: API keys too.

    Raises Forbidden or InvalidField, and StoreError where it is to be finished later.
    """
    body = without_none(user=user, keys=keys)
    return Verb(
        lambda me: me.core.erasure.purge_user(me.principal, user, keys=keys),
        lambda: Call("POST", f"{RECORDS}/purge", told(Receipt), body=body),
    )


def delete_tenant(confirm: str, *, at_once: bool = False) -> Verb[Receipt]:
    """Erase the whole tenant in 30 days, or at once, for an admin. Its keys end now. `confirm` is the tenant's name.

    Raises Forbidden or InvalidField.
    """
    return Verb(
        lambda me: me.core.erasure.delete_tenant(me.principal, confirm=confirm, at_once=at_once),
        lambda: Call("DELETE", "/v1/admin/tenant", told(Receipt), {"at_once": at_once, "confirm": confirm}),
    )


def receipt(receipt_id: str) -> Verb[Receipt]:
    """The receipt of an erasure of one's own, or for an admin of any. Raises NotFound or InvalidId."""
    return Verb(
        lambda me: me.core.erasure.get(me.principal, receipt_id),
        lambda: reading(f"/v1/receipts/{id_part('rcpt', receipt_id)}", Receipt),
    )


def receipts(*, limit: int = 100) -> Verb[Sequence[Receipt]]:
    """The newest receipts of one's own, or for an admin of the tenant. Raises InvalidField."""
    return Verb(
        lambda me: me.core.erasure.receipts(me.principal, limit=limit),
        lambda: reading("/v1/receipts", list[Receipt], limit=limit),
    )


def verify(receipt_id: str) -> Verb[Verification]:
    """Look again for what was erased, in the database and in its files' bytes. Raises NotFound or InvalidId."""
    return Verb(
        lambda me: me.core.erasure.verifier.verify(me.core.erasure.get(me.principal, receipt_id)),
        lambda: Call("POST", f"/v1/receipts/{id_part('rcpt', receipt_id)}/verify", told(Verification), reads=True),
    )


def reset() -> Verb[int]:
    """Erase for good everything that the caller owns, to begin anew; `import_` of an export brings it back, and the
    newest of `receipts` says what went. Returns how many memories did.
    """
    return Verb(
        lambda me: me.core.erasure.reset(me.principal).memories,
        lambda: Call("POST", f"{RECORDS}/reset", told_as("erased", int)),
    )


# Everything at once


def wait_until_indexed() -> Verb[None]:
    """Return when every memory of the tenant can be found by meaning. Raises ModelError."""

    def finish(me: Acting) -> None:
        for _ in me.core.indexer.finish(me.principal.tenant):
            pass

    def ask() -> Call[None]:
        path = f"{RECORDS}/index"
        return Call("POST", path, lambda _: None, reads=True, more=lambda record: ask() if record["waiting"] else None)

    return Verb(finish, ask)


def export(
    *, kinds: Sequence[Kind] | None = None, since: datetime | None = None, until: datetime | None = None
) -> Stream[str]:
    """Everything the caller sees, as lines of JSON; or of these kinds alone, and what was stored from `since` on and
    before `until`. Raises InvalidField.
    """

    def ask() -> Lines:
        wanted = chosen(kinds, since, until)
        moments = {"since": wanted.since, "until": wanted.until}
        given = {name: to_iso(at) for name, at in moments.items() if at is not None}
        return Lines(f"{RECORDS}/export", given | ({"kinds": sorted(wanted.kinds)} if kinds else {}))

    return Stream(
        lambda me: me.core.transfer.export(me.principal, chosen(kinds, since, until)), ask, at_once=_LINES_AT_ONCE
    )


def import_(lines: Iterable[str]) -> Verb[ImportReport]:
    """Store what an export holds; what is there already is left alone. Raises InvalidField."""

    def store(me: Acting) -> ImportReport:
        report = ImportReport()
        for report in me.core.transfer.import_(me.writing(), lines):  # noqa: B007
            pass
        return report

    return Verb(store, lambda: _import_calls(lines))


def _import_calls(lines: Iterable[str]) -> Call[ImportReport]:
    """A call for each part of the lines; each answer counts what was done so far."""
    parts = _parts(validation.each("lines", lines))
    total = ImportReport()

    def next_call(_: Any = None) -> Call[ImportReport] | None:
        found = next(parts, None)
        if found is None:
            return None
        before, some = found
        return Call("POST", f"{RECORDS}/import", add, {"after": before}, body={"lines": some}, more=next_call)

    def add(record: Any) -> ImportReport:
        nonlocal total
        done = told(ImportReport)(record)
        total = ImportReport(*map(sum, zip(astuple(total), astuple(done), strict=True)))
        # Only with the last part the whole was there.
        total = replace(total, incomplete=done.incomplete, uncounted=done.uncounted)
        return total

    first = next_call()
    assert first is not None
    return first


def _parts(lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    """The lines in parts that a server takes, each after the first one, and how many were left out in between."""
    header = [*islice(lines, 1)]
    before = size = 0
    some: list[str] = []
    for line in lines:
        size += len(line)
        if some and size > _CHARACTERS_AT_ONCE:
            yield before, [*header, *some]
            before, size, some = before + len(some), len(line), []
        some.append(line)
    yield before, [*header, *some]

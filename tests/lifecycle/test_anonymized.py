"""What is left of an anonymized fact is nobody's: it is shown to admins of the tenant, and to nobody else."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from memorist.core import Core
from memorist.errors import IllegalTransition, NotFound
from memorist.memories.values import Draft, Memory, Status
from memorist.platform.feed import START, changes
from memorist.platform.values import Owner, Principal, Role
from memorist.recall.values import Question
from memorist.testing import FrozenClock
from memorist.views.activity import ActivityFilter
from tests.lifecycle.test_sweeper import STEP, Sweeping, retire, stored
from tests.support.stores import checked


@pytest.fixture
def pair(
    core: Core, clock: FrozenClock, ada: Principal, sweep: Sweeping, enforce: Callable[..., None]
) -> tuple[Memory, Memory]:
    """A fact of ada's that was anonymized, and what took its place."""
    older, newer = retire(core, ada, clock)
    enforce(anonymize_after_days=0)
    clock.advance(STEP)
    assert sweep().done == {"anonymized": {"fact": 1}}
    return older, newer


@pytest.fixture(params=["ada", "bob", "coder", "service", "reader", "admin for ada"])
def other(request: pytest.FixtureRequest, tenant: str) -> Principal:
    """Everybody but an admin who looks after the whole tenant."""
    return {
        "ada": Principal(tenant, Role.USER, "ada"),
        "bob": Principal(tenant, Role.USER, "bob"),
        "coder": Principal(tenant, Role.USER, "bob", "coder"),
        "service": Principal(tenant, Role.SERVICE),
        "reader": Principal(tenant, Role.READER),
        "admin for ada": Principal(tenant, Role.ADMIN, "ada"),
    }[request.param]


def followed(core: Core, who: Principal, memory: Memory) -> list[str]:
    told = changes(core.feed, lambda: who, START, wait=0)
    return [change.action for change in told if change.memory_id == memory.id]


def exported(core: Core, who: Principal) -> set[str]:
    lines = [json.loads(line) for line in core.transfer.export(who)]
    return {line["memory"]["id"] for line in lines if "memory" in line}


def test_anonymized_fact_is_not_there_for_who_is_no_admin(
    core: Core, pair: tuple[Memory, Memory], other: Principal
) -> None:
    older, newer = pair
    for read in (core.memories.get, core.retention.read, core.memories.events, core.facts.history, core.dossiers.get):
        with pytest.raises(NotFound):
            read(other, older.id)
    if other.role in (Role.USER, Role.SERVICE):
        for change in (core.retention.restore, core.facts.restore, core.retention.delete, core.retention.archive):
            with pytest.raises(NotFound):
                change(other, older.id)
        with pytest.raises(NotFound):
            core.erasure.erase(other, [older.id])
    if other.user == "ada":
        assert [version.memory.id for version in core.facts.history(other, newer.id)] == [newer.id]


def test_what_happened_to_an_anonymized_fact_is_told_to_no_one_who_is_no_admin(
    core: Core, pair: tuple[Memory, Memory], other: Principal
) -> None:
    older, newer = pair
    assert followed(core, other, older) == []
    assert (followed(core, other, newer) == ["created"]) == (other.user == "ada")
    told = core.activity.page(other, ActivityFilter(), limit=100).items
    assert older.id not in {one.memory_id for one in told}
    assert exported(core, other) == ({newer.id} if other.user == "ada" else set())
    lines = [json.loads(line) for line in core.transfer.export_some(other, [older.id])]
    assert [line for line in lines if "memory" in line] == []


def test_anonymized_fact_is_counted_and_listed_for_nobody(
    core: Core, pair: tuple[Memory, Memory], other: Principal
) -> None:
    older, newer = pair
    mine = int(other.user == "ada")
    assert sum(one.memories for one in core.overview.growth(other)) == mine
    for status in (Status.ACTIVE, Status.ARCHIVED):
        assert older.id not in {one.id for one in core.memories.list(other, status=status, every_agent=True).items}
    for moment in ({"as_of": older.created_at}, {"known_at": older.created_at}, {}):
        hits = core.recall.recall(other, Question("Ada Lyon Oslo REDACTED", min_score=0, **moment)).hits
        assert {hit.memory.id for hit in hits} <= {newer.id}


def test_admin_of_the_tenant_sees_what_is_left_of_it(core: Core, admin: Principal, pair: tuple[Memory, Memory]) -> None:
    older, newer = pair
    row = core.memories.get(admin, older.id)
    assert (row.content, row.user, row.agent, row.owner.is_nobody) == ("[REDACTED]", None, None, True)
    told = ["created", "superseded", "anonymized"]
    assert [event.event_type for event in core.memories.events(admin, older.id)] == told
    assert [version.memory.id for version in core.facts.history(admin, newer.id)] == [older.id, newer.id]
    assert followed(core, admin, older) == told
    assert exported(core, admin) == {older.id, newer.id}
    with pytest.raises(IllegalTransition, match="anonymized"):
        core.retention.restore(admin, older.id)


def test_copy_of_a_tenant_leaves_it_nobodys(
    core: Core, admin: Principal, bob: Principal, pair: tuple[Memory, Memory]
) -> None:
    older, _ = pair
    header, *lines = core.transfer.export(admin)
    elsewhere = core.identity.create_tenant(f"{admin.tenant}-copy")[0].id
    admin, bob = (replace(one, tenant=elsewhere) for one in (admin, bob))
    *_, report = core.transfer.import_(bob, [header, *(line for line in lines if "[REDACTED]" in line)])
    assert (report.imported, report.shared) == (0, 1)
    *_, report = core.transfer.import_(admin, [header, *lines])
    assert report.imported == 2
    assert core.memories.get(admin, older.id).owner.is_nobody
    with pytest.raises(NotFound):
        core.memories.get(bob, older.id)


def test_erasure_of_an_anonymized_fact_is_told_to_admins_alone(
    core: Core, admin: Principal, ada: Principal, bob: Principal, pair: tuple[Memory, Memory]
) -> None:
    older, _ = pair
    core.erasure.erase(admin, [older.id])
    assert stored(core, older) is None
    assert followed(core, admin, older) == ["erased"]
    assert followed(core, ada, older) == followed(core, bob, older) == []
    assert checked(core.store, ada.tenant) == "ok"


def test_what_redaction_took_out_of_it_is_told_to_admins_alone(
    core: Core, clock: FrozenClock, admin: Principal, sweep: Sweeping, enforce: Callable[..., None], tenant: str
) -> None:
    ada, bob = (Principal(tenant, Role.USER, name) for name in ("ada", "bob"))
    secret = "AKIA" + "ABCDEFGHIJKLMNOP"
    older, _ = retire(core, ada, clock, meta={"note": f"the key is {secret}"})
    assert [note.memory_id for note in core.redaction_log.list(ada).items] == [older.id]
    enforce(anonymize_after_days=0)
    clock.advance(STEP)
    sweep()
    for who, told in ((ada, []), (bob, []), (admin, [older.id])):
        assert [note.memory_id for note in core.redaction_log.list(who).items] == told


def test_shared_fact_is_still_everybodys(core: Core, admin: Principal, bob: Principal) -> None:
    draft = Draft("Deploys are on Tuesdays.", owner=Owner())
    (shared,) = core.memories.remember(admin, [draft])
    assert core.memories.get(bob, shared.memory.id).owner == Owner()
    assert followed(core, bob, shared.memory) == ["created"]

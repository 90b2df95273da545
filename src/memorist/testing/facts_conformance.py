"""What every store must do for jobs, chains of facts and doubts: a part of StoreConformance."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from memorist.facts.values import Doubt, DoubtStatus
from memorist.ids import new_id
from memorist.memories import writing
from memorist.memories.values import Memory, Position, Status
from memorist.platform.values import Job, JobStatus, Owner, OwnerFilter, Principal, Role
from memorist.ports import Store, Writer
from memorist.testing.clocks import START
from memorist.testing.makers import make_memory

_EVERYBODY = OwnerFilter(any_user=True, any_agent=True)
_SOON = START + timedelta(minutes=5)


def make_job(tenant: str, **fields: Any) -> Job:
    """A job of the user `ada`, due at START."""
    values: dict[str, Any] = {
        "id": new_id("job"),
        "kind": "count",
        "principal": Principal(tenant, Role.USER, "ada"),
        "payload": {},
        "run_at": START,
        "created_at": START,
        "updated_at": START,
    }
    return Job(**(values | fields))


def make_doubt(newer: Memory, older: Memory, **fields: Any) -> Doubt:
    values: dict[str, Any] = {"reason": "It may be so.", "judge": "local", "created_at": START, "updated_at": START}
    return Doubt(new_id("dbt"), older.owner, newer.id, older.id, **(values | fields))


class FactsConformance:
    # Jobs

    def test_job_comes_back_as_it_was(self, store: Store, tenant: str) -> None:
        job = make_job(
            tenant,
            principal=Principal(tenant, Role.SERVICE, "ada", "coder", "s1", None, "cli", agent_vouched=False),
            payload={"nested": ["ключ", None, {"a": 1.5}]},
            key="once",
            status=JobStatus.DEAD,
            attempts=7,
            error="It is 'down'. -- ;",
            result={"found": []},
            run_at=START + timedelta(microseconds=1),
            updated_at=START + timedelta(days=1),
        )
        assert store.write(tenant, lambda tx: tx.jobs.insert(job)) == job
        assert store.read(tenant, lambda tx: tx.jobs.get(job.id)) == job

    def test_job_of_a_key_is_added_once_for_each_kind(self, store: Store, tenant: str) -> None:
        first, second = make_job(tenant, key="k"), make_job(tenant, key="k")
        other = make_job(tenant, key="k", kind="other")
        for job in (first, second, other):
            store.write(tenant, partial(_insert, job))
        assert store.write(tenant, lambda tx: tx.jobs.insert(second)) == first
        assert _ids(store, tenant) == {first.id, other.id}

    def test_jobs_without_a_key_are_all_added(self, store: Store, tenant: str) -> None:
        jobs = [make_job(tenant) for _ in range(3)]
        for job in jobs:
            store.write(tenant, partial(_insert, job))
        assert _ids(store, tenant) == {job.id for job in jobs}

    def test_due_jobs_are_claimed_once_and_are_due_again_later(self, store: Store, tenant: str) -> None:
        due, later = make_job(tenant), make_job(tenant, run_at=_SOON + timedelta(days=1))
        dead = make_job(tenant, status=JobStatus.DEAD)
        for job in (due, later, dead):
            store.write(tenant, partial(_insert, job))
        assert store.read(tenant, lambda tx: tx.jobs.has_due(START))
        [claimed] = store.write(tenant, lambda tx: tx.jobs.claim(START, _SOON, 10))
        assert (claimed.id, claimed.attempts, claimed.run_at) == (due.id, 1, _SOON)
        assert store.write(tenant, lambda tx: tx.jobs.claim(START, _SOON, 10)) == []
        assert not store.read(tenant, lambda tx: tx.jobs.has_due(START))
        [again] = store.write(tenant, lambda tx: tx.jobs.claim(_SOON, _SOON + timedelta(minutes=5), 10))
        assert (again.id, again.attempts) == (due.id, 2)

    def test_no_job_is_claimed_by_two(self, store: Store, tenant: str) -> None:
        jobs = [make_job(tenant) for _ in range(40)]
        for job in jobs:
            store.write(tenant, partial(_insert, job))

        def claim(_: int) -> list[str]:
            return [job.id for job in store.write(tenant, lambda tx: tx.jobs.claim(START, _SOON, 3))]

        with ThreadPoolExecutor(6) as threads:
            taken = [job_id for ids in threads.map(claim, range(30)) for job_id in ids]
        assert sorted(taken) == sorted(job.id for job in jobs)

    def test_only_the_attempt_that_has_a_job_finishes_it(self, store: Store, tenant: str) -> None:
        store.write(tenant, partial(_insert, make_job(tenant)))
        [first] = store.write(tenant, lambda tx: tx.jobs.claim(START, START, 1))
        [second] = store.write(tenant, lambda tx: tx.jobs.claim(START, _SOON, 1))
        done = replace(second, status=JobStatus.DONE, result={"by": "second"}, updated_at=_SOON)
        assert not store.write(tenant, lambda tx: tx.jobs.finish(replace(first, status=JobStatus.DONE)))
        assert store.write(tenant, lambda tx: tx.jobs.finish(done))
        assert not store.write(tenant, lambda tx: tx.jobs.finish(done))
        assert store.read(tenant, lambda tx: tx.jobs.get(second.id)) == done

    def test_jobs_are_retried_dropped_and_tidied(self, store: Store, tenant: str) -> None:
        dead, done = make_job(tenant, status=JobStatus.DEAD, attempts=8), make_job(tenant, status=JobStatus.DONE)
        waiting = make_job(tenant, attempts=2, run_at=_SOON)
        for job in (dead, done, waiting):
            store.write(tenant, partial(_insert, job))
        retried = [store.write(tenant, partial(_retry, job.id)) for job in (dead, done, waiting)]
        assert retried == [True, False, True]
        found = {job.id: job for job in _jobs(store, tenant)}
        assert (found[dead.id].status, found[dead.id].attempts) == (JobStatus.WAITING, 0)
        assert (found[waiting.id].run_at, found[waiting.id].attempts) == (START, 2)
        assert store.write(tenant, lambda tx: tx.jobs.drop_done(START)) == 0
        assert store.write(tenant, lambda tx: tx.jobs.drop_done(_SOON)) == 1
        assert store.write(tenant, lambda tx: tx.jobs.drop(dead.id))
        assert not store.write(tenant, lambda tx: tx.jobs.drop(dead.id))
        assert _ids(store, tenant) == {waiting.id}

    def test_jobs_are_listed_by_owner_status_and_kind(self, store: Store, tenant: str) -> None:
        jobs = {
            (user, agent): make_job(tenant, principal=Principal(tenant, Role.ADMIN, user, agent))
            for user in (None, "ada", "bob")
            for agent in (None, "coder")
        }
        for job in jobs.values():
            store.write(tenant, partial(_insert, job))
        for owner in (OwnerFilter("ada"), OwnerFilter("ada", any_agent=True), OwnerFilter(), _EVERYBODY):
            wanted = [job.id for job in jobs.values() if owner.matches(job.owner)]
            found = store.read(tenant, partial(_list, owner))
            assert [job.id for job in found] == sorted(wanted, reverse=True)
        assert store.read(tenant, lambda tx: tx.jobs.page(_EVERYBODY, None, 9, status=JobStatus.DEAD, kind=None)) == []
        assert store.read(tenant, lambda tx: tx.jobs.page(_EVERYBODY, None, 9, status=None, kind="other")) == []
        assert store.write(tenant, lambda tx: tx.jobs.erase(OwnerFilter("ada", any_agent=True))) == 2
        assert len(_ids(store, tenant)) == 4

    def test_jobs_of_anneighbour_are_not_there(self, store: Store, tenant: str, neighbour: str) -> None:
        job = make_job(tenant)
        store.write(tenant, partial(_insert, job))
        assert store.read(neighbour, lambda tx: tx.jobs.get(job.id)) is None
        assert store.write(neighbour, lambda tx: tx.jobs.claim(START, _SOON, 10)) == []
        assert not store.write(neighbour, lambda tx: tx.jobs.drop(job.id))
        assert _ids(store, neighbour) == set()

    # Chains and doubts

    def test_what_a_fact_took_the_place_of_is_found(self, store: Store, tenant: str) -> None:
        newer = make_memory(tenant)
        older = [make_memory(tenant, superseded_by=newer.id, status=Status.ARCHIVED) for _ in range(2)]
        store.write(tenant, partial(_insert_all, [newer, *older, make_memory(tenant)]))
        found = store.read(tenant, lambda tx: tx.facts.superseded(newer.id))
        assert {memory.id for memory in found} == {memory.id for memory in older}

    def test_retired_facts_are_listed_by_their_last_change(self, store: Store, tenant: str, neighbour: str) -> None:
        newer = make_memory(tenant)
        gone = {"superseded_by": newer.id, "status": Status.ARCHIVED}
        # Two changed at the same moment: then the id decides.
        retired = [make_memory(tenant, updated_at=START + timedelta(hours=hour), **gone) for hour in (3, 1, 2, 2)]
        bobs = make_memory(tenant, owner=Owner("bob"), updated_at=START, **gone)
        others = [
            make_memory(tenant, status=Status.ARCHIVED),
            make_memory(tenant, **{**gone, "status": Status.SOFT_DELETED}),
            make_memory(tenant, anonymized_at=START, **gone),
            make_memory(tenant, expires_at=START, **gone),
        ]
        store.write(tenant, partial(_insert_all, [newer, *retired, bobs, *others]))
        wanted = sorted(retired, key=lambda one: (one.updated_at, one.id), reverse=True)

        def listed(owner: OwnerFilter, before: Memory | None = None, limit: int = 9, at: str = tenant) -> list[str]:
            place = None if before is None else Position(before.updated_at, before.id)
            return [one.id for one in store.read(at, lambda tx: tx.facts.retired(owner, place, _SOON, limit))]

        ids = [one.id for one in wanted]
        assert listed(OwnerFilter("ada")) == ids
        assert listed(OwnerFilter("ada"), limit=2) == ids[:2]
        assert [listed(OwnerFilter("ada"), one) for one in wanted] == [ids[1:], ids[2:], ids[3:], []]
        assert listed(_EVERYBODY) == [*ids, bobs.id]
        assert listed(_EVERYBODY, at=neighbour) == []

    def test_doubt_links_two_facts_once(self, store: Store, tenant: str) -> None:
        newer, older = make_memory(tenant), make_memory(tenant)
        store.write(tenant, partial(_insert_all, [newer, older]))
        doubt = make_doubt(newer, older)
        assert store.write(tenant, lambda tx: tx.facts.insert_doubt(doubt))
        assert not store.write(tenant, lambda tx: tx.facts.insert_doubt(make_doubt(newer, older)))
        assert store.read(tenant, lambda tx: tx.facts.get_doubt(doubt.id)) == doubt
        assert store.read(tenant, lambda tx: tx.facts.find_doubt(newer.id, older.id)) == doubt
        assert store.read(tenant, lambda tx: tx.facts.find_doubt(older.id, newer.id)) is None

    def test_doubt_is_decided_once(self, store: Store, tenant: str) -> None:
        newer, older = make_memory(tenant), make_memory(tenant)
        store.write(tenant, partial(_insert_all, [newer, older]))
        doubt = make_doubt(newer, older)
        store.write(tenant, lambda tx: tx.facts.insert_doubt(doubt))
        settle = partial(_settle, doubt.id)
        assert store.write(tenant, partial(settle, DoubtStatus.DISMISSED))
        assert not store.write(tenant, partial(settle, DoubtStatus.CONFIRMED))
        assert store.read(tenant, lambda tx: tx.facts.get_doubt(doubt.id)) == replace(
            doubt, status=DoubtStatus.DISMISSED, updated_at=_SOON
        )

    def test_open_doubts_are_listed_while_both_facts_are_active(
        self, store: Store, tenant: str, neighbour: str
    ) -> None:
        facts = [make_memory(tenant) for _ in range(3)]
        bobs = [make_memory(tenant, owner=Owner("bob")) for _ in range(2)]
        store.write(tenant, partial(_insert_all, [*facts, *bobs]))
        doubts = [make_doubt(facts[1], facts[0]), make_doubt(facts[2], facts[1]), make_doubt(bobs[1], bobs[0])]
        for doubt in doubts:
            store.write(tenant, partial(_insert_doubt, doubt))

        def listed(owner: OwnerFilter, before: str | None = None, in_tenant: str = tenant) -> list[str]:
            found = store.read(in_tenant, lambda tx: tx.facts.doubts(owner, before, 10, status=DoubtStatus.OPEN))
            return [doubt.id for doubt in found]

        assert listed(OwnerFilter("ada")) == [doubts[1].id, doubts[0].id]
        assert listed(OwnerFilter("ada"), doubts[1].id) == [doubts[0].id]
        assert listed(_EVERYBODY) == [doubt.id for doubt in doubts[::-1]]
        assert listed(_EVERYBODY, in_tenant=neighbour) == []
        gone = replace(facts[0], status=Status.ARCHIVED, updated_at=_SOON)
        store.write(tenant, lambda tx: writing.replace(tx, gone, facts[0].updated_at))
        assert listed(OwnerFilter("ada")) == [doubts[1].id]

    def test_erased_fact_takes_its_doubts_along(self, store: Store, tenant: str) -> None:
        facts = [make_memory(tenant) for _ in range(3)]
        store.write(tenant, partial(_insert_all, facts))
        doubts = [make_doubt(facts[1], facts[0]), make_doubt(facts[2], facts[1]), make_doubt(facts[2], facts[0])]
        for doubt in doubts:
            store.write(tenant, partial(_insert_doubt, doubt))
        store.write(tenant, lambda tx: tx.memories.erase([facts[1].id]))
        left = [doubt.id for doubt in doubts if store.read(tenant, partial(_get_doubt, doubt.id)) is not None]
        assert left == [doubts[2].id]


def _insert(job: Job, tx: Writer) -> None:
    tx.jobs.insert(job)


def _retry(job_id: str, tx: Writer) -> bool:
    return tx.jobs.retry(job_id, START)


def _list(owner: OwnerFilter, tx: Any) -> list[Job]:
    found: list[Job] = tx.jobs.page(owner, None, 10, status=None, kind=None)
    return found


def _jobs(store: Store, tenant: str) -> list[Job]:
    return store.read(tenant, partial(_list, _EVERYBODY))


def _ids(store: Store, tenant: str) -> set[str]:
    return {job.id for job in _jobs(store, tenant)}


def _insert_all(memories: list[Memory], tx: Writer) -> None:
    for memory in memories:
        assert writing.insert(tx, memory)


def _insert_doubt(doubt: Doubt, tx: Writer) -> None:
    assert tx.facts.insert_doubt(doubt)


def _get_doubt(doubt_id: str, tx: Any) -> Doubt | None:
    found: Doubt | None = tx.facts.get_doubt(doubt_id)
    return found


def _settle(doubt_id: str, status: DoubtStatus, tx: Writer) -> bool:
    return tx.facts.settle_doubt(doubt_id, DoubtStatus.OPEN, status, _SOON)

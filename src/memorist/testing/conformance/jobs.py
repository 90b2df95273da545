"""What every store must do with `tx.jobs`: work that was promised."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial

from memorist.platform.values import Job, JobStatus, OwnerFilter, Principal, Role
from memorist.ports import Reader, Store, Writer
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.helpers import ADA, EVERYBODY
from memorist.testing.makers import make_job

_SOON = START + timedelta(minutes=5)


class JobConformance(StoreFixtures):
    """`tx.jobs`: work that was promised."""

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
        _insert(store, first, second, other)
        assert store.write(tenant, lambda tx: tx.jobs.insert(second)) == first
        assert _ids(store, tenant) == {first.id, other.id}

    def test_jobs_without_a_key_are_all_added(self, store: Store, tenant: str) -> None:
        jobs = [make_job(tenant) for _ in range(3)]
        _insert(store, *jobs)
        assert _ids(store, tenant) == {job.id for job in jobs}

    def test_due_jobs_are_claimed_once_and_are_due_again_later(self, store: Store, tenant: str) -> None:
        due, later = make_job(tenant), make_job(tenant, run_at=_SOON + timedelta(days=1))
        dead = make_job(tenant, status=JobStatus.DEAD)
        _insert(store, due, later, dead)
        assert store.read(tenant, lambda tx: tx.jobs.has_due(START))
        [claimed] = store.write(tenant, lambda tx: tx.jobs.claim(START, _SOON, 10))
        assert (claimed.id, claimed.attempts, claimed.run_at) == (due.id, 1, _SOON)
        assert store.write(tenant, lambda tx: tx.jobs.claim(START, _SOON, 10)) == []
        assert not store.read(tenant, lambda tx: tx.jobs.has_due(START))
        [again] = store.write(tenant, lambda tx: tx.jobs.claim(_SOON, _SOON + timedelta(minutes=5), 10))
        assert (again.id, again.attempts) == (due.id, 2)

    def test_no_job_is_claimed_by_two(self, store: Store, tenant: str) -> None:
        jobs = [make_job(tenant) for _ in range(40)]
        _insert(store, *jobs)

        def claim(_: int) -> list[str]:
            return [job.id for job in store.write(tenant, lambda tx: tx.jobs.claim(START, _SOON, 3))]

        with ThreadPoolExecutor(6) as threads:
            taken = [job_id for ids in threads.map(claim, range(30)) for job_id in ids]
        assert sorted(taken) == sorted(job.id for job in jobs)

    def test_only_the_attempt_that_has_a_job_finishes_it(self, store: Store, tenant: str) -> None:
        _insert(store, make_job(tenant))
        [first] = store.write(tenant, lambda tx: tx.jobs.claim(START, START, 1))
        [second] = store.write(tenant, lambda tx: tx.jobs.claim(START, _SOON, 1))
        done = replace(second, status=JobStatus.DONE, result={"by": "second"}, updated_at=_SOON)
        assert not store.write(tenant, lambda tx: tx.jobs.finish(replace(first, status=JobStatus.DONE)))
        assert store.write(tenant, lambda tx: tx.jobs.finish(done))
        assert not store.write(tenant, lambda tx: tx.jobs.finish(done))
        assert store.read(tenant, lambda tx: tx.jobs.get(second.id)) == done

    def test_only_the_attempt_that_has_a_job_keeps_it_longer(self, store: Store, tenant: str) -> None:
        later = _SOON + timedelta(minutes=5)
        _insert(store, make_job(tenant))
        [first] = store.write(tenant, lambda tx: tx.jobs.claim(START, START, 1))
        [second] = store.write(tenant, lambda tx: tx.jobs.claim(START, _SOON, 1))
        assert not store.write(tenant, lambda tx: tx.jobs.extend(first, later))
        assert store.read(tenant, lambda tx: tx.jobs.get(second.id)) == second
        assert store.write(tenant, lambda tx: tx.jobs.extend(second, later))
        assert store.read(tenant, lambda tx: tx.jobs.get(second.id)) == replace(second, run_at=later)
        failed = replace(second, error="It is down.", updated_at=_SOON)
        assert store.write(tenant, lambda tx: tx.jobs.finish(failed))
        assert not store.write(tenant, lambda tx: tx.jobs.extend(second, later))
        assert store.read(tenant, lambda tx: tx.jobs.get(second.id)) == failed

    def test_a_job_that_is_held_is_nobody_else_s_until_then(self, store: Store, tenant: str) -> None:
        job = make_job(tenant, attempts=2)
        _insert(store, job)
        held, going_on = threading.Event(), threading.Event()

        def hold(tx: Writer) -> bool:
            is_there = tx.jobs.hold(job.id)
            held.set()
            assert going_on.wait(10)
            return is_there

        with ThreadPoolExecutor(2) as threads:
            holding = threads.submit(store.write, tenant, hold)
            assert held.wait(10)
            dropping = threads.submit(store.write, tenant, lambda tx: tx.jobs.drop(job.id))
            assert not dropping.done()
            assert store.read(tenant, lambda tx: tx.jobs.get(job.id)) == job
            going_on.set()
            assert holding.result(10)
            assert dropping.result(10)
        assert not store.write(tenant, lambda tx: tx.jobs.hold(job.id))

    def test_jobs_are_retried_dropped_and_tidied(self, store: Store, tenant: str) -> None:
        dead, done = make_job(tenant, status=JobStatus.DEAD, attempts=8), make_job(tenant, status=JobStatus.DONE)
        waiting = make_job(tenant, attempts=2, run_at=_SOON)
        _insert(store, dead, done, waiting)
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
        _insert(store, *jobs.values())
        for owner in (OwnerFilter("ada"), OwnerFilter("ada", any_agent=True), OwnerFilter(), EVERYBODY):
            wanted = [job.id for job in jobs.values() if owner.matches(job.owner)]
            found = store.read(tenant, partial(_list, owner))
            assert [job.id for job in found] == sorted(wanted, reverse=True)
        assert store.read(tenant, lambda tx: tx.jobs.page(EVERYBODY, None, 9, status=JobStatus.DEAD, kind=None)) == []
        assert store.read(tenant, lambda tx: tx.jobs.page(EVERYBODY, None, 9, status=None, kind="other")) == []

    def test_erased_jobs_of_a_slice_are_gone(self, store: Store, tenant: str) -> None:
        owners = [(None, None), ("ada", None), ("ada", "coder"), ("bob", None)]
        jobs = [make_job(tenant, principal=Principal(tenant, Role.ADMIN, *owner)) for owner in owners]
        _insert(store, *jobs)
        assert store.write(tenant, lambda tx: tx.erasure.erase_owned(ADA))["jobs"] == 2
        assert _ids(store, tenant) == {jobs[0].id, jobs[3].id}

    def test_jobs_are_counted_by_status_up_to_a_bound(self, store: Store, tenant: str, neighbour: str) -> None:
        _insert(store, *(make_job(tenant) for _ in range(3)), make_job(tenant, status=JobStatus.DEAD))
        _insert(store, *(make_job(tenant, status=JobStatus.DONE) for _ in range(2)))
        _insert(store, make_job(tenant, principal=Principal(tenant, Role.ADMIN, "bob")))

        def counted(of: str, owner: OwnerFilter, most: int) -> dict[JobStatus, int]:
            return store.read(of, lambda tx: tx.jobs.count(owner, most))

        assert counted(tenant, ADA, 9) == {JobStatus.WAITING: 3, JobStatus.DEAD: 1, JobStatus.DONE: 2}
        assert counted(tenant, EVERYBODY, 9)[JobStatus.WAITING] == 4
        few = counted(tenant, EVERYBODY, 1)
        assert (few[JobStatus.WAITING] + few[JobStatus.DEAD], few[JobStatus.DONE]) == (1, 1)
        assert counted(neighbour, EVERYBODY, 9) == dict.fromkeys(JobStatus, 0)

    def test_jobs_of_a_neighbour_are_not_there(self, store: Store, tenant: str, neighbour: str) -> None:
        job = make_job(tenant)
        _insert(store, job)
        assert store.read(neighbour, lambda tx: tx.jobs.get(job.id)) is None
        assert store.write(neighbour, lambda tx: tx.jobs.claim(START, _SOON, 10)) == []
        assert not store.write(neighbour, lambda tx: tx.jobs.drop(job.id))
        assert _ids(store, neighbour) == set()


def _insert(store: Store, *jobs: Job) -> None:
    for job in jobs:
        store.write(job.principal.tenant, partial(_insert_one, job))


def _insert_one(job: Job, tx: Writer) -> None:
    tx.jobs.insert(job)


def _retry(job_id: str, tx: Writer) -> bool:
    return tx.jobs.retry(job_id, START)


def _list(owner: OwnerFilter, tx: Reader) -> list[Job]:
    return tx.jobs.page(owner, None, 10, status=None, kind=None)


def _jobs(store: Store, tenant: str) -> list[Job]:
    return store.read(tenant, partial(_list, EVERYBODY))


def _ids(store: Store, tenant: str) -> set[str]:
    return {job.id for job in _jobs(store, tenant)}

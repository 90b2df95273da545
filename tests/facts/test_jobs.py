"""Jobs: promised with their cause, done once, tried again, and at last visibly dead."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memorist.core import Core
from memorist.errors import Conflict, Forbidden, InvalidCursor, InvalidField, LlmUnavailable, NotFound
from memorist.platform import jobs as jobs_module
from memorist.platform.jobs import ATTEMPTS, CLAIMED_FOR, Handler, Jobs, wait_before
from memorist.platform.values import Job, JobStatus, OwnerFilter, Principal, Role
from memorist.ports import Writer
from memorist.testing import FrozenClock
from tests.support.processes import in_processes


def jobs_of(core: Core, handler: Handler, clock: FrozenClock | None = None, *, background: bool = True) -> Jobs:
    return Jobs(core.store, clock or FrozenClock(), {"count": handler}, background=background)


def add(core: Core, jobs: Jobs, who: Principal, payload: dict[str, Any] | None = None, **options: Any) -> Job:
    return core.store.write(who.tenant, lambda tx: jobs.add(tx, who, "count", payload or {}, **options))


def failing(error: Exception) -> Handler:
    def handle(_: Job) -> None:
        raise error

    return handle


def test_job_is_done_with_its_result_as_whom_it_was_added(core: Core, tenant: str) -> None:
    seen: list[Job] = []

    def handle(job: Job) -> dict[str, Any]:
        seen.append(job)
        return {"answer": 42}

    who = Principal(tenant, Role.SERVICE, "ada", "coder", "s1", "key_1", "agent_tools", agent_vouched=False)
    jobs = jobs_of(core, handle)
    job = add(core, jobs, who, {"text": "ключ"})
    assert jobs.run_due(tenant) == 1
    done = jobs.get(who, job.id)
    assert (done.status, done.result, done.attempts, done.error) == (JobStatus.DONE, {"answer": 42}, 1, None)
    assert seen[0].payload == {"text": "ключ"}
    assert seen[0].principal == Principal(
        tenant, Role.SERVICE, "ada", "coder", "s1", None, "agent_tools", agent_vouched=False
    )
    assert jobs.run_due(tenant) == 0


def test_job_is_gone_with_its_cause(core: Core, ada: Principal) -> None:
    jobs = jobs_of(core, lambda _: None)

    def work(tx: Writer) -> None:
        jobs.add(tx, ada, "count", {})
        raise Conflict

    with pytest.raises(Conflict):
        core.store.write(ada.tenant, work)
    assert jobs.list(ada).items == ()


def test_key_adds_a_job_once(core: Core, ada: Principal) -> None:
    jobs = jobs_of(core, lambda _: None)
    first, second = (add(core, jobs, ada, {"n": n}, key="once") for n in range(2))
    assert first == second
    assert jobs.run_due(ada.tenant) == 1
    assert add(core, jobs, ada, key="once").status is JobStatus.DONE
    assert jobs.run_due(ada.tenant) == 0


@pytest.mark.parametrize(("error", "status"), [(None, JobStatus.DONE), (NotFound("Gone."), JobStatus.DEAD)])
def test_job_that_is_over_tells_when_it_ran(
    core: Core, ada: Principal, error: Exception | None, status: JobStatus
) -> None:
    clock = FrozenClock()
    jobs = jobs_of(core, (lambda _: None) if error is None else failing(error), clock)
    job = add(core, jobs, ada)
    clock.advance(timedelta(seconds=3))
    jobs.run_due(ada.tenant)
    over = jobs.get(ada, job.id)
    assert (over.status, over.run_at) == (status, clock.now())


def test_failing_job_is_tried_again_later_each_time_and_is_dead_at_last(core: Core, ada: Principal) -> None:
    clock = FrozenClock()
    jobs = jobs_of(core, failing(LlmUnavailable("It is down.")), clock)
    job = add(core, jobs, ada)
    waits = []
    for attempt in range(1, ATTEMPTS):
        assert jobs.run_due(ada.tenant) == 1
        assert jobs.run_due(ada.tenant) == 0
        waiting = jobs.get(ada, job.id)
        assert (waiting.status, waiting.attempts) == (JobStatus.WAITING, attempt)
        assert waiting.error == "It is down. [llm_unavailable]"
        waits.append((waiting.run_at - clock.now()).total_seconds())
        clock.advance(waiting.run_at - clock.now() - timedelta(seconds=1))
        assert jobs.run_due(ada.tenant) == 0
        clock.advance(timedelta(seconds=1))
    assert jobs.run_due(ada.tenant) == 1
    dead = jobs.get(ada, job.id)
    assert (dead.status, dead.attempts) == (JobStatus.DEAD, ATTEMPTS)
    clock.advance(timedelta(days=30))
    assert jobs.run_due(ada.tenant) == 0
    assert waits[0] < waits[1] < waits[2] < waits[3] < waits[4]
    assert [job.id for job in jobs.list(ada, status=JobStatus.DEAD).items] == [job.id]


def test_next_attempt_is_not_before_what_the_error_asks_for(core: Core, ada: Principal) -> None:
    clock = FrozenClock()
    jobs = jobs_of(core, failing(LlmUnavailable(retry_after=120)), clock)
    job = add(core, jobs, ada)
    jobs.run_due(ada.tenant)
    assert jobs.get(ada, job.id).run_at == clock.now() + timedelta(seconds=120)


@pytest.mark.parametrize("attempt", range(2, 12))
def test_waits_are_spread_and_bounded(attempt: int) -> None:
    waits = {wait_before(attempt) for _ in range(20)}
    assert len(waits) > 1
    assert all(3.7 < wait < 1126 for wait in waits)
    assert wait_before(attempt, 10**9) == 3600


@pytest.mark.parametrize("error", [NotFound("It is gone."), InvalidField("It is wrong."), Forbidden("Not you.")])
def test_error_that_stays_kills_at_once(core: Core, ada: Principal, error: Exception) -> None:
    jobs = jobs_of(core, failing(error))
    job = add(core, jobs, ada)
    jobs.run_due(ada.tenant)
    assert jobs.get(ada, job.id).status is JobStatus.DEAD


def test_unexpected_error_is_noted_without_its_words(core: Core, ada: Principal) -> None:
    jobs = jobs_of(core, failing(KeyError("a secret of ada's")))
    job = add(core, jobs, ada)
    jobs.run_due(ada.tenant)
    waiting = jobs.get(ada, job.id)
    assert waiting.status is JobStatus.WAITING
    assert "KeyError" in str(waiting.error)
    assert "secret" not in str(waiting.error)


def test_job_of_a_process_that_died_is_done_by_the_next(core: Core, ada: Principal) -> None:
    clock = FrozenClock()
    jobs = jobs_of(core, lambda _: {"done": True}, clock)
    job = add(core, jobs, ada)
    now = clock.now()
    assert len(core.store.write(ada.tenant, lambda tx: tx.jobs.claim(now, now + CLAIMED_FOR, 5))) == 1
    assert jobs.run_due(ada.tenant) == 0
    clock.advance(CLAIMED_FOR)
    assert jobs.run_due(ada.tenant) == 1
    assert (jobs.get(ada, job.id).status, jobs.get(ada, job.id).attempts) == (JobStatus.DONE, 2)


def test_job_that_kills_every_process_is_dead_at_last(core: Core, ada: Principal) -> None:
    clock = FrozenClock()
    jobs = jobs_of(core, lambda _: pytest.fail("it must not be tried again"), clock)
    job = add(core, jobs, ada)
    for _ in range(ATTEMPTS):
        now = clock.now()
        assert core.store.write(ada.tenant, lambda tx, now=now: tx.jobs.claim(now, now + CLAIMED_FOR, 1))
        clock.advance(CLAIMED_FOR)
    jobs.run_due(ada.tenant)
    assert jobs.get(ada, job.id).status is JobStatus.DEAD


def test_attempt_that_took_too_long_has_no_effect(core: Core, ada: Principal) -> None:
    """Its claim ended, another attempt did the job, and then it wants to note its own effect."""
    clock = FrozenClock()
    effects: list[str] = []

    def slow(_: Job) -> Callable[[Writer], dict[str, Any]]:
        clock.advance(CLAIMED_FOR)
        fast = jobs_of(core, lambda _: {"by": "the fast one"}, clock)
        assert fast.run_due(ada.tenant) == 1

        def late(tx: Writer) -> dict[str, Any]:
            tx.tool_outputs.insert("mem_00000000000000000000000000", "effect")
            effects.append("tried")
            return {"by": "the slow one"}

        return late

    jobs = jobs_of(core, slow, clock)
    job = add(core, jobs, ada)
    jobs.run_due(ada.tenant)
    assert effects == ["tried"]
    assert jobs.get(ada, job.id).result == {"by": "the fast one"}
    kept = core.store.read(ada.tenant, lambda tx: tx.tool_outputs.get("mem_00000000000000000000000000"))
    assert kept is None


def test_job_that_takes_longer_than_a_claim_is_begun_once(core: Core, ada: Principal) -> None:
    clock = FrozenClock()
    started, release = threading.Event(), threading.Event()
    begun: list[int] = []

    def slow(job: Job) -> dict[str, Any]:
        begun.append(job.attempts)
        clock.advance(timedelta(seconds=1))
        assert jobs.note(job, {"so": "far"})
        started.set()
        assert release.wait(30)
        return {"by": "the slow one"}

    jobs = jobs_of(core, slow, clock)
    other = jobs_of(core, lambda _: pytest.fail("another has it"), clock, background=False)
    job = add(core, jobs, ada)
    jobs.wake(ada.tenant)
    try:
        assert started.wait(10)
        for _ in range(2 * ATTEMPTS):
            clock.advance(CLAIMED_FOR / 2)
            jobs.extend_claims()
            assert other.run_due(ada.tenant) == 0
        # Where the store did not answer in time, it is still not begun again beside itself.
        clock.advance(2 * CLAIMED_FOR)
        assert jobs.run_due(ada.tenant) == other.run_due(ada.tenant) == 0
    finally:
        release.set()
        jobs.close()
    done = jobs.get(ada, job.id)
    assert (begun, done.status, done.attempts, done.result) == ([1], JobStatus.DONE, 1, {"by": "the slow one"})


def test_what_is_not_worked_on_any_more_is_not_kept(core: Core, ada: Principal) -> None:
    clock = FrozenClock()
    jobs = jobs_of(core, failing(LlmUnavailable()), clock)
    job = add(core, jobs, ada)
    jobs.run_due(ada.tenant)
    waiting = jobs.get(ada, job.id)
    jobs.extend_claims()
    assert jobs.get(ada, job.id) == waiting


def test_claimed_job_is_nobody_elses_and_is_forgotten_when_it_succeeds(core: Core, ada: Principal) -> None:
    jobs = jobs_of(core, lambda _: {"answer": 42})
    job = add(core, jobs, ada, claimed=True)
    assert jobs.run_due(ada.tenant) == 0
    assert jobs.run(job).result == {"answer": 42}
    with pytest.raises(NotFound):
        jobs.get(ada, job.id)


def test_claimed_job_that_fails_is_kept_and_tried_again(core: Core, ada: Principal) -> None:
    clock = FrozenClock()
    jobs = jobs_of(core, failing(LlmUnavailable()), clock)
    job = add(core, jobs, ada, claimed=True)
    jobs.run(job)
    try:
        kept = jobs.get(ada, job.id)
        assert (kept.status, kept.attempts) == (JobStatus.WAITING, 1)
        assert kept.run_at < clock.now() + timedelta(seconds=10)
    finally:
        jobs.close()


def test_dead_job_under_its_key_is_not_run(core: Core, ada: Principal) -> None:
    tried: list[str] = []

    def refuse(job: Job) -> None:
        tried.append(job.id)
        raise NotFound

    jobs = jobs_of(core, refuse, background=False)
    for _ in range(2):
        job = jobs.run(add(core, jobs, ada, key="once", claimed=True))
        assert job.status is JobStatus.DEAD
    assert tried == [job.id]
    assert jobs.get(ada, job.id).error == job.error


def test_what_a_dead_process_left_is_done_by_the_next_that_has_work(core: Core, ada: Principal) -> None:
    done: list[str] = []
    both = threading.Event()

    def handle(job: Job) -> None:
        done.append(job.id)
        if len(done) == 2:
            both.set()

    jobs = jobs_of(core, handle)
    left = add(core, jobs, ada)
    own = add(core, jobs, ada, claimed=True)
    jobs.run(own)
    try:
        assert both.wait(10)
        assert done == [own.id, left.id]
    finally:
        jobs.close()


def test_background_does_what_is_added(core: Core, ada: Principal) -> None:
    done = threading.Event()
    jobs = jobs_of(core, lambda _: done.set())
    add(core, jobs, ada)
    jobs.wake(ada.tenant)
    try:
        assert done.wait(10)
    finally:
        jobs.close()


def test_background_of_a_server_finds_jobs_of_every_tenant(core: Core, ada: Principal) -> None:
    done = threading.Event()
    jobs = jobs_of(core, lambda job: done.set() if job.tenant == ada.tenant else None)
    add(core, jobs, ada)
    jobs.start()
    try:
        assert done.wait(60)
    finally:
        jobs.close()


def test_closing_does_not_wait_for_a_job_that_hangs(
    core: Core, ada: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_module, "_GRACE_S", 0.05)
    started, release = threading.Event(), threading.Event()

    def hang(_: Job) -> None:
        started.set()
        release.wait(30)

    jobs = jobs_of(core, hang)
    add(core, jobs, ada)
    jobs.wake(ada.tenant)
    assert started.wait(10)
    jobs.close()
    release.set()


def test_who_finishes_waits_for_the_background_and_does_what_comes_of_it(core: Core, ada: Principal) -> None:
    started, release = threading.Event(), threading.Event()

    def handle(job: Job) -> None:
        if "first" not in job.payload:
            return
        started.set()
        release.wait(30)
        add(core, jobs, ada, {"second": True})

    jobs = jobs_of(core, handle)
    add(core, jobs, ada, {"first": True})
    jobs.wake(ada.tenant)
    try:
        assert started.wait(10)
        finishing = threading.Thread(target=jobs.finish, args=(ada.tenant,))
        finishing.start()
        release.set()
        finishing.join()
        assert [job.status for job in jobs.list(ada).items] == [JobStatus.DONE, JobStatus.DONE]
    finally:
        jobs.close()


def test_every_job_is_done_once_by_several_processes(core: Core, ada: Principal, database_url: str) -> None:
    jobs = jobs_of(core, lambda _: None)
    ids = {add(core, jobs, ada).id for _ in range(40)}
    done = in_processes(2, run_jobs, database_url, ada.tenant)
    assert sorted(done[0] + done[1]) == sorted(ids)


def run_jobs(_: int, url: str, tenant: str) -> list[str]:
    from memorist.bootstrap import open_core
    from tests.support.stores import bare

    core = open_core(bare(url))
    done: list[str] = []
    Jobs(core.store, FrozenClock(), {"count": lambda job: done.append(job.id)}).run_due(tenant)
    core.close()
    return done


# Whose they are


def test_jobs_are_seen_by_their_own_user_and_by_admins(
    core: Core, ada: Principal, bob: Principal, admin: Principal
) -> None:
    jobs = jobs_of(core, lambda _: None)
    mine = add(core, jobs, ada)
    of_nobody = add(core, jobs, admin)
    assert [job.id for job in jobs.list(ada).items] == [mine.id]
    assert jobs.list(bob).items == ()
    assert [job.id for job in jobs.list(admin).items] == [of_nobody.id, mine.id]
    for look in (jobs.get, jobs.retry, jobs.drop):
        with pytest.raises(NotFound):
            look(bob, mine.id)
        with pytest.raises(NotFound):
            look(ada, of_nobody.id)
    with pytest.raises(Forbidden):
        jobs.list(Principal(ada.tenant, Role.SERVICE))


def test_reader_changes_no_job(core: Core, ada: Principal) -> None:
    jobs = jobs_of(core, lambda _: None)
    job = add(core, jobs, ada)
    reader = Principal(ada.tenant, Role.READER, "ada")
    assert jobs.get(reader, job.id).id == job.id
    for change in (jobs.retry, jobs.drop):
        with pytest.raises(Forbidden):
            change(reader, job.id)


def test_dead_job_gets_all_its_attempts_again(core: Core, ada: Principal) -> None:
    jobs = jobs_of(core, failing(NotFound()), background=False)
    job = add(core, jobs, ada)
    jobs.run_due(ada.tenant)
    retried = jobs.retry(ada, job.id)
    assert (retried.status, retried.attempts) == (JobStatus.WAITING, 0)
    assert jobs.run_due(ada.tenant) == 1


def test_done_job_is_not_retried(core: Core, ada: Principal) -> None:
    jobs = jobs_of(core, lambda _: None)
    job = add(core, jobs, ada)
    jobs.run_due(ada.tenant)
    with pytest.raises(Conflict):
        jobs.retry(ada, job.id)


def test_dropped_job_is_not_done(core: Core, ada: Principal) -> None:
    jobs = jobs_of(core, lambda _: pytest.fail("it was dropped"))
    job = add(core, jobs, ada)
    jobs.drop(ada, job.id)
    assert jobs.run_due(ada.tenant) == 0
    with pytest.raises(NotFound):
        jobs.get(ada, job.id)


def test_pages_neither_skip_nor_repeat(core: Core, ada: Principal) -> None:
    jobs = jobs_of(core, lambda _: None)
    ids = [add(core, jobs, ada).id for _ in range(7)]
    seen: list[str] = []
    cursor = None
    while True:
        page = jobs.list(ada, limit=3, cursor=cursor)
        seen += [job.id for job in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == ids[::-1]
    for bad in ("", "x", "WyJvdGhlciIsIngiXQ"):
        with pytest.raises(InvalidCursor):
            jobs.list(ada, cursor=bad)


def test_reset_erases_jobs(core: Core, ada: Principal, bob: Principal) -> None:
    jobs = jobs_of(core, lambda _: None)
    add(core, jobs, ada, {"quotes": "a memory"})
    kept = add(core, jobs, bob)
    core.erasure.reset(ada)
    everything = OwnerFilter(any_user=True, any_agent=True)
    left = core.store.read(ada.tenant, lambda tx: tx.jobs.page(everything, None, 10, status=None, kind=None))
    assert [job.id for job in left] == [kept.id]


def test_done_jobs_are_dropped_after_a_week(core: Core, ada: Principal) -> None:
    clock = FrozenClock()
    jobs = jobs_of(core, lambda _: None, clock)
    job = add(core, jobs, ada)
    jobs.run_due(ada.tenant)
    clock.advance(timedelta(days=8))
    jobs._tidy()
    with pytest.raises(NotFound):
        jobs.get(ada, job.id)

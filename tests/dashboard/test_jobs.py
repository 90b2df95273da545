"""Jobs in the browser: what waits and what failed, tried again or dropped; and how far the index is."""

from dataclasses import replace

from playwright.sync_api import expect

from memorist.platform.values import Job, JobStatus
from memorist.ports import Writer
from tests.dashboard.conftest import People, Person
from tests.dashboard.sweeps import check_looks


def kill_a_job(person: Person, error: str = "the model is gone") -> Job:
    """A job that nothing here does is given up at once."""
    core = person.core
    job = core.store.write(
        person.principal.tenant, lambda tx: core.jobs.add(tx, person.principal, "digest", {"note": error})
    )
    core.jobs.run_due(person.principal.tenant)
    assert core.jobs.get(person.principal, job.id).status is JobStatus.DEAD
    return job


def test_jobs_tell_of_the_index_and_what_is_in_the_queue(people: People, ada: Person) -> None:
    page = ada.goto("/activity/jobs")
    expect(page.get_by_role("region", name="Index")).to_contain_text("The embedder is off")
    expect(page.get_by_role("region", name="Work in the background")).to_contain_text("Nothing waits")
    job = kill_a_job(ada)
    ada.goto("/activity/jobs")
    expect(page.get_by_role("region", name="In all")).to_contain_text("Failed for good1")
    expect(page.get_by_role("region", name="Work in the background")).to_contain_text("Nothing here does jobs")
    expect(page.get_by_text(job.id)).to_be_visible()
    check_looks(people, ada.principal.tenant, "/activity/jobs", person=ada)


def test_dead_work_is_retried_and_dropped(ada: Person) -> None:
    first, second = kill_a_job(ada), kill_a_job(ada)
    page = ada.goto("/activity/jobs")
    work = page.get_by_role("region", name="Work in the background")
    expect(work.get_by_role("listitem")).to_have_count(2)
    page.once("dialog", lambda dialog: dialog.accept())
    work.get_by_role("button", name="Drop").first.click()
    expect(work.get_by_role("listitem")).to_have_count(1)
    expect(page.locator("#toasts")).to_contain_text("Dropped")
    assert [job.id for job in ada.core.jobs.list(ada.principal, status=JobStatus.DEAD).items] == [first.id]
    assert second.id not in page.content()
    work.get_by_role("button", name="Retry").click()
    expect(page.locator("#toasts")).to_contain_text("tried again")


def test_all_dead_work_is_retried_at_once(ada: Person) -> None:
    jobs = {kill_a_job(ada).id, kill_a_job(ada).id}
    before = {id_: ada.core.jobs.get(ada.principal, id_).updated_at for id_ in jobs}
    page = ada.goto("/activity/jobs")
    page.get_by_role("button", name="Retry all that failed").click()
    expect(page.locator("#toasts")).to_contain_text("2 are tried again now.")
    assert all(ada.core.jobs.get(ada.principal, id_).updated_at > before[id_] for id_ in jobs)


def test_what_waits_is_shown(ada: Person) -> None:
    core = ada.core
    core.store.write(
        ada.principal.tenant, lambda tx: core.jobs.add(tx, ada.principal, "judge", {"fact": "x"}, claimed=True)
    )
    page = ada.goto("/activity/jobs")
    work = page.get_by_role("region", name="Work in the background")
    expect(work.get_by_role("listitem")).to_contain_text("Compare a new fact")
    expect(work.get_by_role("listitem")).to_contain_text("next try in")
    expect(work.get_by_role("button", name="Try now")).to_be_visible()


def test_what_was_found_and_dropped_is_shown(ada: Person) -> None:
    core, principal = ada.core, ada.principal
    read = {"extractor": "openai:m", "memories": [{"id": "x"}], "replaced": 1, "dropped": {"unknown kind": 2}}
    stood_in = {"extractor": "local", "instead_of": "openai:m", "found": 3}

    def work(tx: Writer) -> None:
        for status, result in ((JobStatus.DONE, read), (JobStatus.DEAD, stood_in), (JobStatus.WAITING, stood_in)):
            job = core.jobs.add(tx, principal, "extract", {}, claimed=True)
            tx.jobs.finish(replace(job, status=status, result=result, error="It is down."))

    core.store.write(principal.tenant, work)
    region = ada.goto("/activity/jobs").get_by_role("region", name="Work in the background")
    expect(region).to_contain_text("1 found by openai:m; 1 of the local extractor replaced; 2 dropped (2 unknown kind)")
    expect(region).to_contain_text("3 found by the local extractor instead, to stay")
    expect(region).to_contain_text("3 found by the local extractor instead, until openai:m answers")


def test_what_the_local_extractor_found_is_told_in_words(ada: Person) -> None:
    core, principal = ada.core, ada.principal

    def work(tx: Writer) -> None:
        job = core.jobs.add(tx, principal, "extract", {}, claimed=True)
        tx.jobs.finish(replace(job, status=JobStatus.DONE, result={"extractor": "local", "memories": [{"id": "x"}]}))

    core.store.write(principal.tenant, work)
    region = ada.goto("/activity/jobs").get_by_role("region", name="Work in the background")
    expect(region).to_contain_text("1 found by the local extractor")


def test_failed_jobs_go_back_by_pages(ada: Person) -> None:
    for _ in range(11):
        kill_a_job(ada)
    page = ada.goto("/activity/jobs")
    given_up = page.locator(".jobs").first.locator("li")
    expect(given_up).to_have_count(10)
    page.get_by_role("link", name="More that failed").click()
    expect(given_up).to_have_count(1)


def test_reader_is_offered_nothing_and_is_refused(ada: Person, reader: Person) -> None:
    job = kill_a_job(ada)
    page = reader.goto("/activity/jobs")
    expect(page.get_by_text(job.id)).to_be_visible()
    assert page.locator("main button").count() == 0
    csrf = page.locator("[name=csrf]").first.get_attribute("value")
    for path in ("drop", "retry"):
        address = f"{reader.served.url}/dashboard/activity/jobs/{job.id}/{path}"
        assert page.request.post(address, form={"csrf": str(csrf)}).status == 403
    assert ada.core.jobs.get(ada.principal, job.id).status is JobStatus.DEAD

"""A language model as the judge, played by a real server: whatever it answers, both facts stay until it is sure."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from memorist.bootstrap import open_judge
from memorist.context.companion import Category
from memorist.core import Core
from memorist.facts.judges import LLM_DECIDES, LlmJudge, LocalJudge
from memorist.facts.service import JUDGING
from memorist.facts.values import DoubtStatus
from memorist.memories.values import Draft, Status
from memorist.platform.jobs import ATTEMPTS
from memorist.platform.values import JobStatus, Principal
from memorist.settings import Settings
from memorist.testing import FrozenClock
from memorist.testing.clocks import START
from memorist.times import to_iso
from tests.facts.conftest import OpenCore
from tests.facts.test_facts import BERLIN, LISBON, now, tell
from tests.support.scripted_http import Script, ScriptedServer, scripted_server


def answer(text: str, stop: str = "stop") -> Script:
    body = {"choices": [{"message": {"content": text}, "finish_reason": stop}], "usage": {}}
    return lambda reply, _: reply.json(body)


def ruling(verdict: str, **others: Any) -> str:
    return json.dumps({"verdict": verdict, "reason": "It says so.", "confidence": 0.9, **others})


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server(answer(ruling("contradicts"))) as running:
        yield running


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def core(open_with: OpenCore, server: ScriptedServer, clock: FrozenClock) -> Core:
    settings = Settings(judge_model="openai:small", llm_url=server.url, llm_api_key="sk-secret", llm_timeout_s=1)
    return open_with(judge=lambda: open_judge(settings), clock=clock, background=False)


def test_facts_are_sent_as_data_and_the_older_one_is_retired(
    core: Core, server: ScriptedServer, ada: Principal, clock: FrozenClock
) -> None:
    old = tell(core, ada, BERLIN)
    clock.advance(timedelta(seconds=1))
    new = tell(core, ada, LISBON)
    assert core.jobs.run_due(ada.tenant) == 2
    assert now(core, old).superseded_by == new.id
    [request] = server.requests
    assert request.headers["authorization"] == "Bearer sk-secret"
    asked = json.loads(request.body["messages"][-1]["content"])
    assert (asked["older"]["fact"], asked["newer"]["fact"]) == (BERLIN, LISBON)
    # The older one was judged first, when the newer one was there already.
    judged = [event for event in core.memories.events(ada, old.id) if event.event_type == "judged"]
    assert judged[0].payload["judge"] == "openai:small"
    assert judged[0].payload["verdicts"][0]["reason"] == "It says so."


def test_no_fact_is_shown_as_newer_than_when_it_was_stored(
    core: Core, server: ScriptedServer, ada: Principal, clock: FrozenClock
) -> None:
    [dated] = core.facts.remember_all(ada, [Draft(BERLIN, event_time=START + timedelta(days=13_000))])
    clock.advance(timedelta(seconds=1))
    new = tell(core, ada, LISBON)
    core.jobs.run_due(ada.tenant)
    asked = json.loads(server.requests[0].body["messages"][-1]["content"])
    assert [asked[one]["since"] for one in ("older", "newer")] == [
        to_iso(one.created_at) for one in (dated.memory, new)
    ]


@pytest.mark.parametrize(
    ("said", "superseded", "in_doubt"),
    [
        (f"Of course:\n```json\n{ruling('contradicts')}\n```", True, False),
        (ruling("contradicts", extra=[1]), True, False),
        (ruling("unsure"), False, True),
        (ruling("unrelated"), False, False),
        (ruling("same"), True, False),
        (ruling("refines"), True, False),
        (ruling("contradicts", confidence=0.02), False, True),
        (ruling("same", confidence=0.5), False, True),
        (ruling("unrelated", confidence=0.3), False, False),
        (ruling("contradicts", confidence=LLM_DECIDES), True, False),
        (f"<think>Maybe {ruling('contradicts')}? No.</think>{ruling('unrelated')}", False, False),
        (f"Maybe {ruling('contradicts')}? No.</think>{ruling('unrelated')}", False, False),
        (
            f"First I took it for {ruling('contradicts')}, but it is {ruling('unrelated')} for {{reasons}}.",
            False,
            False,
        ),
    ],
)
def test_what_it_says_is_done(
    core: Core, server: ScriptedServer, ada: Principal, said: str, superseded: bool, in_doubt: bool
) -> None:
    server.always = answer(said)
    old, new = tell(core, ada, BERLIN), tell(core, ada, LISBON)
    core.jobs.run_due(ada.tenant)
    assert {now(core, one).status for one in (old, new)} == (
        {Status.ACTIVE, Status.ARCHIVED} if superseded else {Status.ACTIVE}
    )
    assert bool(core.facts.in_doubt(ada).items) is in_doubt


FAULTS: dict[str, Callable[[ScriptedServer], Script]] = {
    "time-out": lambda server: lambda *_: server.released.wait(3) and None,
    "hang-up": lambda _: lambda reply, _: reply.hang_up(),
    "500": lambda _: lambda reply, _: reply.json({"error": "down"}, 500),
    "503 with a page": lambda _: lambda reply, _: reply.raw(b"<html>", 503),
    "429": lambda _: lambda reply, _: reply.json({"error": "slow down"}, 429, Retry_After="90"),
    "401": lambda _: lambda reply, _: reply.json({"error": "who are you"}, 401),
    "cut JSON": lambda _: lambda reply, _: reply.raw(b'{"choices": [{"mess', length=400),
    "cut answer": lambda _: answer('{"verdict": "contradicts", "rea'),
    "no JSON": lambda _: answer("They contradict each other."),
    "another verdict": lambda _: answer(ruling("maybe")),
    "no reason": lambda _: answer('{"verdict": "contradicts"}'),
    "a list": lambda _: answer('["contradicts"]'),
    "wrong confidence": lambda _: answer(ruling("contradicts", confidence=7)),
    "confidence as a text": lambda _: answer(ruling("contradicts", confidence="high")),
    "reason as a list": lambda _: answer(ruling("contradicts", reason=["x"])),
    "empty": lambda _: answer(""),
    "thoughts alone": lambda _: answer(f"<think>Perhaps {ruling('contradicts')}"),
    "broke off": lambda _: answer(f"Perhaps {ruling('contradicts')}? No, since", "length"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_leaves_both_facts_and_a_retry_that_succeeds(
    core: Core, server: ScriptedServer, ada: Principal, clock: FrozenClock, fault: str
) -> None:
    old = tell(core, ada, BERLIN)
    core.jobs.run_due(ada.tenant)
    clock.advance(timedelta(seconds=1))
    server.scripts.append(FAULTS[fault](server))
    new = tell(core, ada, LISBON)
    assert core.jobs.run_due(ada.tenant) == 1
    assert {now(core, one).status for one in (old, new)} == {Status.ACTIVE}
    [job] = core.jobs.list(ada, status=JobStatus.WAITING).items
    assert job.attempts == 1
    assert job.error
    assert BERLIN not in job.error
    assert "sk-secret" not in job.error
    if fault == "429":
        assert job.run_at == clock.now() + timedelta(seconds=90)
    clock.advance(timedelta(hours=1))
    assert core.jobs.run_due(ada.tenant) == 1
    assert now(core, old).superseded_by == new.id
    assert core.jobs.list(ada, status=JobStatus.WAITING).items == ()


def test_what_it_needs_to_think_it_is_given_and_told_where_that_is_too_little(
    open_with: OpenCore, server: ScriptedServer, ada: Principal, clock: FrozenClock
) -> None:
    settings = Settings(judge_model="openai:small", llm_url=server.url, llm_api_key="k", judge_answer_tokens=700)
    core = open_with(judge=lambda: open_judge(settings), clock=clock, background=False)
    server.always = answer("", "length")
    tell(core, ada, BERLIN)
    tell(core, ada, LISBON)
    core.jobs.run_due(ada.tenant)
    assert {request.body["max_tokens"] for request in server.requests} == {700}
    errors = {job.error for job in core.jobs.list(ada, status=JobStatus.WAITING).items}
    assert errors == {
        "openai:small's answer broke off: it is longer than MEMORIST_JUDGE_ANSWER_TOKENS allows. [llm_malformed]"
    }


def test_refusal_is_not_asked_for_again(core: Core, server: ScriptedServer, ada: Principal) -> None:
    server.always = answer("", "content_filter")
    old, new = tell(core, ada, BERLIN), tell(core, ada, LISBON)
    core.jobs.run_due(ada.tenant)
    assert {now(core, one).status for one in (old, new)} == {Status.ACTIVE}
    assert {job.attempts for job in core.jobs.list(ada, status=JobStatus.DEAD).items} == {1}


def test_judge_that_never_answers_ends_as_a_dead_letter_that_can_be_retried(
    core: Core, server: ScriptedServer, ada: Principal, clock: FrozenClock
) -> None:
    old = tell(core, ada, BERLIN)
    core.jobs.run_due(ada.tenant)
    server.always = FAULTS["500"](server)
    clock.advance(timedelta(seconds=1))
    new = tell(core, ada, LISBON)
    for _ in range(ATTEMPTS):
        assert core.jobs.run_due(ada.tenant) == 1
        clock.advance(timedelta(hours=1))
    [dead] = core.jobs.list(ada, status=JobStatus.DEAD).items
    assert "500" in str(dead.error)
    assert {now(core, one).status for one in (old, new)} == {Status.ACTIVE}
    server.always = answer(ruling("contradicts"))
    core.jobs.retry(ada, dead.id)
    core.jobs.run_due(ada.tenant)
    assert now(core, old).superseded_by == new.id


CELLO = "The user lives in Berlin and plays the cello."


@pytest.fixture
def auto(open_with: OpenCore, server: ScriptedServer, ada: Principal, clock: FrozenClock) -> Core:
    """A core that asks the language model about what the local judge is unsure of; it knows two facts."""
    settings = Settings(judge_model="auto", llm="openai:small", llm_url=server.url, llm_api_key="k", llm_timeout_s=1)
    core = open_with(judge=lambda: open_judge(settings), clock=clock, background=False)
    core.memories.remember(ada, [Draft(BERLIN), Draft(CELLO)])
    clock.advance(timedelta(seconds=1))
    return core


@pytest.mark.parametrize(
    ("said", "left", "status"),
    [
        ("unrelated", {CELLO, LISBON}, None),
        ("contradicts", {LISBON}, None),
        ("unsure", {CELLO, LISBON}, DoubtStatus.OPEN),
    ],
)
def test_while_it_is_down_what_is_certain_holds_and_the_rest_is_in_doubt_until_it_is_heard(
    auto: Core,
    server: ScriptedServer,
    ada: Principal,
    clock: FrozenClock,
    said: str,
    left: set[str],
    status: DoubtStatus | None,
) -> None:
    server.always = FAULTS["503 with a page"](server)
    new = tell(auto, ada, LISBON)
    for attempts in (1, 2):
        assert auto.jobs.run_due(ada.tenant) == 1
        assert {one.content for one in auto.memories.list(ada).items} == {CELLO, LISBON}
        assert [pair.other.content for pair in auto.facts.in_doubt(ada).items] == [CELLO]
        [job] = auto.jobs.list(ada, status=JobStatus.WAITING).items
        assert (job.attempts, len(server.requests)) == (attempts, attempts)
        trail = [event.event_type for event in auto.memories.events(ada, new.id)]
        assert trail.count("judged") == 1, "nothing new was found"
        clock.advance(timedelta(hours=1))
    server.always = answer(ruling(said))
    assert auto.jobs.run_due(ada.tenant) == 1
    assert {one.content for one in auto.memories.list(ada).items} == left
    open_, dismissed = (auto.facts.in_doubt(ada, status=one).items for one in (DoubtStatus.OPEN, DoubtStatus.DISMISSED))
    assert [pair.doubt.status for pair in (*open_, *dismissed)] == ([] if status is None else [status])
    assert auto.jobs.list(ada, status=JobStatus.WAITING).items == ()


@pytest.mark.parametrize("second", ["contradicts", "unsure"])
def test_doubt_of_an_outage_that_ends_for_one_fact_binds_no_judge_of_the_other(
    open_with: OpenCore, server: ScriptedServer, ada: Principal, clock: FrozenClock, second: str
) -> None:
    settings = Settings(judge_model="auto", llm="openai:small", llm_url=server.url, llm_api_key="k", llm_timeout_s=1)
    core = open_with(judge=lambda: open_judge(settings), clock=clock, background=False)
    server.always = FAULTS["503 with a page"](server)
    older = tell(core, ada, CELLO)
    clock.advance(timedelta(seconds=1))
    tell(core, ada, LISBON)
    assert core.jobs.run_due(ada.tenant) == 2, "each is judged against the other"
    assert len(core.facts.in_doubt(ada).items) == 1
    server.scripts = [answer(ruling("unrelated")), answer(ruling(second))]
    clock.advance(timedelta(hours=1))
    assert core.jobs.run_due(ada.tenant) == 2
    assert (now(core, older).status is Status.ARCHIVED) == (second == "contradicts")
    assert len(core.facts.in_doubt(ada).items) == (second == "unsure")
    assert core.facts.in_doubt(ada, status=DoubtStatus.DISMISSED).items == ()


@pytest.mark.parametrize("by", ["another job", "a person"])
def test_doubt_that_somebody_else_has_outlives_the_outage(
    auto: Core, server: ScriptedServer, ada: Principal, clock: FrozenClock, by: str
) -> None:
    server.always = FAULTS["503 with a page"](server)
    new = tell(auto, ada, LISBON)
    auto.jobs.run_due(ada.tenant)
    (pair,) = auto.facts.in_doubt(ada).items
    clock.advance(timedelta(seconds=1))
    if by == "a person":
        auto.facts.dismiss(ada, pair.doubt.id)
        auto.facts.reopen(ada, pair.doubt.id)
    else:
        server.always = answer(ruling("unsure"))
        again = auto.store.write(ada.tenant, lambda tx: auto.jobs.add(tx, ada, JUDGING, {"memory_id": new.id}))
        assert auto.jobs.run(again).status is JobStatus.DONE
    server.always = answer(ruling("unrelated"))
    clock.advance(timedelta(hours=1))
    assert auto.jobs.run_due(ada.tenant) == 1
    assert [one.doubt.id for one in auto.facts.in_doubt(ada).items] == [pair.doubt.id]


def test_silence_is_waited_for_once_and_what_was_said_before_it_holds(
    auto: Core, server: ScriptedServer, ada: Principal, clock: FrozenClock
) -> None:
    auto.memories.remember(ada, [Draft(f"The user lives in Berlin and {does}.") for does in ("sings", "paints")])
    clock.advance(timedelta(seconds=1))
    server.scripts = [answer(ruling("contradicts")), FAULTS["500"](server)]
    tell(auto, ada, LISBON)
    auto.jobs.run_due(ada.tenant)
    assert len(server.requests) == 2
    left = {one.content for one in auto.memories.list(ada).items}
    assert len(left) == 3, "one was certain, one was said, two wait"
    assert len(auto.facts.in_doubt(ada).items) == 2


@pytest.mark.parametrize("judge_model", ["openai:small", "auto"])
def test_entry_of_the_companion_is_sent_to_no_language_model(
    open_with: OpenCore, server: ScriptedServer, ada: Principal, judge_model: str
) -> None:
    settings = Settings(judge_model=judge_model, llm="openai:small", llm_url=server.url, llm_api_key="sk-secret")
    core = open_with(judge=lambda: open_judge(settings), background=False)
    entry = core.companion.add(ada, "Nia is a strict vegetarian. No fish.", Category.PREFERENCE).memory
    fact = tell(core, ada, "Nia eats only fish now.")
    core.jobs.run_due(ada.tenant)
    assert server.requests == []
    (pair,) = core.facts.in_doubt(ada).items
    assert {pair.fact.id, pair.other.id} == {entry.id, fact.id}, "the local judge was asked"


@pytest.mark.parametrize(
    ("settings", "kind", "name"),
    [
        (Settings(), LocalJudge, "local"),
        (Settings(judge_model="openai:a"), LlmJudge, "openai:a"),
        (Settings(judge_model="anthropic:b", llm="openai:a", llm_url="http://x.example"), LlmJudge, "anthropic:b"),
    ],
)
def test_setting_names_the_judge(settings: Settings, kind: type, name: str) -> None:
    judge = open_judge(settings)
    assert isinstance(judge, kind)
    assert judge.name == name


def test_empty_setting_is_no_judge() -> None:
    assert open_judge(Settings(judge_model="")) is None


@pytest.mark.parametrize(("llm", "price"), [("", 2.0), ("openai:gpt-4o", 2.0), ("openai:house-model", 2.5)])
@pytest.mark.parametrize("said", [ruling("contradicts"), "nonsense"])
def test_what_it_costs_is_counted_whatever_it_says(
    open_with: OpenCore, server: ScriptedServer, ada: Principal, said: str, llm: str, price: float
) -> None:
    """By its own price: the one that is set is that of `llm`, where there is one."""
    body = {"choices": [{"message": {"content": said}}], "usage": {"prompt_tokens": 1000, "completion_tokens": 100}}
    server.always = lambda reply, _: reply.json(body)
    settings = Settings(
        judge_model="openai:gpt-4o", llm=llm, llm_url=server.url, llm_api_key="sk-secret", llm_prices="2/10"
    )
    core = open_with(judge=lambda: open_judge(settings), background=False)
    tell(core, ada, BERLIN)
    tell(core, ada, LISBON)
    core.jobs.run_due(ada.tenant)
    asked = len(server.requests)
    assert asked
    spent = core.store.read(ada.tenant, core.turns.spending.this_month)
    assert spent == pytest.approx(asked * (1000 * price + 100 * 10) / 1_000_000)

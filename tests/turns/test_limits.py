"""What ends a turn, and what keeps one from beginning; and the same through the library and the command line."""

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memorist import Memorist
from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.errors import BudgetSpent, Forbidden, LlmNotConfigured
from memorist.ingestion.service import Message
from memorist.models.values import Usage
from memorist.platform.values import Principal, Role
from memorist.ports import Writer
from memorist.settings import Settings
from memorist.testing import FrozenClock, make_turn, new_tenant
from memorist.turns.listening import ATTENDED_FOR
from memorist.turns.run import is_lost
from memorist.turns.values import STARTED, TurnEvent, TurnStatus
from tests.http.test_server import MEMORIST
from tests.support.scripted_http import Body, Reply, ScriptedServer
from tests.support.stores import unwritable
from tests.support.talking import says
from tests.support.waiting import SOON, eventually
from tests.turns.conftest import turn_settings

ADA = Principal("local", Role.USER, "ada")
HELLO = [Message("user", "I prefer tea over coffee.")]


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(datetime(2026, 3, 20, tzinfo=UTC))


@pytest.fixture
def core(tmp_path: Path, model: ScriptedServer, clock: FrozenClock) -> Iterator[Core]:
    core = open_core(turn_settings(tmp_path, model.url, turn_budget_usd=0.0004), clock=clock)
    core.identity.create_tenant("local")
    yield core
    model.released.set()
    core.close()


def names(core: Core, turn_id: str, who: Principal = ADA) -> list[str]:
    return [event.event for event in core.turns.follow(who, turn_id)]


def test_without_a_model_the_error_says_how_to_set_one(tmp_path: Path) -> None:
    core = open_core(Settings(data=tmp_path, embedder="off", reranker="off"))
    core.identity.create_tenant("local")
    with pytest.raises(LlmNotConfigured) as caught:
        core.turns.start(ADA, HELLO)
    for part in ("MEMORIST_LLM", "anthropic:", "ANTHROPIC_API_KEY", "openai:", "MEMORIST_LLM_URL"):
        assert part in caught.value.message
    assert core.turns.list(ADA).items == ()
    core.close()


def test_a_turn_needs_a_user(core: Core) -> None:
    with pytest.raises(Forbidden):
        core.turns.start(Principal("local", Role.ADMIN), HELLO)


def test_a_spent_budget_lasts_until_the_next_month(core: Core, clock: FrozenClock) -> None:
    first = core.turns.start(ADA, HELLO)
    assert names(core, first.id)[-1] == "turn.completed"
    spent = core.turns.get(ADA, first.id).usage.cost_usd
    assert spent is not None
    assert spent < 0.0004
    second = core.turns.start(ADA, HELLO)
    assert names(core, second.id)[-1] == "turn.completed"
    with pytest.raises(BudgetSpent):
        core.turns.start(ADA, HELLO)
    clock.advance(timedelta(days=15))
    assert names(core, core.turns.start(ADA, HELLO).id)[-1] == "turn.completed"


@pytest.fixture
def bob() -> Principal:
    """Somebody of another tenant."""
    return Principal(new_tenant(), Role.USER, "bob")


@pytest.fixture
def paying(
    database_url: str, tmp_path: Path, model: ScriptedServer, clock: FrozenClock, ada: Principal, bob: Principal
) -> Iterator[Core]:
    """On both databases: a core whose model is paid for every call, and that does what waits when a test says so."""
    more = {"turn_budget_usd": 0.0003, "extractor": "auto", "database": database_url}
    core = open_core(turn_settings(tmp_path, model.url, **more), clock=clock)
    core.jobs.wake = lambda _: None  # type: ignore[method-assign, assignment]
    for one in (ada, bob):
        core.identity.create_tenant(one.tenant)
    yield core
    model.released.set()
    core.close()


A_CALL = 0.00035
FINDS_NOTHING = says('{"memories": []}')


def spent(core: Core, of: Principal) -> float:
    return core.store.read(of.tenant, core.turns.spending.this_month)


def test_erasing_a_user_does_not_give_the_budget_back(
    paying: Core, ada: Principal, bob: Principal, model: ScriptedServer, clock: FrozenClock
) -> None:
    model.scripts = [says("Noted."), FINDS_NOTHING]
    turn = paying.turns.start(ada, HELLO)
    assert names(paying, turn.id, ada)[-1] == "turn.completed"
    for _ in range(2):
        with pytest.raises(BudgetSpent):
            paying.turns.start(ada, HELLO)
        receipt = paying.erasure.purge_user(ada)
        assert receipt.verification is not None
        assert receipt.verification.ok
        assert paying.turns.list(ada).items == ()
    assert spent(paying, ada) == pytest.approx(2 * A_CALL)
    # Another tenant has its own, and each month begins anew.
    assert spent(paying, bob) == 0.0
    clock.advance(timedelta(days=15))
    assert spent(paying, ada) == 0.0


def test_what_was_spent_goes_with_the_tenant(
    paying: Core, ada: Principal, bob: Principal, model: ScriptedServer
) -> None:
    model.scripts = [says("Noted."), FINDS_NOTHING]
    names(paying, paying.turns.start(ada, HELLO).id, ada)
    paying.turns.spending.add(bob.tenant, [Usage(1, 1, 0.5)])
    receipt = paying.erasure.delete_tenant(Principal(ada.tenant, Role.ADMIN), confirm=ada.tenant, at_once=True)
    assert receipt.counts["spending"] == 1
    assert (spent(paying, ada), spent(paying, bob)) == (0.0, 0.5)


def test_calls_of_an_extraction_that_failed_are_counted(
    paying: Core, ada: Principal, model: ScriptedServer, clock: FrozenClock
) -> None:
    model.scripts = [says("Noted."), says('{"memories": "none"}'), says("Peanuts.")]
    model.always = FINDS_NOTHING
    turn = paying.turns.start(ada, HELLO, session="s1")
    events = list(paying.turns.follow(ada, turn.id))
    told = [event.data for event in events if event.event == "agent.completed"]
    assert [(one["agent"], one["cost_usd"]) for one in told] == [("assistant", A_CALL), ("memory", 2 * A_CALL)]
    assert told[1]["output_summary"] == "+1 entry (1 preference); found locally, and tried again"
    usage = paying.turns.get(ada, turn.id).usage
    assert usage == Usage(300, 30, pytest.approx(3 * A_CALL))
    assert spent(paying, ada) == pytest.approx(3 * A_CALL)
    # What is tried again in the background is paid for as well.
    clock.advance(timedelta(minutes=1))
    assert paying.jobs.run_due(ada.tenant) == 1
    assert spent(paying, ada) == pytest.approx(4 * A_CALL)


def test_extraction_that_is_of_no_turn_is_not_in_the_budget(
    paying: Core, ada: Principal, model: ScriptedServer
) -> None:
    model.scripts = [FINDS_NOTHING]
    assert paying.extraction.read_messages(ada, "s1", HELLO).usage.cost_usd == A_CALL
    assert spent(paying, ada) == 0.0


def test_calls_of_a_turn_that_was_erased_meanwhile_are_counted(
    paying: Core, ada: Principal, model: ScriptedServer
) -> None:
    asked, released = threading.Event(), threading.Event()

    def wait(reply: Reply, body: Body) -> None:
        asked.set()
        released.wait(20)
        says("Too late.")(reply, body)

    model.scripts = [says("", [("recall", {"query": "tea"})]), wait]
    model.always = FINDS_NOTHING
    paying.turns.start(ada, HELLO)
    assert asked.wait(20)
    paying.erasure.purge_user(ada)
    released.set()
    paying.turns.close()
    assert spent(paying, ada) >= A_CALL


@pytest.mark.parametrize(("seconds", "code"), [(31, "turn_abandoned"), (301, "turn_too_long")])
def test_a_turn_ends_that_nobody_hears_or_that_takes_too_long(
    core: Core, clock: FrozenClock, model: ScriptedServer, seconds: int, code: str
) -> None:
    model.always = says(" ".join(["word"] * 4000), pause=0.01)
    turn = core.turns.start(ADA, HELLO)
    if code == "turn_too_long":
        # Somebody listens all the time.
        core.store.write("local", lambda tx: tx.turns.attend(turn.id, clock.now() + timedelta(days=1)))
    clock.advance(timedelta(seconds=seconds))
    core.turns.runner.hold_all()
    events = list(core.turns.follow(ADA, turn.id))
    assert events[-1].event == "turn.failed"
    assert events[-1].data["error"]["code"] == code
    assert core.turns.get(ADA, turn.id).status is TurnStatus.FAILED


def test_a_turn_ends_though_its_model_keeps_the_connection_open_without_a_word(
    core: Core, clock: FrozenClock, model: ScriptedServer
) -> None:
    asked = threading.Event()

    def keep_open(reply: Reply, _: Body) -> None:
        reply.raw(b"", length=1 << 40)
        asked.set()
        while not model.released.wait(0.01):
            reply.handler.wfile.write(b": still at it\n\n")

    model.scripts = [keep_open]
    model.always = says("")
    turn = core.turns.start(ADA, HELLO)
    assert asked.wait(SOON)
    core.store.write("local", lambda tx: tx.turns.attend(turn.id, clock.now() + timedelta(days=1)))
    clock.advance(timedelta(seconds=301))
    core.turns.runner.hold_all()
    eventually(lambda: core.turns.get(ADA, turn.id).status is TurnStatus.FAILED)
    assert list(core.turns.follow(ADA, turn.id))[-1].data["error"]["code"] == "turn_too_long"


def test_turn_goes_on_while_somebody_reads_it_in_whatever_way(
    core: Core, clock: FrozenClock, model: ScriptedServer
) -> None:
    asked = threading.Event()

    def wait(reply: Reply, body: Body) -> None:
        asked.set()
        model.released.wait(SOON)
        says("Late, but here.")(reply, body)

    model.always = wait
    turn = core.turns.start(ADA, HELLO)
    assert asked.wait(SOON)
    following = core.turns.follow(ADA, turn.id)
    next(following)
    with core.turns.listen(ADA, turn.id) as listener:
        reads: list[Callable[[], object]] = [
            lambda: core.turns.get(ADA, turn.id),
            lambda: core.turns.events(ADA, turn.id, limit=10),
            listener.read,
            lambda: next(following),
        ]
        for read in reads:
            clock.advance(timedelta(seconds=8))
            core.turns.runner.hold_all()
            assert read()
            running = core.store.read("local", lambda tx: tx.turns.get(turn.id))
            assert running is not None
            assert running.attended_until == clock.now() + ATTENDED_FOR
    model.released.set()
    assert list(following)[-1].event == "turn.completed"


def test_events_are_given_out_while_nothing_can_be_written(
    core: Core, clock: FrozenClock, model: ScriptedServer
) -> None:
    asked = threading.Event()

    def wait(reply: Reply, body: Body) -> None:
        asked.set()
        model.released.wait(SOON)
        says("Late, but here.")(reply, body)

    model.always = wait
    turn = core.turns.start(ADA, HELLO)
    assert asked.wait(SOON)
    following = core.turns.follow(ADA, turn.id)
    with core.turns.listen(ADA, turn.id) as listener, unwritable(core.store, ADA.tenant):
        clock.advance(timedelta(seconds=8))
        read = listener.read()
        assert [next(following).seq for _ in read] == [event.seq for event in read] != []
    model.released.set()
    assert list(following)[-1].event == "turn.completed"


def test_lost_turn_is_read_while_nothing_can_be_written_and_ends_afterwards(core: Core, clock: FrozenClock) -> None:
    turn = make_turn(created_at=clock.now(), lease_until=clock.now() - timedelta(seconds=1))
    started = TurnEvent(1, STARTED, {}, clock.now())

    def leave(tx: Writer) -> None:
        tx.turns.insert(turn)
        tx.turns.append_event(turn.id, started)

    core.store.write(ADA.tenant, leave)
    with unwritable(core.store, ADA.tenant):
        assert core.turns.get(ADA, turn.id).status is TurnStatus.RUNNING
        listener = core.turns.listen(ADA, turn.id)
        assert [event.seq for event in listener.read()] == [1]
        assert (listener.read(), listener.is_over) == ([], False)
    with listener:
        assert listener.read() == []
        assert [event.event for event in listener.read()] == ["turn.failed"]


@pytest.mark.parametrize("is_heard", [False, True])
def test_answered_turn_is_completed_however_long_learning_takes(
    paying: Core, ada: Principal, clock: FrozenClock, model: ScriptedServer, is_heard: bool
) -> None:
    learning, released = threading.Event(), threading.Event()
    found = {"kind": "preference", "content": "User prefers tea.", "excerpt": HELLO[0].content, "confidence": 0.9}

    def slow(reply: Reply, body: Body) -> None:
        learning.set()
        released.wait(SOON)
        says(json.dumps({"memories": [found]}))(reply, body)

    model.scripts[:] = [says("Noted.")]
    model.always = slow
    turn = paying.turns.start(ada, HELLO)
    assert learning.wait(SOON)
    if is_heard:
        paying.store.write(ada.tenant, lambda tx: tx.turns.attend(turn.id, clock.now() + timedelta(days=1)))
    clock.advance(timedelta(seconds=301))
    paying.turns.runner.hold_all()
    released.set()
    assert names(paying, turn.id, ada)[-3:] == ["synthesis", "agent.completed", "turn.completed"]
    ended = paying.turns.get(ada, turn.id)
    assert (ended.status, ended.answer, ended.error) == (TurnStatus.COMPLETED, "Noted.", None)
    assert len(model.requests) == 2, "it is learned from once"
    assert len(paying.companion.list(ada).items) == 1


def test_a_turn_whose_process_is_gone_is_ended_by_whoever_follows_it(
    core: Core, clock: FrozenClock, tmp_path: Path, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whoever is gone does not say that it still works on it.
    monkeypatch.setattr(core.turns.runner, "hold_all", lambda: None)
    asked, released = threading.Event(), threading.Event()

    def wait(reply: Reply, body: Body) -> None:
        # Whatever it says would hold the turn again.
        asked.set()
        released.wait(SOON)
        says("Too late.")(reply, body)

    model.always = wait
    turn = core.turns.start(ADA, HELLO)
    assert asked.wait(SOON)
    other = open_core(turn_settings(tmp_path, model.url), clock=clock)
    clock.advance(timedelta(seconds=11))
    events = list(other.turns.follow(ADA, turn.id))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert events[-1].data["error"]["code"] == "turn_interrupted"
    released.set()
    other.close()


def test_the_library_gives_a_turn_as_events(
    tmp_path: Path, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(model).items():
        monkeypatch.setenv(name, value)
    with Memorist.open(tmp_path) as m:
        me = m.user("ada")
        events = list(me.turn([{"role": "user", "content": "I prefer tea over coffee."}]))
        assert events[-1].event == "turn.completed"
        turn_id = events[0].data["turn_id"]
        assert me.get_turn(turn_id).answer == "Noted, I will remember that."
        assert [turn.id for turn in me.turns().items] == [turn_id]
        assert list(me.turn_events(turn_id, after=2)) == events[2:]


def environment(model: ScriptedServer) -> dict[str, str]:
    return {
        "MEMORIST_LLM": "openai:gpt-4o",
        "MEMORIST_LLM_URL": model.url,
        "MEMORIST_LLM_API_KEY": "not-a-key",
        "MEMORIST_EMBEDDER": "off",
        "MEMORIST_RERANKER": "off",
        "MEMORIST_EXTRACTOR": "local",
    }


def memorist(model: ScriptedServer, *arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
    command = [*MEMORIST, *arguments]
    return subprocess.run(
        command, input=said, capture_output=True, text=True, env=os.environ | environment(model), timeout=60
    )


def test_the_command_line_streams_an_answer_and_shows_what_was_learned(tmp_path: Path, model: ScriptedServer) -> None:
    data = ["--data", str(tmp_path)]
    done = memorist(model, "turn", "I prefer tea over coffee.", *data)
    assert (done.returncode, done.stdout) == (0, "Noted, I will remember that.\n")
    assert "+1 entry (1 preference)" in done.stderr
    assert "tea" in done.stderr
    events = [json.loads(line) for line in memorist(model, "turn", "Hello.", *data, "--json").stdout.splitlines()]
    assert events[0]["event"] == "turn.started"
    assert events[-1]["event"] == "turn.completed"
    listed = json.loads(memorist(model, "memory", *data, "--json").stdout)
    assert [row["category"] for row in listed["items"]] == ["preference"]
    assert "preference" in memorist(model, "memory", *data).stdout
    assert "local" in memorist(model, "tenants", "list", *data).stdout


def test_a_chat_keeps_its_conversation(tmp_path: Path, model: ScriptedServer) -> None:
    done = memorist(model, "chat", "--data", str(tmp_path), said="My name is Ada.\n\nWhat is my name?\n/quit\nnever\n")
    assert done.returncode == 0
    assert done.stdout == "Noted, I will remember that.\n" * 2
    assert len(model.requests) == 2
    assert "My name is Ada." in json.dumps(model.requests[-1].body)


def test_chat_goes_on_after_an_answer_that_was_empty_or_cut_off(tmp_path: Path, model: ScriptedServer) -> None:
    model.scripts[:] = [says("", is_long=True), says("It is", is_long=True)]
    done = memorist(model, "chat", "--data", str(tmp_path), said="Hello.\nWho is there?\nGo on.\n")
    assert (done.returncode, done.stdout) == (7, "It is\nNoted, I will remember that.\n")
    assert "without a word" in done.stderr
    assert done.stderr.count("error: ") == 1
    assert done.stderr.count("The answer was cut off") == 1


def test_a_failed_turn_is_an_error_of_the_command(tmp_path: Path, model: ScriptedServer) -> None:
    model.always = lambda reply, _: reply.json({"error": "no"}, 401)
    done = memorist(model, "turn", "Hello.", "--data", str(tmp_path))
    assert done.returncode == 7
    assert "401" in done.stderr


def test_a_failed_turn_of_a_chat_is_json_where_that_is_asked_for(tmp_path: Path, model: ScriptedServer) -> None:
    model.always = lambda reply, _: reply.json({"error": "no"}, 401)
    done = memorist(model, "chat", "--json", "--data", str(tmp_path), said="Hello.\nAnybody there?\n")
    assert done.returncode == 7
    assert done.stderr.startswith("The tenant local is new.")
    assert [json.loads(line)["error"]["code"] for line in done.stderr.splitlines()[1:]] == ["turn_failed"] * 2


def test_a_turn_that_is_worked_on_here_is_late_and_not_lost(
    core: Core, clock: FrozenClock, model: ScriptedServer
) -> None:
    """A busy machine may be late with saying that it works on a turn; it does not end its own."""
    released = threading.Event()

    def wait(reply: Reply, body: Body) -> None:
        released.wait(20)
        says("Late, but here.")(reply, body)

    model.scripts.append(wait)
    turn = core.turns.start(ADA, HELLO)
    clock.advance(timedelta(seconds=11))
    assert core.turns.reap("local") == 0
    assert core.turns.get(ADA, turn.id).status is TurnStatus.RUNNING
    released.set()
    assert names(core, turn.id)[-1] == "turn.completed"


def test_a_tenant_that_cannot_be_written_ends_no_turns_of_others(
    core: Core, clock: FrozenClock, model: ScriptedServer
) -> None:
    both_ask, released = threading.Barrier(3), threading.Event()

    def wait(reply: Reply, body: Body) -> None:
        both_ask.wait(SOON)
        released.wait(SOON)
        says("Late, but here.")(reply, body)

    model.scripts += [wait, wait]
    core.identity.create_tenant("other")
    turns = {tenant: core.turns.start(replace(ADA, tenant=tenant), HELLO).id for tenant in ("other", "local")}
    both_ask.wait(SOON)
    with unwritable(core.store, "other"):
        clock.advance(timedelta(seconds=9))
        core.turns.runner.hold_all()
        found = [core.store.read(tenant, lambda tx, id_=id_: tx.turns.get(id_)) for tenant, id_ in turns.items()]
    released.set()
    soon = clock.now() + timedelta(seconds=5)
    assert [turn is not None and is_lost(turn, soon) for turn in found] == [True, False]


def test_a_repeated_turn_needs_one_connection(tmp_path: Path, model: ScriptedServer, own_postgres_url: str) -> None:
    core = open_core(turn_settings(tmp_path, model.url, database=own_postgres_url, pool_size=1, pool_timeout_s=2))
    try:
        core.identity.create_tenant("local")
        first = core.turns.start(ADA, HELLO, idempotency_key="k")
        assert names(core, first.id)[-1] == "turn.completed"
        again = core.turns.start(ADA, HELLO, idempotency_key="k")
        assert (again.id, again.status, again.replayed) == (first.id, TurnStatus.COMPLETED, True)
    finally:
        core.close()


@pytest.mark.parametrize(("at_once", "turns"), [(1, 1), (2, 2), (2, 5)])
def test_as_many_turns_as_are_worked_on_at_once_come_to_an_end(
    tmp_path: Path, model: ScriptedServer, at_once: int, turns: int
) -> None:
    """What is done beside a turn, and waited for, needs no worker that has a turn."""
    together = threading.Barrier(at_once)

    def wait(reply: Reply, body: Body) -> None:
        together.wait(SOON)  # Every worker has a turn then, and what is done beside it was asked for.
        says("Noted.")(reply, body)

    model.scripts[:] = [wait] * at_once
    core = open_core(turn_settings(tmp_path, model.url, turns_at_once=at_once))
    core.identity.create_tenant("local")
    begun = [core.turns.start(ADA, HELLO, session=f"s{number}") for number in range(turns)]
    assert [names(core, turn.id)[-1] for turn in begun] == ["turn.completed"] * turns
    core.close()

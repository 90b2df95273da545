"""Turns that are worked on when everything ends: nobody waits for long, and no model is asked any more."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.errors import TurnInterrupted
from memorist.ingestion.service import Message
from memorist.learning.outcomes import EXTRACTING
from memorist.platform.values import JobStatus, Principal, Role
from memorist.testing import FrozenClock
from memorist.turns import running
from memorist.turns.run import LEASE
from memorist.turns.values import Turn, TurnStatus
from tests.support.scripted_http import Body, Reply, ScriptedServer, scripted_server
from tests.support.talking import says
from tests.support.waiting import SOON, eventually
from tests.turns.conftest import turn_settings
from tests.turns.test_limits import environment

ADA = Principal("local", Role.USER, "ada")
HELLO = [Message("user", "I prefer tea over coffee.")]

ENDS_WITHOUT_CLOSING = """
import sys
from memorist import Memorist
from memorist.turns import running

running._GRACE_S = 0.0
me = Memorist.open(sys.argv[1]).user("ada")
next(iter(me.turn([{"role": "user", "content": "Hello."}])))
"""


class Hanging:
    """A model that was asked, and does not answer before it is told to."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.released = threading.Event()

    def __call__(self, reply: Reply, body: Body) -> None:
        self.asked.set()
        self.released.wait(SOON)
        says('{"memories": []}')(reply, body)


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    hanging = Hanging()
    yield hanging
    hanging.released.set()


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(datetime(2026, 3, 20, tzinfo=UTC))


@pytest.fixture
def core(tmp_path: Path, model: ScriptedServer, clock: FrozenClock) -> Iterator[Core]:
    core = open_core(turn_settings(tmp_path, model.url, extractor="auto"), clock=clock)
    core.identity.create_tenant("local")
    core.jobs.wake = lambda _: None  # type: ignore[method-assign, assignment]
    yield core
    core.close()


def stored(core: Core, turn_id: str) -> Turn:
    found = core.store.read("local", lambda tx: tx.turns.get(turn_id))
    assert found is not None
    return found


def is_idle(core: Core) -> bool:
    return core.turns.runner.running == 0


def test_turn_whose_model_hangs_keeps_nobody_from_closing(
    core: Core, model: ScriptedServer, hanging: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_GRACE_S", 0.0)
    model.always = hanging
    turn = core.turns.start(ADA, HELLO)
    assert hanging.asked.wait(SOON)
    core.turns.close()
    assert not hanging.released.is_set()
    assert stored(core, turn.id).status is TurnStatus.RUNNING
    hanging.released.set()
    eventually(lambda: is_idle(core))
    ended = stored(core, turn.id)
    assert (ended.status, ended.error) == (
        TurnStatus.FAILED,
        {"code": "turn_interrupted", "message": str(TurnInterrupted())},
    )


@pytest.mark.parametrize("session", ["kitchen", None])
def test_no_model_is_asked_to_learn_once_everything_ends(
    core: Core, model: ScriptedServer, hanging: Hanging, monkeypatch: pytest.MonkeyPatch, session: str | None
) -> None:
    monkeypatch.setattr(running, "_GRACE_S", SOON)  # The models are loaded first.
    model.always = hanging
    core.turns.start(ADA, HELLO, session=session)
    assert hanging.asked.wait(SOON)
    core.turns.runner._loop.stop()
    hanging.released.set()
    core.turns.close()
    assert len(model.requests) == 1
    waiting = core.jobs.list(ADA, status=JobStatus.WAITING, kind=EXTRACTING).items
    # What is kept is read after the next start; of what is not, something is found here and now.
    assert (len(waiting), len(core.companion.list(ADA).items)) == ((1, 0) if session else (0, 1))
    assert all(job.run_at <= core.clock.now() for job in waiting)


@pytest.mark.parametrize("refused", ["memorist-turn", "memorist-turns"])
def test_turn_for_which_no_thread_can_be_started_fails_and_all_else_ends(
    core: Core, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    start = threading.Thread.start

    def start_others(thread: threading.Thread) -> None:
        if thread.name == refused:
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start_others)
        turn = stored(core, core.turns.start(ADA, HELLO).id)
    assert (turn.status, turn.error and turn.error["code"]) == (TurnStatus.FAILED, "turn_interrupted")
    assert is_idle(core)
    later = core.turns.start(ADA, HELLO).id
    eventually(lambda: stored(core, later).status is TurnStatus.COMPLETED)
    core.close()


def test_answered_turn_is_completed_though_what_learns_from_it_hangs(
    core: Core, model: ScriptedServer, hanging: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_GRACE_S", 0.0)
    model.scripts[:] = [says("Noted.")]
    model.always = hanging
    turn = core.turns.start(ADA, HELLO)
    assert hanging.asked.wait(SOON)
    core.turns.close()
    ended = stored(core, turn.id)
    assert (ended.status, ended.answer) == (TurnStatus.COMPLETED, "Noted.")


def test_turn_that_is_being_ended_is_not_lost_to_others(
    core: Core, model: ScriptedServer, hanging: Hanging, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core.turns.runner, "hold_all", lambda: None)
    model.scripts[:] = [says("Noted.")]
    model.always = hanging
    turn = core.turns.start(ADA, HELLO)
    assert hanging.asked.wait(SOON)
    clock.advance(timedelta(seconds=9))
    closing = threading.Thread(target=core.turns.close)
    closing.start()
    eventually(lambda: stored(core, turn.id).lease_until == clock.now() + LEASE)
    hanging.released.set()
    closing.join()
    assert stored(core, turn.id).status is TurnStatus.COMPLETED


def test_process_ends_though_a_model_hangs(tmp_path: Path, hanging: Hanging) -> None:
    with scripted_server(hanging) as model:
        command = [sys.executable, "-c", ENDS_WITHOUT_CLOSING, str(tmp_path)]
        done = subprocess.run(
            command,
            env=os.environ | environment(model) | {"MEMORIST_LLM_TIMEOUT_S": "3600"},
            timeout=SOON,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not hanging.released.is_set()
    assert (done.returncode, done.stderr) == (0, "")

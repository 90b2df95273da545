"""`memorist demo`: every answer of the tour is right, it fits a plain terminal, and it leaves nothing behind."""

import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from memorist.views import story
from tests.cli.conftest import EXECUTABLE, Cli, execute
from tests.cli.test_terminal import assert_harmless
from tests.support.waiting import eventually


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that temporary folders are made in."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.usefixtures("models")
def test_every_question_gets_the_answer_that_the_tour_promises(cli: Cli, temporary: Path, data: Path) -> None:
    result = cli.json("demo")
    assert result["stored"]["messages"] == sum(len(scene.turns) for scene in story.SCENES) == 41
    for asked, answer in zip(story.QUESTIONS, result["answers"], strict=True):
        assert answer["question"] == asked.question
        assert answer["degraded"] is False
        if asked.expected:
            shown = [item["content"] for item in answer["items"]]
            first = shown[:2] if "door" in asked.question else shown[:1]
            assert any(asked.expected in content for content in first), asked.question
            assert answer["rerank_used"]
        else:
            assert answer["items"] == []
    loan = next(answer for answer in result["answers"] if "loan" in answer["question"])
    assert loan["items"][0]["explanation"]["text"]["rank"] is None, "the tour says that they share no word"
    dates = [item["content"] for item in result["answers"][0]["items"]]
    assert ["12th of June" in dates[0], "22nd of May" in dates[1]] == [True, True], "what was said last comes first"
    past = next(answer for answer in result["answers"] if "why_not" in answer)
    assert past["why_not"]["reason"] == "It was not known at `known_at`."
    assert list(temporary.iterdir()) == []
    assert not data.exists()


def test_the_tour_without_models_still_works_and_fits_a_terminal(cli: Cli, temporary: Path) -> None:
    shown = execute("demo", environment={"TMPDIR": str(temporary)})
    assert shown.code == 0
    assert_harmless(shown)
    assert "When is the opening?" in shown.out
    assert "What to do next" in shown.out
    assert "\x1b" not in shown.out
    assert list(temporary.iterdir()) == []
    assert cli("demo", "--key", "mst_live_x", "--data", str(temporary / "d")).code == 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_tour_leaves_nothing(temporary: Path, number: signal.Signals) -> None:
    process = subprocess.Popen([EXECUTABLE, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # It may have been through already, on a fast machine.
    eventually(lambda: list(temporary.glob("memorist-*/memorist.db")) or process.poll() is not None)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (128 + number, 0), err
    assert b"Traceback" not in err
    assert list(temporary.iterdir()) == []


def test_in_a_given_database_its_rows_are_erased_afterwards(cli: Cli) -> None:
    cli.ok("remember", "mine")
    cli.ok("demo", "--data", str(Path(cli.json("db", "status")["database"]["place"]).parent))
    assert cli.texts("--all-users") == {"mine"}
    assert cli.json("list", "--all-users", "--tenant", "memorist-scratch")["items"] == []
    assert cli.json("index", "status", "--tenant", "memorist-scratch")["total"] == 0

"""How log lines look: coloured text on a terminal, JSON elsewhere, and never a command to the terminal."""

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator

import pytest

from memorist.settings import Settings
from memorist.surfaces.http import logs

Written = Callable[..., str]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[Written]:
    """What a line looks like, on a terminal or in a file."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def write(message: str, *, terminal: bool, log_format: str = "auto", error: BaseException | None = None) -> str:
        ours, theirs = os.openpty() if terminal else os.pipe()
        with os.fdopen(theirs, "w", closefd=True) as stream:
            monkeypatch.setattr(sys, "stderr", stream)
            logs.set_up_logging(Settings(log_format=log_format))
            fields = {"status": 200, "path": "/v1/x\x1b[2J"}
            logging.getLogger("memorist.http").warning(message, extra={"fields": fields}, exc_info=error)
            stream.flush()
            found = os.read(ours, 100_000).decode()
        os.close(ours)
        return found

    yield write
    root.handlers[:], root.level = before


def test_line_is_json_in_a_file_and_text_on_a_terminal(written: Written) -> None:
    line = json.loads(written("request", terminal=False))
    assert (line["message"], line["status"], line["level"]) == ("request", 200, "warning")
    assert "\x1b[33mwarning" in written("request", terminal=True)
    assert json.loads(written("request", terminal=True, log_format="json"))["status"] == 200


def test_text_in_a_file_has_no_colours_and_the_whole_date(written: Written) -> None:
    line = written("request", terminal=False, log_format="text")
    assert "\x1b" not in line
    assert line[:4].isdecimal()
    assert "warning memorist.http request status=200" in line


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_are_left_out_where_nobody_wants_them(
    written: Written, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert "\x1b" not in written("request", terminal=True)


def test_what_somebody_sent_is_no_command_to_the_terminal(written: Written) -> None:
    line = written("clear \x1b[2J\r\nfalse line", terminal=True, error=ValueError("\x1b]0;title\x07"))
    assert "\x1b[2J" not in line
    assert "\x1b]0" not in line
    assert "\x07" not in line
    first = line.splitlines()[0]
    assert "false line" in first
    assert "ValueError" in line

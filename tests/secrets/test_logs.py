"""Log lines hold no secrets: not in their message, their fields or the traceback, and whoever wrote them."""

import json
import logging
from collections.abc import Iterator

import pytest

from memorist.errors import InvalidField
from memorist.secrets.logs import RedactingFilter, redacting_logger
from memorist.settings import Settings
from memorist.surfaces.cli.failures import report
from memorist.surfaces.http import logs
from memorist.surfaces.http.problems import problem
from tests.secrets.conftest import new_token

MARKER = "[REDACTED:github-token]"


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = before


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_lines_of_the_server_hold_no_secrets(capsys: pytest.CaptureFixture[str], token: str, log_format: str) -> None:
    logs.set_up_logging(Settings(log_format=log_format))
    logging.getLogger("some.library").info("calling %s with %s", "it", token)
    logging.getLogger("memorist.http").warning("request", extra={"fields": {"path": f"/v1/{token}", "status": 200}})
    try:
        raise ValueError(f"bad {token}")
    except ValueError:
        logging.getLogger("memorist.http").exception("unexpected")
    written = capsys.readouterr().err
    assert token not in written
    assert written.count(MARKER) == 3
    assert "test_lines_of_the_server_hold_no_secrets" in written
    if log_format == "json":
        lines = [json.loads(line) for line in written.splitlines()]
        assert lines[1]["path"] == f"/v1/{MARKER}"
        assert lines[1]["status"] == 200
        assert f"ValueError: bad {MARKER}" in lines[2]["exception"]


def test_own_loggers_hold_no_secrets_wherever_they_write(token: str) -> None:
    seen: list[logging.LogRecord] = []

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(record)

    logger = redacting_logger("memorist.test")
    assert sum(isinstance(one, RedactingFilter) for one in redacting_logger("memorist.test").filters) == 1
    handler = Keeping()
    logger.addHandler(handler)
    try:
        logger.warning("failed: %s", token)
    finally:
        logger.removeHandler(handler)
    assert seen[0].getMessage() == f"failed: {MARKER}"


def test_every_logger_of_memorist_redacts() -> None:
    import memorist.memories.accesses
    import memorist.recall.index.indexer
    import memorist.recall.service
    import memorist.surfaces.http.boundary  # noqa: F401

    loggers = [one for one in logging.root.manager.loggerDict.values() if isinstance(one, logging.Logger)]
    own = [one for one in loggers if one.name.startswith("memorist.")]
    assert len(own) >= 4
    assert [one.name for one in own if not any(isinstance(each, RedactingFilter) for each in one.filters)] == []


def test_error_messages_hold_no_secrets(capsys: pytest.CaptureFixture[str], token: str) -> None:
    error = InvalidField(f"name cannot be {token}.", field=token)
    body = bytes(problem(error, "req_1", details=[{"field": "name", "message": f"not {token}"}]).body).decode()
    assert token not in body
    assert body.count(MARKER) == 3
    for as_json in (False, True):
        report(error, as_json=as_json)
        shown = capsys.readouterr().err
        assert token not in shown
        assert MARKER in shown


def test_token_differs_from_test_to_test() -> None:
    assert new_token() != new_token()

"""Log lines on stderr, as JSON for machines or as text for people: with colours where a terminal shows them."""

import json
import logging
import os
import sys

from memorist.secrets.logs import RedactingFilter
from memorist.settings import Settings
from memorist.times import from_micros, to_iso
from memorist.watching import trace_ids

# Nobody reads them here, and finding them out costs every line.
logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
_encode = json.JSONEncoder(default=str).encode


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and whatever was passed as `extra={"fields": {…}}`."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": to_iso(from_micros(int(record.created * 1_000_000))),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
            **trace_ids(),
        }
        if record.exc_text or record.exc_info:
            line["exception"] = record.exc_text or self.formatException(record.exc_info or (None, None, None))
        return _encode(line)


_FAINT, _NAMES = "2", "36"
_COLOURS = {"DEBUG": _FAINT, "INFO": "32", "WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}


class TextFormatter(logging.Formatter):
    """A line for people: when, how grave it is, who says it, the message and its fields; then a traceback."""

    def __init__(self, *, coloured: bool = False) -> None:
        super().__init__(datefmt="%H:%M:%S" if coloured else "%Y-%m-%d %H:%M:%S")
        self._coloured = coloured

    def format(self, record: logging.LogRecord) -> str:
        fields = {**getattr(record, "fields", {}), **trace_ids()}
        line = [
            self._in(_FAINT, self.formatTime(record, self.datefmt)),
            self._in(_COLOURS.get(record.levelname, _FAINT), f"{record.levelname.lower():<7}"),
            self._in(_NAMES, record.name),
            _visible(record.getMessage()),
            *(self._in(_FAINT, f"{name}=") + _visible(str(value)) for name, value in fields.items()),
        ]
        trace = record.exc_text or (self.formatException(record.exc_info) if record.exc_info else "")
        return "\n".join([" ".join(line), *map(_visible, trace.splitlines())])

    def _in(self, colour: str, text: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._coloured else text


def set_up_logging(settings: Settings) -> None:
    """Send everything, the server's own lines too, through one handler."""
    handler = logging.StreamHandler(sys.stderr)
    # Libraries log as well, and what they quote may be a secret.
    handler.addFilter(RedactingFilter())
    handler.setFormatter(_formatter(settings.log_format))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler], force=True)
    # Every request is already logged at the boundary.
    logging.getLogger("uvicorn.access").disabled = True


def _formatter(wanted: str) -> logging.Formatter:
    is_terminal = sys.stderr.isatty()
    if wanted == "json" or (wanted == "auto" and not is_terminal):
        return JsonFormatter()
    return TextFormatter(coloured=is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")


def _visible(text: str) -> str:
    """On one line, and no command to a terminal: what is logged may quote what somebody sent."""
    return "".join(one if one.isprintable() else " " for one in text)

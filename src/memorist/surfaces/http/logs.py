"""Log lines on stderr, as JSON for machines or as text for people."""

import json
import logging
import sys

from memorist.secrets.logs import RedactingFilter
from memorist.settings import Settings
from memorist.times import from_micros, to_iso

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
        }
        if record.exc_text or record.exc_info:
            line["exception"] = record.exc_text or self.formatException(record.exc_info or (None, None, None))
        return _encode(line)


class TextFormatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{name}={value}" for name, value in getattr(record, "fields", {}).items())
        return f"{super().format(record)} {fields}".rstrip()


def set_up_logging(settings: Settings) -> None:
    """Send everything, the server's own lines too, through one handler."""
    handler = logging.StreamHandler(sys.stderr)
    # Libraries log as well, and what they quote may be a secret.
    handler.addFilter(RedactingFilter())
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else TextFormatter())
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler], force=True)
    # Every request is already logged at the boundary.
    logging.getLogger("uvicorn.access").disabled = True

"""Loggers whose lines hold no secrets, whoever reads them and wherever they go."""

import logging
import traceback
from typing import Any

from memorist.secrets.redact import redact


class RedactingFilter(logging.Filter):
    """Takes secrets out of a record's message, its `fields` and its traceback. It keeps every record."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "is_redacted", False):
            return True
        record.is_redacted = True
        message = record.getMessage()
        found = redact(message)
        if found.findings:
            record.msg, record.args = found.text, ()
        fields = getattr(record, "fields", None)
        if fields:
            record.fields = {name: _plain(value) for name, value in fields.items()}
        if record.exc_info and record.exc_info[0] is not None:
            trace = redact("".join(traceback.format_exception(*record.exc_info)).rstrip("\n"))
            # The error itself would be printed in full by whoever has it.
            if trace.findings:
                record.exc_text, record.exc_info = trace.text, None
        return True


def redacting_logger(name: str) -> logging.Logger:
    """The logger of that name, which writes no secrets."""
    logger = logging.getLogger(name)
    if not any(isinstance(one, RedactingFilter) for one in logger.filters):
        logger.addFilter(RedactingFilter())
    return logger


def _plain(value: Any) -> Any:
    return redact(value).text if isinstance(value, str) else value

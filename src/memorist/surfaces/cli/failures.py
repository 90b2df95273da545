"""Errors at the command line: one table of exit codes, and one way to print them."""

import json
import sys

from memorist import errors
from memorist.secrets import redact
from memorist.surfaces.cli.terminal import note, printable

FAILED_CHECK = 1

# The first match wins; anything else is 1. Documented and stable.
EXIT_CODES: tuple[tuple[type[errors.MemoristError], int], ...] = (
    (errors.Invalid, 2),
    (errors.MethodNotAllowed, 2),
    (errors.PayloadTooLarge, 2),
    (errors.UnsupportedEncoding, 2),
    (errors.HeadersTooLarge, 2),
    (errors.NotFound, 3),
    (errors.Unauthenticated, 4),
    (errors.Forbidden, 4),
    (errors.Conflict, 5),
    (errors.StaleVersion, 5),
    (errors.StoreError, 6),
    (errors.ServerUnavailable, 6),
    (errors.ServerBusy, 6),
    (errors.TooManyRequests, 6),
    (errors.RequestTimeout, 6),
    (errors.ModelError, 7),
)


def exit_code_of(error: errors.MemoristError) -> int:
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), 1)


def report(error: errors.MemoristError, *, as_json: bool) -> int:
    """Print an error on stderr, as a sentence or as one JSON object, and return its exit code."""
    message = redact(error.message).text  # It may quote what was typed.
    if as_json:
        fields = {"code": error.code, "message": message, "field": error.field and redact(error.field).text}
        print(json.dumps({"error": fields}), file=sys.stderr)
    else:
        note(f"error: {printable(message)} [{error.code}]")
    return exit_code_of(error)

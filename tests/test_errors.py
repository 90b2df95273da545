"""The tree of errors: its codes are a promise, and its drawing is true."""

import re

import pytest

from memorist import errors
from memorist.errors import InvalidField, MemoristError, all_errors

# Clients match on these. A code may be added; one that is here may neither change nor go.
CODES = {
    "Conflict": "conflict",
    "DuplicateContent": "duplicate_content",
    "Forbidden": "forbidden",
    "IdempotencyInFlight": "idempotency_in_flight",
    "IdempotencyMismatch": "idempotency_mismatch",
    "IllegalTransition": "illegal_transition",
    "NotEditable": "not_editable",
    "Invalid": "invalid_request",
    "HeadersTooLarge": "headers_too_large",
    "InvalidCursor": "invalid_cursor",
    "InvalidField": "invalid_field",
    "InvalidId": "invalid_id",
    "InvalidJson": "invalid_json",
    "InvalidSetting": "invalid_setting",
    "LlmEmpty": "llm_empty",
    "LlmError": "llm_failed",
    "LlmMalformed": "llm_malformed",
    "LlmRefused": "llm_refused",
    "LlmUnavailable": "llm_unavailable",
    "MemoristError": "internal",
    "MethodNotAllowed": "method_not_allowed",
    "ModelError": "model_failed",
    "ModelUnavailable": "model_unavailable",
    "NameTaken": "name_taken",
    "NotFound": "not_found",
    "PayloadTooLarge": "payload_too_large",
    "RequestTimeout": "request_timeout",
    "ServerBusy": "server_busy",
    "ServerUnavailable": "server_unavailable",
    "StaleVersion": "stale_version",
    "StoreBusy": "store_busy",
    "StoreCorrupt": "store_corrupt",
    "TooManyRequests": "too_many_requests",
    "TurnError": "turn_failed",
    "LlmNotConfigured": "llm_not_configured",
    "BudgetSpent": "budget_spent",
    "TurnInterrupted": "turn_interrupted",
    "TurnAbandoned": "turn_abandoned",
    "TurnTooLong": "turn_too_long",
    "EncryptionKeyError": "encryption_key",
    "StoreError": "store_failed",
    "StoreFull": "store_full",
    "StoreOutdated": "store_outdated",
    "StoreReadOnly": "store_read_only",
    "StoreUnavailable": "store_unavailable",
    "Unauthenticated": "unauthenticated",
    "UnsupportedEncoding": "unsupported_encoding",
    "WeightsDamaged": "weights_damaged",
}

OURS = [error for error in all_errors() if error.__module__ == "memorist.errors"]


def test_codes_are_those_that_were_promised() -> None:
    assert {error.__name__: error.code for error in OURS} == CODES


def test_no_two_errors_share_a_code() -> None:
    assert len({error.code for error in OURS}) == len(OURS)


@pytest.mark.parametrize("error", OURS, ids=lambda error: error.__name__)
def test_docstring_is_the_default_message(error: type[MemoristError]) -> None:
    message = error().message
    assert "__doc__" in vars(error), "the message would be the parent's"
    assert message == str(error())
    assert message == " ".join(error.__doc__.split())
    assert re.fullmatch(r"[A-Z].*[.…`]\.?", message)
    assert error("other words", field="name").message == "other words"
    assert error("other words", field="name").field == "name"


def test_drawing_in_the_module_is_the_real_tree() -> None:
    drawn: dict[str, tuple[str | None, str]] = {}
    path: list[str] = []
    for line in errors.__doc__.split("\n"):
        match = re.fullmatch(r"((?:│   |    |├── |└── )*)(\w+) +(\w+)", line)
        if match:
            depth = len(match[1]) // 4
            path = [*path[:depth], match[2]]
            drawn[match[2]] = (path[-2] if depth else None, match[3])
    real = {
        error.__name__: (None if error is MemoristError else error.__bases__[0].__name__, error.code) for error in OURS
    }
    assert drawn == real


def test_every_error_of_ours_is_in_the_one_tree() -> None:
    defined = {value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)}
    assert defined == set(OURS)


def test_refusal_names_the_field_in_the_words_of_a_door() -> None:
    error = InvalidField.of("content", "has 9 characters of content; at most 5 are taken.")
    assert error.message == "content has 9 characters of content; at most 5 are taken."
    told = error.in_words({"content": "body", "category": "type"})
    assert (told.field, told.message) == ("body", "body has 9 characters of content; at most 5 are taken.")
    assert error.in_words({"category": "type"}) is error


def test_refusal_that_does_not_begin_with_its_field_keeps_its_words() -> None:
    told = InvalidField("The transcript is no text.", field="transcript_path").in_words({"transcript_path": "path"})
    assert (told.field, told.message) == ("path", "The transcript is no text.")
    assert InvalidField("At most 5 memories are taken.").in_words({"content": "body"}).field is None

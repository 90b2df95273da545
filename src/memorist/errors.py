"""The one tree of errors. A class's docstring is its default message; its `code` is stable and documented.

MemoristError                     internal
├── Invalid                       invalid_request
│   ├── InvalidField              invalid_field
│   ├── InvalidCursor             invalid_cursor
│   ├── InvalidId                 invalid_id
│   ├── InvalidJson               invalid_json
│   ├── InvalidSetting            invalid_setting
│   └── IdempotencyMismatch       idempotency_mismatch
├── Unauthenticated               unauthenticated
├── Forbidden                     forbidden
├── NotFound                      not_found
├── MethodNotAllowed              method_not_allowed
├── Conflict                      conflict
│   ├── NameTaken                 name_taken
│   ├── DuplicateContent          duplicate_content
│   ├── IllegalTransition         illegal_transition
│   ├── NotEditable               not_editable
│   └── IdempotencyInFlight       idempotency_in_flight
├── StaleVersion                  stale_version
├── PayloadTooLarge               payload_too_large
├── UnsupportedEncoding           unsupported_encoding
├── HeadersTooLarge               headers_too_large
├── RequestTimeout                request_timeout
├── TooManyRequests               too_many_requests
├── ServerBusy                    server_busy
├── ServerUnavailable             server_unavailable
├── ModelError                    model_failed
│   ├── ModelUnavailable          model_unavailable
│   ├── WeightsDamaged            weights_damaged
│   ├── LlmError                  llm_failed
│   │   ├── LlmUnavailable        llm_unavailable
│   │   ├── LlmRefused            llm_refused
│   │   ├── LlmEmpty              llm_empty
│   │   └── LlmMalformed          llm_malformed
│   └── TurnError                 turn_failed
│       ├── LlmNotConfigured      llm_not_configured
│       ├── BudgetSpent           budget_spent
│       ├── TurnInterrupted       turn_interrupted
│       ├── TurnAbandoned         turn_abandoned
│       └── TurnTooLong           turn_too_long
└── StoreError                    store_failed
    ├── StoreUnavailable          store_unavailable
    ├── StoreBusy                 store_busy
    ├── StoreReadOnly             store_read_only
    ├── StoreFull                 store_full
    ├── StoreCorrupt              store_corrupt
    ├── StoreOutdated             store_outdated
    └── EncryptionKeyError        encryption_key
"""

from collections.abc import Iterator, Mapping
from typing import Any, Self


class MemoristError(Exception):
    """Something went wrong inside Memorist. The log has the details under the request's id."""

    code = "internal"

    def __init__(self, message: str | None = None, *, field: str | None = None) -> None:
        self.message = message or " ".join((self.__doc__ or "").split())
        self.field = field
        super().__init__(self.message)


class Invalid(MemoristError):
    """The request cannot be understood. Compare it with the reference and send it again."""

    code = "invalid_request"


class InvalidField(Invalid):
    """A field has a value that is not allowed. The message names the field and what it takes."""

    code = "invalid_field"
    rule: str | None = None
    """What the field must be: the rest of the sentence that its name begins."""

    @classmethod
    def of(cls, field: str, rule: str) -> Self:
        """The refusal whose message is the field's name and the rule, so that each door can name the field its way."""
        error = cls(f"{field} {rule}", field=field)
        error.rule = rule
        return error

    def named(self, name: str) -> "InvalidField":
        """The same refusal, of the field by another name."""
        return InvalidField(self.message, field=name) if self.rule is None else InvalidField.of(name, self.rule)

    def in_words(self, words: Mapping[str, str]) -> "InvalidField":
        """The same in the words of a door, which map the model's names of fields to its own."""
        return self if self.field is None or self.field not in words else self.named(words[self.field])


class InvalidCursor(Invalid):
    """The cursor is not one that this list gave out. Start again without a cursor."""

    code = "invalid_cursor"


class InvalidId(Invalid):
    """The id is malformed. Memory ids look like mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3, or are the same bits as a UUID."""

    code = "invalid_id"


class InvalidJson(Invalid):
    """The body is not JSON in UTF-8. Check the quoting and the Content-Type header."""

    code = "invalid_json"


class InvalidSetting(Invalid):
    """A setting has a value that is not allowed. `memorist config show` names where each value comes from."""

    code = "invalid_setting"


class IdempotencyMismatch(Invalid):
    """This idempotency key was used before with another request. Use a new key for a new request."""

    code = "idempotency_mismatch"


class Unauthenticated(MemoristError):
    """A valid API key is needed: send it as `Authorization: Bearer mst_live_…`."""

    code = "unauthenticated"


class Forbidden(MemoristError):
    """This key may not do that. Use a key with another role, or act as yourself."""

    code = "forbidden"


class NotFound(MemoristError):
    """There is nothing here that you may see."""

    code = "not_found"


class MethodNotAllowed(MemoristError):
    """This address exists, but does not take that method. The Allow header lists those it takes."""

    code = "method_not_allowed"


class Conflict(MemoristError):
    """The request conflicts with what is stored. Read it again, then decide."""

    code = "conflict"


class NameTaken(Conflict):
    """A memory of that name exists in this profile. Change that one, or choose another name."""

    code = "name_taken"


class DuplicateContent(Conflict):
    """The same text is already remembered here. Nothing was changed."""

    code = "duplicate_content"


class IllegalTransition(Conflict):
    """A memory in that state cannot move to the other one."""

    code = "illegal_transition"


class NotEditable(Conflict):
    """The door that wrote this memory lets nobody change it in place. Write it anew, and delete the old one."""

    code = "not_editable"


class IdempotencyInFlight(Conflict):
    """A request with this idempotency key is still being worked on. Try again in a second."""

    code = "idempotency_in_flight"


class StaleVersion(MemoristError):
    """The memory changed since you read it. Read it again, and repeat the change on its new version."""

    code = "stale_version"


class PayloadTooLarge(MemoristError):
    """The body is larger than the server takes. Split it, or raise MEMORIST_BODY_LIMIT."""

    code = "payload_too_large"


class UnsupportedEncoding(MemoristError):
    """The body is sent compressed, as its header Content-Encoding says, and the server takes plain ones. Send it as it
    is, without that header."""

    code = "unsupported_encoding"


class HeadersTooLarge(MemoristError):
    """The request line and the headers are more than the server takes: 32 KB, or MEMORIST_HEADER_LIMIT, and 100
    headers. Send long texts in the body."""

    code = "headers_too_large"


class RequestTimeout(MemoristError):
    """The rest of the request did not come in time. Send it again, in one go."""

    code = "request_timeout"


class TooManyRequests(MemoristError):
    """More requests came for this key or user than the server takes at a time. Wait as Retry-After says, then go on."""

    code = "too_many_requests"

    def __init__(
        self, message: str | None = None, *, field: str | None = None, retry_after: float | None = None
    ) -> None:
        """`retry_after`: the seconds after which there is room again."""
        super().__init__(message, field=field)
        self.retry_after = retry_after


class ServerBusy(MemoristError):
    """The server has no room for more at the moment. Nothing was written; try again."""

    code = "server_busy"


class ServerUnavailable(MemoristError):
    """The server cannot be reached, or something else answers at its address. Check MEMORIST_URL, and that it runs."""

    code = "server_unavailable"


class ModelError(MemoristError):
    """A model failed. Keyword recall works without it."""

    code = "model_failed"


class ModelUnavailable(ModelError):
    """A remote model did not answer as it should. Check its address, its key and its log; keyword recall works."""

    code = "model_unavailable"


class WeightsDamaged(ModelError):
    """A file of the local models is missing or damaged. Install Memorist again; keyword recall works meanwhile."""

    code = "weights_damaged"


class LlmError(ModelError):
    """The language model did not take the request. Check MEMORIST_LLM, MEMORIST_LLM_URL and the key."""

    code = "llm_failed"

    def __init__(
        self, message: str | None = None, *, field: str | None = None, retry_after: float | None = None
    ) -> None:
        """`retry_after`: the seconds that the server asked to wait before the next try."""
        super().__init__(message, field=field)
        self.retry_after = retry_after
        self.so_far: Mapping[str, Any] | None = None
        """What was done without it meanwhile, for the job to tell."""


class LlmUnavailable(LlmError):
    """The language model cannot be reached, is overloaded, or took too long. It is asked again later."""

    code = "llm_unavailable"


class LlmRefused(LlmError):
    """The language model declined to answer. What was sent to it is stored, and nothing else was changed."""

    code = "llm_refused"


class LlmEmpty(LlmError):
    """The language model answered without a word, or spent all that an answer may take on thinking. Ask again, or ask
    another model."""

    code = "llm_empty"


class LlmMalformed(LlmError):
    """The language model answered something that cannot be read. It is asked again later."""

    code = "llm_malformed"


class TurnError(ModelError):
    """The turn failed. Its events tell how far it came."""

    code = "turn_failed"


class LlmNotConfigured(TurnError):
    """No language model is configured. Set MEMORIST_LLM: anthropic:claude-sonnet-4-5 with ANTHROPIC_API_KEY for a cloud
    model, or openai:MODEL with MEMORIST_LLM_URL=http://127.0.0.1:11434/v1 for a local OpenAI-compatible server."""

    code = "llm_not_configured"


class BudgetSpent(TurnError):
    """The tenant's budget for turns is spent for this month. Raise MEMORIST_TURN_BUDGET_USD, or wait for the next."""

    code = "budget_spent"


class TurnInterrupted(TurnError):
    """The process that worked on the turn is gone. Ask again."""

    code = "turn_interrupted"


class TurnAbandoned(TurnError):
    """Nobody listened to the turn any more, so it was ended."""

    code = "turn_abandoned"


class TurnTooLong(TurnError):
    """The turn took longer than MEMORIST_TURN_TIMEOUT_S allows."""

    code = "turn_too_long"


class StoreError(MemoristError):
    """The database refused. Nothing was half written; see the log for its own words."""

    code = "store_failed"


class StoreUnavailable(StoreError):
    """The database cannot be reached or opened. Check its address, that it runs, and that you may use it."""

    code = "store_unavailable"


class StoreBusy(StoreError):
    """The database stayed locked by others for too long. Nothing was written; try again."""

    code = "store_busy"


class StoreReadOnly(StoreError):
    """The database cannot be written. Check the permissions of the file and of its folder."""

    code = "store_read_only"


class StoreFull(StoreError):
    """The disk is full. Nothing was lost and nothing was half written; free some space and try again."""

    code = "store_full"


class StoreCorrupt(StoreError):
    """The file is damaged or no Memorist database. Stop Memorist and restore a backup with `memorist backup restore`,
    or save what can still be read with `memorist export`."""

    code = "store_corrupt"


class StoreOutdated(StoreError):
    """The database was written by a newer Memorist. Upgrade Memorist; the data was not touched."""

    code = "store_outdated"


class EncryptionKeyError(StoreError):
    """The database is encrypted, and the key for it is missing or another one. Set it (`encryption_key_file`,
    `encryption_key` or `encryption_key_command`) and start again; nothing was changed."""

    code = "encryption_key"


def all_errors(root: type[MemoristError] = MemoristError) -> Iterator[type[MemoristError]]:
    """Every class of the tree, parents first; not one that a module has for itself, which nobody else sees."""
    yield root
    for child in root.__subclasses__():
        if not child.__name__.startswith("_"):
            yield from all_errors(child)

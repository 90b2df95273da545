"""Errors on the wire: RFC 9457 problem details with a stable `code`, the request's id and a link to what to do."""

import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Match

from memorist import errors
from memorist.platform import acts
from memorist.secrets import redact
from memorist.secrets.logs import redacting_logger
from memorist.surfaces.http.responses import Json
from memorist.surfaces.http.routes import OwnPaths

_log = redacting_logger("memorist.http")

ERRORS_PAGE = "/docs/errors"

STATUS: dict[type[errors.MemoristError], int] = {
    errors.MemoristError: 500,
    errors.Invalid: 400,
    errors.InvalidField: 422,
    errors.InvalidId: 422,
    errors.IdempotencyMismatch: 422,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.MethodNotAllowed: 405,
    errors.Conflict: 409,
    errors.StaleVersion: 412,
    errors.PayloadTooLarge: 413,
    errors.UnsupportedEncoding: 415,
    errors.HeadersTooLarge: 431,
    errors.RequestTimeout: 408,
    errors.TooManyRequests: 429,
    errors.ServerBusy: 503,
    errors.LlmNotConfigured: 503,
    errors.BudgetSpent: 402,
    errors.StoreError: 503,
    errors.StoreFull: 507,
}

_HEADERS: dict[type[errors.MemoristError], dict[str, str]] = {
    errors.Unauthenticated: {"WWW-Authenticate": 'Bearer realm="memorist"'},
    errors.UnsupportedEncoding: {"Accept-Encoding": "identity"},
    errors.IdempotencyInFlight: {"Retry-After": "1"},
    errors.StoreBusy: {"Retry-After": "1"},
    errors.StoreUnavailable: {"Retry-After": "5"},
    errors.ServerBusy: {"Retry-After": "1"},
}

# Two phrases that differ between versions of Python.
_TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}

# What the framework raises by itself, in our words.
BY_STATUS: dict[int, type[errors.MemoristError]] = {
    400: errors.InvalidJson,
    401: errors.Unauthenticated,
    403: errors.Forbidden,
    404: errors.NotFound,
    405: errors.MethodNotAllowed,
    413: errors.PayloadTooLarge,
}

_UNKNOWN_FIELD = "extra_forbidden"
_BROKEN_JSON = "json_invalid"
_MISSING = "missing"
_NO_OBJECT = ("model_attributes_type", "dict_type")
_SHOULD_BE = "Input should be "
_MOST_DETAILS = 20
_LONGEST_MESSAGE = 300


def status_of(error: errors.MemoristError) -> int:
    """The status of the error's class or of its nearest ancestor in the table."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def problem(
    error: errors.MemoristError,
    request_id: str,
    *,
    headers: Mapping[str, str] | None = None,
    details: Sequence[Mapping[str, str]] = (),
    status: int | None = None,
) -> Json:
    """The response for an error; with a `status` where the API at hand has its own for it."""
    acts.failed(error)
    status = status or status_of(error)
    body: dict[str, Any] = {
        "type": f"{ERRORS_PAGE}#{error.code}",
        "title": _TITLES.get(status) or HTTPStatus(status).phrase,
        "status": status,
        # It may quote what was sent.
        "detail": redact(error.message).text,
        "code": error.code,
        "request_id": request_id,
    }
    if error.field is not None:
        body["field"] = redact(error.field).text
    if details:
        body["errors"] = [{name: redact(text).text for name, text in detail.items()} for detail in details]
    all_headers = {**_HEADERS.get(type(error), {}), **(headers or {})}
    if isinstance(error, errors.TooManyRequests):
        all_headers["Retry-After"] = str(max(1, math.ceil(error.retry_after or 1)))
    return Json(body, status, all_headers, media_type="application/problem+json")


async def on_memorist_error(request: Request, error: Exception) -> Json:
    assert isinstance(error, errors.MemoristError)
    if status_of(error) >= 500:
        fields = {"request_id": request.state.request_id, "code": error.code, "detail": error.message}
        _log.error("the request failed", extra={"fields": fields})
    is_refusal = isinstance(error, errors.InvalidField | errors.InvalidId | errors.IdempotencyMismatch)
    if isinstance(error, errors.InvalidField):
        error = error.in_words(getattr(request.state, "words", {}))
    return problem(error, request.state.request_id, status=_refusal_status(request) if is_refusal else None)


async def on_http_error(request: Request, error: Exception) -> Json:
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, MemoryError):
        # The framework takes whatever fails while a body is read for the sender's fault.
        return problem(meant_by(error.__cause__), request.state.request_id)
    meaning = BY_STATUS.get(error.status_code, errors.MemoristError)
    headers = {"Allow": _allowed(request)} if error.status_code == 405 else error.headers
    return problem(meaning(), request.state.request_id, headers=headers)


def _allowed(request: Request) -> str:
    """The methods of every route at this address; the framework names those of the first only."""
    first, *routes = request.app.routes
    found: set[str] = set(first.known.get(request.scope["path"], ()) if isinstance(first, OwnPaths) else ())
    if not found:
        here = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
        found = found.union(*(getattr(route, "methods", None) or () for route in here))
    return ", ".join(sorted(found))


async def on_validation_error(request: Request, error: Exception) -> Json:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(item["type"] == _BROKEN_JSON for item in found):
        return problem(errors.InvalidJson(), request.state.request_id)
    # What was sent is never echoed: it may be huge, secret, or no text at all.
    details = _details(request, error.body, found)[:_MOST_DETAILS]
    first = details[0]
    named = errors.InvalidField(f"{first['field']}: {first['message']}", field=first["field"])
    return problem(named, request.state.request_id, details=details, status=_refusal_status(request))


def _refusal_status(request: Request) -> int | None:
    """What the route answers to an input that it refuses (routes.DialectRoute); None for the usual."""
    return getattr(request.state, "refusal_status", None)


async def on_unexpected_error(request: Request, error: Exception) -> Json:
    return problem(meant_by(error), request.state.request_id)


def meant_by(error: BaseException) -> errors.MemoristError:
    """What is said of an exception that nobody foresaw."""
    if isinstance(error, MemoryError):
        return errors.ServerBusy("The server is out of memory. Send less at once, or try again.")
    return errors.MemoristError()


def _details(request: Request, body: Any, found: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """What is wrong with each field. A field that may be several things is told once, with all that it may be."""
    messages: dict[str, list[str]] = {}
    for item in found:
        told = messages.setdefault(_field(item, body), [])
        message = _message(item, request)
        if message not in told:
            told.append(message)
    return [{"field": field, "message": _either(told)[:_LONGEST_MESSAGE]} for field, told in messages.items()]


def _field(item: Mapping[str, Any], body: Any) -> str:
    """The field's name as it was sent. Where a field may be several things, the framework adds which it was held to be:
    that is no part of the name."""
    source, *location = item["loc"]
    parts = []
    for index, part in enumerate(location):
        if source != "body":
            is_name = index == 0 or isinstance(part, int)
        elif isinstance(body, dict):
            is_name = part in body or (item["type"] == _MISSING and index == len(location) - 1)
            body = body.get(part) if part in body else body
        elif isinstance(body, list):
            is_name = isinstance(part, int) and part < len(body)
            body = body[part] if is_name else body
        else:
            is_name = False
        if is_name:
            parts.append(str(part))
    name = ".".join(parts) or "body"
    return name.encode("utf-8", "replace").decode()[:100]


def _message(item: Mapping[str, Any], request: Request) -> str:
    if item["type"] == _UNKNOWN_FIELD:
        return "there is no such field"
    if item["type"] in _NO_OBJECT:
        if len(item["loc"]) == 1 and not _is_json(request.headers.get("content-type", "")):
            return "It was not read as JSON: send it with the header Content-Type: application/json"
        return "Input should be a JSON object"
    return str(item["msg"]).encode("utf-8", "replace").decode()[:_LONGEST_MESSAGE]


def _either(messages: Sequence[str]) -> str:
    """ "Input should be a valid string or a valid number"."""
    first, *others = messages
    if all(one.startswith(_SHOULD_BE) for one in messages):
        others = [one.removeprefix(_SHOULD_BE) for one in others]
    return " or ".join([first, *others])


def _is_json(content_type: str) -> bool:
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))

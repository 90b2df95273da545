"""The OpenAPI document: what the framework finds out by itself, and what it cannot know."""

import threading
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from memorist.surfaces.http.boundary import METRICS, OPEN
from memorist.surfaces.http.texts import IDENTIFIER, JSON_VALUE
from memorist.surfaces.http.whole_answers import add_whole_answers

_KEY = {"type": "http", "scheme": "bearer", "description": "An API key (`memorist keys create`), or a user's token."}

_PROBLEM = {
    "type": "object",
    "description": "RFC 9457 problem details.",
    "required": ["type", "title", "status", "detail", "code", "request_id"],
    "properties": {
        "type": {"type": "string", "description": "Where this error is explained."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong and what to do."},
        "code": {"type": "string", "description": "Stable, to be handled by programs."},
        "request_id": {"type": "string"},
        "field": {"type": "string", "description": "The field that was refused."},
        "errors": {"type": "array", "items": {"type": "object"}, "description": "All refused fields."},
    },
}

_MAKING = threading.Lock()
_MADE: list[dict[str, Any]] = []

_REFUSAL = {
    "description": "Refused; `code` says why.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def _header(name: str, description: str) -> dict[str, Any]:
    # In a header only ASCII comes through every client and proxy.
    schema = IDENTIFIER | {"pattern": "^[!-~]+$"}
    return {"name": name, "in": "header", "required": False, "description": description, "schema": schema}


# Read by `callers`, on every path that needs a key.
_ACTING_HEADERS = [
    _header("X-Memorist-User", "The user to act for; service and admin keys may name any."),
    _header("X-Memorist-Agent", "The agent (profile) to act as."),
    _header("X-Memorist-Session", "The current session: new memories belong to it, and recall searches it first."),
]


def openapi(api: FastAPI) -> dict[str, Any]:
    """The document, made once in a process, which takes half a second: the routes are the same over every core."""
    with _MAKING:
        if not _MADE:
            _MADE.append(_document(api))
    return _MADE[0]


def _document(api: FastAPI) -> dict[str, Any]:
    """What every path that needs a key shares is added here: declared as dependencies of each handler it would cost
    every request.
    """
    schema = get_openapi(
        title=api.title, version=api.version, description=api.description, routes=api.routes, tags=api.openapi_tags
    )
    components = schema.setdefault("components", {})
    components["securitySchemes"] = {"apiKey": _KEY}
    components.setdefault("schemas", {}).update(Problem=_PROBLEM, JsonValue=JSON_VALUE)
    for unused in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(unused, None)
    add_whole_answers(schema)
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            _complete(operation, needs_key=path not in OPEN | {METRICS})
    return schema


def _without_null(parameter: dict[str, Any]) -> None:
    """A parameter is left out, and cannot be null."""
    schema = parameter["schema"]
    kinds = [one for one in schema.pop("anyOf", ()) if one != {"type": "null"}]
    parameter["schema"] = schema | (kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {})


def _complete(operation: dict[str, Any], *, needs_key: bool) -> None:
    # The framework's own shape of a refusal is never sent.
    operation["responses"].pop("422", None)
    operation["responses"]["5XX"] = _REFUSAL
    for parameter in operation.get("parameters", ()):
        _without_null(parameter)
    if needs_key:
        operation["security"] = [{"apiKey": []}]
        operation.setdefault("parameters", []).extend(_ACTING_HEADERS)
    if "security" in operation:
        operation["responses"]["4XX"] = _REFUSAL

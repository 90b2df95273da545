"""Schemas of the model's own values, made of their fields: what a body may hold, and what an answer does."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, is_dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache, partial, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    WithJsonSchema,
    create_model,
)
from pydantic_core import CoreSchema, core_schema

from memorist.codec import fields_of, from_record
from memorist.memories.fields import BY_NAME, FIELDS
from memorist.memories.values import Draft, Memory, NamedType
from memorist.platform import validation
from memorist.platform.paging import Page
from memorist.platform.values import Owner
from memorist.recall.values import Question
from memorist.surfaces.http.bodies import JsonBody
from memorist.surfaces.http.texts import (
    Identifier,
    Integer32,
    JsonObject,
    Line,
    MemoryId,
    QueryText,
    Slug,
    Whole,
    text_schema,
    within,
)
from memorist.tools import Moment

_Seconds = Annotated[
    float,
    Field(gt=0, le=validation.MAX_TTL.total_seconds(), allow_inf_nan=False),
    # However little it is, it is above 0.
    AfterValidator(lambda seconds: max(seconds, timedelta.resolution.total_seconds())),
]
# They are for the doors that know what makes theirs the same, and what holds for them.
_HIDDEN: dict[type, frozenset[str]] = {Draft: frozenset({"same_as", "governed_by"})}
_OF_A_MEMORY = {one.name: f"{one.about[0].upper()}{one.about[1:]}." for one in FIELDS}
_OF_A_DRAFT = _OF_A_MEMORY | {
    "owner": "Whose it is. Absent: the caller's.",
    "ttl": "How long it lives, in seconds.",
}
_OF_A_QUESTION = {
    "query": "What to look for.",
    "top_k": "How many memories to return at most.",
    "source_kinds": "Only memories of these kinds.",
    "scope": "Which memories to search.",
    "enable_rerank": "Read the candidates again for precision.",
    "as_of": "Answer with what was true at this time.",
    "known_at": "Answer with what was stored by this time.",
    "after": "Only what happened at or after this time.",
    "before": "Only what happened before this time.",
    "category": "Only memories of this category.",
    "project": "Only memories of this project.",
    "budget_tokens": "Return as many memories as fit into this many tokens, instead of `top_k`.",
    "min_score": "Leave out what scores below this, from 0 to 1. Absent: as the server is set.",
    "explain": "Tell of every memory how it came to its rank.",
    "why_not": "The id of a memory that you expected: the answer tells why it is not among the hits.",
}
_DESCRIPTIONS: dict[type, dict[str, str]] = {Draft: _OF_A_DRAFT, Memory: _OF_A_MEMORY, Question: _OF_A_QUESTION}


_Fraction = Annotated[float, WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})]
_BY_CHECK: dict[Any, Any] = {
    validation.slug: Slug,
    validation.identifier: Identifier,
    validation.integer: Integer32,
    validation.fraction: _Fraction,
    BY_NAME["project"].check: Line,
    BY_NAME["meta"].check: JsonObject,
}
_STRICTLY: dict[type, dict[str, Any]] = {
    Owner: {"user": Identifier, "agent": Identifier},
    Question: {
        "query": QueryText,
        "top_k": Annotated[Whole, within(1, validation.MAX_TOP_K)],
        "budget_tokens": Annotated[Whole, within(1, validation.MAX_BUDGET_TOKENS)],
        "min_score": _Fraction,
        "why_not": MemoryId,
    },
}


class _DraftBody(JsonBody):
    """What has a name is of one of its types."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"properties": {"name": {"type": "null"}}},
                {"properties": {"category": {"enum": [*map(str, NamedType), None]}}},
            ]
        }
    )


_BASES: dict[type, type[JsonBody]] = {Draft: _DraftBody}


class AsRecord:
    """In `Annotated`, of a dataclass: it comes as a JSON object of its fields, and nothing else."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def decode(body: BaseModel) -> Any:
            return from_record(source, _given(body))

        return core_schema.no_info_after_validator_function(decode, handler.generate_schema(_body_of(source)))


class AsChanges:
    """In `Annotated`, of a mapping: it comes as a JSON object of some of these fields; null takes a value away."""

    def __init__(self, kind: type, names: frozenset[str]) -> None:
        found: dict[str, Any] = {
            name: (_taken(kind, name, hint), Field(None, description=_described(kind, name)))
            for name, (hint, _) in fields_of(kind).items()
            if name in names
        }
        self._model = create_model(f"{kind.__name__}RecordChanges", __base__=JsonBody, **found)

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_given, handler.generate_schema(self._model))


def _given(body: BaseModel) -> dict[str, Any]:
    """What was sent, as it was sent."""
    values = {name: getattr(body, name) for name in body.model_fields_set}
    return {name: _given(value) if isinstance(value, BaseModel) else value for name, value in values.items()}


@cache
def _body_of(kind: type) -> type[JsonBody]:
    found: dict[str, Any] = {}
    for name, (hint, field) in fields_of(kind).items():
        if name not in _HIDDEN.get(kind, ()):
            default = ... if field.default is MISSING else field.default
            found[name] = (_taken(kind, name, hint), Field(default, description=_described(kind, name)))
    made: type[JsonBody] = create_model(f"{kind.__name__}Body", __base__=_BASES.get(kind, JsonBody), **found)
    return made


def _taken(kind: type, name: str, hint: Any) -> Any:
    """What a body may hold in a field: its type, as narrow as what checks it."""
    strictly = _STRICTLY.get(kind, {}).get(name) or (kind in (Draft, Memory) and _checked_by(name))
    if not strictly:
        return json_type(hint, is_body=True)
    return strictly | None if type(None) in get_args(hint) else strictly


def _checked_by(name: str) -> Any:
    """What the check of a memory's field takes, where that is less than every value of its type."""
    check = BY_NAME[name].check if name in BY_NAME else None
    if isinstance(check, partial) and check.func is validation.text:
        return Annotated[str, WithJsonSchema(text_schema(**check.keywords))]
    return _BY_CHECK.get(check)


def _described(kind: type, name: str) -> str | None:
    return _DESCRIPTIONS.get(kind, {}).get(name)


@cache
def record_of(kind: type) -> type[BaseModel]:
    """What `to_record` makes of a value, for the reference."""
    found: dict[str, Any] = {name: (json_type(hint), ...) for name, (hint, _) in fields_of(kind).items()}
    if kind is Memory:
        found["version"] = (str, ...)
    return create_model(f"{kind.__name__}Record", **found)


@cache
def _page_of(kind: Any) -> type[BaseModel]:
    found: dict[str, Any] = {"items": (list[json_type(kind)], ...), "next_cursor": (str | None, ...)}  # type: ignore[misc]
    return create_model(f"{kind.__name__}Page", **found)


def json_type(hint: Any, *, is_body: bool = False) -> Any:
    """What JSON has in place of a type of the model."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Page:
        return _page_of(arguments[0])
    if hint is datetime:
        return Moment if is_body else str
    if hint is timedelta:
        return _Seconds if is_body else float
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return Literal[tuple(str(word) for word in hint)]
    if is_dataclass(hint) and isinstance(hint, type):
        return _body_of(hint) if is_body else record_of(hint)
    if origin in (Union, UnionType):
        return reduce(or_, (json_type(one, is_body=is_body) for one in arguments if one is not type(None))) | None
    if origin is not None and issubclass(origin, Mapping):
        return dict[str, json_type(arguments[1], is_body=is_body)]  # type: ignore[misc]
    if origin is not None and issubclass(origin, Sequence):
        return Annotated[list[json_type(arguments[0], is_body=is_body)], Field(fail_fast=True)]  # type: ignore[misc]
    return hint

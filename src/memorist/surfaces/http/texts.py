"""Texts as the OpenAPI document tells them: as strict as `platform/validation.py`, which is what checks them.

A pattern is read by Python, JavaScript and Rust alike.
"""

import re
from contextlib import suppress
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from memorist.context.values import MAX_ENTRY
from memorist.documents.extraction import MEDIA_TYPES
from memorist.ids import ULID_CHARACTERS
from memorist.platform import validation

_BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_SPACES = r"\s\x1c-\x1f\x85"
_SLUG = "^[a-z0-9]+(?:[_-][a-z0-9]+)*$"
_IDENTIFIER = r"^[^\s\x00-\x1f\x7f-\x9f]+$"
_BASE64 = r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
_MEDIA_TYPE = f"^(?:{'|'.join(map(re.escape, MEDIA_TYPES))})(?: *;[ -~]*)?$"
_UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"


def text_schema(*, longest: int, empty: bool = False, one_line: bool = False) -> dict[str, Any]:
    """What `validation.text` takes."""
    never = r"\x00" + (_BREAKS if one_line else "")
    any_of = f"[^{never}]*"
    pattern = f"^{any_of}$" if empty else f"^{any_of}[^{never}{_SPACES}]{any_of}$"
    return {"type": "string", "maxLength": longest, "pattern": pattern} | ({} if empty else {"minLength": 1})


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _as_utf8(value: object) -> object:
    """A header as its bytes were meant, where they are UTF-8: the framework reads a character of each."""
    with suppress(UnicodeError):
        return value.encode("latin-1").decode("utf-8") if isinstance(value, str) else value
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
"""An integer of a body: 5.0 is one, in JSON."""


def within(minimum: int, maximum: int) -> WithJsonSchema:
    """The bounds of a whole number, which somebody else checks."""
    return WithJsonSchema({"type": "integer", "minimum": minimum, "maximum": maximum})


def id_schema(prefix: str, *others: str) -> dict[str, Any]:
    """What `ids.parse_id` takes, in the usual spellings."""
    ulid = f"[0-7][{ULID_CHARACTERS}]{{25}}"
    return {"type": "string", "pattern": f"^(?:{'|'.join((f'{prefix}_{ulid}', ulid, _UUID, *others))})$"}


ANY_TEXT = {"type": "string", "pattern": r"^[^\x00]*$"}
_JSON = {"$ref": "#/components/schemas/JsonValue"}
_ANY_VALUES = {"additionalProperties": _JSON}
JSON_VALUE: dict[str, Any] = {
    "description": "JSON, without a NUL in its texts.",
    "anyOf": [
        {"type": "null"},
        ANY_TEXT,
        {"type": "number"},
        {"type": "boolean"},
        {"type": "array", "items": _JSON},
        {"type": "object", "propertyNames": ANY_TEXT, **_ANY_VALUES},
    ],
}

SLUG: dict[str, Any] = {"type": "string", "maxLength": validation.MAX_NAME, "pattern": _SLUG}
IDENTIFIER: dict[str, Any] = {
    "type": "string", "minLength": 1, "maxLength": validation.MAX_IDENTIFIER, "pattern": _IDENTIFIER,
}  # fmt: skip

Slug = Annotated[str, WithJsonSchema(SLUG)]
Identifier = Annotated[str, WithJsonSchema(IDENTIFIER)]
EmptyIdentifier = Annotated[
    str, WithJsonSchema(IDENTIFIER | {"minLength": 0, "pattern": _IDENTIFIER.replace("+", "*")})
]
Content = Annotated[str, WithJsonSchema(text_schema(longest=validation.MAX_CONTENT))]
Transcript = Annotated[str, WithJsonSchema(text_schema(longest=validation.MAX_TOOL_OUTPUT))]
Uploaded = Annotated[str, WithJsonSchema(text_schema(longest=validation.MAX_TOOL_OUTPUT, empty=True))]
Line = Annotated[str, WithJsonSchema(text_schema(longest=validation.MAX_LINE, one_line=True))]
EmptyLine = Annotated[str, WithJsonSchema(text_schema(longest=validation.MAX_LINE, empty=True, one_line=True))]
Excerpt = Annotated[str, WithJsonSchema(text_schema(longest=validation.MAX_CONTENT, empty=True))]
Wanted = Annotated[str, WithJsonSchema(text_schema(longest=validation.MAX_LINE, empty=True))]
"""What a list is narrowed down to."""
SessionWanted = Annotated[str, WithJsonSchema(text_schema(longest=validation.MAX_LINE, empty=True) | {"minLength": 1})]
DocumentText = Annotated[str, WithJsonSchema(text_schema(longest=validation.MAX_DOCUMENT))]
Base64 = Annotated[str, WithJsonSchema({"type": "string", "format": "byte", "minLength": 4, "pattern": _BASE64})]
MediaType = Annotated[str, WithJsonSchema({"type": "string", "maxLength": validation.MAX_LINE, "pattern": _MEDIA_TYPE})]
Name = Annotated[str, WithJsonSchema(text_schema(longest=validation.MAX_IDENTIFIER, one_line=True))]
QueryText = Annotated[str, WithJsonSchema(text_schema(longest=validation.MAX_QUERY))]
EntryText = Annotated[str, WithJsonSchema(text_schema(longest=MAX_ENTRY))]
EmptyQuery = Annotated[str, WithJsonSchema(text_schema(longest=validation.MAX_QUERY, empty=True))]
MemoryId = Annotated[str, WithJsonSchema(id_schema("mem"))]
ProfileMemoryId = Annotated[str, WithJsonSchema(id_schema("mem", "mem_[A-Za-z0-9_-]{21}"))]
TurnId = Annotated[str, WithJsonSchema(id_schema("turn"))]
JobId = Annotated[str, WithJsonSchema(id_schema("job"))]
DoubtId = Annotated[str, WithJsonSchema(id_schema("dbt"))]
ReceiptId = Annotated[str, WithJsonSchema(id_schema("rcpt"))]
Integer32 = Annotated[Whole, within(-(2**31) + 1, 2**31 - 2)]
Integer64 = Annotated[int, WithJsonSchema({"type": "integer", "exclusiveMinimum": -(2**63), "exclusiveMaximum": 2**63})]
JsonObject = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "propertyNames": ANY_TEXT, **_ANY_VALUES})]

# What is sent back as it came: whose it is, and whether it still holds, only the server knows.
CursorText = Annotated[str, WithJsonSchema({"type": "string", "format": "cursor", "pattern": "^[A-Za-z0-9_-]+$"})]
FeedPosition = Annotated[str, WithJsonSchema({"type": "string", "pattern": "^[0-9]{1,18}-[0-9]{1,18}$"})]
EventNumber = Annotated[str, WithJsonSchema({"type": "string", "pattern": "^[0-9]{0,12}$"})]
Retry = Annotated[
    str,
    BeforeValidator(_as_utf8),
    WithJsonSchema({"type": "string", "maxLength": 255, "pattern": "^[!-~](?:[ -~]*[!-~])?$"}),
]
ETag = Annotated[str, WithJsonSchema({"type": "string", "pattern": r'^(?:\*|(?:W/)?"[!#-~]+")$'})]

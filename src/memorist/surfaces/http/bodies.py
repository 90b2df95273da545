"""What the bodies of requests have in common."""

from itertools import islice
from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

# What is said of a field whatever its type.
_BESIDE = ("title", "description", "default", "examples")
_MOST_UNKNOWN = 20


def one_of(first: str, second: str, none: tuple[str | None, ...] = (None,), **beside: Any) -> dict[str, Any]:
    """Of a body with two optional fields: exactly one of them is given, the first with these beside it."""

    def given(name: str, other: str) -> dict[str, Any]:
        return {"required": [name], "properties": {name: {"type": "string"}, other: {"enum": list(none)}}}

    with_first = given(first, second)
    with_first["properties"] |= beside
    return {"anyOf": [with_first, given(second, first)]}


class JsonBody(BaseModel):
    """Takes what is named, and nothing else. null stands for an optional field that is left out.

    Where null means something of its own, the field's default is None, and it is left as it is.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        # Each name that there is not is refused, which takes its time; nobody is told of more than some.
        dropped = set(islice((name for name in given if name not in cls.model_fields), _MOST_UNKNOWN, None))
        return {
            name: value
            for name, value in given.items()
            if name not in dropped and (value is not None or not cls._has_default(name))
        }

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The document says so of each such field, too."""
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema)["properties"]
        for name, described in properties.items():
            if cls._has_default(name):
                beside = {word: described.pop(word) for word in _BESIDE if word in described}
                properties[name] = {"anyOf": [described, {"type": "null"}], **beside}
        return schema

    @classmethod
    def _has_default(cls, name: str) -> bool:
        field = cls.model_fields.get(name)
        return field is not None and not field.is_required() and field.default is not None

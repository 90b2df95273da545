"""What the bodies of requests have in common."""

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


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
        return {name: value for name, value in given.items() if value is not None or not cls._has_default(name)}

    @classmethod
    def _has_default(cls, name: str) -> bool:
        field = cls.model_fields.get(name)
        return field is not None and not field.is_required() and field.default is not None

"""Values of arguments and options, converted here and not by Typer, which would load pydantic for it.

That takes longer than most commands do. A type that is not known here is left to Typer.
"""

import math
from collections.abc import Callable
from enum import Enum
from typing import Any, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup


class _PlainValues:
    """Mixed into Typer's commands: every parameter that can be is converted without pydantic."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            descriptor = getattr(parameter, "type_descriptor", None)
            convert = _converter(getattr(descriptor, "annotation", None))
            if convert is not None:
                # Where a later Typer looks elsewhere, this is merely ignored.
                parameter._runtime_param = _PlainValue(convert)
        return parameters


class PlainCommand(_PlainValues, TyperCommand):
    pass


class PlainGroup(_PlainValues, TyperGroup):
    pass


class _PlainValue:
    """Stands in for Typer's own conversion of one parameter."""

    def __init__(self, convert: Callable[[Any], Any]) -> None:
        self._convert = convert

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        many = param.multiple or param.nargs == -1
        if value is None:
            return () if many else None
        try:
            values = tuple(_bounded(self._convert(item), param) for item in (value if many else (value,)))
        except ValueError as error:
            raise typer.BadParameter(str(error), ctx=ctx, param=param) from error
        return values if many else values[0]


def _bounded(value: Any, param: Any) -> Any:
    """The value, where it is within the bounds that its option was given."""
    least, most = getattr(param, "min", None), getattr(param, "max", None)
    if least is not None and value < least:
        raise ValueError(f"{value} is less than {least}.")
    if most is not None and value > most:
        raise ValueError(f"{value} is more than {most}.")
    return value


def _converter(annotation: Any) -> Callable[[Any], Any] | None:
    if get_origin(annotation) is list:
        annotation = get_args(annotation)[0]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _choice_of(annotation)
    return _CONVERTERS.get(annotation)


def _choice_of(choices: type[Enum]) -> Callable[[Any], Enum]:
    def convert(value: Any) -> Enum:
        try:
            return choices(value)
        except ValueError:
            allowed = ", ".join(str(choice.value) for choice in choices)
            raise ValueError(f"{value!r} is not one of {allowed}.") from None

    return convert


def _whole_number(value: Any) -> int:
    try:
        return int(value)
    except ValueError:
        raise ValueError(f"{value!r} is not a whole number.") from None


def _number(value: Any) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not a number.")
    return number


_CONVERTERS: dict[Any, Callable[[Any], Any]] = {str: str, bool: bool, int: _whole_number, float: _number}

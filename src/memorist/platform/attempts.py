"""Compare-and-set: a change is made to what was read, and made again where somebody else was faster."""

from collections.abc import Callable
from typing import TypeVar

from memorist.errors import Conflict

T = TypeVar("T")

_ATTEMPTS = 10


def until_written(attempt: Callable[[], T | None], *, what: str = "memory") -> T:
    """What the first attempt returns that is not None: None where the row changed since it was read.

    Raises Conflict where none of ten succeeds, and whatever an attempt does.
    """
    for _ in range(_ATTEMPTS):
        done = attempt()
        if done is not None:
            return done
    raise Conflict(f"The {what} is being changed by too many at once. Try again.")

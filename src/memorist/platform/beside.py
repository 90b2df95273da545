"""What is done at the same time on another thread: a recall, most of whose time is a model's."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from typing import TypeVar

T = TypeVar("T")

_MOST_AT_ONCE = 32


@contextmanager
def beside(work: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """Do this beside the block, which asks for the result, or for what was raised, when it needs it. It is done when
    the block ends. What is done so must do nothing beside itself in this way: it could wait for itself.
    """
    doing = _threads().submit(copy_context().run, work)
    try:
        yield doing.result
    finally:
        wait([doing])


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_MOST_AT_ONCE, thread_name_prefix="memorist-beside")

"""In which list a memory stands whose time is over: in one, whether or not a sweep came by."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memorist.core import Core
from memorist.memories.sweeper import Sweep
from memorist.memories.values import Memory, Retention, Status
from memorist.platform.values import Principal
from memorist.testing import FrozenClock
from memorist.views.values import Browse


@pytest.mark.parametrize(
    ("fields", "rules", "wanted"),
    [
        ({}, {}, Status.ARCHIVED),
        ({}, {"archive": False}, Status.SOFT_DELETED),
        ({}, {"kinds": {"fact": {"archive": False}}}, Status.SOFT_DELETED),
        ({"retention": Retention.KEEP}, {}, Status.SOFT_DELETED),
    ],
)
def test_what_is_past_its_time_stands_in_one_list_before_and_after_a_sweep(
    core: Core, ada: Principal, remember: Callable[..., Memory], clock: FrozenClock, sweep: Callable[[], Sweep],
    enforce: Callable[..., None], fields: dict[str, Any], rules: dict[str, Any], wanted: Status,
) -> None:  # fmt: skip
    enforce(**rules)
    memory = remember(ttl=timedelta(minutes=1), **fields)
    remember("It stays.")

    def stands_in() -> list[tuple[Status, Status]]:
        """The lists, and the state that the memory has there."""
        return [
            (status, one.status)
            for status in Status
            for page in (
                core.memories.list(ada, status=status),
                core.browsing.page(ada, Browse(statuses=(status,))),
            )
            for one in page.items
            if one.id == memory.id
        ]

    assert stands_in() == [(Status.ACTIVE, Status.ACTIVE)] * 2
    clock.advance(timedelta(minutes=1))
    assert stands_in() == [(wanted, wanted)] * 2
    (before,) = core.memories.list(ada, status=wanted).items
    sweep()
    assert stands_in() == [(wanted, wanted)] * 2
    (after,) = core.memories.list(ada, status=wanted).items
    assert (after.archive_at, after.content) == (before.archive_at, before.content)
    core.retention.restore(ada, memory.id)
    assert stands_in() == [(Status.ACTIVE, Status.ACTIVE)] * 2

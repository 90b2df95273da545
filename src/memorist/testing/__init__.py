"""For authors of other stores: the conformance suite, makers of values, and clocks that tests can move.

    from memorist.testing import StoreConformance

    class TestMyStore(StoreConformance):
        @pytest.fixture
        def store(self): ...

It needs pytest, which is not among Memorist's own dependencies.
"""

import pytest

# Of the package, every module of it.
pytest.register_assert_rewrite("memorist.testing.conformance")

from memorist.testing.clocks import FrozenClock, StepClock  # noqa: E402
from memorist.testing.conformance import StoreConformance  # noqa: E402
from memorist.testing.makers import (  # noqa: E402
    full_memory,
    make_document,
    make_doubt,
    make_embedded,
    make_event,
    make_job,
    make_key,
    make_memory,
    make_receipt,
    make_record,
    make_turn,
    new_tenant,
)

__all__ = [
    "FrozenClock",
    "StepClock",
    "StoreConformance",
    "full_memory",
    "make_document",
    "make_doubt",
    "make_embedded",
    "make_event",
    "make_job",
    "make_key",
    "make_memory",
    "make_receipt",
    "make_record",
    "make_turn",
    "new_tenant",
]

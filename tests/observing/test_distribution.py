"""Buckets: whatever is taken by many threads at once is in them, once."""

import threading

from hypothesis import given
from hypothesis import strategies as st

from memorist.observing.metrics import Distribution

BOUNDS = (0.1, 1.0, 10.0)


@given(st.lists(st.floats(0, 100), max_size=50))
def test_every_value_is_in_the_first_bucket_that_holds_it(values: list[float]) -> None:
    found = Distribution(BOUNDS)
    for value in values:
        found.take(value)
    counts, total = found.counts()
    expected = [0] * 4
    for value in values:
        expected[next((place for place, bound in enumerate(BOUNDS) if value <= bound), 3)] += 1
    assert counts == expected
    assert abs(total - sum(values)) < 1e-6
    assert found.counts() == (counts, total)


def test_nothing_is_lost_or_counted_twice_by_many_threads() -> None:
    found = Distribution(BOUNDS)
    together = threading.Barrier(8)

    def work() -> None:
        together.wait()
        for _ in range(5_000):
            found.take(0.5)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.counts() == ([0, 40_000, 0, 0], 20_000.0)

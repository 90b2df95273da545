"""The figures mean what their names say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist_bench.metrics import Answered, percentile, quality, quality_by_category


def test_recall_any_and_reciprocal_rank() -> None:
    answers = [
        Answered(["a", "x", "b"], {"a", "b"}, "one"),
        Answered(["x", "y", "z", "c"], {"c"}, "two"),
        Answered(["x"], {"d"}, "two"),
    ]
    found = quality(answers)
    assert found["recall@1"] == pytest.approx((0.5 + 0 + 0) / 3, abs=1e-4)
    assert found["recall@5"] == pytest.approx((1 + 1 + 0) / 3, abs=1e-4)
    assert found["any@1"] == pytest.approx(1 / 3, abs=1e-4)
    assert found["any@20"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["mrr"] == pytest.approx((1 + 0.25 + 0) / 3, abs=1e-4)
    assert found["questions"] == 3
    by_category = quality_by_category(answers)
    assert {name: one["questions"] for name, one in by_category.items()} == {"one": 1, "two": 2}
    assert by_category["two"]["mrr"] == 0.125


def test_no_answers_are_no_error() -> None:
    assert quality([])["mrr"] == 0.0


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 100))
def test_a_percentile_lies_among_the_values(values: list[float], percent: float) -> None:
    assert min(values) <= percentile(values, percent) <= max(values) * (1 + 1e-9)
    assert percentile(values, 0) == min(values)
    assert percentile(values, 100) == max(values)


def test_the_median_of_two_lies_between_them() -> None:
    assert percentile([1, 3], 50) == 2

"""Vectors as they are stored, and the cost of a text in tokens."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from memorist.platform.tokens import count_tokens
from memorist.recall.index import vectors

windows = arrays.arrays(
    np.float32,
    st.tuples(st.integers(1, 5), st.just(16)),
    elements=st.floats(-1, 1, width=32),
)


@given(st.lists(windows, min_size=1, max_size=6))
def test_unpacked_vectors_are_close_to_those_that_were_packed(memories: list[np.ndarray]) -> None:
    steps, scales, counts = vectors.unpack([vectors.pack(one) for one in memories])
    found = steps * scales[:, np.newaxis]
    assert counts == [len(one) for one in memories]
    expected = np.concatenate(memories)
    assert found.shape == expected.shape
    assert found.dtype == np.float32
    # Half a step of the scale, which is a 127th of the greatest value.
    bound = np.abs(expected).max(axis=1, keepdims=True) / 127 * 0.51 + 1e-9
    assert (np.abs(found - expected) <= bound).all()


def test_cosines_move_by_less_than_a_thousandth() -> None:
    rng = np.random.default_rng(7)
    made = rng.standard_normal((500, 384)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    steps, scales, _ = vectors.unpack([vectors.pack(made[row : row + 1]) for row in range(len(made))])
    asked, scale = vectors.quantised(made[0])
    found = np.empty(len(made), np.float32)
    vectors.multiply([(asked, np.ascontiguousarray(steps), found)])
    found *= scales * scale
    assert np.abs(found - made @ made[0]).max() < 0.002
    assert np.abs(found - made @ made[0]).mean() < 0.0006


def test_no_vectors_are_unpacked_from_nothing_but_a_zero() -> None:
    steps, _, counts = vectors.unpack([vectors.pack(np.zeros((1, 8), np.float32))])
    assert (steps == 0).all()
    assert counts == [1]


def test_five_hundred_windows_fit() -> None:
    many = np.ones((512, 384), np.float32)
    assert len(vectors.pack(many)) == 2 + 512 * (384 + 4)
    assert vectors.unpack([vectors.pack(many)])[2] == [512]


@pytest.mark.parametrize(
    ("text", "at_least", "at_most"),
    [
        ("", 0, 0),
        ("The quick brown fox jumps over the lazy dog.", 9, 16),
        ("a" * 3500, 500, 1001),
        ("我喜欢喝绿茶", 5, 12),
        ("🧠🚀", 1, 6),
        ("def f(x):\n    return {'a': [x, 1]}\n", 10, 20),
    ],
)
def test_tokens_are_estimated_on_the_safe_side(text: str, at_least: int, at_most: int) -> None:
    assert at_least <= count_tokens(text) <= at_most


@given(st.text(), st.text())
def test_more_text_never_costs_less(text: str, more: str) -> None:
    assert count_tokens(text) <= count_tokens(text + more) <= count_tokens(text) + count_tokens(more)

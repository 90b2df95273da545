"""Single steps of a search on a large shelf: each says what a plain calculation does."""

import numpy as np
import pytest

from memorist.recall.index.columns import distinct, which_are


@pytest.mark.parametrize("size", [0, 1, 50, 5000])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_values_that_are_wanted_are_those_that_a_comparison_finds(size: int, count: int) -> None:
    rng = np.random.default_rng(size + count)
    for highest in (1, 60, 3000):
        values, wanted = rng.integers(-1, highest, size), rng.integers(0, highest, count)
        expected = np.flatnonzero(np.isin(values, wanted))
        assert which_are(values, wanted).tolist() == expected.tolist()
        assert which_are(values.astype(np.int32), np.append(wanted, -1)).tolist() == expected.tolist()
        assert distinct(values).tolist() == np.unique(values).tolist()

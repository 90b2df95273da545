"""The local comparer: reads two facts together, the older one first, and says how the newer stands to it."""

from collections.abc import Sequence

import numpy as np

from memorist.models.encoder import LocalModel
from memorist.models.values import RULINGS, DatedFact


class LocalComparer(LocalModel):
    """It has words and a tokenizer of its own, of about a hundred languages."""

    file = "comparer.onnx"
    words = "many_languages"
    model_id = "memorist-comparer-1"

    def compare(self, pairs: Sequence[tuple[DatedFact, DatedFact]]) -> list[dict[str, float]]:
        """The probability of each ruling for each pair of an older and a newer fact. Raises WeightsDamaged."""
        found: list[dict[str, float]] = [{} for _ in pairs]
        for ran in self._run([(older.shown(), newer.shown()) for older, newer in pairs]):
            for index, outputs in zip(ran.indexes, ran.results[0], strict=True):
                likely = np.exp(outputs - outputs.max())
                found[index] = dict(zip(RULINGS, (likely / likely.sum()).tolist(), strict=True))
        return found

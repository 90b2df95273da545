"""The local reranker: reads the question and a memory together, and says how well the one answers the other."""

from collections.abc import Sequence

from memorist.models.encoder import LocalModel


class LocalReranker(LocalModel):
    """Reads memories as `passages.reranking_passage` writes them."""

    is_local = True
    file = "reranker.onnx"
    model_id = "memorist-reranker-5"

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """A score for each passage, in their order; only their differences mean anything. Raises WeightsDamaged."""
        scores = [0.0] * len(passages)
        if passages:
            for ran in self._run([(query, passage) for passage in passages]):
                for index, score in zip(ran.indexes, ran.results[0].tolist(), strict=True):
                    scores[index] = score
        return scores

"""Whether a remote model is still the one whose vectors there are: under one name there may be another one day."""

from typing import NamedTuple

import numpy as np

from memorist.models.port import Embedder
from memorist.ports import Reader, Store
from memorist.recall.index import vectors
from memorist.recall.index.embedding import readable_of
from memorist.recall.ranking import Scores

_USERS = 8
_ROWS = 64
_MOST = 4
"""Memories that are embedded once more, of so many users and rows of each: the oldest, which the first model made."""
_LEAST = 0.5
"""The cosine of one text with itself is about 1, whatever a server rounds; by two models it is about 0."""


class _Kept(NamedTuple):
    text: str
    vector: Scores


def has_changed(store: Store, tenant: str, embedder: Embedder) -> bool:
    """Whether the model makes other vectors of a tenant's texts than the ones that bear its name. It is asked, unless
    there are none. Raises ModelError or StoreError.
    """
    kept = store.read(tenant, lambda tx: _some(embedder.model_id, tx))
    if not kept:
        return False
    made = embedder.embed_tokens([one.text for one in kept]).vectors
    if any(one.vector.size != made.shape[1] for one in kept):
        return True
    # Of what it refuses, or refused, nothing is known.
    cosines = [float(one.vector @ row) for one, row in zip(kept, made, strict=True) if one.vector.any() and row.any()]
    return bool(cosines) and float(np.median(cosines)) < _LEAST


def _some(model: str, tx: Reader) -> list[_Kept]:
    packed: dict[str, bytes] = {}
    for user in tx.index.users(_USERS):
        rows = tx.index.load(user, "", _ROWS)
        packed |= {row.memory_id: row.vectors for row in rows if row.model == model and row.vectors}
    # Ids are in the order of time: of all these users the oldest, whichever user has them.
    oldest = sorted(packed)[:_MOST]
    return [
        _Kept(readable_of(memory, tx).texts()[0], _first_of(packed[memory.id]))
        for memory in tx.memories.get_many(oldest)
    ]


def _first_of(packed: bytes) -> Scores:
    steps, scales, _ = vectors.unpack([packed])
    first: Scores = steps[0] * scales[0]
    return first

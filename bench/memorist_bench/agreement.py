"""Whether a user's large index, of which a question looks at few rows, finds what a look at all of them does."""

import sys
from dataclasses import replace
from itertools import islice

import numpy as np

from memorist.core import Core
from memorist.platform.values import Principal, Role
from memorist.recall.candidates import candidates
from memorist.recall.fusion import FUSION
from memorist.recall.index.cache import Shelves
from memorist.recall.index.saving import Saving
from memorist.recall.narrowing import Opened
from memorist.recall.question import Asked
from memorist.recall.scored import Scored, scored, worded
from memorist.recall.values import Question, Weights
from memorist_bench.texts import questions

_FIRST = 10


def first_ten_same(core: Core, tenant: str, user: str, count: int) -> float | None:
    """The share of the first ten of all rows that are also the first ten of the few, for so many invented questions;
    None where all are looked at.

    Reads the index that was saved, beside the one of recall. Raises ModelError or StoreError.
    """
    folder, embedder, models = core.options.index_folder, core.embedder, core.indexer.models
    if folder is None or embedder is None:
        return None
    saving = Saving(core.store, folder, models[0], background=False)
    view = Shelves(core.store, models=models, limit_bytes=sys.maxsize, saving=saving).look(tenant, user)
    if not view.is_large:
        return None
    shares = []
    for question in islice(questions(2), count):
        principal = Principal(tenant, Role.USER, user)
        asked = replace(Asked.of(principal, Question(question), Weights(), 0.0, core.clock.now()), users=[user])
        vector = embedder.embed([question])[0]
        every = _first(scored(worded(candidates([view], asked), FUSION), vector, FUSION))
        few = _first(scored(Opened([view], asked).narrowed(vector, FUSION, FUSION.compared), vector, FUSION))
        shares.append(len(every & few) / max(1, len(every)))
    return round(float(np.mean(shares)), 4)


def _first(found: Scored) -> set[str]:
    return {found.candidates.ids[place] for place in found.first(_FIRST).tolist()}

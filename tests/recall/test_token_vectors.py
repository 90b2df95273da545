"""Token vectors: what is kept of a memory's tokens, how well they agree with a question's, and what that changes."""

import numpy as np
import pytest

from memorist.models.port import Embedder, Reranker
from memorist.platform.values import Principal
from memorist.recall.fusion import FUSION, with_tokens
from memorist.recall.index.tokens import AskedTokens, States, pack, signs_of
from memorist.recall.ranking import Scores
from memorist.recall.scored import Scored
from tests.recall.conftest import OpenCore, ask, remember

Models = tuple[Embedder, Reranker]

rng = np.random.default_rng(3)


def states(tokens: int) -> States:
    return rng.normal(size=(tokens, 129)).astype(np.float32)


def by_definition(asked: States, told: States) -> float:
    """For each token of the question the best agreement with a token that was told, by what it counts."""
    directions = asked[:, :128] / np.linalg.norm(asked[:, :128], axis=1, keepdims=True)
    counts = np.log1p(np.exp(asked[:, 128]))
    signs = np.where(told[:, :128] >= 0, 1, -1) / np.sqrt(128)
    return float(((directions @ signs.T).max(axis=1) * counts).sum() / counts.sum())


def test_tokens_agree_as_they_are_defined_to() -> None:
    asked = states(9)
    told = [states(count) for count in (1, 70, 12, 5000)]
    found = AskedTokens(asked).agreement([signs_of(one) for one in told])
    assert found.tolist() == pytest.approx([by_definition(asked, one) for one in told], abs=0.005)
    assert AskedTokens(asked).agreement([signs_of(asked)])[0] > found.max(), "its own tokens agree best"


def test_what_is_not_known_of_tokens_is_told() -> None:
    asked = AskedTokens(states(3))
    found = asked.agreement([b"", signs_of(states(4)), signs_of(None)])
    assert np.isnan(found).tolist() == [True, False, True]
    assert np.isnan(asked.agreement([b""])).all()
    assert asked.agreement([]).size == 0


def test_of_very_long_memories_only_the_first_are_compared() -> None:
    asked = AskedTokens(states(3))
    long = signs_of(states(7000))
    assert np.isnan(asked.agreement([long] * 5)).tolist() == [False, False, True, True, True]
    assert not np.isnan(asked.agreement([long * 3, long])[0]), "the first always is"
    assert np.isnan(asked.agreement([long * 3, long])[1])


def test_a_memory_keeps_the_tokens_of_its_first_windows() -> None:
    windows = [signs_of(states(2)) for _ in range(20)]
    assert pack(windows) == b"".join(windows[:16])
    assert pack([*windows[:3], signs_of(None)]) == b"", "half of a text would agree less than it does"
    assert pack([*windows[:16], signs_of(None)]) == b"".join(windows[:16])
    assert pack([]) == b""


def test_a_long_question_is_compared_by_the_tokens_that_count_most() -> None:
    asked = states(100)
    asked[32:, 128] = -40
    told = states(30)
    assert AskedTokens(asked).agreement([signs_of(told)])[0] == pytest.approx(by_definition(asked, told), abs=0.005)
    nothing = np.zeros((2, 129), dtype=np.float32)
    assert AskedTokens(nothing).agreement([signs_of(told)])[0] == 0


def scores(*numbers: float) -> Scores:
    return np.array(numbers, dtype=np.float32)


def test_agreement_takes_its_share_of_the_first_scores_over_their_range() -> None:
    first, windows = scores(0.9, 0.8, 0.5), np.array([1, 1, 1])
    assert with_tokens(first, scores(0.1, 0.3, 0.2), windows, FUSION).tolist() == pytest.approx([0.7, 0.85, 0.6])
    unknown = with_tokens(first, scores(0.1, np.nan, 0.3), windows, FUSION)
    assert unknown.tolist() == pytest.approx([0.7, 0.8, 0.7])
    four, agreements = scores(1.0, 0.3, 0.3, 0.3), scores(0.5, np.nan, 0.5, 0.1)
    mixed = with_tokens(four, agreements, np.array([1, 1, 1, 1]), FUSION)
    assert mixed.tolist() == pytest.approx([1.0, 0.3 + 0.35 / 3, 0.65, 0.3]), (
        "not behind those that are known to agree less"
    )
    alone = with_tokens(first, scores(0.3, np.nan, np.nan), windows, FUSION)
    assert alone.tolist() == first.tolist(), "the only one that is known falls behind none for that"
    assert with_tokens(first, scores(np.nan, np.nan, np.nan), windows, FUSION).tolist() == first.tolist()
    longer = with_tokens(first, scores(0.3, 0.3, 0.2), np.array([1, 9, 1]), FUSION)
    assert longer[1] < longer[0], "the best of many windows is high by chance"


def test_weights_are_those_with_tokens_where_most_candidates_have_them() -> None:
    compared = Scored(*[None] * 4, agreements={3: 0.1, 7: 0.2})  # type: ignore[arg-type]
    assert compared.knows_tokens([3, 7, 8])
    assert not compared.knows_tokens([3, 7, 8, 9])
    assert not compared.knows_tokens([])


def test_recall_compares_tokens_and_says_so(open_with: OpenCore, models: Models, ada: Principal) -> None:
    core = open_with(*models)
    for text in ("I bought a red bicycle in May.", "The piano was tuned.", "My sister grows tomatoes on her balcony."):
        remember(core, ada, text)
    remember(core, ada, "Meine Schwester hat einen Hund, und der ist nicht sehr groß.")
    found = ask(core, ada, "Which colour does the bicycle have?", explain=True, min_score=0, enable_rerank=False)
    why = {hit.memory.id: hit.explanation for hit in found.hits}
    assert sorted(one["tokens"]["rank"] for one in why.values()) == [1, 2, 3, 4]
    assert {one["tokens"]["compared"] for one in why.values()} == {4}
    assert found.hits[0].memory.content.startswith("I bought")
    assert found.hits[0].explanation["tokens"]["rank"] == 1
    asked_in_german = ask(core, ada, "Welches Fahrrad habe ich mir gekauft?", explain=True, min_score=0)
    assert asked_in_german.hits[0].memory.content.startswith("I bought")
    assert asked_in_german.hits[0].explanation["tokens"]["rank"] == 1, "a question is compared with other languages too"


def test_tokens_follow_the_text(open_with: OpenCore, models: Models, ada: Principal) -> None:
    core = open_with(*models)
    memory = remember(core, ada, "I bought a red bicycle in May.")
    model = core.indexer.model

    def kept() -> bytes:
        return core.store.read(ada.tenant, lambda tx: tx.index.tokens([memory.id], model)).get(memory.id, b"")

    before = kept()
    assert before
    assert len(before) % 16 == 0
    core.memories.edit(ada, memory.id, {"content": "The piano was tuned in the afternoon."})
    list(core.indexer.finish(ada.tenant))
    after = kept()
    assert after
    assert after != before

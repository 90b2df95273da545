"""The local models: right shapes, the same answer every time, sensible neighbours, and safe on any input."""

import base64
import json
import os
import subprocess
import sys
import threading
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

from memorist.languages import is_english
from memorist.models import encoder
from memorist.models.comparer import LocalComparer
from memorist.models.embedder import LocalEmbedder
from memorist.models.encoder import BATCH_TOKENS, batches
from memorist.models.fair_share import FairShare, cores
from memorist.models.passages import embedding_passage
from memorist.models.port import Embedder, Reranker
from memorist.models.reranker import LocalReranker
from memorist.models.tagger import LocalTagger
from memorist.models.values import DatedFact, Passage
from memorist.recall.index import vectors
from memorist.recall.index.tokens import AskedTokens, signs_of

VECTORS_OF_BEFORE = Path(__file__).with_name("vectors_of_before.json")

MEMORIES = [
    embedding_passage(text, speaker=speaker, date="8 May 2023")
    for speaker, text in [
        ("Ada", "We adopted a puppy from the shelter last weekend!"),
        ("Mel", "I start my new job at the hospital on Monday."),
        ("Ada", "My sister is getting married in Lisbon next summer."),
        ("Mel", "The doctor said that I should stop drinking coffee."),
        ("Ada", "I finally sold my old car."),
    ]
]
ASKED = [
    ("What pet does Ada have?", 0),
    ("Where does Mel work?", 1),
    ("Where will the wedding of Ada's sister take place?", 2),
    ("What did Mel have to give up for her health?", 3),
    ("What happened to Ada's car?", 4),
]
ODD = [
    "",
    " ",
    "\x00",
    "🦄🔥👩‍👩‍👧‍👦",
    "word " * 20_000,
    "我们上周末收养了一只小狗",
    "Мы завели щенка",
    "สวัสดี",
    "[SEP] [MASK] [CLS]",
    "a" * 50_000,
]


def test_models_fit_their_ports(embedder: LocalEmbedder, reranker: LocalReranker) -> None:
    ports: tuple[Embedder, Reranker] = (embedder, reranker)
    assert all(port.model_id for port in ports)


def test_vectors_are_rows_of_length_one(embedder: LocalEmbedder) -> None:
    vectors = embedder.embed(MEMORIES)
    assert vectors.shape == (len(MEMORIES), embedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(MEMORIES)), abs=1e-4)


def test_nothing_in_gives_nothing_out(embedder: LocalEmbedder, reranker: LocalReranker) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimensions)
    assert reranker.score("anything", []) == []


@pytest.mark.parametrize(("question", "answer"), ASKED)
def test_the_answering_memory_is_nearest(embedder: LocalEmbedder, question: str, answer: int) -> None:
    similarity = embedder.embed(MEMORIES) @ embedder.embed([question])[0]
    assert int(similarity.argmax()) == answer


@pytest.mark.parametrize(("question", "answer"), ASKED)
def test_the_answering_memory_is_ranked_first(reranker: LocalReranker, question: str, answer: int) -> None:
    scores = reranker.score(question, MEMORIES)
    assert scores.index(max(scores)) == answer


def test_the_same_input_gives_the_same_bits(embedder: LocalEmbedder, reranker: LocalReranker) -> None:
    assert np.array_equal(embedder.embed(MEMORIES), LocalEmbedder().embed(MEMORIES))
    assert reranker.score("What pet?", MEMORIES) == LocalReranker().score("What pet?", MEMORIES)


def test_a_batch_means_the_same_as_its_texts_one_by_one(embedder: LocalEmbedder, reranker: LocalReranker) -> None:
    texts = [*MEMORIES, "short", "a much longer text " * 40]
    alone = np.concatenate([embedder.embed([text]) for text in texts])
    assert (alone * embedder.embed(texts)).sum(1) == pytest.approx(np.ones(len(texts)), abs=0.001)
    one_by_one = [reranker.score("What pet?", [text])[0] for text in texts]
    assert reranker.score("What pet?", texts) == pytest.approx(one_by_one, abs=0.05)


def test_results_keep_the_order_of_the_inputs(embedder: LocalEmbedder, reranker: LocalReranker) -> None:
    """Batches are sorted by length inside; the caller must not notice."""
    texts = ["tiny", "a somewhat longer text than the others here", *MEMORIES]
    backwards = texts[::-1]
    assert (embedder.embed(texts) * embedder.embed(backwards)[::-1]).sum(1) == pytest.approx(
        np.ones(len(texts)), abs=0.001
    )
    assert reranker.score("car", texts) == pytest.approx(reranker.score("car", backwards)[::-1], abs=0.05)


def test_any_text_is_embedded_and_ranked(embedder: LocalEmbedder, reranker: LocalReranker) -> None:
    assert np.isfinite(embedder.embed(ODD)).all()
    assert np.isfinite(reranker.score("What pet does Ada have?", ODD)).all()
    assert np.isfinite([reranker.score(query, MEMORIES[:1]) for query in ODD]).all()


def test_weights_are_read_at_the_first_use_only() -> None:
    embedder = LocalEmbedder()
    assert not embedder.loaded
    embedder.embed(["now"])
    assert embedder.loaded


def test_threads_are_bounded() -> None:
    assert LocalEmbedder().threads == min(8, cores())
    model = LocalReranker(threads=1)
    model.load()
    assert model.session_threads == 1
    with pytest.raises(ValueError):
        LocalEmbedder(threads=-1)


def test_one_thread_and_two_agree(embedder: LocalEmbedder) -> None:
    single = LocalEmbedder(threads=1).embed(MEMORIES)
    assert (single * embedder.embed(MEMORIES)).sum(1) == pytest.approx(np.ones(len(MEMORIES)), abs=0.001)


def test_many_texts_at_once_mean_the_same_as_few(embedder: LocalEmbedder) -> None:
    """Each thread then has batches of its own."""
    texts = [f"{text} {number} {'and so on ' * (number % 7)}" for number in range(40) for text in MEMORIES]
    few = np.concatenate([embedder.embed(texts[start : start + 5]) for start in range(0, len(texts), 5)])
    assert (few * embedder.embed(texts)).sum(1) == pytest.approx(np.ones(len(texts)), abs=0.001)


def test_what_lies_beyond_the_limit_is_not_read(embedder: LocalEmbedder, reranker: LocalReranker) -> None:
    """A very long text costs as much as the longest that is read, and means the same."""
    start = "Ada keeps bees behind the old mill. " * 60
    assert np.array_equal(embedder.embed([start]), embedder.embed([start + "Mel sold the boat. " * 5_000]))
    assert reranker.score("bees?", [start]) == reranker.score("bees?", [start + "Mel sold the boat. " * 5_000])


def test_many_threads_share_one_model() -> None:
    embedder, reranker = LocalEmbedder(), LocalReranker()
    found: list[tuple[list[float], np.ndarray]] = []

    def use() -> None:
        found.append((reranker.score("What pet?", MEMORIES), embedder.embed(MEMORIES)))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(scores == found[0][0] and np.array_equal(vectors, found[0][1]) for scores, vectors in found)


def test_loading_a_model_reports_nothing_to_anybody(tmp_path: Path) -> None:
    """The runtime's telemetry leaves a file with a session's id in the folder for temporary files when it is on."""
    code = "from memorist.models.embedder import LocalEmbedder; LocalEmbedder().embed(['hello'])"
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment | {"TMPDIR": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []


def test_vectors_of_before_that_are_said_to_be_the_same_are(embedder: LocalEmbedder) -> None:
    """Made by the networks of before; another processor may round a little otherwise."""
    kept = json.loads(VECTORS_OF_BEFORE.read_text("utf-8"))
    assert kept.keys() == set(embedder.same_vectors_as)
    for model, texts in kept.items():
        assert {is_english(text) for text in texts} == {True, False}
        for text, packed in texts.items():
            steps, scales, _ = vectors.unpack([base64.b64decode(packed)])
            before = steps[0].astype(np.float32) * scales[0]
            assert float(before @ embedder.embed([text])[0]) / np.linalg.norm(before) > 0.9999, (model, text)


@pytest.mark.parametrize(
    "asked", ["Was hat Ada gekauft?", "艾达买了什么？", "What did Ada buy?", "¿Qué ha comprado Ada?"]
)
@pytest.mark.parametrize(
    "told",
    [
        ["Ada hat ein rotes Fahrrad gekauft.", "Der Zug nach Rom fährt um neun ab.", "Die Katze schläft auf dem Sofa."],
        ["艾达买了一辆红色的自行车。", "去罗马的火车九点出发。", "猫在沙发上睡觉。"],
        ["Ada bought a red bicycle.", "The train to Rome leaves at nine.", "The cat sleeps on the sofa."],
    ],
    ids=["German", "Chinese", "English"],
)
def test_tokens_agree_across_languages(embedder: LocalEmbedder, asked: str, told: list[str]) -> None:
    (states,) = embedder.embed_question(asked).tokens
    assert states is not None
    best, *others = AskedTokens(states).agreement([signs_of(one) for one in embedder.tokens(told)])
    assert best > max(others)


@pytest.mark.parametrize(
    ("lengths", "threads", "expected"),
    [
        ([], 2, []),
        ([60], 2, [[60]]),
        ([60, 64, 68], 2, [[60, 64, 68]]),  # A run of its own would cost more than the padding.
        ([40, 50, 60, 75, 100], 2, [[40, 50], [60], [75], [100]]),
        ([40, 50, 60, 75, 100], 4, [[40, 50, 60, 75, 100]]),  # More threads are woken for each run.
        ([256] * 6, 8, [[256] * 4, [256] * 2]),  # No more at once than the caches hold.
    ],
)
def test_what_is_much_longer_is_computed_apart(lengths: list[int], threads: int, expected: list[list[int]]) -> None:
    assert [lengths[part] for part in batches(lengths, BATCH_TOKENS, threads)] == expected


def test_company_of_any_length_leaves_a_score_as_it_is() -> None:
    reranker = LocalReranker(threads=2)
    texts = ["tea", "Ada drinks green tea in the morning.", "Ada drinks tea. " * 9, "The parcel came on Friday. " * 20]
    alone = [reranker.score("What does Ada drink?", [text])[0] for text in texts]
    together = reranker.score("What does Ada drink?", [*texts, *reversed(texts)])
    assert together == pytest.approx([*alone, *reversed(alone)], abs=0.05)


def test_company_leaves_what_is_said_of_sentences_and_of_facts_as_it_is() -> None:
    tagger, comparer = LocalTagger(threads=2), LocalComparer(threads=2)
    said = ["I moved to Rome.", "My dentist is called Ada Brown. " * 9, "The parcel came on Friday. " * 20]
    passages = [Passage(text, [(0, text.index(".") + 1)], "Ada", "Mel: And you?") for text in said]
    together = [tag for (tag,) in tagger.tag([*passages, *reversed(passages)])]
    alone = [tagger.tag([passage])[0][0] for passage in passages]
    likely = attrgetter("keep", "should", "must", "of_other")
    for one, other in zip([*alone, *reversed(alone)], together, strict=True):
        assert (one.topic, one.needs) == (other.topic, other.needs)
        assert likely(one) == pytest.approx(likely(other), abs=0.01)
    pairs = [(DatedFact("Ada lives in Rome.", "2023-05"), DatedFact(text)) for text in said]
    apart = [comparer.compare([pair])[0] for pair in pairs]
    for ruled, others in zip([*apart, *reversed(apart)], comparer.compare([*pairs, *reversed(pairs)]), strict=True):
        assert ruled == pytest.approx(others, abs=0.01)


def test_first_question_is_read_by_the_network_that_was_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """To make another one takes as long as to load the first."""
    monkeypatch.setattr(encoder, "COMPUTING", FairShare(16))
    embedder = LocalEmbedder(threads=8)
    embedder.load()
    embedder.embed_question("Where is the teapot?")
    assert list(embedder._networks) == [2]

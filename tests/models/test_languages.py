"""Texts that are not English: which they are, what their questions look for, and that the local models find them."""

import numpy as np
import pytest

from memorist.languages import is_english
from memorist.models.embedder import LocalEmbedder
from memorist.recall.fusion import FUSION, Extent, in_language_of, share_of_meaning
from memorist.recall.models import Models
from memorist.words import question_terms
from tests.support.models import WordReranker

ENGLISH = ["", "42", "Ada", "What pet does Ada have?", "I met José at the café in Zürich.", "ok", "x = y + 1"]
OTHERS = [
    "Welches Haustier hat Ada?",
    "Où est-ce que tu travailles ?",
    "¿Dónde trabaja tu hermana?",
    "Dove lavora tua sorella?",
    "Onde é que você trabalha?",
    "我们上周末收养了一只小狗",
    "Мы завели щенка",
    "私の犬はポチです",
    "우리 강아지는 초코예요",
    "أين تعمل أختك؟",
    "तुम्हारी बहन कहाँ काम करती है?",
]
MEMORIES = [
    "Wir haben letztes Wochenende einen Welpen aus dem Tierheim geholt.",
    "Meine Schwester heiratet nächsten Sommer in Lissabon.",
    "我下周一开始在医院上班。",
    "El médico me dijo que dejara de tomar café.",
    "Я наконец продал свою старую машину.",
]
ASKED = [
    ("Welches Tier haben wir bekommen?", 0),
    ("What pet did they get?", 0),
    ("Où aura lieu le mariage ?", 1),
    ("我在哪里工作？", 2),
    ("¿Qué tengo que dejar de beber?", 3),
    ("What happened to the car?", 4),
]


GERMAN_AS_ENGLISH_WRITES = [
    "Was hat Ada gekauft?",
    "Was will er?",
    "was darf Ada essen",
    "Ada hat Hunger",
    "Hat Tom angerufen?",
    "Tom war am Montag in Berlin.",
    "Was die Katze frisst",
]
ENGLISH_AS_GERMAN_WRITES = [
    "Was Ada in Rome?",
    "What a hat! Ada was in red.",
    "Tom was die-casting metal",
    "Tom was Will's friend",
    "War in Europe",
    "Panama hat sizes",
    "Red hat Tom bought",
]


class BlindReranker(WordReranker):
    """One that runs here, and reads English alone."""

    is_local = True


@pytest.mark.parametrize("text", ENGLISH)
def test_what_nothing_speaks_against_is_english(text: str) -> None:
    assert is_english(text)


@pytest.mark.parametrize("text", ENGLISH_AS_GERMAN_WRITES)
def test_words_that_german_writes_alike_stay_english(text: str) -> None:
    assert is_english(text)


@pytest.mark.parametrize("text", GERMAN_AS_ENGLISH_WRITES)
def test_german_whose_words_english_writes_alike_is_told_by_what_stands_together(text: str) -> None:
    assert not is_english(text)


@pytest.mark.parametrize("text", OTHERS)
def test_other_languages_are_told_by_letters_and_small_words(text: str) -> None:
    assert not is_english(text)


@pytest.mark.parametrize(("question", "answer"), ASKED)
def test_the_answering_memory_is_nearest_in_and_across_languages(
    embedder: LocalEmbedder, question: str, answer: int
) -> None:
    similarity = embedder.embed(MEMORIES) @ embedder.embed([question])[0]
    assert int(similarity.argmax()) == answer


def test_a_mixed_batch_means_the_same_as_its_texts_one_by_one(embedder: LocalEmbedder) -> None:
    texts = ["We adopted a puppy.", MEMORIES[0], "I sold my car.", MEMORIES[2]]
    one_by_one = np.concatenate([embedder.embed([text]) for text in texts])
    assert (embedder.embed(texts) * one_by_one).sum(1) == pytest.approx(np.ones(4), abs=0.01)


def test_english_alone_does_not_load_the_second_network() -> None:
    embedder = LocalEmbedder()
    embedder.embed(["We adopted a puppy."])
    assert embedder.loaded
    assert not embedder.others.loaded
    embedder.embed(MEMORIES[:1])
    assert embedder.others.loaded


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Wann hat Ada den Hund geholt?", ["ada", "hund", "geholt"]),
        ("¿Dónde trabaja mi hermana?", ["trabaja", "hermana"]),
        ("Когда Анна купила машину?", ["анн", "куп", "машин"]),
        ("Who wears the hat?", ["wear", "hat"]),
        ("Wo?", ["wo"]),
    ],
)
def test_a_question_looks_for_no_small_words_of_its_language(question: str, wanted: list[str]) -> None:
    assert question_terms(question) == wanted


ALL = Extent(20, 20, 0.0)


def test_the_local_reranker_reads_english_alone() -> None:
    models, other = Models(None, BlindReranker()), Models(None, WordReranker())
    assert models.judge("What pet does Ada have?", ["We have a dog."], models.begin(), ALL) is not None
    assert models.judge("Welches Haustier hat Ada?", ["We have a dog."], models.begin(), ALL) is None
    assert models.judge("What pet does Ada have?", MEMORIES, models.begin(), ALL) is None
    assert other.judge("Welches Haustier hat Ada?", MEMORIES, other.begin(), ALL) is not None


def test_keywords_count_half_in_other_languages_and_meaning_is_not_doubted() -> None:
    assert in_language_of("What pet does Ada have?", FUSION) == FUSION
    other = in_language_of("Welches Haustier hat Ada?", FUSION)
    assert other.text == FUSION.text / 2
    assert share_of_meaning(other, -0.1) == 1 - other.text

"""Of what fits alike: what is about whoever is named, and what was said last."""

from datetime import UTC, datetime

import numpy as np
import pytest

from memorist.languages import is_english
from memorist.recall.fusion import FUSION, worth_reading
from memorist.recall.meant import ABOUT_ANOTHER, NEAR, about_whom, newer_first
from memorist.words import asks, tells

DAYS = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 10)]


@pytest.mark.parametrize(
    ("query", "text", "is_about_another"),
    [
        ("What is Ada allergic to?", "Ada's dog is allergic to chicken.", True),
        ("What is Ada allergic to?", "Ada’s dog is allergic to chicken.", True),
        ("What is Ada allergic to?", "Ada is allergic to peanuts.", False),
        ("What is Ada allergic to?", "Ada is allergic to nuts, Ada's dog to chicken.", False),
        ("What is Ada allergic to?", "The cat is allergic to chicken.", False),
        ("What is Ada's dog allergic to?", "Ada's dog is allergic to chicken.", False),
        ("what is ada allergic to?", "Ada's dog is allergic to chicken.", True),
        ("What is ada allergic to?", "Ada’s dog is allergic to chicken.", True),
        ("is ada allergic", "Ada's dog is allergic to chicken.", True),
        ("what is ada allergic to?", "Ada is allergic to nuts, Ada's dog to chicken.", False),
        ("what is ada's dog allergic to?", "Ada's dog is allergic to chicken.", False),
        ("is the car ada's?", "Ada's car is red.", False),
        ("worauf ist ada allergisch?", "Ada's Hund ist allergisch gegen Huhn.", True),
        ("where is ada?", "Ada's in Rome.", False),
        ("Where is Ada?", "Ada's in Rome.", False),
        ("is it raining?", "It's raining.", False),
        ("what is for lunch today?", "Today's lunch is soup.", False),
        ("when is dinner?", "Dinner's at seven. We have dinner early.", False),
        ("when is dinner?", "Dinner's ready; the dinner bell rang for dinner.", False),
        ("Wann gibt es das Essen?", "Der Hund schläft. Das Essen ist fertig.", False),
        ("Is the car Ada's?", "Ada's car is red.", False),
        ("What (did Ada) [say?", "Ada's dog [barks.", True),
    ],
)
def test_what_is_about_another_counts_less(query: str, text: str, is_about_another: bool) -> None:
    assert bool(about_whom(query, [text], [""], ABOUT_ANOTHER)[0] < 1) is is_about_another


@pytest.mark.parametrize(
    ("query", "text", "speaker", "is_about_another"),
    [
        ("What is Ada allergic to?", "My dog Rex is allergic to chicken.", "Ada", True),
        ("what is ada allergic to?", "Our old dog is allergic to chicken.", "Ada Byron", True),
        ("Worauf ist Ada allergisch?", "Meine Tochter ist gegen Nüsse allergisch.", "Ada", True),
        ("What is Ada allergic to?", "My dog Rex is allergic to chicken.", "Ben", False),
        ("What is Ada allergic to?", "My dog and I are allergic to chicken.", "Ada", False),
        ("What is Ada's dog allergic to?", "My dog Rex is allergic to chicken.", "Ada", False),
        ("What is the dog allergic to?", "My dog Rex is allergic to chicken.", "Ada", False),
        ("What does Ada do?", "My job is at a bakery.", "Ada", False),
        ("What is Ada allergic to?", "My dog Rex is allergic to chicken.", "", False),
        ("What is A (D a allergic to?", "My dog Rex is allergic to chicken.", "A (D", True),
    ],
)
def test_who_tells_of_another_who_is_theirs_counts_less(
    query: str, text: str, speaker: str, is_about_another: bool
) -> None:
    assert bool(about_whom(query, [text], [speaker], ABOUT_ANOTHER)[0] < 1) is is_about_another


def test_a_whole_text_as_a_question_is_about_nobody_it_names() -> None:
    names = [f"Ada{chr(97 + one // 26)}{chr(97 + one % 26)}" for one in range(600)]
    texts = [f"{names[0]}'s dog is allergic to chicken. " * 1000] * 200
    assert about_whom(f"What about {' '.join(names)}?", texts, [""] * 200, ABOUT_ANOTHER).min() == 1


def ordered(scores: list[float], texts: list[str], days: list[int]) -> list[int]:
    near = np.full(len(scores), NEAR, dtype=np.float32)
    return newer_first(np.array(scores, dtype=np.float32), texts, [DAYS[day] for day in days], near).tolist()


def test_newer_comes_first_only_where_it_is_as_good_and_speaks_of_the_same() -> None:
    may, june, cake = "We open on Friday, the 22nd of May.", "We open on Friday, the 12th of June.", "No walnut cake."
    assert ordered([1, 0.98], [may, june], [1, 5]) == [1, 0]
    assert ordered([1, 0.98], [june, may], [5, 1]) == [0, 1]
    assert ordered([1, 0.9], [may, june], [1, 5]) == [0, 1]
    assert ordered([1, 0.98], [may, cake], [1, 5]) == [0, 1]
    assert ordered([1, 0.99, 0.98], [may, cake, june], [1, 3, 5]) == [2, 0, 1]
    assert ordered([1, 0.99, 0.98], [may, may, june], [1, 2, 5]) == [2, 1, 0]
    assert ordered([], [], []) == []


@pytest.mark.parametrize("query", ["a", "?", "1", "x 1 !", "... a", "я", "é", "ع", "न", "は", "ㅋ"])
def test_letters_and_signs_alone_ask_for_nothing(query: str) -> None:
    assert not asks(query)
    assert not tells(query)


@pytest.mark.parametrize(("query", "is_telling"), [("the", False), ("Hello!", False), ("dog", True), ("犬", True)])
def test_words_of_every_question_tell_nothing(query: str, is_telling: bool) -> None:
    assert asks(query)
    assert tells(query) is is_telling


@pytest.mark.parametrize(
    "query",
    [
        *("der", "was ist das?", "Guten Tag!", "danke schön", "et", "c'est quoi ?", "Bonjour !", "s'il vous plaît"),
        *("¿qué es eso?", "Hola", "Buenos días", "o que é isso?", "olá", "che cos'è questo?", "Ciao", "buongiorno"),
        *("что это", "кто это?", "Привет", "Добрый день!", "ما هذا؟", "مرحبا", "यह क्या है?", "नमस्ते"),
        *("这是什么？", "的", "你好", "谢谢", "这是谁的？", "これは何ですか？", "誰ですか", "これはいつですか"),
        *("こんにちは", "이것은 무엇입니까?", "뭐예요?", "안녕하세요", "Good morning!"),
    ],
)
def test_words_of_every_question_tell_nothing_in_other_languages(query: str) -> None:
    assert not tells(query)
    assert asks(query) is is_english(query)


@pytest.mark.parametrize(
    "query",
    [
        *("Hund", "Wo war ich gestern?", "Wie heißt mein Hund?", "Où j'habite ?", "hola mundo", "Где моя собака?"),
        *("ما اسم كلبي؟", "मेरे कुत्ते का नाम क्या है?", "我的狗叫什么？", "かに", "はは", "犬の名前は何ですか", "개"),
        *("강아지 이름이 뭐예요?", "你好，我姐姐住在哪里？", "C++", "Ola", "good dog"),
    ],
)
def test_what_a_question_is_about_is_told_in_any_language(query: str) -> None:
    assert asks(query)
    assert tells(query)


def test_a_long_greeting_tells_nothing_either() -> None:
    assert not tells("ok, hello! " * 800)
    assert not tells("です" + "これは" * 3000)


def test_reranker_reads_no_further_than_the_order_may_change() -> None:
    near = np.linspace(1, 0.82, 50, dtype=np.float32)
    far = np.full(50, 0.3, dtype=np.float32)
    far[0] = 1
    middling = np.linspace(1, 0.55, 50, dtype=np.float32)

    def extent(first: np.ndarray) -> tuple[int, int]:
        found = worth_reading(first, FUSION)
        return found.at_first, found.in_doubt

    assert extent(near) == (FUSION.pool, FUSION.pool)
    assert extent(far) == (FUSION.settled, FUSION.doubted)
    assert extent(far[:3]) == (3, 3)
    assert extent(middling) == (17, 39)
    assert worth_reading(middling, FUSION.without_tokens()).at_first == 22, "where tokens say nothing it reads more"

"""From text to terms: the same word gives the same term, however it is written."""

import unicodedata
from array import array

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorist import words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("hiking", "hiked"),
        ("hikes", "hike"),
        ("parties", "party"),
        ("running", "runs"),
        ("stopped", "stop"),
        ("painted", "paintings"),
        ("dogs", "dog"),
        ("boxes", "boxed"),
        ("moved", "moving"),
        ("Ada's", "ada"),
        ("Ada’s", "ADA"),
        ("studies", "studied"),
        ("classes", "class"),
        ("falling", "falls"),
        ("telling", "tell"),
        ("buses", "bus"),
        ("tries", "trying"),
    ],
)
def test_english_endings_do_not_matter(one: str, other: str) -> None:
    assert words.terms(one)[0] == words.terms(other)[0]


@pytest.mark.parametrize(
    "forms",
    [
        "книга книги книгами книге книгой книг",
        "работа работать работаю работала работает работают",
        "красивый красивая красивые красивого красивому",
        "Москва Москве Москву Москвой",
        "врач врача врачу врачом",
        "сестра сестре сёстры",
        "المدينة مدينة والمدينة بالمدينة",
        "كتاب الكتاب كتابي",
        "लड़का लड़के लड़की",
        "मकान मकानों",
    ],
)
def test_endings_of_other_scripts_do_not_matter(forms: str) -> None:
    assert len(set(words.terms(forms))) == 1


@pytest.mark.parametrize("apart", ["кот год", "дом дым", "сын сон", "мир мэр", "الم قلم", "घर कर"])
def test_short_words_of_other_scripts_stay_apart(apart: str) -> None:
    assert len(set(words.terms(apart))) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [("bring", "bred"), ("thing", "thed"), ("string", "strong"), ("need", "ne"), ("this", "thi"), ("king", "ked")],
)
def test_words_that_only_look_alike_stay_apart(one: str, other: str) -> None:
    assert words.terms(one) != words.terms(other)


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("Müller", "muller"),
        ("Straße", "strasse"),
        ("café", "cafe"),
        ("cafe\u0301", "café"),
        ("Île-de-France", "ile de france"),
        ("naïveté", "naivete"),
        ("œuvre", "oeuvre"),
        ("İstanbul", "istanbul"),
        ("ışık", "isik"),
        ("IŞIK", "isik"),
        ("çağrı", "cagri"),
        ("Đà Nẵng", "da nang"),
        ("phở bò", "pho bo"),
        ("Søren", "soren"),
        ("Łódź", "lodz"),
        ("Ελλάδα", "ελλαδα"),
        ("ΟΔΟΣ", "οδος"),
        ("ёлка", "елка"),
        ("МОСКВА", "москва"),
        ("שָׁלוֹם", "שלום"),
        ("مُحَمَّد", "محمد"),
        ("ﬁnance", "finance"),
        ("ＡＢＣ", "abc"),
        ("ｶﾞｽ", "ガス"),
        ("한국", unicodedata.normalize("NFD", "한국")),
        ("がっこう", unicodedata.normalize("NFD", "がっこう")),
        ("①", "1"),
    ],
)
def test_case_width_accents_and_points_do_not_matter(written: str, plain: str) -> None:
    assert words.terms(written) == words.terms(plain)


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("我喜欢喝绿茶", ["我喜", "喜欢", "欢喝", "喝绿", "绿茶"]),
        ("猫", ["猫"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("서울에서", ["서울", "울에", "에서"]),
        ("กาแฟ", ["กา", "าแ", "แฟ"]),
    ],
)
def test_scripts_without_spaces_become_pairs(text: str, pairs: list[str]) -> None:
    assert words.terms(text) == pairs


def test_scripts_are_cut_apart_where_they_meet() -> None:
    assert words.terms("用Python写代码 in 2024年") == ["用", "python", "写代", "代码", "in", "2024", "年"]


def test_vowel_signs_of_indian_scripts_belong_to_their_words() -> None:
    assert words.terms("नमस्ते दुनिया") == ["नमस्त", "दुनिय"]  # Without the last, which is an ending.
    assert len(words.terms("தமிழ் மொழி")) == 2


@pytest.mark.parametrize("text", ["", "   ", "!!! ??? --", "🧠🚀", "\u200b\ufeff", "'", "___", "'''s"])
def test_text_without_words_has_few_terms_or_none(text: str) -> None:
    assert len(words.terms(text)) <= 1


def test_terms_keep_their_order_and_their_repetitions() -> None:
    assert words.terms("to be or not to be") == ["to", "be", "or", "not", "to", "be"]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("C++", ["c", "cplusplus"]),
        ("C++17, C# and F#.", ["c", "cplusplus", "17", "c", "csharp", "and", "f", "fsharp"]),
        ("用C++写 in café", ["用", "c", "cplusplus", "写", "in", "caf"]),
        ("graded A+", ["grad", "a", "aplus"]),
        ("a+b x+1 C+++ issue#12 #tag 3#", ["a", "b", "x", "1", "c", "issu", "12", "tag", "3"]),
    ],
)
def test_signs_that_belong_to_a_name_are_a_word_beside_it(text: str, terms: list[str]) -> None:
    assert words.terms(text) == terms


def test_question_words_are_left_out_unless_there_are_no_others() -> None:
    assert words.question_terms("What did the fox say to the other fox?") == ["fox", "say", "other"]
    assert words.question_terms("Who are you?") == ["who", "are", "you"]
    assert words.question_terms("!?") == []


def test_apostrophes_are_the_same_straight_or_curly() -> None:
    assert "don" in words.terms("don't")
    assert "don" in words.terms("don’t, café")


@given(st.text(alphabet=st.characters(max_codepoint=127)))
@example("don't stop_the rock-n-roll 3pm")
def test_an_accent_elsewhere_changes_no_word(text: str) -> None:
    plain = [term for term in words.terms(text) if "'" not in text]
    if "'" not in text:
        assert words.terms(f"{text} é") == [*plain, "e"]


@given(st.text())
def test_terms_of_any_text_can_be_stored_and_found_again(text: str) -> None:
    terms = words.terms(text)
    packed = array("I", words.pack(text))
    assert {number & ~0xF for number in packed} == {words.hash_of(term) for term in terms}
    for term in set(terms):
        (counted,) = [number & 0xF for number in packed if number & ~0xF == words.hash_of(term)]
        assert counted >= min(terms.count(term), 15)


@given(st.text())
def test_a_text_is_found_by_itself_in_capitals(text: str) -> None:
    assert set(words.question_terms(text)) <= set(words.terms(text))


@pytest.mark.parametrize("start", range(0, 0x30000, 0x1000))
def test_every_block_of_unicode_is_taken(start: int) -> None:
    text = "".join(chr(point) for point in range(start, start + 0x1000) if not 0xD800 <= point < 0xE000)
    assert isinstance(words.pack(text), bytes)


def test_endless_words_are_cut_the_same_way_everywhere() -> None:
    assert words.terms("x" * 10_000) == words.terms("x" * 70)


def test_many_repetitions_count_as_fifteen() -> None:
    (number,) = array("I", words.pack("fox " * 500))
    assert number & 0xF == 15

"""Words that a language model quotes are found as they really stand, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.learning.extractors.answers import read_answer
from memorist.learning.extractors.transcripts import Utterance
from tests.extraction.conftest import finds, memory

SAID = "Well… I’m  “really” allergic to\npeanuts, and my sister’s name is Zoë. I live in Łódź (since 2019)."


def verbatim(excerpt: str, said: str = SAID) -> str | None:
    items = memory("fact", "It is so.", excerpt), memory("fact", "No.", "said nowhere")
    found = read_answer(finds(*items), [Utterance("user", said)]).candidates
    return found[0].excerpt if found else None


@pytest.mark.parametrize(
    ("excerpt", "found"),
    [
        ("I’m  “really” allergic to\npeanuts", "I’m  “really” allergic to\npeanuts"),
        ("i'm really ALLERGIC to peanuts.", "I’m  “really” allergic to\npeanuts"),
        ("\"Im 'really' allergic, to peanuts!\"", "I’m  “really” allergic to\npeanuts"),
        ("my sister's name is ZOË", "my sister’s name is Zoë"),
        ("my sister's name is Zoe\u0308", "my sister’s name is Zoë"),
        ("… I live in Łódź since 2019 …", "I live in Łódź (since 2019"),
        ("my sister's name is Zo", None),
        ("my sister's name i", None),
        ("I'm really allergic to pean", "I’m  “really” allergic to\npeanuts"),
        ("I'm really allergic to peanuts and cats", "I’m  “really” allergic to\npeanuts"),
        ("I'm really ... to peanuts", "I’m  “really” allergic to\npeanuts"),
        ("I'm really allergic to ... cats", None),
        ("I live in … Rome", None),
        ("I'm really allergic to my sister and all that she eats", None),
        ("peanuts allergic", None),
        ("I live in Rome", None),
    ],
)
def test_case_marks_and_spaces_of_the_model_count_for_nothing(excerpt: str, found: str | None) -> None:
    assert verbatim(excerpt) == found


def test_what_is_left_out_between_dots_is_not_a_whole_story() -> None:
    assert verbatim("I live here ... I like tea", f"I live here. {'So. ' * 20}I like tea.") is not None
    assert verbatim("I live here ... I like tea", f"I live here. {'So. ' * 200}I like tea.") is None


def test_signs_of_a_script_without_spaces_are_words() -> None:
    assert verbatim("对花生过敏", "我对花生过敏。我住在上海。") == "对花生过敏"
    assert verbatim("对牛奶过敏", "我对花生过敏。我住在上海。") is None


def test_nothing_is_found_across_what_was_left_out() -> None:
    said = "I am allergic to\n> that is what she wrote\npeanuts and nuts."
    assert verbatim("I am allergic to peanuts and nuts", said) is None
    assert verbatim("that is what she wrote", said) is None


@given(st.text(max_size=60), st.text(max_size=60))
def test_what_is_found_stands_in_the_message(excerpt: str, said: str) -> None:
    found = verbatim(excerpt, said)
    assert found is None or found in said


@given(st.lists(st.sampled_from(["I", "don’t", "like", "Tea,", "at", "ALL"]), min_size=2, max_size=8))
def test_words_are_found_however_they_are_written(words: list[str]) -> None:
    said = "  ".join(words)
    assert verbatim(" ".join(words).replace("’", "").replace(",", ";").upper(), said) is not None

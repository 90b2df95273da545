"""What the models read: who, when and what was said around it; long texts in windows."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.models.passages import (
    count_words,
    embedding_passage,
    first_words,
    last_words,
    reranking_passage,
    spoken_date,
    turn,
    windows,
)


def test_a_passage_says_when_who_and_what_came_before() -> None:
    passage = embedding_passage("Great!", speaker="Ada", date="8 May 2023", previous=turn("Mel", "How was it?"))
    assert passage == "[8 May 2023] Mel: How was it? | Ada: Great!"


def test_the_reranker_also_reads_what_came_after() -> None:
    passage = reranking_passage("Great!", speaker="Ada", previous="Mel: How was it?", following="Mel: Glad to hear.")
    assert passage == "Mel: How was it? | Ada: Great! | Mel: Glad to hear."


def test_a_bare_text_stays_as_it_is() -> None:
    assert embedding_passage("Deploys happen on Fridays.") == "Deploys happen on Fridays."


def test_of_a_long_turn_before_the_end_is_kept_and_of_one_after_the_start() -> None:
    long = " ".join(str(number) for number in range(100))
    passage = reranking_passage("here", previous=long, following=long)
    assert "99 | here | 0 1" in passage
    assert len(passage) < 150


def test_dates_are_written_as_people_do() -> None:
    assert spoken_date(datetime(2023, 5, 8, tzinfo=UTC)) == "8 May 2023"


def test_a_short_text_is_one_window() -> None:
    assert windows("a few words") == ["a few words"]
    assert windows("") == [""]


@pytest.mark.parametrize("text", ["word " * 1000, "漢" * 1000, "x" * 30_000])
def test_a_long_text_of_any_script_is_cut(text: str) -> None:
    assert len(windows(text)) > 5


@given(st.text(max_size=400), st.integers(2, 12), st.integers(0, 1))
def test_windows_cover_the_text_with_exact_pieces(text: str, size: int, overlap: int) -> None:
    pieces = windows(text, size, overlap)
    at = 0
    for piece in pieces:
        found = text.find(piece, 0)
        assert found >= 0
        at = max(at, found + len(piece))
    assert text.endswith(pieces[-1].rstrip() + text[len(text.rstrip()) :]) or len(pieces) == 1
    assert sum(len(piece) for piece in pieces) >= len("".join(text.split())) or len(pieces) == 1


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (4, 4), (4, -1)])
def test_windows_that_could_not_advance_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(ValueError):
        windows("text", size, overlap)


@given(st.text(), st.integers(1, 5))
def test_cut_words_are_part_of_the_text(text: str, count: int) -> None:
    assert text.startswith(first_words(text, count))
    assert text.endswith(last_words(text, count))


@given(st.text(st.sampled_from("ab \n\x1c漢é"), max_size=200), st.integers(1, 12), st.integers(0, 1))
def test_what_has_few_words_is_one_window_and_nothing_else(text: str, size: int, overlap: int) -> None:
    overlap = min(overlap, size - 1)
    assert (windows(text, size, overlap) == [text]) == (count_words(text) <= size + overlap)

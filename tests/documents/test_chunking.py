"""From text to chunks: structure first, bounded size, overlap, and nothing lost."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.documents import Chunk, chunk, extract_text, read_document
from memorist.documents.chunking import CHUNK_WORDS, OVERLAP_WORDS

SENTENCE = "The slow train to the coast leaves from the third platform at noon. "
MOST_WORDS = CHUNK_WORDS + OVERLAP_WORDS
# A word counts for at most 24 characters, and so does the white space after it.
MOST_CHARACTERS = (MOST_WORDS + 1) * 48


def markdown(text: str) -> list[Chunk]:
    return read_document(text, "text/markdown")


def paths(chunks: list[Chunk]) -> list[tuple[str, ...]]:
    return [chunk.heading_path for chunk in chunks]


@pytest.mark.parametrize("content", ["", " \n\t\n ", "\ufeff", b"", "\u3000", "\n" * 1000])
@pytest.mark.parametrize("media_type", ["text/plain", "text/markdown", "text/html"])
def test_white_space_gives_no_chunks(content: str | bytes, media_type: str) -> None:
    assert read_document(content, media_type) == []


def test_a_short_text_is_one_chunk() -> None:
    assert read_document("  One.\n\nTwo.  \n") == [Chunk("One.\n\nTwo.", (), 0, 2, 12)]


def test_headings_of_both_kinds_give_the_path() -> None:
    text = "Handbook\n========\nintro\n\nTravel\n------\ntext\n\n### Trains ###\ntext\n# C#\ntext"
    assert paths(markdown(text)) == [
        ("Handbook",),
        ("Handbook", "Travel"),
        ("Handbook", "Travel", "Trains"),
        ("C#",),
    ]


def test_a_chunk_never_crosses_a_heading() -> None:
    chunks = markdown("# A\none\n## B\ntwo\n## B\nthree")
    assert [chunk.text for chunk in chunks] == ["# A\none", "## B\ntwo", "## B\nthree"]


def test_a_heading_without_text_joins_the_section_below_it() -> None:
    chunks = markdown("# Handbook\n\n## Travel\n\nBy train.\n\n## Food\n\n# Index")
    assert [(chunk.text, chunk.heading_path) for chunk in chunks] == [
        ("# Handbook\n\n## Travel\n\nBy train.", ("Handbook", "Travel")),
        ("## Food", ("Handbook", "Food")),
        ("# Index", ("Index",)),
    ]


def test_what_only_looks_like_a_heading_is_text() -> None:
    text = """#hashtag

    # indented

```
# listing
---
```

1. Step
   ```sh
   # comment
   ```

- item
---

#######"""
    assert set(paths(markdown(text))) == {()}


def test_an_unclosed_listing_runs_to_the_end() -> None:
    assert paths(markdown("# A\n~~~\n# b\n```\n# c")) == [("A",)]


def test_front_matter_is_kept_as_text() -> None:
    chunks = markdown("---\ntitle: Guide\ntags: [a]\n---\n# Guide\ntext")
    assert [chunk.text for chunk in chunks] == ["---\ntitle: Guide\ntags: [a]\n---", "# Guide\ntext"]


def test_a_rule_at_the_start_is_no_front_matter() -> None:
    assert paths(markdown("---\n\n# A\n\ntext\n\n---\n\n# B\n\ntext"))[-2:] == [("A",), ("B",)]


def test_an_endless_heading_is_cut_in_the_path() -> None:
    chunks = markdown("# " + "word " * 5000 + "\ntext")
    assert all(len(heading) <= 200 for chunk in chunks for heading in chunk.heading_path)
    assert all(len(chunk.text) <= MOST_CHARACTERS for chunk in chunks)


@pytest.mark.parametrize(
    "block",
    [
        "```python\n" + "x = call(a, b)\n\n" * 25 + "```",
        "\n\n".join(f"- item {number}. And more." for number in range(25)),
        "\n".join(f"{number}) item\n   goes on" for number in range(25)),
        "| a | b |\n|---|---|\n" + "| one. | Two. |\n" * 20,
    ],
    ids=["listing", "loose list", "list", "table"],
)
def test_what_belongs_together_stays_whole_where_it_fits(block: str) -> None:
    chunks = markdown(f"# A\n\n{SENTENCE * 10}\n\n{block}\n\n{SENTENCE * 10}")
    assert any(block.strip() in chunk.text for chunk in chunks)


def test_a_long_list_is_cut_between_its_lines() -> None:
    chunks = markdown("\n".join(f"- item {number}. It has. Some sentences." for number in range(200)))
    assert len(chunks) > 5
    assert all(chunk.text.startswith("- item") for chunk in chunks)


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    chunks = read_document(SENTENCE * 100)
    assert len(chunks) > 5
    for piece in chunks:
        assert piece.text.startswith("The slow")
        assert piece.text.endswith("noon.")


def test_chunks_of_a_section_overlap_by_about_a_sentence() -> None:
    text = SENTENCE * 100
    for before, after in pairwise(read_document(text)):
        shared = text[after.start : before.end]
        assert shared.startswith("The slow")
        assert 1 <= len(shared.split()) <= OVERLAP_WORDS


def test_chunks_of_different_sections_do_not_overlap() -> None:
    first, second = markdown(f"# A\n{SENTENCE * 5}\n# B\n{SENTENCE}")
    assert first.end <= second.start


def test_a_heading_is_not_left_alone_before_a_long_block() -> None:
    chunks = markdown(f"# A\n\n{'word ' * CHUNK_WORDS}")
    assert len(chunks) == 1


@pytest.mark.parametrize(
    "text",
    [
        "word " * 5000,
        "x" * 100_000,
        "漢" * 5000,
        "漢字です。" * 1000,
        "ภาษาไทย " * 1000,
        ". " * 5000,
        "a" + " " * 9999 + "b",
    ],
    ids=["words", "one word", "Chinese", "Japanese", "Thai", "stops", "spaces"],
)
def test_chunks_are_bounded_in_any_script(text: str) -> None:
    chunks = read_document(text)
    assert len(chunks) > 1
    assert all(len(chunk.text.split()) <= MOST_WORDS for chunk in chunks)
    assert all(len(chunk.text) <= MOST_CHARACTERS for chunk in chunks)


@pytest.mark.parametrize("text", ["漢" * 1000, "ภาษาไทย" * 200])
def test_a_character_of_an_unspaced_script_counts_as_a_word(text: str) -> None:
    assert max(len(chunk.text) for chunk in read_document(text)) == MOST_WORDS


def test_unspaced_text_is_cut_at_its_spaces_where_it_has_some() -> None:
    text = "ภาษาไทยไม่เว้นวรรค " * 100
    assert all(text[chunk.end : chunk.end + 1].isspace() for chunk in read_document(text))


def test_sizes_can_be_chosen() -> None:
    pieces = chunk(extract_text("one two three four five", "text/plain"), words=2, overlap=1)
    assert [piece.text for piece in pieces] == ["one two", "two three four", "four five"]
    with pytest.raises(ValueError, match="overlap"):
        chunk(extract_text("one", "text/plain"), words=2, overlap=2)


FRAGMENTS = [
    *(
        "# ",
        "## ",
        "\n",
        "\n\n",
        "---\n",
        "===\n",
        "```\n",
        "~~~\n",
        "- ",
        "1. ",
        "  ",
        "\t",
        "|",
        "|-|\n",
        "> ",
        "> \n",
    ),
    *(
        "<p>",
        "</p>",
        "<h1>",
        "</h1>",
        "<li>",
        "<pre>",
        "</pre>",
        "<td>",
        "<tr>",
        "<br>",
        "<title>",
        "<!--",
        "-->",
        "&lt;",
    ),
    *(
        "word",
        "Sentence. ",
        "Is it? Yes! ",
        "漢字。”ab",
        "ไทย",
        "\u3000",
        "\x00",
        "\ud800",
        "x" * 60,
        " " * 60,
        SENTENCE * 15,
    ),
]


@given(
    st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=60).map("".join),
    st.sampled_from(["text/plain", "text/markdown", "text/html"]),
    st.integers(1, 40).flatmap(lambda words: st.tuples(st.just(words), st.integers(0, words - 1)))
    | st.just((CHUNK_WORDS, OVERLAP_WORDS)),
)
def test_chunks_are_exact_ordered_bounded_and_lose_nothing(text: str, media_type: str, sizes: tuple[int, int]) -> None:
    words, overlap = sizes
    extracted = extract_text(text, media_type)
    chunks = chunk(extracted, words=words, overlap=overlap)
    covered = bytearray(len(extracted.text))
    for position, piece in enumerate(chunks):
        assert piece.position == position
        assert piece.text == extracted.text[piece.start : piece.end]
        assert piece.text.strip()
        assert len(piece.text) <= (words + overlap + 2) * 48
        covered[piece.start : piece.end] = b"\x01" * len(piece.text)
    assert [index for index, char in enumerate(extracted.text) if not char.isspace() and not covered[index]] == []
    ends = [(piece.start, piece.end) for piece in chunks]
    assert ends == sorted(set(ends))
    assert all(before.end < after.end for before, after in pairwise(chunks))
    assert chunks == chunk(extract_text(text, media_type), words=words, overlap=overlap)


@pytest.mark.parametrize(
    "unit",
    [
        "# a\n",
        "#",
        "\n",
        " ",
        "- ",
        "- a\n",
        "`",
        "```\n",
        "=",
        "|-",
        "a\n",
        "a\n\n",
        "a ",
        ".",
        ". ",
        ".)",
        "漢。",
        "> ",
        "~~~",
    ],
)
@pytest.mark.parametrize("media_type", ["text/plain", "text/markdown"])
def test_hostile_text_takes_bounded_time(unit: str, media_type: str) -> None:
    content = "---\na\n" + unit * (200_000 // len(unit))
    before = time.process_time()
    read_document(content, media_type)
    # In quadratic time it would be many minutes.
    assert time.process_time() - before < 20

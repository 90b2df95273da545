"""Markdown as pages show it, by its blocks."""

import pytest

from memorist.surfaces.dashboard.document_text import blocks_of
from tests.test_patterns import ended_after

MARKDOWN = "text/markdown"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("See [the docs](https://example.org/a_(b)).", "See the docs (https://example.org/a_(b))."),
        ("[https://example.org](https://example.org)", "https://example.org"),
        ("Go to [the top](#top) now.", "Go to the top now."),
        ("![a cat](cat.png)", "a cat"),
    ],
)
def test_links_say_where_they_lead(text: str, said: str) -> None:
    (block,) = blocks_of(text, MARKDOWN)
    assert "".join(run.text for run in block.lines[0]) == said


def test_brackets_without_an_end_are_shown_in_no_time() -> None:
    """Nobody else is served meanwhile."""
    with ended_after(1.0):
        (block,) = blocks_of("[" * 300_000, MARKDOWN)
    assert "".join(run.text for run in block.lines[0]) == "[" * 300_000


@pytest.mark.parametrize(("text", "start"), [("1. a\n2. b", 1), ("7. g\n8. h", 7), ("1986. A year.", 1986)])
def test_numbered_lists_begin_where_they_do(text: str, start: int) -> None:
    (block,) = blocks_of(text, MARKDOWN)
    assert (block.kind, block.start) == ("numbered", start)

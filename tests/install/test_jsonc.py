"""Changing JSON with comments in place: by example, and by property with whatever somebody may have written."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memorist.installing import jsonc

ENTRY = {"command": "memorist", "args": ["mcp"]}

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["mcpServers", "hooks", "//", '"']
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9**9) | st.floats(-1e6, 1e6, allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)
SPACES = st.sampled_from(["", " ", "  "])
COMMENTS = st.sampled_from(["", "", "", ' // said {somebody}, "twice"\n', "/* a, } comment */", "\n", "\r\n", "\t"])


@st.composite
def styled(draw: st.DrawFn, value: Any, depth: int = 0) -> str:
    """A value as some hand may have written it: any line breaks, comments and trailing commas."""
    gap = draw(COMMENTS)
    if isinstance(value, dict | list):
        is_object = isinstance(value, dict)
        parts = []
        for key in value:
            inner = draw(styled(value[key] if is_object else key, depth + 1))
            parts.append(
                f"{draw(COMMENTS)}{json.dumps(key)}{draw(SPACES)}:{draw(SPACES)}{inner}" if is_object else inner
            )
        body = f"{draw(SPACES)},{draw(SPACES)}".join(parts)
        end = draw(st.sampled_from(["", "", ","])) if parts else ""
        opening, closing = "{}" if is_object else "[]"
        return f"{gap}{opening}{draw(COMMENTS)}{body}{draw(COMMENTS)}{end}{draw(COMMENTS)}{closing}{draw(COMMENTS)}"
    return f"{gap}{json.dumps(value)}{draw(SPACES)}"


DOCUMENTS = st.dictionaries(WORDS, VALUES, max_size=4).flatmap(
    lambda value: styled(value).map(lambda text: (value, text))
)


def comments_of(text: str) -> list[str]:
    """The comments, found by a reader of another kind: one that skips strings."""
    found = re.findall(r'"(?:[^"\\]|\\.)*"|(//[^\r\n]*|/\*.*?\*/)', text, re.DOTALL)
    return sorted(comment for comment in found if comment)


@given(DOCUMENTS)
def test_everything_is_read(document: tuple[dict[str, Any], str]) -> None:
    value, text = document
    assert jsonc.parse(text).value == value


@hypothesis_settings(max_examples=120)
@given(DOCUMENTS, st.sampled_from([("new",), ("mcpServers", "memorist"), ("a", "b", "c")]))
def test_what_is_put_in_is_there_and_all_else_too(document: tuple[dict[str, Any], str], path: tuple[str, ...]) -> None:
    value, text = document
    try:
        changed = jsonc.put(text, path, ENTRY)
    except TypeError:
        assert any(
            not isinstance(jsonc.find(jsonc.parse(text), path[:depth]).value, dict)  # type: ignore[union-attr]
            for depth in range(1, len(path))
            if jsonc.find(jsonc.parse(text), path[:depth])
        )
        return
    expected = json.loads(json.dumps(value))
    inner = expected
    for step in path[:-1]:
        inner = inner.setdefault(step, {})
    inner[path[-1]] = ENTRY
    assert jsonc.parse(changed).value == expected
    if jsonc.find(jsonc.parse(text), path) is None:
        assert comments_of(changed) == comments_of(text)
        made = next(
            path[:depth] for depth in range(1, len(path) + 1) if not jsonc.find(jsonc.parse(text), path[:depth])
        )
        back = jsonc.remove(changed, made)
        assert jsonc.parse(back).value == value
        assert comments_of(back) == comments_of(text)


@hypothesis_settings(max_examples=80)
@given(st.dictionaries(WORDS, VALUES, max_size=4), st.sampled_from([None, 1, 2, 4, "\t"]), st.booleans())
def test_what_was_put_in_comes_out_to_the_character(value: dict[str, Any], indent: Any, windows: bool) -> None:
    value.pop("memorist", None)
    text = json.dumps(value, indent=indent) + "\n"
    text = text.replace("\n", "\r\n") if windows else text
    changed = jsonc.put(text, ("memorist",), ENTRY)
    assert jsonc.remove(changed, ("memorist",)) == text
    if windows:
        assert "\n" not in changed.replace("\r\n", "")


@hypothesis_settings(max_examples=80)
@given(st.lists(VALUES, max_size=4).flatmap(lambda value: styled(value).map(lambda text: (value, text))), st.data())
def test_items_are_added_and_removed(document: tuple[list[Any], str], data: st.DataObject) -> None:
    value, text = document
    changed = jsonc.append(text, (), ENTRY)
    assert jsonc.parse(changed).value == [*value, ENTRY]
    assert comments_of(changed) == comments_of(text)
    index = data.draw(st.integers(0, len(value)))
    left = jsonc.parse(jsonc.remove(changed, (index,))).value
    assert left == [*value, ENTRY][:index] + [*value, ENTRY][index + 1 :]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "m": 1\n}'),
        ("{\n}\n", '{\n  "m": 1\n}\n'),
        ('{"a": 1}', '{"a": 1, "m": 1}'),
        ('{"a": 1,}', '{"a": 1, "m": 1,}'),
        ('{\n\t"a": 1 // one\n}', '{\n\t"a": 1, // one\n\t"m": 1\n}'),
        ('{\n    "a": 1,\n    // end\n}', '{\n    "a": 1,\n    // end\n    "m": 1,\n}'),
        ('{\r\n  "a": 1\r\n}', '{\r\n  "a": 1,\r\n  "m": 1\r\n}'),
        ("{ /* nothing yet */ }", None),
    ],
)
def test_entry_follows_the_style_of_its_neighbours(before: str, after: str | None) -> None:
    changed = jsonc.put(before, ("m",), 1)
    assert after is None or changed == after
    assert jsonc.remove(changed, ("m",)) == before or not jsonc.parse(before).value
    assert comments_of(changed) == comments_of(before)


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"a"', '{"a": }', '{"a": 1 "b": 2}', "{'a': 1}", "{} {}", '{"a": 1 /* open', '{"a": "x\ny"}', "nul",
     "[1, 2", '{"a": 01x}', "{,}", "[" * 5000, "\x00"],
)  # fmt: skip
def test_malformed_text_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(jsonc.Malformed, match=r"line \d+, column \d+"):
        jsonc.parse(text)


def test_of_two_members_with_one_name_the_last_counts() -> None:
    text = '{"m": 1, "m": {"x": 1}}'
    assert jsonc.put(text, ("m", "y"), 2) == '{"m": 1, "m": {"x": 1, "y": 2}}'

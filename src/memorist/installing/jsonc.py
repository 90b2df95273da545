"""JSON with comments, changed in place: what is not touched keeps every character, comments and order included."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Path = Sequence[str | int]

_TRIVIA = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_INDENT = re.compile(r"\n([ \t]+)\S")
_ENDS_LINE = re.compile(r"[ \t]*(?:\r?\n|\Z)")
_DEEPEST = 200
_NAMES: dict[type, str] = {dict: "object", list: "list"}


class Malformed(ValueError):
    """The text is no JSON, not even with comments; says where."""


@dataclass(slots=True)
class Node:
    """A value and where it stands. `members` are those of an object, `items` those of a list."""

    value: Any
    start: int
    end: int
    members: "list[tuple[str, int, Node]]" = field(default_factory=list)
    items: "list[Node]" = field(default_factory=list)

    def spans(self) -> list[tuple[int, int]]:
        """Where each member (with its key) or item begins and ends."""
        if isinstance(self.value, dict):
            return [(start, node.end) for _, start, node in self.members]
        return [(node.start, node.end) for node in self.items]


def parse(text: str) -> Node:
    """Raises Malformed."""
    node = _value(text, _skip(text, 0), 0)
    end = _skip(text, node.end)
    if end != len(text):
        raise _malformed(text, end)
    return node


def find(root: Node, path: Path) -> Node | None:
    """The node at that path; of several members with one name, the last, as every reader of JSON has it."""
    node: Node | None = root
    for step in path:
        if node is None:
            return None
        if isinstance(step, int):
            node = node.items[step] if step < len(node.items) else None
        else:
            node = next((child for key, _, child in reversed(node.members) if key == step), None)
    return node


def put(text: str, path: Path, value: Any) -> str:
    """Set the member at that path, whose objects are made where they are missing. Raises Malformed or TypeError."""
    *parents, last = path
    root = parse(text)
    for depth in range(len(parents)):
        node = find(root, parents[: depth + 1])
        if node is None:
            # All that is missing goes in at once.
            for step in reversed(path[depth + 1 :]):
                value = {step: value}
            return put(text, path[: depth + 1], value)
        wanted = list if isinstance(path[depth + 1], int) else dict
        if not isinstance(node.value, wanted):
            raise TypeError(f"{'.'.join(map(str, parents[: depth + 1]))} is no {_NAMES[wanted]}")
    node = find(root, path)
    if node is not None:
        return text[: node.start] + _written(text, value, len(path)) + text[node.end :]
    parent = find(root, parents)
    assert parent is not None
    if not isinstance(parent.value, dict):
        raise TypeError("it is no object")
    return _add(text, parent, f"{json.dumps(last)}: {_written(text, value, len(path), parent)}", len(path))


def append(text: str, path: Path, value: Any) -> str:
    """Add an item to the list at that path. Raises Malformed or TypeError."""
    node = find(parse(text), path)
    if node is None or not isinstance(node.value, list):
        raise TypeError(f"{'.'.join(map(str, path))} is no list")
    return _add(text, node, _written(text, value, len(path) + 1, node), len(path) + 1)


def remove(text: str, path: Path) -> str:
    """Take out the member or item at that path, which must be there. Raises Malformed."""
    *parents, last = path
    parent = find(parse(text), parents)
    assert parent is not None
    if isinstance(last, int):
        position = last
    else:
        position = max(index for index, (key, _, _) in enumerate(parent.members) if key == last)
    spans = parent.spans()
    start, end = spans[position]
    comma = _comma_after(text, end)
    lead = _lead(text, start, end if comma is None else comma + 1)
    if comma is not None:
        return text[:lead] + text[comma + 1 :]
    text = text[:lead] + text[end:]
    if position > 0:
        before = _comma_after(text, spans[position - 1][1])
        if before is not None and before < lead:
            text = text[:before] + text[before + 1 :]
    elif not text[parent.start + 1 : lead].strip() and not text[lead : parent.end - (end - lead) - 1].strip():
        # Nothing is left in it, not even a comment.
        text = text[: parent.start + 1] + text[parent.end - (end - lead) - 1 :]
    return text


def _add(text: str, parent: Node, entry: str, depth: int) -> str:
    spans = parent.spans()
    close = parent.end - 1
    newline, indent = newline_of(text), _indent(text)
    after = spans[-1][1] if spans else parent.start + 1
    comma = _comma_after(text, after) if spans else None
    trivia_start = after if comma is None else comma + 1
    break_at = text.rfind("\n", trivia_start, close)
    if break_at >= 0 and text[break_at - 1] == "\r":
        break_at -= 1
    separator = "," if spans and comma is None else ""
    if comma is not None:  # Whoever ends lists with a comma goes on doing so.
        entry += ","
    before = text[:after] + separator + text[after:trivia_start]
    if break_at >= 0:
        # The closing bracket has a line of its own, and so will the entry, after any comment.
        line_indent = _line_indent(text, spans[-1][0]) if spans else None
        line = newline + (indent * depth if line_indent is None else line_indent) + entry
        return before + text[trivia_start:break_at] + line + text[break_at:]
    if spans and "\n" not in text[parent.start : close]:
        return f"{before} {entry}{text[trivia_start:]}"
    rest = text[trivia_start:close].strip() + text[close:]
    return before + newline + indent * depth + entry + newline + indent * (depth - 1) + rest


def newline_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _written(text: str, value: Any, depth: int, parent: Node | None = None) -> str:
    if parent is not None and parent.value and "\n" not in text[parent.start : parent.end]:
        return json.dumps(value, ensure_ascii=False)  # Among others on one line.
    indent = _indent(text)
    lines = json.dumps(value, indent=indent, ensure_ascii=False).split("\n")
    return (newline_of(text) + indent * depth).join(lines)


def _line_indent(text: str, position: int) -> str | None:
    """The white space before what begins its line there; None where something else comes first."""
    start = text.rfind("\n", 0, position) + 1
    before = text[start:position]
    return before if start > 0 and not before.strip() else None


def _lead(text: str, start: int, end: int) -> int:
    """Where to cut before an entry: with its line where that is all its own, and otherwise with the space before it."""
    spaces = start
    while spaces > 0 and text[spaces - 1] in " \t":
        spaces -= 1
    # What follows on the line must not move up: a comment may end the line above.
    if spaces > 0 and text[spaces - 1] == "\n" and _ENDS_LINE.match(text, end):
        spaces -= 1
        if spaces > 0 and text[spaces - 1] == "\r":
            spaces -= 1
    return spaces


def _comma_after(text: str, position: int) -> int | None:
    position = _skip(text, position)
    return position if text[position : position + 1] == "," else None


# Reading


def _value(text: str, position: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise _malformed(text, position)
    character = text[position : position + 1]
    if character == "{":
        return _collection(text, position, depth, "}", _member)
    if character == "[":
        return _collection(text, position, depth, "]", _item)
    found = (_STRING if character == '"' else _SCALAR).match(text, position)
    if found is None:
        raise _malformed(text, position)
    try:
        return Node(json.loads(found[0]), position, found.end())
    except ValueError as error:
        raise _malformed(text, position) from error


def _collection(text: str, start: int, depth: int, close: str, read_one: Callable[[str, int, int, Node], int]) -> Node:
    node = Node({} if close == "}" else [], start, start)
    position = _skip(text, start + 1)
    while text[position : position + 1] != close:
        position = _skip(text, read_one(text, position, depth + 1, node))
        if text[position : position + 1] == ",":
            position = _skip(text, position + 1)
        elif text[position : position + 1] != close:
            raise _malformed(text, position)
    node.end = position + 1
    return node


def _member(text: str, position: int, depth: int, node: Node) -> int:
    found = _STRING.match(text, position)
    if found is None:
        raise _malformed(text, position)
    colon = _skip(text, found.end())
    if text[colon : colon + 1] != ":":
        raise _malformed(text, colon)
    try:
        key = json.loads(found[0])
    except ValueError as error:
        raise _malformed(text, position) from error
    child = _value(text, _skip(text, colon + 1), depth)
    node.members.append((key, position, child))
    node.value[key] = child.value
    return child.end


def _item(text: str, position: int, depth: int, node: Node) -> int:
    child = _value(text, position, depth)
    node.items.append(child)
    node.value.append(child.value)
    return child.end


def _skip(text: str, position: int) -> int:
    found = _TRIVIA.match(text, position)
    assert found is not None
    return found.end()


def _malformed(text: str, position: int) -> Malformed:
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    what = "it ends too early" if position >= len(text) else f"unexpected {text[position]!r}"
    return Malformed(f"line {line}, column {column}: {what}")

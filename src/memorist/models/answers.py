"""The JSON in what a language model answered. Pure."""

import json
import re
from typing import Any

_MARK = re.compile(r"[\[{]|<think(?:ing)?>|</think(?:ing)?>")
_THOUGHT_ENDS = re.compile(r"</think(?:ing)?>")


def json_values(answer: str) -> list[Any]:
    """Every JSON value that stands in an answer, the outermost, in their order: models wrap it in prose and fences.

    What a model only thought is no answer: also where its thoughts broke off, or where a template began them in the
    prompt, so that their end alone is marked.
    """
    decoder = json.JSONDecoder()
    found: list[Any] = []
    at = 0
    while (mark := _MARK.search(answer, at)) is not None:
        at = mark.end()
        if mark[0].startswith("</"):
            found.clear()
        elif mark[0].startswith("<"):
            ends = _THOUGHT_ENDS.search(answer, at)
            at = len(answer) if ends is None else ends.end()
        else:
            try:
                value, at = decoder.raw_decode(answer, mark.start())
                found.append(value)
            except (ValueError, RecursionError):
                continue
    return found

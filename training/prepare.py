"""Builds the file to train on: `python -m training.prepare CONVERSATIONS --to FILE`.

Sources whose texts are not clearly free for this use are left out, and with them what templates made of their
sentences; our own conversations are added: those made of topics (dialogues.py), those written out (talks.json.xz), and
with `--languages` those in eleven languages.
"""

import argparse
import json
import lzma
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from training.dialogues import converse

KEPT = ("squad", "boolq", "iirc", "cosmos", "qasper", "qmsum", "realmem", "madial")
TEMPLATES = ("synth", "cat", "pref")
"""Questions made from sentences of other sources: kept where the sentence comes from a kept one, or is a template."""

LEFT_OUT = {
    "friends": "scripts of a television series",
    "tweet": "tweets stay their authors'",
}

LANGUAGES_FILE = Path(__file__).with_name("languages.json.xz")
"""Conversations of our own in eleven languages, and some in two at once; some questions are in another one."""

TALKS_FILE = Path(__file__).with_name("talks.json.xz")
"""Conversations of our own in English, written out one by one: friends, groups, a person with an assistant."""

Item = dict[str, Any]


def read_items(path: Path) -> list[Item]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        items: list[Item] = json.load(file)
    return items


def prepare(items: Iterable[Item], dialogues: int, seed: int = 0) -> list[Item]:
    items = list(items)
    unknown = {item["s"] for item in items} - {*KEPT, *TEMPLATES, *LEFT_OUT}
    if unknown:
        raise ValueError(f"sources that nobody has judged yet: {sorted(unknown)}")
    free = _runs(item for item in items if item["s"] in KEPT)
    foreign = _runs(item for item in items if item["s"] in LEFT_OUT)
    kept = [item for item in items if item["s"] in KEPT]
    kept += [_only(item, free, foreign) for item in items if item["s"] in TEMPLATES]
    told = list(converse(dialogues, seed))
    chats = [item for item in items + told if item["s"] in ("realmem", "dialogue") and item["m"][0][0] == "user"]
    return [item for item in kept + told + [by_session(chat) for chat in chats] if item["q"]]


def by_session(item: Item, longest: int = 500) -> Item:
    """A chat with an assistant once more, the user's words of each session being one message, cut to `longest`."""
    sessions: dict[object, tuple[int, str]] = {}
    new, messages = {}, []
    for place, (speaker, date, session, text) in enumerate(item["m"]):
        if speaker != "user":
            continue
        number, before = sessions.get(session, (len(sessions), ""))
        if len(before) + len(text) <= longest or not before:
            new[place] = number
        sessions[session] = number, f"{before} {text}".strip()
        messages[number:] = [["user", date, number, sessions[session][1][:longest]]]
    questions = [[asked, sorted({new[place] for place in evidence if place in new})] for asked, evidence in item["q"]]
    return {"s": "sessions", "m": messages, "q": [[asked, evidence] for asked, evidence in questions if evidence]}


def _only(item: Item, free: set[int], foreign: set[int]) -> Item:
    """The messages of a template conversation that are free, and the questions that they still answer."""
    answers = {place for _, evidence in item["q"] for place in evidence}
    kept = [
        place
        for place, (_, _, _, text) in enumerate(item["m"])
        if _is_free(text, free, foreign, own=item["s"] == "pref" and place in answers)
    ]
    new = {old: place for place, old in enumerate(kept)}
    questions = [[text, [new[place] for place in evidence if place in new]] for text, evidence in item["q"]]
    return {
        "s": item["s"],
        "m": [item["m"][place] for place in kept],
        "q": [[text, evidence] for text, evidence in questions if evidence],
    }


def _is_free(text: str, free: set[int], foreign: set[int], own: bool) -> bool:
    runs = set(_runs_of(text))
    if runs & foreign:
        return False
    return own or (bool(runs) and len(runs & free) >= 0.8 * len(runs))


def _runs(items: Iterable[Item]) -> set[int]:
    return {run for item in items for message in item["m"] for run in _runs_of(message[3])}


def _runs_of(text: str, length: int = 5) -> Iterator[int]:
    """Hashes of all runs of five words: what shares one was cut from the same text, or says something very common."""
    words = re.findall(r"\w+", text.lower())
    return (hash(tuple(words[start : start + length])) for start in range(len(words) - length + 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("conversations", type=Path)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--dialogues", type=int, default=300, help="how many conversations of our own")
    parser.add_argument("--languages", action="store_true", help="add the conversations in other languages")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    items = prepare(read_items(arguments.conversations), arguments.dialogues, arguments.seed)
    items += read_items(TALKS_FILE)
    if arguments.languages:
        items += read_items(LANGUAGES_FILE)
    with lzma.open(arguments.to, "wt", encoding="utf-8") as file:
        json.dump(items, file, ensure_ascii=False)
    messages, questions = Counter[str](), Counter[str]()
    for item in items:
        messages[item["s"]] += len(item["m"])
        questions[item["s"]] += len(item["q"])
    for source in messages:
        print(f"{source:10} {messages[source]:7} messages {questions[source]:7} questions")
    print(f"{'all':10} {messages.total():7} messages {questions.total():7} questions")


if __name__ == "__main__":
    main()

"""Cuts text into the pieces that the local models were trained on: words of English, and of about a hundred languages.

Names of special pieces (`[SEP]`, `<s>`) are plain text here: what is remembered cannot end a passage.
"""

import json
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

_CACHED_WORDS = 50_000
_LONGEST_WORD = 100
_UNKNOWN_PENALTY = 10.0

Piece = tuple[int, int, int]
"""The number of a piece, and where in the text it begins and ends."""


@dataclass(slots=True)
class Tokens:
    ids: list[int]
    type_ids: list[int]
    offsets: list[tuple[int, int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)


class Tokenizer(ABC):
    """A text or a pair becomes at most `longest` tokens: a first, the text's, a last, the other text's, a last."""

    def __init__(self, first: int, last: int, longest: int) -> None:
        self._first, self._last, self._longest = first, last, longest

    @abstractmethod
    def pieces(self, text: str) -> list[Piece]:
        """All pieces of the text."""

    def encode(self, one: str | tuple[str, str]) -> Tokens:
        text, other = (one, None) if isinstance(one, str) else one
        own = self.pieces(text)
        if other is None:
            return self._joined(own[: self._longest - 2], None)
        others = self.pieces(other)
        most, most_other = _shares(len(own), len(others), self._longest - 3)
        return self._joined(own[:most], others[:most_other])

    def encode_all(self, inputs: Iterable[str | tuple[str, str]]) -> list[Tokens]:
        return [self.encode(one) for one in inputs]

    def _joined(self, own: Sequence[Piece], others: Sequence[Piece] | None) -> Tokens:
        parts = [(self._first, 0, 0), *own, (self._last, 0, 0)]
        types = [0] * len(parts)
        if others is not None:
            parts += [*others, (self._last, 0, 0)]
            types += [1] * (len(others) + 1)
        return Tokens([one[0] for one in parts], types, [(start, end) for _, start, end in parts])


def _shares(own: int, others: int, most: int) -> tuple[int, int]:
    """How many pieces each text keeps: the longer one gives way first."""
    if own + others <= most:
        return own, others
    short, long = sorted((own, others))
    long = short if short > most else max(short, most - short)
    if short + long > most:
        short, long = most // 2, most // 2 + most % 2
    return (short, long) if own <= others else (long, short)


# English


class WordPieces(Tokenizer):
    """Without capitals and accents; signs and Chinese characters alone; a word from its longest known parts."""

    def __init__(self, vocabulary: dict[str, int], longest: int) -> None:
        super().__init__(vocabulary["[CLS]"], vocabulary["[SEP]"], longest)
        self._vocabulary = vocabulary
        self._unknown = vocabulary["[UNK]"]
        self._cut = lru_cache(maxsize=_CACHED_WORDS)(self._cut_chunk)

    def pieces(self, text: str) -> list[Piece]:
        found: list[Piece] = []
        for chunk in _CHUNK.finditer(text):
            at = chunk.start()
            found += [(number, at + start, at + end) for number, start, end in self._cut(chunk[0])]
        return found

    def _cut_chunk(self, chunk: str) -> tuple[Piece, ...]:
        words = _ascii_words(chunk) if chunk.isascii() else _other_words(chunk)
        return tuple((number, start, end) for word, start, end in words for number in self._parts(word))

    def _parts(self, word: str) -> list[int]:
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        found: list[int] = []
        start, before = 0, ""
        while start < len(word):
            for end in range(len(word), start, -1):
                if (number := self._vocabulary.get(before + word[start:end])) is not None:
                    break
            else:
                return [self._unknown]
            found.append(number)
            start, before = end, "##"
        return found


# Some controls count as spaces for Python alone.
_CHUNK = re.compile(r"[\S\x0b\x0c\x1c-\x1f\x85]+")
_SIGNS = r"!-/:-@\[-`{-~"
_ASCII_WORD = re.compile(rf"[{_SIGNS}]|[^{_SIGNS}]+")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_CHINESE = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f"
    "\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f]"
)


def _ascii_words(chunk: str) -> list[tuple[str, int, int]]:
    if _CONTROLS.search(chunk):
        return _other_words(chunk)
    return [(found[0].lower(), *found.span()) for found in _ASCII_WORD.finditer(chunk)]


def _other_words(chunk: str) -> list[tuple[str, int, int]]:
    """The words of a chunk without spaces, as they are looked up, and where each begins and ends in it."""
    words: list[tuple[str, int, int]] = []
    letters, start, end = "", 0, 0
    for at, character in enumerate(chunk):
        for is_alone, written in _written(character):
            if is_alone and letters:
                words.append((letters, start, end))
                letters = ""
            if is_alone:
                words.append((written, at, at + 1))
                continue
            if not letters:
                start = at
            letters, end = letters + written, at + 1
    return [*words, (letters, start, end)] if letters else words


@lru_cache(maxsize=4096)
def _written(character: str) -> tuple[tuple[bool, str], ...]:
    """What a character is looked up as: nothing for a control or an accent, and whether it stands alone."""
    if character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cf", "Co"):
        return ()
    if _CHINESE.match(character):
        return tuple((True, one) for one in unicodedata.normalize("NFD", character))
    parts = (one for one in unicodedata.normalize("NFD", character) if unicodedata.category(one) != "Mn")
    return tuple((_is_sign(lower), lower) for part in parts for lower in part.lower())


def _is_sign(character: str) -> bool:
    if character.isascii():
        return not character.isalnum()
    return unicodedata.category(character)[0] == "P"


# About a hundred languages


class UnigramPieces(Tokenizer):
    """The likeliest pieces of each word; what no piece has becomes one unknown piece."""

    def __init__(self, pieces: Sequence[tuple[str, float]], longest: int) -> None:
        names = {name: number for number, (name, _) in enumerate(pieces[:4])}
        super().__init__(names["<s>"], names["</s>"], longest)
        self._unknown = names["<unk>"]
        self._pieces = {name: (number, score) for number, (name, score) in enumerate(pieces) if name not in names}
        self._widest = max(map(len, self._pieces))
        self._unknown_score = min(score for _, score in pieces) - _UNKNOWN_PENALTY
        self._cut: Callable[[str], tuple[int, ...]] = lru_cache(maxsize=_CACHED_WORDS)(self._cut_word)

    def pieces(self, text: str) -> list[Piece]:
        """Without their places, which nobody asks for."""
        plain = _SPACES.sub(" ", unicodedata.normalize("NFKC", text))
        found: list[Piece] = []
        for word in _METASPACED.findall(_with_marks(plain)):
            found += [(number, 0, 0) for number in self._cut(word)]
        return found

    def _cut_word(self, word: str) -> tuple[int, ...]:
        best: list[tuple[float, int, int] | None] = [(0.0, 0, 0), *[None] * len(word)]
        for start in range(len(word)):
            reached = best[start]
            if reached is None:
                continue
            has_single = False
            for end in range(start + 1, min(start + self._widest, len(word)) + 1):
                known = self._pieces.get(word[start:end])
                if known is None:
                    continue
                has_single = has_single or end == start + 1
                _improve(best, end, reached[0] + known[1], start, known[0])
            if not has_single:
                _improve(best, start + 1, reached[0] + self._unknown_score, start, self._unknown)
        return self._path(best)

    def _path(self, best: Sequence[tuple[float, int, int] | None]) -> tuple[int, ...]:
        found: list[int] = []
        at = len(best) - 1
        while at > 0:
            reached = best[at]
            assert reached is not None  # Every place is reached by a piece or by an unknown one.
            _, at, number = reached
            if number != self._unknown or not found or found[-1] != number:
                found.append(number)
        return tuple(reversed(found))


_SPACES = re.compile(r"[^\S\x1c-\x1f]+")
_METASPACED = re.compile("▁[^▁]*")


def _with_marks(text: str) -> str:
    marked = text.replace(" ", "▁")
    return marked if not marked or marked.startswith("▁") else f"▁{marked}"


def _improve(best: list[tuple[float, int, int] | None], end: int, score: float, start: int, number: int) -> None:
    reached = best[end]
    if reached is None or score > reached[0]:
        best[end] = score, start, number


def read_tokenizer(content: bytes, longest: int) -> Tokenizer:
    """From a file in the format of the library that wrote it; of its settings those are read that differ here."""
    model = json.loads(content)["model"]
    if model["type"] == "WordPiece":
        return WordPieces(model["vocab"], longest)
    return UnigramPieces([(name, score) for name, score in model["vocab"]], longest)

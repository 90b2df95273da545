"""Finding and replacing secrets. One pass over the text tells which rules can match at all; mostly none can."""

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

from memorist.secrets.plainly import read_plainly

MOST_PASSES = 4
"""A replacement may lay a secret bare that stood against another one; a few passes find what such a chain hides."""

_MARKER_START = b"[REDACTED:"
# What is unseen or wide, for the first pass: a few characters a pattern, since it gives up on many.
_HIDDEN = (
    rb"\xe2\x80[\x8b-\x8f]", rb"\xe2\x80[\xaa-\xae]", rb"\xe2\x81[\xa0-\xa9]", rb"\xe2\x81[\xaa-\xaf]",
    rb"\xef\xbb\xbf", rb"\xef\xbc[\x90-\x99]", rb"\xef\xbc[\xa1-\xaa]", rb"\xef\xbc[\xab-\xb4]",
    rb"\xef\xbc[\xb5-\xba]", rb"\xef\xbc[\x9a\x9d]",
    rb"\xef\xbd[\x81-\x8a]", rb"\xef\xbd[\x8b-\x94]", rb"\xef\xbd[\x95-\x9a]",
    rb"\xc2\xad[0-9]", rb"\xc2\xad[a-i]", rb"\xc2\xad[j-r]", rb"\xc2\xad[s-z]",
)  # fmt: skip
# The same as it is found inside a word, by its first byte, so that other texts are passed quickly.
_UNSEEN = re.compile(rb"\xe2(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xaf])[!-~]")
_WIDE = re.compile(
    rb"\xef(?:\xbc[\x90-\x99\xa1-\xba]|\xbd[\x81-\x9a]|\xbc[\x9a\x9d] ?[!-~]|(?:\xbb\xbf|\xb8[\x80-\x8f])[!-~])"
)
_SOFT_HYPHEN = b"\xc2\xad"
# Spaces, quotation marks, colons and dashes of other scripts, which matter where a name of a secret is said.
_MARKS = re.compile(rb"\xe2\x80[\x93\x94\x9c-\x9e\xaf]|\xc2[\xa0\xab]|\xe3\x80[\x80\x8c\x8e]|\xef\xbc[\x81-\x9f]")
_QUOTE = re.compile(rb"\\{0,9}[\"'`]")


class SecretFinding(NamedTuple):
    """A secret that was replaced: the rule that knew it, where it stood, and where its marker stands now."""

    rule: str
    start: int
    end: int
    at: int

    @property
    def after(self) -> int:
        """Where the redacted text goes on."""
        return self.at + len(_MARKER_START) + len(self.rule) + 1


class Redacted(NamedTuple):
    """A text without its secrets, and what was found, in the order of the text."""

    text: str
    findings: tuple[SecretFinding, ...] = ()

    def offset_of(self, at: int) -> int:
        """Where a place of the text as written is now: after the marker where it was inside of a secret."""
        finding = self._around(at)
        return at if finding is None else finding.after + max(0, at - finding.end)

    def before_secret(self, at: int) -> int:
        """A place of the text as written, or the start of the secret that it is inside of."""
        finding = self._around(at)
        return at if finding is None or finding.end <= at else finding.start

    def _around(self, at: int) -> SecretFinding | None:
        """The last secret that starts before a place."""
        before = bisect_left(self.findings, at, key=lambda finding: finding.start)
        return self.findings[before - 1] if before else None


def redact(text: str) -> Redacted:
    """The text with every secret that a rule knows replaced by `[REDACTED:<rule>]`. Doing it again changes nothing."""
    encoded = text.encode("utf-8", "surrogatepass")
    engine = _engine()
    findings: list[_Marked] = []
    for _ in range(MOST_PASSES):
        spans = engine.find(encoded)
        if not spans:
            break
        encoded, findings = _replaced(encoded, spans, findings)
    if not findings:
        return Redacted(text)
    return Redacted(encoded.decode("utf-8", "surrogatepass"), _in_characters(text, encoded, findings))


def redact_value(name: str, value: str) -> Redacted:
    """The same for a value that stands under a name, as in JSON: `{"password": "…"}`."""
    plain = redact(value)
    if plain.findings or not names_a_secret(name) or not _engine().is_secret(name, value):
        return plain
    rule = "secret-assignment"
    return Redacted(f"[REDACTED:{rule}]", (SecretFinding(rule, 0, len(value), 0),))


@lru_cache(maxsize=4096)
def names_a_secret(name: str) -> bool:
    """Whether what stands under that name may be a secret: `password`, `API_KEY`, `client-secret`."""
    return _engine().names_a_secret(name.encode("utf-8", "surrogatepass"))


class _Span(NamedTuple):
    start: int
    end: int
    order: int
    rule: str


class _Marked(NamedTuple):
    """A finding in bytes."""

    at: int
    marker: bytes
    start: int
    end: int
    rule: str


class _Engine:
    """The rules, compiled once, when the first text comes."""

    def __init__(self) -> None:
        import re2  # type: ignore[import-untyped]  # Only those who write pay for it.

        from memorist.secrets import rules
        from memorist.secrets.checks import SecretMatch, is_secret_value

        self._names = rules.NAMES
        self._providers = len(rules.PROVIDERS)
        self._found = SecretMatch
        self._is_secret_value = is_secret_value
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.log_errors = False
        self._filter = re2.Filter()
        # Compiled when they are first needed.
        self._rules: list[tuple[str, Callable[[], Any], Callable[[SecretMatch], bool] | None]] = []
        for rule in rules.RULES:
            pattern = rule.pattern.encode()
            self._filter.Add(pattern, options)
            self._rules.append((rule.name, cache(partial(re2.compile, pattern, options)), rule.check))
        for hidden in _HIDDEN:
            self._filter.Add(hidden, options)
        self._filter.Compile()
        # Rules that no fixed text gives away can match anywhere; one pattern for all of them mostly says no.
        self._anywhere = self._filter.Match(b"", True)
        either = b"|".join(b"(?:%s)" % rules.RULES[index].pattern.encode() for index in self._anywhere)
        self._any_of_them = re2.compile(either, options)
        self._marker = re2.compile(rb"\[REDACTED:([a-z0-9-]+)\]", options)
        self._name = re2.compile(rb"(?i)(?:" + rules.SECRET_NAMES.encode() + rb")$", options)

    def find(self, text: bytes) -> list[_Span]:
        """Where secrets stand, in the order of the text, none touching another."""
        candidates = self._filter.Match(text, True)
        if not self._any_of_them.search(text):
            if len(candidates) == len(self._anywhere):
                return []
            candidates = sorted(set(candidates) - set(self._anywhere))
        if text.isascii() or not _is_not_plain(text, bool(candidates)):
            found = self._found_in(text, candidates)
        else:
            plain = read_plainly(text)
            # An unseen character may also be all that parts a token from a word.
            found = self._found_in(text, [index for index in candidates if index < self._providers])
            found += [
                _Span(*plain.span(one.start, one.end), one.order, one.rule)
                for one in self._found_in(plain.text, self._filter.Match(plain.text, True))
            ]
        return _apart_from(self._markers(text), _joined(found)) if found else []

    def _found_in(self, text: bytes, candidates: list[int]) -> list[_Span]:
        rules = len(self._rules)
        return [span for index in candidates if index < rules for span in self._matches(index, text)]

    def names_a_secret(self, name: bytes) -> bool:
        return self._name.search(name) is not None

    def is_secret(self, name: str, value: str) -> bool:
        """Whether the value is one, where the name says that it may be."""
        key, encoded = (text.encode("utf-8", "surrogatepass") for text in (name.lower(), value))
        # Quoted, so that it is read as a literal.
        return self._is_secret_value(self._found(b'"' + encoded + b'"', 1, len(encoded) + 1, key))

    def _matches(self, index: int, text: bytes) -> list[_Span]:
        name, compiled, check = self._rules[index]
        pattern = compiled()
        spans = []
        groups = pattern.groups
        for match in pattern.finditer(text):
            start, end = match.span(groups)
            key = b""
            if groups == 2:
                key = match.group(1).lower()
                start, end = _literal(text, start, end)
            if check is None or check(self._found(text, start, end, key)):
                spans.append(_Span(start, end, index, name))
        return spans

    def _markers(self, text: bytes) -> list[tuple[int, int]]:
        """What was redacted before. Only names of rules count, so that nothing hides in what looks like a marker."""
        if _MARKER_START not in text:
            return []
        return [match.span() for match in self._marker.finditer(text) if match.group(1).decode() in self._names]


@lru_cache(maxsize=1)
def _engine() -> _Engine:
    return _Engine()


def _is_not_plain(text: bytes, names_something: bool) -> bool:
    return bool(
        (b"\xe2" in text and _UNSEEN.search(text))
        or (b"\xef" in text and _WIDE.search(text))
        or _SOFT_HYPHEN in text
        or (names_something and _MARKS.search(text))
    )


def _literal(text: bytes, start: int, end: int) -> tuple[int, int]:
    """The value without its quotation mark, which may be escaped, or without the stop that ends the sentence."""
    quote = _QUOTE.match(text, start)
    return (start, start + len(text[start:end].rstrip(b".:"))) if quote is None else (quote.end(), end)


def _joined(found: list[_Span]) -> list[_Span]:
    """One span for those that overlap, named by the first rule of the table, so that no part of any stays."""
    found.sort()
    joined = [found[0]]
    for span in found[1:]:
        last = joined[-1]
        if span.start >= last.end:
            joined.append(span)
        else:
            first = min(last, span, key=lambda one: one.order)
            joined[-1] = _Span(last.start, max(last.end, span.end), first.order, first.rule)
    return joined


def _apart_from(markers: list[tuple[int, int]], spans: list[_Span]) -> list[_Span]:
    """Those spans that touch no marker. Both are in the order of the text."""
    apart = []
    number = 0
    for span in spans:
        while number < len(markers) and markers[number][1] <= span.start:
            number += 1
        if number == len(markers) or span.end <= markers[number][0]:
            apart.append(span)
    return apart


def _replaced(text: bytes, spans: list[_Span], findings: list[_Marked]) -> tuple[bytes, list[_Marked]]:
    """The text with markers in place of the spans, and all findings where they stand now.

    A span holds no marker of an earlier pass, so that each finding moves as a whole.
    """
    pieces: list[bytes] = []
    marked: list[_Marked] = []
    older = deque(findings)
    end = moved = shortened = 0
    for span in spans:
        while older and older[0].at < span.start:
            before = older.popleft()
            shortened += before.end - before.start - len(before.marker)
            marked.append(before._replace(at=before.at + moved))
        marker = b"%s%s]" % (_MARKER_START, span.rule.encode())
        marked.append(_Marked(span.start + moved, marker, span.start + shortened, span.end + shortened, span.rule))
        pieces += (text[end : span.start], marker)
        moved += len(marker) - (span.end - span.start)
        end = span.end
    marked += [before._replace(at=before.at + moved) for before in older]
    pieces.append(text[end:])
    return b"".join(pieces), marked


def _in_characters(text: str, redacted: bytes, findings: list[_Marked]) -> tuple[SecretFinding, ...]:
    if text.isascii():
        return tuple(SecretFinding(found.rule, found.start, found.end, found.at) for found in findings)
    stood = _Characters(text.encode("utf-8", "surrogatepass"))
    stands = _Characters(redacted)
    return tuple(
        SecretFinding(found.rule, stood.before(found.start), stood.before(found.end), stands.before(found.at))
        for found in findings
    )


class _Characters:
    """Counts the characters before offsets of a text, which must be asked for in their order."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._at = self._count = 0

    def before(self, at: int) -> int:
        self._count += len(self._text[self._at : at].decode("utf-8", "surrogatepass"))
        self._at = at
        return self._count

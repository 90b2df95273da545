"""Secrets leave what is written before it is stored, hashed, embedded or told to anybody. Every write comes by here.

Texts have their secrets replaced. An identifier cannot: what it names could no longer be found, so it is refused.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from memorist.errors import InvalidField
from memorist.platform import validation
from memorist.secrets import Redacted, SecretFinding, names_a_secret, redact, redact_value

if TYPE_CHECKING:  # Only those who store documents pay for what reads them.
    from memorist.documents import Block, ExtractedText

Counts = Mapping[str, int]
"""How often each rule took a secret out."""

M = TypeVar("M", bound=Mapping[str, Any])

# Between texts that are looked at together: no rule reaches over it.
_BETWEEN = "\n\0\n"
_FEWEST_DIGITS = 6
_LEAST_NUMBER = 10 ** (_FEWEST_DIGITS - 1)
"""Numbers below it are neither cards nor passwords."""
# What stands under such a name beside a secret is not the secret.
_SAYS_WHAT_ELSE = re.compile(
    r"(?i)(?:^|[_.$-]|(?<=[a-z])(?=(?-i:[A-Z])))(?:id|ids|name|type|kind|user|username|login|account|owner|e?mail|host|port|"
    r"ur[il]|ref|path|file|domain|issuer|audience|subject|region|zone|provider|scopes?|roles?|permissions?|alg|algorithm|"
    r"method|format|encoding|pattern|regex|version|revision|state|status|label|title|description|comment|note|hint|help|"
    r"message|error|policy|rules?|length|size|count|score|min|max|limit|date|time|timestamp|ttl|at|in|by|on|age|expires|"
    r"expiry|expiration|created|updated|modified|rotated|iat|exp|nbf|hash|digest|checksum|fingerprint)$"
)


class Secrets(StrEnum):
    """What a field holds, and so what becomes of a secret in it."""

    TEXT = "text"
    LINE = "line"
    """A text of one line, which is cut where it has grown too long."""
    OBJECT = "object"
    IDENTIFIER = "identifier"
    """A name under which things are found: refused."""


class Redaction:
    def __init__(self, *, enabled: bool = True) -> None:
        self._enabled = enabled

    def text(self, value: str) -> str:
        return self.found(value).text

    def found(self, value: str) -> Redacted:
        """The text without its secrets, and where they were."""
        return redact(value) if self._enabled else Redacted(value)

    def extracted(self, document: "ExtractedText") -> tuple["ExtractedText", Sequence[SecretFinding]]:
        """The text of a document and its blocks, moved to where they are without its secrets."""
        found = self.found(document.text)
        if not found.findings:
            return document, ()
        blocks = tuple(_moved(document.blocks, found))
        return replace(document, text=found.text, blocks=blocks), found.findings

    def fields(self, values: Mapping[str, Any], holding: Mapping[str, Secrets]) -> tuple[dict[str, Any], Counts]:
        """Those values that change because they hold a secret, as they may be stored; and what was found.

        `holding` says which fields can hold one, and what they are; others are left alone. Raises InvalidField where
        an identifier holds one, or where the text without them has grown too long.
        """
        present = {name: value for name in holding if (value := values.get(name)) is not None}
        # All are looked at in one go, because most hold none.
        if not self._enabled or not _hold_a_secret(present.values()):
            return {}, {}
        changed: dict[str, Any] = {}
        counts: Counter[str] = Counter()
        for field, value in present.items():
            if holding[field] is Secrets.IDENTIFIER:
                self.refuse(field, value)
            elif holding[field] is Secrets.OBJECT:
                plain = _plain(value, counts)
                if plain != value:
                    changed[field] = validation.meta(plain)
            elif (found := redact(value)).findings:
                counts.update(finding.rule for finding in found.findings)
                changed[field] = _fitting(field, found.text, holding[field])
        return changed, dict(counts)

    def without_hidden(self, value: Any) -> tuple[Any, Counts]:
        """A JSON value without the secrets in it that its text does not give away, and what was found: what stands deep
        under a name such as `password`, and numbers with a fraction.
        """
        counts: Counter[str] = Counter()
        is_looked_at = self._enabled and _may_hide_secrets(value)
        return (_plain(value, counts) if is_looked_at else value), counts

    def json(self, value: M) -> M:
        """A JSON object without secrets in its names and values."""
        return _plain(value, Counter()) if self._enabled and _hold_a_secret([value]) else value

    def refuse(self, field: str, value: str | None) -> None:
        """Raises InvalidField where an identifier holds a secret."""
        found = redact(value).findings if self._enabled and value else ()
        if found:
            raise InvalidField.of(field, f"holds a secret ({found[0].rule}). Name it by something else.")


def counted(findings: Iterable[Any]) -> Counts:
    return dict(Counter(finding.rule for finding in findings))


def _moved(blocks: "Iterable[Block]", found: Redacted) -> "Iterator[Block]":
    """A block that begins inside a secret goes on after it; one that is inside of it altogether goes."""
    for block in blocks:
        start, end = found.offset_of(block.start), found.offset_of(block.end)
        if start < end:
            yield replace(block, start=start, end=end)


def _fitting(field: str, text: str, holds: Secrets) -> str:
    """A marker can be longer than what it stands for: a line is cut, a text that no longer fits is refused."""
    if holds is Secrets.LINE:
        return text[: validation.MAX_LINE]
    return validation.text(field, text, longest=validation.MAX_CONTENT, empty=True)


def _hold_a_secret(values: Iterable[Any]) -> bool:
    """Whether any of these texts and JSON values holds one."""
    texts: list[str] = []
    objects: list[Any] = []
    for value in values:
        (texts if isinstance(value, str) else objects).append(value)
    if objects:
        texts += _strings(objects)
    return bool(redact(_BETWEEN.join(texts)).findings) or (bool(objects) and _may_hide_secrets(objects))


def _strings(value: Any) -> list[str]:
    """Every text in a JSON value: names, texts, and numbers that are long enough to be one."""
    found: list[str] = []
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, Mapping):
            pending += item.keys()
            pending += item.values()
        elif isinstance(item, list | tuple):
            pending += item
        elif _is_long_number(item):
            found.append(_digits_of(item))
    return found


def _may_hide_secrets(value: Any) -> bool:
    """Whether something in a JSON value stands under a name such as `password`, or is a long number with a fraction."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, Mapping):
            if any(names_a_secret(str(name)) for name in item):
                return True
            pending += item.values()
        elif isinstance(item, list | tuple):
            pending += item
        elif isinstance(item, float) and _is_long_number(item):
            return True
    return False


def _plain(value: Any, counts: Counter[str], name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {_plain(str(key), counts): _plain(child, counts, _meant(str(key), name)) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(child, counts, name) for child in value]
    is_digits = _is_long_number(value) or (_is_long_fraction(value) and names_a_secret(name))
    if isinstance(value, str) or is_digits:
        text = value if isinstance(value, str) else _digits_of(value)
        found = redact_value(name, text) if name else redact(text)
        counts.update(finding.rule for finding in found.findings)
        return found.text if found.findings else value
    return value


def _meant(name: str, above: str) -> str:
    """The name by which a value is judged: of a secret that it is a part of, where its own says nothing else."""
    is_part = bool(above) and names_a_secret(above) and not names_a_secret(name) and not _SAYS_WHAT_ELSE.search(name)
    return above if is_part else name


def _is_long_number(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer() and abs(value) >= _LEAST_NUMBER
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _LEAST_NUMBER


def _is_long_fraction(value: Any) -> bool:
    # What is less than 1 is a share or a probability, and has as many digits as a division gives.
    return isinstance(value, float) and abs(value) >= 1 and len(_digits_of(abs(value))) >= _FEWEST_DIGITS


def _digits_of(value: float) -> str:
    """A number as somebody would type it in: no secret has a fraction."""
    return str(int(value)) if isinstance(value, int) or value.is_integer() else str(value).replace(".", "")

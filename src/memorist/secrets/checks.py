"""The last word on a match: is this a secret indeed, or a placeholder, an expression, an id, a word?"""

import base64
import binascii
import math
import re
from collections import Counter
from typing import NamedTuple


class SecretMatch(NamedTuple):
    """A match: the text, where the secret stands in it, and the name that it was given, in small letters."""

    text: bytes
    start: int
    end: int
    name: bytes

    @property
    def value(self) -> bytes:
        return self.text[self.start : self.end]


_SHORTEST_PASSWORD = 6
_SHORTEST_TOKEN = 16
_STRONG_PASSWORD = 8
_SHORTEST_CODE = 4
_LONGEST_CODE = 10
_LONGEST_SPEECH = 80
_LONGEST_WORD = 24
_MOST_QUOTES = 9
_LEAST_ENTROPY = 3.0
"""Bits a character. Words and numbers that repeat have less, random hexadecimal of 16 characters has more."""

_PASSWORDS = re.compile(
    rb"(?:pass(?:wor[dt]|wd|phrase|code)|pwd|secret|credentials?|kennwort|contrase(?:\xc3\xb1|n)a|senha|passe|"
    + "пароль|密码|密碼|パスワード".encode()
    + rb")(?:[_-]?(?:value|text))?$"
)
# Tokens that only say where a list goes on, keys that are public, and what is counted or configured.
_HARMLESS_NAMES = re.compile(
    rb"(?:next|prev|page|paging|sync|cursor|continuation|resume|pagination|start|change|delta|csrf|xsrf|stop|eos|bos|pad|"
    rb"mask|unk|sep|special|max|min|public|primary|foreign|sort|partition|cache)[_.-]?(?:page[_-]?)?(?:token|key|auth)$"
)
# What stands for a secret: words of templates, and what is filled in by a shell, a template or a person.
_PLACEHOLDER = re.compile(
    rb"\.\.\.|\xe2\x80\xa6|\*{3,}|^[x*.\-_#0]+$|redacted|change[_-]?(?:me|it|this)|"
    rb"^(?:your|my|the|an?|some|insert|enter|replace|example|sample|dummy|fake|placeholder|todo|tbd|none|null|nil|true|"
    rb"false|undefined|empty|unset|optional|required|string|hidden|masked|secret|password|passwd|passw|pass|pwd|user|"
    rb"token|key|test|tests|foo|bar)(?:[_. -][a-z_. -]*)?$|^(?:your|my|insert|replace)[_-]",
    re.IGNORECASE,
)
_FILLED_IN = re.compile(rb"[$%#@]?\{|\$\(|[$@&*!][A-Za-z_]\w*$|%[A-Za-z_]\w*%|<|&lt;")
_WORDS = re.compile(rb"[A-Za-z]*[a-z]|[A-Z]+|[a-z]{0,2}[0-9]{1,4}|")
_PLAIN_WORD = re.compile(rb"[A-Za-z]?[a-z]*(?:[A-Z][a-z]+)*s?|[A-Z]+")
_OWN_ID = re.compile(rb"(?:[a-z]{2,6}_)?[0-7][0-9A-HJKMNP-TV-Z]{25}")
_PATH = re.compile(rb"[a-z][a-z0-9+.-]*://|(?:\.{1,2}|~)?/|[A-Za-z]:\\|arn:")
_DATE = re.compile(rb"[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?(?:[T ].*)?")
_TOKEN_NAMES = re.compile(rb"api|secret|token|jeton")
_FAR_EASTERN_TOKEN = re.compile("密钥|密鑰|金鑰|令牌|トークン|キー|シークレット".encode())
_PAUSE = re.compile("[,.?!]|，|。|？|！|、".encode())
_TECHNICAL = re.compile(
    rb"(?:sha|md|base|argon|pbkdf|utf|oauth|ipv?|aes|rsa|ed|scram|tls|ssl|http|win|x)-?_?[0-9]|bcrypt|scrypt",
    re.IGNORECASE,
)
_ADDRESS = re.compile(rb"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ID = re.compile(rb"[A-Z]{1,3}-?[0-9]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{40}|[0-9a-f]{64}")
_WEAK_CONNECTOR = re.compile(rb" (?:and|y|e|et|en|in|a|to|su|with|as)$")
_YEAR = re.compile(rb"(?:19[5-9]|20[0-4])[0-9]")
# What comes after a number that says how many, when or how much.
_COUNTED = re.compile(
    rb"[.,/:-][0-9]|[%A-Za-z_]| ?(?:\xe2\x82\xac|"
    + "年|月|日|个|位|次|分|秒|毫|元|页|行|桁|文字|回|円|時|ページ|か月|ミリ".encode()
    + rb")| (?:characters?|chars|digits?|letters|times|days?|weeks|months|years|hours|minutes|seconds|ms|bits?|bytes|"
    rb"users|zeichen|ziffern|stellen|tagen?|monaten?|jahren?|stunden|minuten|sekunden|mal|caracteres|d.{1,2}gitos|veces|d.{1,2}as|"
    rb"meses|a.{1,2}os|horas|minutos|segundos|caract.{1,2}res|chiffres|fois|jours|mois|ans|heures|secondes|vezes|dias|anos|"
    rb"caratteri|cifre|volte|giorni|mesi|anni|ore|minuti|secondi|euros?|reais|dollars|problems|filas|linhas|righe)\b",
    re.IGNORECASE,
)
_EXPRESSION = re.compile(rb"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+")
_CALL = re.compile(rb"[A-Za-z_][\w.:>-]*[(\[]")
_IDENTIFIER = re.compile(rb"_*[A-Za-z]+(?:_+[A-Za-z0-9]{1,12})+|[a-z]+(?:[A-Z][a-z]+)+|[A-Z]+(?:_[A-Z0-9]+)+")


def is_secret_value(found: SecretMatch) -> bool:
    """What is assigned to a name such as `password` or `api_key`: a literal that nobody would call a word."""
    value = found.value.rstrip(b".,:;!?)")
    if _HARMLESS_NAMES.search(found.name) or not _could_be_a_secret(value) or _is_called(found):
        return False
    if _PASSWORDS.search(found.name):
        return len(value) >= _SHORTEST_PASSWORD and (_is_password(value) or _is_in_environment(found))
    return _is_token(value)


def is_spoken_password(found: SecretMatch) -> bool:
    """`my password is …`: only what no sentence would say next."""
    value = found.value.rstrip(b".,:;!?)")
    name = found.name.rstrip(b" :=")
    if not _could_be_said(found, value):
        return False
    if _TOKEN_NAMES.search(name):
        return _is_token(value)
    before = _before(found).rstrip(b" \"'`")
    if before.endswith(name) or _WEAK_CONNECTOR.search(before):
        return is_strong_password(found)
    if value.isdigit():
        return name != b"pass" and _is_code(found, value)
    return len(value) >= _SHORTEST_PASSWORD and (_is_stated(value) or _is_numbered_phrase(value))


def is_password_said_in_chinese_or_japanese(found: SecretMatch) -> bool:
    """The same where no spaces part the name from what is said of it."""
    value = found.value.rstrip(b".,:;!?)")
    between = _before(found).rpartition(found.name)[2]
    if not _could_be_said(found, value) or _PAUSE.search(between):
        return False
    if _FAR_EASTERN_TOKEN.search(found.name):
        return _is_token(value)
    return _is_code(found, value) if value.isdigit() else len(value) >= _SHORTEST_PASSWORD and _is_stated(value)


def is_spoken_pin(found: SecretMatch) -> bool:
    """Digits that are a code: no date, year, amount or count."""
    value = found.value.strip(b"#*")
    if value.isdigit():
        return _is_code(found, value)
    return sum(48 <= byte <= 57 for byte in value) >= 3 and not _DATE.fullmatch(value)


def is_strong_password(found: SecretMatch) -> bool:
    """What nobody would take for anything but a password, so that little need be said of it."""
    value = found.value.rstrip(b".,:;!?)")
    if len(value) < _STRONG_PASSWORD or value.isdigit() or not _could_be_said(found, value):
        return False
    if not any(48 <= byte <= 57 for byte in value) and not _is_mixed(value):
        return False
    return _is_stated(value)


def is_no_placeholder(found: SecretMatch) -> bool:
    value = found.value
    return not _FILLED_IN.match(value) and not _PLACEHOLDER.search(value.rstrip(b".,:;!?)"))


def is_no_word(found: SecretMatch) -> bool:
    """Keeps words that happen to start as a key does, or to stand where one would."""
    return is_no_placeholder(found) and not _are_words(found.value)


def is_authorization(found: SecretMatch) -> bool:
    return is_no_word(found) and not _EXPRESSION.fullmatch(found.value) and not _is_called(found)


def is_cookie(found: SecretMatch) -> bool:
    """Names and values, at least one of which nobody would say."""
    values = [part.partition(b"=")[2].strip() for part in found.value.split(b";")]
    return any(len(value) >= _SHORTEST_TOKEN and not _FILLED_IN.match(value) and _is_token(value) for value in values)


def is_basic_credential(found: SecretMatch) -> bool:
    """Base64 of `name:password`."""
    value = found.value.rstrip(b"=")
    try:
        decoded = base64.b64decode(value + b"=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in decoded[1:] and all(32 <= byte < 127 for byte in decoded)


def is_card(found: SecretMatch) -> bool:
    """The length and first digits of a card, its check digit right, and no part of a longer number."""
    before, after = found.text[max(0, found.start - 2) : found.start], found.text[found.end : found.end + 2]
    if before[-1:] in (b".", b"-", b"/") or (after[:1] in (b".", b"-") and after[1:2].isdigit()):
        return False
    value = found.value
    digits = [byte - 48 for byte in value if 48 <= byte <= 57]
    if len(set(digits)) < 2 or len({byte for byte in value if byte in b" -"}) > 1:
        return False
    return _is_issued("".join(map(str, digits))) and _luhn(digits)


def _is_issued(digits: str) -> bool:
    """Visa, Mastercard, American Express, Discover, JCB, Diners Club or UnionPay."""
    first = int(digits[:4])
    if len(digits) == 16:
        return (
            4000 <= first < 5000 or 5100 <= first < 5600 or 2221 <= first <= 2720 or first == 6011
            or 6440 <= first < 6600 or 6200 <= first < 6300 or 3528 <= first < 3590
        )  # fmt: skip
    if len(digits) == 15:
        return first // 100 in (34, 37)
    return len(digits) == 14 and (first // 100 in (36, 38, 39) or 3000 <= first < 3060)


def _luhn(digits: list[int]) -> bool:
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _could_be_a_secret(value: bytes) -> bool:
    if _FILLED_IN.match(value) or _PLACEHOLDER.search(value):
        return False
    return not (
        b" " in value
        or _PATH.match(value)
        or _OWN_ID.fullmatch(value)
        or _DATE.fullmatch(value)
        or _ADDRESS.fullmatch(value)
        or _EXPRESSION.fullmatch(value)
    )


def _could_be_said(found: SecretMatch, value: bytes) -> bool:
    return (
        len(value) >= _SHORTEST_CODE
        and _could_be_a_secret(value)
        and not _is_called(found)
        and not _TECHNICAL.match(value)
    )


def _before(found: SecretMatch) -> bytes:
    """What stands before the secret, as far as a name can be, in small letters."""
    return found.text[max(0, found.start - _LONGEST_SPEECH) : found.start].lower()


def _is_stated(value: bytes) -> bool:
    """A password, also one of words and a number with a sign that joins no words; no id or number of a ticket."""
    if _ID.fullmatch(value):
        return False
    signed = any(byte in b"!@#$%^&*+=~" for byte in value) and any(48 <= byte <= 57 for byte in value)
    return _is_password(value) or (signed and any(chr(byte).isalpha() for byte in value))


def _is_code(found: SecretMatch, value: bytes) -> bool:
    """Four digits or more, of which nothing is counted, and which go on in no other number."""
    if not _SHORTEST_CODE <= len(value) <= _LONGEST_CODE or _COUNTED.match(found.text, found.end):
        return False
    return not _YEAR.fullmatch(value) or _before(found).rstrip(b" \"'")[-1:] in (b":", b"=")


def _is_numbered_phrase(value: bytes) -> bool:
    """`bogus-bean-2210`: words, and a number of some digits."""
    parts = _parts(value)
    return not (parts[0].isdigit() or _ID.fullmatch(value)) and any(len(part) > 1 and part.isdigit() for part in parts)


def _is_called(found: SecretMatch) -> bool:
    """`token = load(…)`: a name and what is done with it, and no literal."""
    quoted = found.text[found.start - 1 : found.start] in (b'"', b"'", b"`")
    return not quoted and (
        found.text[found.end : found.end + 1] in (b"(", b"[", b"{") or bool(_CALL.match(found.value))
    )


def _is_in_environment(found: SecretMatch) -> bool:
    """`DB_PASSWORD=…`: in a file of settings even a word is a password."""
    # Not all that stands before it: a text may hold very many.
    before = found.text[max(0, found.start - len(found.name) - _MOST_QUOTES - 1) : found.start].rstrip(b"\"'")
    before = before[-len(found.name) - 1 :]
    return before == found.name.upper() + b"=" and b"_" in found.name


def _is_password(value: bytes) -> bool:
    """Letters with digits, or with signs inside; nothing that reads as words or as a name in a program."""
    if value.isdigit():
        return True
    letters = any(byte > 64 and chr(byte).isalpha() for byte in value)
    digits = any(48 <= byte <= 57 for byte in value)
    if not letters or _are_words(value):
        return False
    if digits:
        return True
    if _IDENTIFIER.fullmatch(value):
        return False
    return any(byte in b"!@#$%^&*+=?~|/" for byte in value) or (len(value) >= 8 and _is_mixed(value))


def _is_token(value: bytes) -> bool:
    if len(value) < _SHORTEST_TOKEN or value.isdigit() or not value.isascii() or _are_words(value):
        return False
    digits = sum(48 <= byte <= 57 for byte in value)
    letters = sum(chr(byte).isalpha() for byte in value)
    if not letters or (digits < 2 and not (len(value) >= 20 and _is_mixed(value))):
        return False
    return _entropy(value) >= _LEAST_ENTROPY


def _is_mixed(value: bytes) -> bool:
    """Capitals in places where no name of a program would have them."""
    capitals = sum(65 <= byte <= 90 for byte in value)
    return 3 <= capitals < len(value) - 2 and not all(_PLAIN_WORD.fullmatch(part) for part in _parts(value))


def _are_words(value: bytes) -> bool:
    """`my-service-v2`, `gpt-4o-mini`, `eu-west-1`: words and short numbers with something between them."""
    return all(
        len(part) <= _LONGEST_WORD and _WORDS.fullmatch(part) and _PLAIN_WORD.fullmatch(part.rstrip(b"0123456789"))
        for part in _parts(value)
    )


def _parts(value: bytes) -> list[bytes]:
    return re.split(rb"[-_./:,+]+", value)


def _entropy(value: bytes) -> float:
    """Shannon's, in bits a character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())

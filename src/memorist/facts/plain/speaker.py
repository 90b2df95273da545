"""Facts of the one who speaks: "I live in Rome", "The user lives in Rome", "User lives in Rome". Pure."""

import re

from memorist.first_person import begun_by
from memorist.languages import is_english

_USER = "User"
# "User: We moved to Bristol": who says so moved, too.
_WITH_OTHERS = re.compile(r"user: (?=we\b)", re.IGNORECASE)
_NAMED = re.compile(r"(?:the )?user(?=['’]s\b| [\w\"“])", re.IGNORECASE)


def told_alike(older: str, newer: str) -> tuple[str, str]:
    """Two facts that begin with the one who speaks, with one name for them: then they can be compared. Others stay."""
    both = (_told_of_user(older), _told_of_user(newer))
    return both if all(one.startswith(_USER) for one in both) else (older, newer)


def _told_of_user(fact: str) -> str:
    named = _NAMED.match(fact)
    if named:
        return f"{_USER}{fact[named.end() :]}"
    head, rest = "", ""
    if is_english(fact):
        others = _WITH_OTHERS.match(fact)
        head, rest = begun_by(fact[others.end() :], "", _USER) if others else begun_by(fact, _USER)
    return f"{head}{rest}" if head else fact

"""Words by which people tell that something is no longer as it was. Pure."""

import re

from memorist.languages import is_english

_IS = r"(?:is|are|am|was|were|['’](?:s|m|re))"
_ENDED = rf"""
    no\ longer|no\ more|any\ ?more|any\ longer|gave\ [\w ]{{0,30}}up|given\ up|giving\ up|quit|stopped|dropped|ditched|
    cancel+ed|called\ [\w ]{{0,30}}off|(?:{_IS}|came|come|went|got|taken)\ (?:off|out\ of)|fell\ through|{_IS}\ over|
    ended|finished|done\ with|died|passed\ away|broke\ up|split\ up|separated|divorced|laid\ off|fired|let\ go|resigned|
    retire[sd]|retiring|graduated|sold|lost|left|leaving|got\ rid\ of|threw\ out|gave\ away|ran\ away|stolen|broken|
    dead|gone|cut\ out|used\ to
"""
_CHANGED = r"""
    now|nowadays|these\ days|from\ now\ on|as\ of|instead|back\ (?:at|from|home|in|on|to|together|with)|moved|moving|
    relocated|changed|changes|switched|swapped|replaced|became|turned\ (?:down|into|out)|turns\ out|
    (?:went|gone)\ (?:up|down)|down\ to|raised\ (?:it|my|our|the|to)|upped|lowered|increased|reduced|
    got\ (?:a\ raise|promoted|married|engaged|pregnant)|married|postponed|pushed|delayed|rescheduled|brought\ forward|
    renamed|migrated|bumped|upgraded|downgraded|accepted|rejected|born|started\ [\w-]{1,20}ing|starting|took\ over|
    takes\ over|again|(?:my|our|their|an?|the|'s)\ new|
    new\ (?:job|boss|manager|role|place|flat|apartment|address|number|date|deadline|name|plan)
"""
_CHANGE = re.compile(rf"\b(?:{_ENDED}|{_CHANGED})\b", re.IGNORECASE | re.VERBOSE)
_QUOTED = re.compile(r'"[^"]*"')
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def tells_of_a_change(text: str) -> bool:
    """Whether a text says so. Of a language that is not known here, whatever it says."""
    # What was asked is in somebody else's words.
    return not is_english(text) or _CHANGE.search(_QUOTED.sub("", text)) is not None


def has_other_numbers(older: str, newer: str) -> bool:
    """Whether both have numbers, and none in common."""
    old, new = set(_NUMBER.findall(older)), set(_NUMBER.findall(newer))
    return bool(old and new) and not old & new

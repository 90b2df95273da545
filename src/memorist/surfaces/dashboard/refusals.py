"""What was refused, in the reader's words: of a field by the name that people know it by, and in their language."""

from collections.abc import Mapping, Sequence

from memorist.errors import InvalidField, MemoristError
from memorist.surfaces.dashboard.wording import as_pattern, is_ours, say, to_say

FIELDS: Mapping[str, str] = {
    "agent": to_say("The agent"),
    "body": to_say("The text"),
    "category": to_say("The type"),
    "content": to_say("The text"),
    "description": to_say("The description"),
    "expires": to_say("The last day"),
    "importance": to_say("The importance"),
    "name": to_say("The name"),
    "profile": to_say("The profile"),
    "project": to_say("The project"),
    "title": to_say("The title"),
    "type": to_say("The type"),
    "user": to_say("The user"),
}
"""What pages call the core's fields."""

# What the core says of them, which goes on where the name ends.
_RULES = (
    to_say("must not be empty."),
    to_say("must be a single line."),
    to_say("has {count} characters; at most {most} are taken."),
    to_say("holds a NUL or a lone surrogate, which is no text. Remove it."),
    to_say("holds a secret ({rule}). Name it by something else."),
    to_say(
        "must be a slug such as feedback_no_db_mocking: small letters and digits, joined by _ or -, at most {most} "
        "characters."
    ),
    to_say("must be 1 to {most} characters without spaces or control characters."),
    to_say("must be one of {choices}."),
    to_say("must be a whole number within 32 bits."),
    to_say("must be a number of days from 0 to {most}."),
    to_say("must lie in the future."),
    to_say("is an encrypted PDF. Remove its password and send it again."),
    to_say("is no PDF that can be read. Repair or export it anew."),
    to_say("unfolds into far more than it is. Export it anew, or split the PDF."),
    to_say("is no {encoding} text at byte {place}. Save it as UTF-8, or name the media type that it has."),
)
_SENTENCES = (
    to_say("A named memory keeps a name."),
    to_say("A user key belongs to one user: name the user."),
    to_say("At most {most} memories are changed at once."),
    to_say("This is no export that is known here: it looks like {file}."),
    to_say("{name} must be a whole number from {least} to {most}."),
)


def in_words(error: MemoristError, names: Mapping[str, str] = FIELDS) -> str:
    """What went wrong; `names` are those of a page that calls fields otherwise. Of what the catalogue cannot have, the
    general words come first.
    """
    if isinstance(error, InvalidField) and error.field is not None and error.rule is not None:
        rule = _said(error.rule, _RULES)
        if is_ours(rule):
            name = names.get(error.field) or FIELDS.get(error.field)
            return f"{say(name) if name else error.field} {rule}"
    message = _said(error.message, _SENTENCES)
    if is_ours(message):
        return message
    return f"{say(' '.join((type(error).__doc__ or '').split()))} ({error.message})"


def _said(text: str, known: Sequence[str]) -> str:
    """A text of the core in the reader's language, where it is one of those that are known."""
    for one in known:
        if (found := as_pattern(one).fullmatch(text)) is not None:
            return say(one, **found.groupdict())
    return say(text)

"""Texts of frameworks and their models as memory takes them: nothing that somebody wrote is a reason to fail."""

from memorist.platform import validation


def storable(text: str) -> str:
    """The text without what is refused in one: a NUL, or a lone surrogate, which JSON can spell."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def question_in(text: str | None) -> str:
    """What to recall for a text: its beginning, as long as a question may be. Empty where it says nothing."""
    return storable(text or "").strip()[: validation.MAX_QUERY]

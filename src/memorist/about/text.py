"""A profile as text: a heading for each part, and a line for each fact. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from memorist.about.values import About, Mention, PersonProfile, ProfileLine, WrittenProfile
from memorist.context.section import fenced

NOTHING = "Nothing is known yet."


def format_about(about: About) -> str:
    """The profile for people to read. A fact stays on its line, so that it cannot pass for a heading."""
    parts = [] if about.written is None else [f"{_one_line(about.written.text)}\n({_by(about.written)})"]
    parts += [part for one in about.people for part in _profile(one)]
    parts.append(_part("## Mentioned", [*map(_mention, about.mentioned), *_more(about.more_mentioned)]))
    replaced = [
        f"- ({one.at:%Y-%m-%d}) {_one_line(one.text)} → {'gone' if one.by_text is None else _one_line(one.by_text)}"
        for one in about.replaced
    ]
    parts.append(_part("## Replaced lately", [*replaced, *_more(about.more_replaced)]))
    if new := [_line(line) for line in _unseen(about)]:
        parts.append(_part("## New lately", [*new, *_more(about.more_new)]))
    doubts = [f"- {_one_line(one.newer)} Or: {_one_line(one.older)} ({one.id})" for one in about.doubts]
    parts.append(_part("## In doubt", [*doubts, *_more(about.more_doubts)]))
    return "\n\n".join(filter(None, parts)) or NOTHING


def fenced_about(about: About) -> str:
    """The same for a prompt: as a fenced block that says what it is."""
    return fenced(format_about(about))


def _profile(profile: PersonProfile) -> Iterator[str]:
    count = f"{profile.facts} {'fact' if profile.facts == 1 else 'facts'}"
    yield f"# {_one_line(profile.person)} ({count})"
    for slot in profile.slots:
        yield _part(f"## {slot.heading}", [*map(_line, slot.lines), *_more(slot.more)])
    earlier = [f"- {profile.earlier} earlier"] if profile.earlier else []
    timeline = [f"- {line.day or f'{line.date:%Y-%m-%d}'}: {_one_line(line.text)}" for line in profile.timeline]
    yield _part("## Timeline", [*earlier, *timeline])


def _by(written: WrittenProfile) -> str:
    return f"written by {written.model} on {written.at:%Y-%m-%d} from what follows"


def _unseen(about: About) -> Iterable[ProfileLine]:
    """New facts that no slot has told yet."""
    seen = {line.memory_id for one in about.people for slot in one.slots for line in slot.lines}
    seen |= {line.memory_id for one in about.people for line in one.timeline}
    return (line for line in about.new if line.memory_id not in seen)


def _part(heading: str, lines: Sequence[str]) -> str:
    return "\n".join([heading, *lines]) if lines else ""


def _more(count: int) -> list[str]:
    return [f"- and {count} more"] if count else []


def _line(line: ProfileLine) -> str:
    stated = f" (stated {line.stated} times)" if line.stated > 1 else ""
    return f"- ({line.date:%Y-%m-%d}) {_one_line(line.text)}{stated}"


def _mention(mention: Mention) -> str:
    called = _one_line(mention.name if mention.relation is None else f"{mention.name}, {mention.relation}")
    return f"- {called}: {mention.facts} {'fact' if mention.facts == 1 else 'facts'}"


def _one_line(text: str) -> str:
    return " ".join(text.split())

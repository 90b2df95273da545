"""The history of a memory as an import takes it: nothing that erasure alone writes, and what is read again in the shape
in which it was written. Of what was erased since, ids and reasons may be missing.
"""

from collections.abc import Callable, Mapping
from typing import Any

from memorist.errors import InvalidField
from memorist.facts.values import certainty_told, text_told, verdict_told
from memorist.platform.erased_names import PURGED
from memorist.platform.values import ERASED, Event

_OF_THE_GONE = frozenset({ERASED, PURGED})
"""What tells of memories that are there no more: a memory in an export has no such event."""


def require_readable(event: Event) -> None:
    """Raises InvalidField where no memory has such an event, or where its payload could not be read again."""
    if event.event_type in _OF_THE_GONE:
        raise InvalidField(
            f"A memory that is there has no event {event.event_type!r}: erasure alone writes it.", field="events"
        )
    for name, is_readable in _READ_AGAIN.get(event.event_type, {}).items():
        if name in event.payload and not is_readable(event.payload[name]):
            raise InvalidField(
                f"An event {event.event_type!r} has its {name} in another shape than Memorist writes it.",
                field="events",
            )


def _is_text(value: Any) -> bool:
    return value is None or text_told(value) is not None


def _is_certainty(value: Any) -> bool:
    return value is None or certainty_told(value) is not None


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _are_counts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(type(count) is int for count in value.values())


def _are_verdicts(value: Any) -> bool:
    return isinstance(value, list) and all(
        verdict_told(said) is not None and _is_text(said.get("against")) for said in value
    )


def _are_learned(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_learned, value))


def _is_learned(value: Any) -> bool:
    return isinstance(value, Mapping) and {"id", "was_new"} <= value.keys() and _is_text(value["id"])


def _is_stand_in(value: Any) -> bool:
    found = value.get("memories") if isinstance(value, Mapping) else None
    return isinstance(found, list) and _are_learned(found) and all(map(_is_placed, found))


def _is_placed(value: Mapping[str, Any]) -> bool:
    """Whether it says in which message it was found, and where."""
    has_source = "source" in value and _is_text(value["source"])
    return has_source and all(type(value.get(at)) is int for at in ("start", "end"))


_REPLACING = {"reason": _is_text, "judge": _is_text, "confidence": _is_certainty}
_READ_AGAIN: Mapping[str, Mapping[str, Callable[[Any], bool]]] = {
    "redacted": {"rules": _are_counts},
    "judged": {"verdicts": _are_verdicts},
    "superseded": _REPLACING,
    "supersedes": _REPLACING,
    "updated": {"before": _is_object},
    "extracted": {"memories": _are_learned, "with": _is_text},
    "extraction_failed": {"stand_in": _is_stand_in, "with": _is_text},
}
"""What of which payload is read again."""

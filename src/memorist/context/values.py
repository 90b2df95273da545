"""What a coding assistant searches, and how long an entry of the companion may be, as values."""

from dataclasses import dataclass
from typing import NamedTuple

from memorist.platform.values import OwnerFilter

MAX_ENTRY = 500


@dataclass(frozen=True, slots=True)
class ChunkQuery:
    """What a coding assistant searches, of one slice. `pattern` is for LIKE, with `!` before what is literal."""

    owner: OwnerFilter
    pattern: str | None = "%"
    category: str | None = None
    projects: tuple[str, ...] | None = None
    """Only these; None for all."""

    min_relevance: float = 0.0


class ChunkCandidate(NamedTuple):
    created_at: int
    memory_id: str
    content: str
    excerpt: str | None

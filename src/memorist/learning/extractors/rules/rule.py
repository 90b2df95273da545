"""What a rule is."""

import re
from dataclasses import dataclass

from memorist.learning.extractors.kinds import StatementKind


@dataclass(frozen=True, slots=True)
class Rule:
    """`content` says how it is told where the clause in the third person does not do; `{0}`… are its groups.

    `by_agent`: it also holds where an assistant says it, about the work and not about the user.
    """

    found: StatementKind
    pattern: re.Pattern[str]
    confidence: float
    content: str | None = None
    by_agent: bool = False

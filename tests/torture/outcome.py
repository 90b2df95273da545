"""What came of one torture: what was done, and what went wrong."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Outcome:
    name: str
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def fail(self, what: str) -> None:
        self.failures.append(what)

    def check(self, holds: bool, what: str) -> None:
        if not holds:
            self.fail(what)

    def __str__(self) -> str:
        done = ", ".join(f"{count:,} {name}" for name, count in self.counts.items())
        verdict = "ok" if not self.failures else f"{len(self.failures):,} FAILURES: " + "; ".join(self.failures[:3])
        return f"{self.name}: {done}: {verdict}"

"""Whether a newer fact contradicts an older one, by rules over what both claim. Pure, offline and conservative.

Retiring a true fact is worse than keeping a stale one: only what can hardly be read otherwise is `contradicts`, and
what may be one is `unsure`. See docs/explanation/facts.md for what the rules see and what they do not.
"""

from memorist.facts.judging.rules import judge, likeness

__all__ = ["judge", "likeness"]

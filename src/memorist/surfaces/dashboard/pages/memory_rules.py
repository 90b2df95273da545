"""By whom a memory is governed, and what may happen to it, in words."""

from memorist.memories.governance import RULES
from memorist.memories.values import Kind, Memory, Retention, Status
from memorist.views.dossiers import Dossier

_YOURS = {"edit": "edit", "rewrite": "write it anew", "archive": "archive", "restore": "restore", "delete": "delete"}


def what_may_happen(memory: Memory, dossier: Dossier) -> list[str]:
    """A few sentences: who wrote it, what may replace it, what time does to it, and what the reader may do."""
    rules = RULES[memory.governed_by]
    told = [f"It was written through {rules.door}."]
    if memory.kind is not Kind.FACT:
        told.append("Its words stay as they were: nothing changes or replaces it.")
    elif memory.status is Status.ACTIVE:
        told.append(
            "A newer fact that contradicts it may take its place; it can be brought back."
            if rules.is_one_set
            else "No other fact takes its place by itself: where one contradicts it, you are asked."
        )
    if memory.status in (Status.ACTIVE, Status.ARCHIVED):
        told.append(_aging(memory, dossier, is_aged=rules.is_aged))
    yours = [word for act, word in _YOURS.items() if act in dossier.acts]
    told.append(f"You may {_listed(yours)} it." if yours else "You may read it, and not change it.")
    return told


def _aging(memory: Memory, dossier: Dossier, *, is_aged: bool) -> str:
    if memory.expires_at is not None:
        return f"It ends by itself on {memory.expires_at:%-d %B %Y}."
    if memory.retention is not Retention.POLICY or not is_aged:
        return "It stays until somebody deletes it."
    if not dossier.is_enforced:
        return "Retention may archive and delete it with time. It is in preview: nothing is deleted yet."
    return "Retention archives and deletes it with time, on the days shown here."


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"

"""By whom a memory is governed, and what may happen to it, in words."""

from memorist.memories.governance import RULES
from memorist.memories.values import Kind, Memory, Retention, Status
from memorist.surfaces.dashboard.wording import say, to_say, whole_day
from memorist.views.dossiers import Dossier

_YOURS = {
    "edit": to_say("edit"),
    "rewrite": to_say("write it anew"),
    "archive": to_say("archive"),
    "restore": to_say("restore"),
    "delete": to_say("delete"),
}


def what_may_happen(memory: Memory, dossier: Dossier) -> list[str]:
    """A few sentences: who wrote it, what may replace it, what time does to it, and what the reader may do."""
    rules = RULES[memory.governed_by]
    told = [say("It was written through {door}.", door=say(rules.door))]
    if memory.kind is not Kind.FACT:
        told.append(say("Its words stay as they were: nothing changes or replaces it."))
    elif memory.status is Status.ACTIVE:
        told.append(
            say("A newer fact that contradicts it may take its place; it can be brought back.")
            if rules.is_one_set
            else say("No other fact takes its place by itself: where one contradicts it, you are asked.")
        )
    if memory.status in (Status.ACTIVE, Status.ARCHIVED):
        told.append(_aging(memory, dossier, is_aged=rules.is_aged))
    yours = [say(word) for act, word in _YOURS.items() if act in dossier.acts]
    told.append(say("You may {acts} it.", acts=_listed(yours)) if yours else say("You may read it, and not change it."))
    return told


def _aging(memory: Memory, dossier: Dossier, *, is_aged: bool) -> str:
    if memory.expires_at is not None:
        return say("It ends by itself on {day}.", day=whole_day(memory.expires_at))
    if memory.retention is not Retention.POLICY or not is_aged:
        return say("It stays until somebody deletes it.")
    if not dossier.is_enforced:
        return say("Retention may archive and delete it with time. It is in preview: nothing is deleted yet.")
    return say("Retention archives and deletes it with time, on the days shown here.")


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else say("{words} or {last}", words=", ".join(words[:-1]), last=words[-1])

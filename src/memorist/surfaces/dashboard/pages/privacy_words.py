"""Policies, sweeps, receipts and verifications, in words."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memorist.erasure.values import Receipt, Verification
from memorist.memories.kinds import KINDS
from memorist.memories.policies import policy_to_record
from memorist.memories.policy import Derived, Move, Policy, PolicyRevision, Windows
from memorist.memories.values import Kind
from memorist.surfaces.dashboard.wording import day, number, say, to_say

_MOVES = {
    Move.EXPIRED: to_say("deleted, since they are past their own time"),
    Move.ARCHIVED: to_say("archived"),
    Move.DELETED: to_say("deleted, and recoverable for a while"),
    Move.HARD_DELETE_PENDING: to_say("no longer recoverable"),
    Move.PURGED: to_say("erased for good"),
    Move.ANONYMIZED: to_say("anonymized, since another fact took their place"),
}

_TABLES = {
    "memories": to_say("memories"),
    "memory_index": to_say("entries of the search index"),
    "memory_tokens": to_say("entries of the search index for single words"),
    "memory_events": to_say("lines of history"),
    "memory_events.actor": to_say("mentions in the history of others"),
    "memories.references": to_say("references from other memories"),
    "tool_outputs": to_say("whole tool outputs"),
    "documents": to_say("documents"),
    "idempotency_keys": to_say("remembered answers"),
    "jobs": to_say("jobs in the background"),
    "doubts": to_say("facts in doubt"),
    "recalls": to_say("notes of what was asked"),
    "turns": to_say("turns"),
    "turn_events": to_say("events of turns"),
    "policies": to_say("changes of the policy"),
    "spending": to_say("months with what turns have cost"),
    "sign_ins": to_say("tokens for web pages"),
    "api_keys": to_say("API keys"),
}

_RULES = {
    "mode": to_say("Mode"),
    "active_days": to_say("Days active"),
    "archive": to_say("Archive before deleting"),
    "archive_days": to_say("Days in the archive"),
    "grace_days": to_say("Days recoverable"),
    "anonymize_after_days": to_say("Days until replaced facts are anonymized"),
    "derived_facts": to_say("Facts learned from what is erased"),
    "users_share_documents": to_say("Users may share documents"),
}


# By whether it is archived first, and whether it can be restored.
_LIVES = {
    (True, True): to_say(
        "is active for {active}, then archived for {archive}, then deleted; it can be restored for {grace}, "
        "and is then erased."
    ),
    (True, False): to_say(
        "is active for {active}, then archived for {archive}, then deleted; it cannot be restored, and is then erased."
    ),
    (False, True): to_say("is active for {active}, then deleted; it can be restored for {grace}, and is then erased."),
    (False, False): to_say("is active for {active}, then deleted; it cannot be restored, and is then erased."),
}


class CountLine(NamedTuple):
    """A row of a table of counts."""

    what: str
    kind: str
    how_many: int
    samples: Sequence[str] = ()


class VerificationFinding(NamedTuple):
    """What a verification says of one thing; `ok` is None where it could not be looked at."""

    ok: bool | None
    text: str


def policy_sentences(policy: Policy) -> list[str]:
    """What a policy means, one rule a sentence."""
    sentences = [
        say("What follows the policy {life}", life=_life(policy.windows)),
        *(
            say("For {kind}: it {life}", kind=say(KINDS[kind].many), life=_life(policy.windows_of(kind)))
            for kind in policy.kinds
        ),
    ]
    days = _days(policy.anonymize_after_days)
    sentences.append(say("A fact that was replaced is made anonymous after {days}.", days=days))
    sentences.append(
        say("A fact is erased with what it was learned from.")
        if policy.derived_facts is Derived.ERASE
        else say("A fact stays when what it was learned from is erased, without its source.")
    )
    if not policy.users_share_documents:
        sentences.append(say("Users keep their documents to themselves: only service and admin keys share them."))
    sentences.append(say("What you or an agent asked to keep stays until somebody deletes it."))
    return sentences


def _life(windows: Windows) -> str:
    days = {
        "active": _days(windows.active_days),
        "archive": _days(windows.archive_days),
        "grace": _days(windows.grace_days),
    }
    return say(_LIVES[bool(windows.archive), bool(windows.grace_days)], **days)


def _days(days: float) -> str:
    return say("1 day") if days == 1 else say("{days} days", days=f"{days:g}")


def differences(before: Policy, after: Policy) -> list[tuple[str, str, str]]:
    """What a change changes: the rule, and what it was and would be."""
    old, new = policy_to_record(before), policy_to_record(after)
    rows = [
        (say(label), _value(old[name]), _value(new[name])) for name, label in _RULES.items() if old[name] != new[name]
    ]
    for kind, rules in KINDS.items():
        was, becomes = old["kinds"].get(kind), new["kinds"].get(kind)
        if was != becomes:
            rows.append((say("Only for {kind}", kind=say(rules.many)), _windows(was), _windows(becomes)))
    return rows


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return say("yes") if value else say("no")
    words = {Derived.DETACH: say("stay, without their source"), Derived.ERASE: say("are erased too")}
    return words.get(value) or (f"{value:g}" if isinstance(value, int | float) else str(value))


def _windows(windows: Mapping[str, Any] | None) -> str:
    if not windows:
        return say("as all")
    return ", ".join(f"{say(_RULES[name]).lower()}: {_value(value)}" for name, value in windows.items())


def counts_of(
    counts: Mapping[str, Mapping[str, int]], samples: Mapping[str, Sequence[str]] | None = None
) -> list[CountLine]:
    """Moves in the order of a memory's life, each with how many of which kind."""
    lines: list[CountLine] = []
    for move, words in _MOVES.items():
        shown = list((samples or {}).get(move, ()))
        for kind, count in counts.get(move, {}).items():
            lines.append(CountLine(say(words), say(KINDS[Kind(kind)].many), count, shown[:3]))
            shown = []
    return lines


def touched_of(touched: Mapping[str, int]) -> list[CountLine]:
    return [
        CountLine(say("get other deadlines"), say(KINDS[Kind(kind)].many), count) for kind, count in touched.items()
    ]


def total(counts: Mapping[str, Mapping[str, int]]) -> int:
    return sum(sum(kinds.values()) for kinds in counts.values())


def tables_of(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """What is, or was, in each table, the most telling first; empty ones are left out."""
    known = [(say(words), counts[table]) for table, words in _TABLES.items() if counts.get(table)]
    return known + [(table, count) for table, count in counts.items() if count and table not in _TABLES]


def receipt_title(receipt: Receipt) -> str:
    return {
        "memories": say("Some memories"),
        "user": say("A person"),
        "tenant": say("The whole tenant"),
        "reset": say("Everything, to begin anew"),
        "retention": say("What was past its time"),
    }[receipt.kind]


def findings_of(found: Verification) -> list[VerificationFinding]:
    """What was looked for, and whether it is there, one sentence each."""
    rows = ", ".join(f"{count} {say(_TABLES.get(table, table))}" for table, count in found.rows.items())
    findings = [
        VerificationFinding(
            not rows,
            say("Still in the database: {rows}.", rows=rows) if rows else say("No row of it is in the database."),
        )
    ]
    if found.ids_in_files is None:
        findings.append(
            VerificationFinding(None, say("The files belong to the database server, and cannot be read from here."))
        )
    elif found.ids:
        findings.append(_in_files(found.ids_in_files, found.ids, _IDS_IN_FILES))
    if found.samples and found.samples_in_files is not None:
        findings.append(_in_files(found.samples_in_files, found.samples, _PIECES_IN_FILES))
    if found.name_in_files is not None:
        is_gone = found.name_in_files == 0
        said = say("The name is not in the files.") if is_gone else say("The name is still in the files.")
        findings.append(VerificationFinding(is_gone, said))
    return findings


# One that is gone, one that is not, several of which none is there, and several of which some are.
_IDS_IN_FILES = (
    to_say("The id is not in the bytes of the files."),
    to_say("The id is still in the bytes of the files."),
    to_say("None of {asked} ids is in the bytes of the files."),
    to_say("{found} of {asked} ids are still in the bytes of the files."),
)
_PIECES_IN_FILES = (
    to_say("The piece of its texts is not in the bytes of the files."),
    to_say("The piece of its texts is still in the bytes of the files."),
    to_say("None of {asked} pieces of its texts is in the bytes of the files."),
    to_say("{found} of {asked} pieces of its texts are still in the bytes of the files."),
)


def _in_files(found: int, asked: int, texts: Sequence[str]) -> VerificationFinding:
    text = texts[(0 if asked == 1 else 2) + (found > 0)]
    return VerificationFinding(not found, say(text, found=number(found), asked=number(asked)))


def mode_sentence(revision: PolicyRevision, is_observing: bool) -> str:
    if not is_observing:
        return say("Retention is on: what is old enough is archived, and later deleted.")
    if revision.acts_from is None:
        return say("Retention is in preview: nothing is deleted yet.")
    return say(
        "Retention is in preview until {day}: nothing is deleted yet. Then it turns on. "
        "What was written through the lifecycle API is archived and deleted already.",
        day=day(revision.acts_from),
    )

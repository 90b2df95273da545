"""Policies, sweeps, receipts and verifications, in words."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memorist.erasure.values import Receipt, Verification
from memorist.memories.kinds import KINDS
from memorist.memories.policies import policy_to_record
from memorist.memories.policy import Derived, Move, Policy, PolicyRevision, Windows
from memorist.memories.values import Kind

_MOVES = {
    Move.EXPIRED: "deleted, since they are past their own time",
    Move.ARCHIVED: "archived",
    Move.DELETED: "deleted, and recoverable for a while",
    Move.HARD_DELETE_PENDING: "no longer recoverable",
    Move.PURGED: "erased for good",
    Move.ANONYMIZED: "anonymized, since another fact took their table",
}

_TABLES = {
    "memories": "memories",
    "memory_index": "entries of the search index",
    "memory_events": "lines of history",
    "memory_events.actor": "mentions in the history of others",
    "memories.references": "references from other memories",
    "tool_outputs": "whole tool outputs",
    "documents": "documents",
    "idempotency_keys": "remembered answers",
    "jobs": "jobs in the background",
    "doubts": "facts in doubt",
    "recalls": "notes of what was asked",
    "turns": "turns",
    "turn_events": "events of turns",
    "policies": "changes of the policy",
    "spending": "months with what turns have cost",
    "api_keys": "API keys",
}

_RULES = {
    "mode": "Mode",
    "active_days": "Days active",
    "archive": "Archive before deleting",
    "archive_days": "Days in the archive",
    "grace_days": "Days recoverable",
    "anonymize_after_days": "Days until replaced facts are anonymized",
    "derived_facts": "Facts learned from what is erased",
    "users_share_documents": "Users may share documents",
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
    sentences = [f"What follows the policy {_life(policy.windows)}"]
    sentences += [f"For {KINDS[kind].many}: it {_life(policy.windows_of(kind))}" for kind in policy.kinds]
    sentences.append(f"A fact that another took the place of is anonymized after {_days(policy.anonymize_after_days)}.")
    sentences.append(
        "A fact that was learned from something erased is erased too."
        if policy.derived_facts is Derived.ERASE
        else "A fact that was learned from something erased stays, and loses its source."
    )
    if not policy.users_share_documents:
        sentences.append("Users keep their documents to themselves: only service and admin keys share them.")
    sentences.append("What a person or an agent stated as lasting is kept until somebody deletes it.")
    return sentences


def _life(windows: Windows) -> str:
    archived = f", then archived for {_days(windows.archive_days)}" if windows.archive else ""
    recoverable = f"can be restored for {_days(windows.grace_days)}" if windows.grace_days else "cannot be restored"
    return f"is active for {_days(windows.active_days)}{archived}, then deleted; it {recoverable}, and is then erased."


def _days(days: float) -> str:
    return "1 day" if days == 1 else f"{days:g} days"


def differences(before: Policy, after: Policy) -> list[tuple[str, str, str]]:
    """What a change changes: the rule, and what it was and would be."""
    old, new = policy_to_record(before), policy_to_record(after)
    rows = [(label, _value(old[name]), _value(new[name])) for name, label in _RULES.items() if old[name] != new[name]]
    for kind, rules in KINDS.items():
        was, becomes = old["kinds"].get(kind), new["kinds"].get(kind)
        if was != becomes:
            rows.append((f"Only for {rules.many}", _windows(was), _windows(becomes)))
    return rows


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    words = {Derived.DETACH: "stay, without their source", Derived.ERASE: "are erased too"}
    return words.get(value) or (f"{value:g}" if isinstance(value, int | float) else str(value))


def _windows(windows: Mapping[str, Any] | None) -> str:
    if not windows:
        return "as all"
    return ", ".join(f"{_RULES[name].lower()}: {_value(value)}" for name, value in windows.items())


def counts_of(
    counts: Mapping[str, Mapping[str, int]], samples: Mapping[str, Sequence[str]] | None = None
) -> list[CountLine]:
    """Moves in the order of a memory's life, each with how many of which kind."""
    lines: list[CountLine] = []
    for move, words in _MOVES.items():
        shown = list((samples or {}).get(move, ()))
        for kind, count in counts.get(move, {}).items():
            lines.append(CountLine(words, KINDS[Kind(kind)].many, count, shown[:3]))
            shown = []
    return lines


def touched_of(touched: Mapping[str, int]) -> list[CountLine]:
    return [CountLine("get other deadlines", KINDS[Kind(kind)].many, count) for kind, count in touched.items()]


def total(counts: Mapping[str, Mapping[str, int]]) -> int:
    return sum(sum(kinds.values()) for kinds in counts.values())


def tables_of(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """What is, or was, in each table, the most telling first; empty ones are left out."""
    known = [(words, counts[table]) for table, words in _TABLES.items() if counts.get(table)]
    return known + [(table, count) for table, count in counts.items() if count and table not in _TABLES]


def receipt_title(receipt: Receipt) -> str:
    return {
        "memories": "Some memories",
        "user": "A person",
        "tenant": "The whole tenant",
        "reset": "Everything, to begin anew",
        "retention": "What was past its time",
    }[receipt.kind]


def findings_of(found: Verification) -> list[VerificationFinding]:
    """What was looked for, and whether it is there, one sentence each."""
    rows = ", ".join(f"{count} {_TABLES.get(table, table)}" for table, count in found.rows.items())
    findings = [
        VerificationFinding(not rows, f"Still in the database: {rows}." if rows else "No row of it is in the database.")
    ]
    if found.ids_in_files is None:
        findings.append(
            VerificationFinding(None, "The files belong to the database server, and cannot be read from here.")
        )
    elif found.ids:
        findings.append(_in_files(found.ids_in_files, found.ids, "id", "ids"))
    if found.samples and found.samples_in_files is not None:
        findings.append(_in_files(found.samples_in_files, found.samples, "piece of its texts", "pieces of its texts"))
    if found.samples_shared:
        pieces = "1 piece is" if found.samples_shared == 1 else f"{found.samples_shared} pieces are"
        findings.append(VerificationFinding(None, f"{pieces} in other memories too, where nothing was erased."))
    if found.name_in_files is not None:
        is_gone = found.name_in_files == 0
        findings.append(VerificationFinding(is_gone, f"The name is {'not ' if is_gone else 'still '}in the files."))
    return findings


def _in_files(found: int, asked: int, one: str, many: str) -> VerificationFinding:
    what = f"The {one}" if asked == 1 else f"{found} of {asked:,} {many}" if found else f"None of {asked:,} {many}"
    if asked == 1:
        return VerificationFinding(not found, f"{what} is {'still' if found else 'not'} in the bytes of the files.")
    return VerificationFinding(not found, f"{what} {'are still' if found else 'is'} in the bytes of the files.")


def mode_sentence(revision: PolicyRevision, is_observing: bool) -> str:
    if not is_observing:
        return "Retention is on: what is old enough is archived, and later deleted."
    if revision.acts_from is None:
        return "Retention is in preview: nothing is deleted yet."
    return (
        f"Retention is in preview until {revision.acts_from:%-d %b %Y}: nothing is deleted yet. Then it turns on. "
        "What the lifecycle API keeps ages from its first day."
    )

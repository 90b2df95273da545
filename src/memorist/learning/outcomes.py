"""What came of reading a conversation, in a line for people. Apart, so that those who only tell of it load nothing."""

from collections import Counter
from collections.abc import Mapping

from memorist.platform.values import Job, JobStatus

EXTRACTING = "extract"
"""The kind of the jobs that look for memories in messages."""

INSTEAD_OF = "instead_of"
"""Where the result of a job says for which language model the local extractor stands in."""


def outcome_of(job: Job) -> str:
    """What came of a job that looks for memories; empty where nothing did yet, and for others."""
    result = job.result
    if job.kind != EXTRACTING or not result:
        return ""
    if INSTEAD_OF in result:
        found = f"{result.get('found', 0)} found by the local extractor instead"
        return f"{found}, to stay" if job.status is JobStatus.DEAD else f"{found}, until {result[INSTEAD_OF]} answers"
    if "skipped" in result:
        return str(result["skipped"])
    reader = {"local": "the local extractor"}.get(str(result.get("extractor")), result.get("extractor"))
    told = [f"{len(result.get('memories', ()))} found by {reader}"]
    if result.get("replaced"):
        told.append(f"{result['replaced']} of the local extractor replaced")
    if result.get("dropped"):
        told.append(told_dropped(result["dropped"]))
    return "; ".join(told)


def told_dropped(dropped: Mapping[str, int]) -> str:
    """Such as "3 dropped (2 excerpt not found, 1 unknown kind)"."""
    reasons = ", ".join(f"{count} {reason}" for reason, count in Counter(dropped).most_common())
    return f"{sum(dropped.values())} dropped ({reasons})"

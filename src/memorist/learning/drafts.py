"""What is found in a conversation, as memories to be written."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from memorist.learning.extractors.kinds import Candidate, Vocabulary, category_of
from memorist.memories import lifecycle
from memorist.memories.values import QUOTES, Draft, Governor
from memorist.platform import access
from memorist.platform.values import Job, Owner, Principal

# What is learned is governed as what somebody writes at the same door.
_GOVERNORS = {
    Vocabulary.COMPANION: Governor.COMPANION,
    Vocabulary.CODING: Governor.CODING_ASSISTANT,
    Vocabulary.FACTS: Governor.AGENT_TOOLS,
}


_SUREST = 0.99
"""What is certain was stated: however sure an extractor says that it is, what it finds retires nothing of that."""


class MessageOrigin(NamedTuple):
    """The message that a memory was found in, where it is stored, its session, and when it was said."""

    message_id: str | None = None
    session: str | None = None
    event_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """For whom something is read, who governs what is found, in whose words, and what it is said to come from."""

    principal: Principal
    governed_by: Governor
    vocabulary: Vocabulary
    source_ref: str | None
    project: str | None = None


def assignment_of(job: Job) -> Assignment:
    vocabulary = Vocabulary(job.payload["vocabulary"])
    return Assignment(
        job.principal,
        Governor(job.payload.get("governed_by") or _GOVERNORS[vocabulary]),
        vocabulary,
        job.payload["source_ref"],
        job.payload["project"],
    )


def owner_of(assignment: Assignment) -> Owner | None:
    """What is learned is its messages' owner's: no other profile of the user is told of it. Only what those learn of
    the user who name no profile, or the one that they have, is of none, and so all profiles'.
    """
    user, agent = assignment.principal.user, assignment.principal.agent
    is_work = assignment.vocabulary is Vocabulary.CODING
    return Owner(user) if user is not None and agent == access.DEFAULT_PROFILE and not is_work else None


def draft_of(found: Candidate, assignment: Assignment, origins: Sequence[MessageOrigin], extractor: str) -> Draft:
    origin = origins[found.source]
    quoted = None if found.quoted is None else origins[found.quoted].message_id
    stored = {
        "message_id": origin.message_id,
        "session_id": origin.session,
        # Whatever becomes of that message, its words are here as well.
        QUOTES: None if quoted is None else [quoted],
    }
    return Draft(
        content=found.content,
        category=category_of(found.found, assignment.vocabulary),
        excerpt=found.excerpt,
        confidence=min(found.confidence, _SUREST),
        relevance=found.confidence if found.importance is None else found.importance,
        meta={
            "extracted_as": str(found.found),
            **{name: value for name, value in (("topic", found.topic), ("about", found.about)) if value},
            lifecycle.EXTRACTOR: extractor,
            # Beside the memory, not as its session: it outlives that, and comes again in others.
            **{name: value for name, value in stored.items() if value is not None},
        },
        source_ref=assignment.source_ref or origin.message_id,
        trust=found.trust,
        project=assignment.project,
        event_time=origin.event_time,
        owner=owner_of(assignment),
        governed_by=assignment.governed_by,
    )

"""Facts that stay true, what is in doubt, what is found in conversations, and the work in the background."""

from collections.abc import Sequence

from memorist.about.values import About
from memorist.facts.service import FactScope
from memorist.facts.values import DoubtStatus, FactVersion, InDoubt
from memorist.learning.service import ExtractedMemories
from memorist.memories.values import Memory, Remembered
from memorist.platform.paging import Page
from memorist.platform.values import Job, JobStatus
from memorist.verbs.kinds import Call, Verb, id_part, reading, told, without_none


def remember_fact(
    content: str, scope: FactScope = FactScope.USER, *, idempotency_key: str | None = None
) -> Verb[Remembered]:
    """Store a fact about the user, or of the agent, and retire what it contradicts; the same one is stored once.

    Raises as `remember` does.
    """
    body = {"content": content, "scope": scope}
    return Verb(
        lambda me: me.core.facts.remember(me.writing(), content, scope, idempotency_key=idempotency_key),
        lambda: Call("POST", "/v1/facts", told(Remembered), body=body, writes=True, idempotency_key=idempotency_key),
    )


def extract(transcript: str, *, session: str | None = None, project: str | None = None) -> Verb[ExtractedMemories]:
    """Store a transcript and what is worth remembering of it; what is stored already is not stored again.

    Where the language model does not answer, the local extractor reads it, and what the model finds later takes its
    place (`jobs`). Raises as `remember` does.
    """
    body = without_none(transcript=transcript, session=session, project=project)
    return Verb(
        lambda me: me.core.extraction.read_transcript(me.writing(), transcript, session=session, project=project),
        lambda: Call("POST", "/v1/records/extract", told(ExtractedMemories), body=body),
    )


def history(memory_id: str) -> Verb[Sequence[FactVersion]]:
    """The facts that replaced each other, oldest first, of which this is one. Raises NotFound or InvalidId."""
    return Verb(
        lambda me: me.core.facts.history(me.principal, memory_id),
        lambda: reading(f"/v1/facts/{id_part('mem', memory_id)}/history", tuple[FactVersion, ...]),
    )


def restore_fact(memory_id: str) -> Verb[Memory]:
    """Make a retired fact active again, beside what took its place. Raises NotFound, Forbidden or Conflict."""
    return Verb(
        lambda me: me.core.facts.restore(me.principal, memory_id),
        lambda: Call("POST", f"/v1/facts/{id_part('mem', memory_id)}/restore", told(Memory)),
    )


def about(person: str | None = None, *, limit: int = 5, written: bool = False) -> Verb[About]:
    """What is known of the user and of all who speak or, with `person`, of who speaks under that name or is named.

    At most `limit` lines of a topic. With `written` a language model writes it down as well. Raises Forbidden,
    InvalidField or NotFound where nothing is known of that person; with `written` LlmNotConfigured or LlmError.
    """
    return Verb(
        lambda me: me.core.profiles.about(me.principal, person, limit=limit, written=written),
        lambda: reading("/v1/about", About, person=person, limit=limit, written=written or None),
    )


def in_doubt(
    *, status: DoubtStatus = DoubtStatus.OPEN, limit: int = 20, cursor: str | None = None
) -> Verb[Page[InDoubt]]:
    """A page of pairs of facts that may contradict each other, or say the same. Raises as `list` does."""
    return Verb(
        lambda me: me.core.facts.in_doubt(me.principal, status=status, limit=limit, cursor=cursor),
        lambda: reading("/v1/facts/in-doubt", Page[InDoubt], status=status, limit=limit, cursor=cursor),
    )


def confirm_doubt(doubt_id: str) -> Verb[InDoubt]:
    """Decide that the newer fact holds: the older one is retired. Raises NotFound, Forbidden or Conflict."""
    return Verb(lambda me: me.core.facts.confirm(me.principal, doubt_id), lambda: _decision(doubt_id, "confirm"))


def refute_doubt(doubt_id: str) -> Verb[InDoubt]:
    """Decide that the older fact holds: the newer one is retired. Raises NotFound, Forbidden or Conflict."""
    return Verb(lambda me: me.core.facts.refute(me.principal, doubt_id), lambda: _decision(doubt_id, "refute"))


def dismiss_doubt(doubt_id: str) -> Verb[InDoubt]:
    """Decide that both facts hold. Raises NotFound, Forbidden or Conflict."""
    return Verb(lambda me: me.core.facts.dismiss(me.principal, doubt_id), lambda: _decision(doubt_id, "dismiss"))


def _decision(doubt_id: str, word: str) -> Call[InDoubt]:
    return Call("POST", f"/v1/facts/in-doubt/{id_part('dbt', doubt_id)}/{word}", told(InDoubt))


def jobs(
    *,
    status: JobStatus | None = None,
    kind: str | None = None,
    limit: int = 20,
    cursor: str | None = None,
) -> Verb[Page[Job]]:
    """A page of what is done in the background, newest first. Raises InvalidField, InvalidCursor or Forbidden."""
    return Verb(
        lambda me: me.core.jobs.list(me.principal, status=status, kind=kind, limit=limit, cursor=cursor),
        lambda: reading("/v1/jobs", Page[Job], status=status, kind=kind, limit=limit, cursor=cursor),
    )


def get_job(job_id: str) -> Verb[Job]:
    """One job. Raises NotFound or InvalidId."""
    return Verb(
        lambda me: me.core.jobs.get(me.principal, job_id), lambda: reading(f"/v1/jobs/{id_part('job', job_id)}", Job)
    )


def retry_job(job_id: str) -> Verb[Job]:
    """Make a job due now; a dead one gets all its attempts again. Raises NotFound, Forbidden or Conflict."""
    return Verb(
        lambda me: me.core.jobs.retry(me.principal, job_id),
        lambda: Call("POST", f"/v1/jobs/{id_part('job', job_id)}/retry", told(Job)),
    )


def drop_job(job_id: str) -> Verb[Job]:
    """Remove a job: what it was to do is not done. Raises NotFound or Forbidden."""
    return Verb(
        lambda me: me.core.jobs.drop(me.principal, job_id),
        lambda: Call("DELETE", f"/v1/jobs/{id_part('job', job_id)}", told(Job)),
    )

"""Facts, doubts and jobs as JSON records, the same at every door."""

from typing import Any

from memorist.facts.values import FactVersion, InDoubt
from memorist.memories.records import event_to_record
from memorist.memories.values import Memory
from memorist.platform.values import Job
from memorist.times import to_iso


def fact_record(memory: Memory) -> dict[str, Any]:
    return {
        "id": memory.id,
        "content": memory.content,
        "status": memory.status,
        "valid_from": to_iso(memory.valid_from) if memory.valid_from else None,
        "valid_to": to_iso(memory.valid_to) if memory.valid_to else None,
        "superseded_by": memory.superseded_by,
        "created_at": to_iso(memory.created_at),
    }


def version_record(version: FactVersion) -> dict[str, Any]:
    return {**fact_record(version.memory), "events": [event_to_record(event) for event in version.events]}


def doubt_record(pair: InDoubt) -> dict[str, Any]:
    doubt = pair.doubt
    return {
        "id": doubt.id,
        "status": doubt.status,
        "reason": doubt.reason,
        "judge": doubt.judge,
        "fact": fact_record(pair.fact),
        "other": fact_record(pair.other),
        "created_at": to_iso(doubt.created_at),
        "updated_at": to_iso(doubt.updated_at),
    }


def job_record(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "kind": job.kind,
        "user": job.user,
        "agent": job.agent,
        "status": job.status,
        "attempts": job.attempts,
        "run_at": to_iso(job.run_at),
        "error": job.error,
        "payload": dict(job.payload),
        "result": None if job.result is None else dict(job.result),
        "created_at": to_iso(job.created_at),
        "updated_at": to_iso(job.updated_at),
    }

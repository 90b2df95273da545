"""Idempotency keys: a retry is answered with what the first request did, and says so."""

from typing import Annotated

from fastapi import Header

from memorist.surfaces.http.texts import Retry

IdempotencyKey = Annotated[
    Retry | None, Header(description="A retry under the same key within 24 hours has no second effect.")
]


def replay_headers(replayed: bool) -> dict[str, str]:
    return {"Idempotency-Replayed": "true"} if replayed else {}

"""The native door to everything at once: extract, export, import, index, erase; and whom a key acts as."""

import time
from collections.abc import Iterator
from itertools import chain
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response, StreamingResponse

from memorist.codec import to_record
from memorist.learning.service import ExtractedMemories
from memorist.learning.transcript_files import short_enough
from memorist.platform import access
from memorist.platform.validation import MAX_BATCH
from memorist.platform.values import Principal
from memorist.surfaces.http.bodies import JsonBody
from memorist.surfaces.http.callers import core_of
from memorist.surfaces.http.erasure import ReceiptRow, begun, told
from memorist.surfaces.http.native import KindName, source
from memorist.surfaces.http.responses import Json
from memorist.surfaces.http.schemas import record_of
from memorist.surfaces.http.texts import EmptyIdentifier, EmptyLine, Identifier, MemoryId, Uploaded
from memorist.tools import Moment
from memorist.transfer.service import ImportReport, chosen

router = APIRouter(prefix="/v1/records", tags=["native"])
whoami = APIRouter(prefix="/v1", tags=["native"])

# So long a request may work before it answers how far it is.
_INDEX_SECONDS = 5.0
_MOST_LINES = 1_000_000
_MOST_BEFORE = 10_000_000
_LINES = "application/x-ndjson"


class NewTranscript(JsonBody):
    transcript: Uploaded = Field(description="A conversation as text or JSON.")
    session: EmptyIdentifier | None = Field(None, description="The conversation's id. Absent: one is made of its text.")
    project: EmptyLine | None = Field(None, description="A path or a name.")


class ExportedLines(JsonBody):
    lines: list[str] = Field(
        max_length=_MOST_LINES, fail_fast=True, description="The first line of an export, and any of the others."
    )


class MemoryIds(JsonBody):
    ids: list[MemoryId] = Field(
        max_length=MAX_BATCH, json_schema_extra={"minItems": 1}, description="The ids of the memories."
    )


class WhoseData(JsonBody):
    user: Identifier | None = Field(None, description="For admin keys: any user. Absent: your own.")
    keys: bool = Field(False, description="Remove the user's API keys too.")


class WaitingRow(BaseModel):
    waiting: int


class ErasedCount(BaseModel):
    erased: int


@whoami.get("/principal", response_model=record_of(Principal), summary="Whom the key acts as")
def read_principal(request: Request) -> Response:
    """The tenant and the role of the key, and the user, agent and session that the request acts for."""
    return Json(to_record(source(request)))


@router.post(
    "/extract", response_model=record_of(ExtractedMemories), summary="Remember what is worth it of a conversation"
)
def extract_records(request: Request, new: NewTranscript) -> Response:
    """It is stored first, then what is found in it; what is stored already is not stored again. `waiting` counts parts
    that the language model could not read now: the local extractor read them, and the model is asked again. `dropped`
    says how much was found and not stored, by the reason.
    """
    found = core_of(request).extraction.read_transcript(
        source(request), short_enough("transcript", new.transcript), session=new.session, project=new.project
    )
    return Json(to_record(found))


@router.get(
    "/export",
    responses={200: {"content": {_LINES: {"schema": {"type": "string"}}}}},
    response_class=Response,
    summary="Export",
)
def export_records(
    request: Request,
    kinds: Annotated[list[KindName] | None, Query(description="Only memories of these kinds.")] = None,
    since: Annotated[Moment | None, Query(description="Only what was stored from this time on.")] = None,
    until: Annotated[Moment | None, Query(description="Only what was stored before this time.")] = None,
) -> Response:
    """Everything that you see, or a part of it, with its events, as lines of JSON. Documents come along where the kind
    `document_chunk` does.
    """
    lines = core_of(request).transfer.export(source(request), chosen(kinds, since, until))
    # The first is made here, so that a refusal has a status.
    return StreamingResponse(_ended(chain([next(lines)], lines)), media_type=_LINES)


@router.post("/import", response_model=record_of(ImportReport), summary="Import")
def import_records(
    request: Request,
    exported: ExportedLines,
    after: Annotated[
        int, Query(ge=0, le=_MOST_BEFORE, description="Lines that other requests sent: errors count from there.")
    ] = 0,
) -> Response:
    """What is there already is left alone, so that it can be repeated. A long export goes in parts, each after the
    first line of the whole; `incomplete` is 1 until the last line comes, which says how many there are.
    """
    report = ImportReport()
    for report in core_of(request).transfer.import_(source(request), exported.lines, after=after):  # noqa: B007
        pass
    return Json(to_record(report))


@router.post("/index", response_model=WaitingRow, summary="Have everything found by meaning")
def finish_index(request: Request) -> Response:
    """Works for a few seconds and answers how many memories of the tenant still wait: ask again until none does."""
    principal = source(request)
    access.require(principal, access.Action.WRITE)
    until = time.monotonic() + _INDEX_SECONDS
    waiting = 0
    for progress in core_of(request).indexer.finish(principal.tenant):
        waiting = progress.waiting
        if time.monotonic() > until:
            break
    return Json({"waiting": waiting})


@router.post("/erase", response_model=ReceiptRow, summary="Erase memories for good")
def erase_records(request: Request, gone: MemoryIds) -> Response:
    """Whatever their state, also from the bytes of the files. Answers with the receipt."""
    return told(request, core_of(request).erasure.erase(source(request), gone.ids))


@router.post("/purge", response_model=ReceiptRow, summary="Erase everything of a user")
def purge_records(request: Request, whose: WhoseData) -> Response:
    """Your own, with every agent, or for admin keys any user's. Answers with the receipt, or 202 with one that is not
    done yet. Not for a key that is bound to an agent (403), unless it is an admin's.
    """
    erasure = core_of(request).erasure
    return begun(request, erasure.purge_user(source(request), whose.user, keys=whose.keys, later=True))


@router.post("/reset", response_model=ErasedCount, summary="Start anew")
def reset_records(request: Request) -> Response:
    """Everything that the caller owns goes for good; with an admin key that acts for nobody, all of the tenant."""
    return Json({"erased": core_of(request).erasure.reset(source(request)).memories})


def _ended(lines: Iterator[str]) -> Iterator[str]:
    return (f"{line}\n" for line in lines)

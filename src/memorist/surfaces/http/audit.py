"""The audit log, for admins: who read, wrote and was refused what, and whether the log is whole."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import Response

from memorist.audit.records import entry_record
from memorist.audit.values import ChainCheck
from memorist.codec import to_record
from memorist.platform.acts import ActKind
from memorist.surfaces.http.callers import caller, core_of
from memorist.surfaces.http.lists import Cursor, Limit, listed
from memorist.surfaces.http.responses import Json
from memorist.surfaces.http.schemas import record_of

router = APIRouter(prefix="/v1/admin/audit", tags=["audit"])


class AuditRow(BaseModel):
    number: int
    at: str
    kind: str
    door: str
    route: str
    outcome: str
    key_id: str | None
    role: str | None
    user: str | None
    agent: str | None
    on_behalf: bool
    ids: list[str]
    times: int
    hash: str


class AuditList(BaseModel):
    data: list[AuditRow]
    next_cursor: str | None
    has_more: bool


@router.get("", response_model=AuditList, summary="The audit log")
def list_audit(
    request: Request,
    kind: Annotated[ActKind | None, Query(description="Only these.")] = None,
    outcome: Annotated[str | None, Query(description="Only these: `ok`, or the code of an error.")] = None,
    route: Annotated[str | None, Query(description="Only these, such as `GET /v1/memories/{memory_id}`.")] = None,
    key: Annotated[str | None, Query(description="Only what was done with the key of this id.")] = None,
    user: Annotated[str | None, Query(description="Only what was done as or for this user.")] = None,
    about: Annotated[str | None, Query(description="Only where the address had this id or name in it.")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Response:
    """Newest first. Names and ids are salted hashes: `user` and `about` look for a name that is known. A page may hold
    fewer than `limit`, even none, and still have a `next_cursor`.
    """
    page = core_of(request).audit.list(
        caller(request, source="admin"),
        kind=kind,
        outcome=outcome,
        route=route,
        key=key,
        user=user,
        about=about,
        limit=limit,
        cursor=cursor,
    )
    return listed(page, entry_record)


@router.get("/verification", response_model=record_of(ChainCheck), summary="Whether the audit log is whole")
def verify_audit(request: Request) -> Response:
    """Reads all of it. `findings` is empty where nothing was changed, removed, inserted or moved; note `number` and
    `hash` elsewhere, to be compared later.
    """
    return Json(to_record(core_of(request).audit.verify(caller(request, source="admin"))))

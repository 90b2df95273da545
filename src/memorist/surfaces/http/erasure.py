"""Receipts of erasures and, for admins, the erasure of a user and of the tenant."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import Response

from memorist.codec import to_record
from memorist.erasure.ledger import receipt_to_record
from memorist.erasure.service import require_confirmed
from memorist.erasure.values import ErasureStatus, Receipt, Verification
from memorist.platform import access
from memorist.platform.values import Principal
from memorist.surfaces.http.callers import caller, core_of
from memorist.surfaces.http.responses import Json, whole
from memorist.surfaces.http.schemas import record_of
from memorist.surfaces.http.texts import Identifier, ReceiptId

router = APIRouter(prefix="/v1", tags=["erasure"])


Confirm = Annotated[str | None, Query(description="What is to be erased, said once more.")]


class ReceiptRow(BaseModel):
    id: str
    tenant: str
    kind: str
    status: str
    asked_by: dict[str, Any]
    subject: str
    salt: str
    started_at: str
    due_at: str
    finished_at: str | None
    counts: dict[str, int]
    verification: dict[str, Any] | None
    remains: list[str]


class ReceiptList(BaseModel):
    data: list[ReceiptRow]


@router.get("/receipts", response_model=ReceiptList, summary="Receipts of erasures")
def list_receipts(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=100, description="How many rows a page has.")] = 20,
    before: Annotated[ReceiptId | None, Query(description="The id of the last receipt of the page before.")] = None,
) -> Response:
    """Newest first: your own or, for admin keys, all of the tenant."""
    receipts = core_of(request).erasure.receipts(_caller(request), limit=limit, before=before)
    return whole(request, receipts) or Json({"data": [receipt_to_record(receipt) for receipt in receipts]})


@router.get("/receipts/{receipt_id}", response_model=ReceiptRow, summary="One receipt")
def read_receipt(request: Request, receipt_id: ReceiptId) -> Response:
    """What was asked and by whom, what was removed from where, what was found afterwards, and what is out of reach."""
    return told(request, core_of(request).erasure.get(_caller(request), receipt_id))


@router.post("/receipts/{receipt_id}/verify", response_model=record_of(Verification), summary="Verify an erasure")
def verify_receipt(request: Request, receipt_id: ReceiptId) -> Response:
    """Look again for what was erased, in the database and in its files' bytes."""
    erasure = core_of(request).erasure
    return Json(to_record(erasure.verifier.verify(erasure.get(_caller(request), receipt_id))))


@router.delete("/admin/users/{user}", response_model=ReceiptRow, summary="Erase a user")
def delete_user(request: Request, user: Identifier, confirm: Confirm = None) -> Response:
    """Everything of the user, API keys too, at once and for good; for admin keys. Answers with the receipt, or 202 with
    one that is not done yet. Whoever erases themselves gives their own name as `confirm`.
    """
    principal = _caller(request)
    access.require(principal, access.Action.ADMINISTER)
    if user == principal.user:
        require_confirmed(confirm, user, "your own name")
    return begun(request, core_of(request).erasure.purge_user(principal, user, keys=True, later=True))


@router.delete("/admin/tenant", response_model=ReceiptRow, summary="Erase the tenant")
def delete_tenant(
    request: Request,
    at_once: Annotated[bool, Query(description="Now, instead of in 30 days.")] = False,
    confirm: Confirm = None,
) -> Response:
    """Everything of the tenant, for admin keys; `confirm` is its name. All keys end now, the calling one too; the
    operator has the receipt.
    """
    erasure = core_of(request).erasure
    return begun(request, erasure.delete_tenant(_caller(request), confirm=confirm or "", at_once=at_once, later=True))


def told(request: Request, receipt: Receipt) -> Response:
    """A receipt as JSON."""
    return whole(request, receipt) or Json(receipt_to_record(receipt))


def begun(request: Request, receipt: Receipt) -> Response:
    """The receipt of what was just asked for; 202 where it is still being worked on."""
    is_running = receipt.status in (ErasureStatus.RUNNING, ErasureStatus.SCRUBBING)
    status, headers = (202, {"Location": f"/v1/receipts/{receipt.id}"}) if is_running else (200, None)
    return whole(request, receipt, status, headers) or Json(receipt_to_record(receipt), status, headers)


def _caller(request: Request) -> Principal:
    return caller(request, source="http")

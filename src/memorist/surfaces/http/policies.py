"""Retention policies, for admins: read, change (with a dry run first), and see what the sweeper does or would do."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request
from pydantic import BaseModel, WithJsonSchema
from starlette.responses import Response

from memorist.errors import InvalidField
from memorist.memories.policies import MAX_DAYS, change_to_record, revision_to_record
from memorist.memories.policy import Derived, Mode
from memorist.memories.sweeper import Sweep
from memorist.memories.values import Kind
from memorist.platform import access
from memorist.platform.values import Principal
from memorist.surfaces.http.callers import caller, core_of
from memorist.surfaces.http.responses import Json, whole
from memorist.surfaces.http.schemas import record_of

router = APIRouter(prefix="/v1/admin", tags=["retention"])


_DAYS = {"type": "number", "minimum": 0, "maximum": MAX_DAYS}
_WINDOWS = {"active_days": _DAYS, "archive": {"type": "boolean"}, "archive_days": _DAYS, "grace_days": _DAYS}
_KIND = {"type": ["object", "null"], "properties": _WINDOWS, "additionalProperties": False}
_CHANGES = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "mode": {"enum": [*Mode]},
        **_WINDOWS,
        "kinds": {"type": "object", "properties": dict.fromkeys(Kind, _KIND), "additionalProperties": False},
        "anonymize_after_days": _DAYS,
        "derived_facts": {"enum": [*Derived]},
        "users_share_documents": {"type": "boolean"},
        "dry_run": {"type": "boolean"},
    },
}


class PolicyRules(BaseModel):
    mode: str
    active_days: float
    archive: bool
    archive_days: float
    grace_days: float
    kinds: dict[str, dict[str, Any]]
    anonymize_after_days: float
    derived_facts: str
    users_share_documents: bool


class PolicyAnswer(PolicyRules):
    revision: int
    changed_at: str | None
    changed_by: str | None
    acts_from: str | None
    history: list[dict[str, Any]]


class PolicyChanged(PolicyRules):
    revision: int
    dry_run: bool
    touched: dict[str, int]
    due: dict[str, dict[str, int]]
    pending: bool


@router.get("/policy", response_model=PolicyAnswer, summary="The retention policy")
def read_policy(request: Request) -> Response:
    """What is in force, and the last 20 changes. In the mode `auto`, a new tenant observes until `acts_from`."""
    core, principal = core_of(request), _caller(request)
    revision = core.policies.get(principal)
    history = [revision_to_record(one) for one in core.policies.history(principal)]
    return whole(request, revision) or Json({**revision_to_record(revision), "history": history})


@router.put("/policy", response_model=PolicyChanged, summary="Change the retention policy")
def change_policy(
    request: Request,
    changes: Annotated[dict[str, Any], WithJsonSchema(_CHANGES), Body(description="The rules to change.")],
    dry_run: Annotated[bool, Query(description="Only say what the change would touch.")] = False,
) -> Response:
    """Rules that are not named stay. `touched` counts the rows, by kind, whose deadlines move; `due` those that are
    then due, by move and kind. `dry_run`, here or in the body, says so and changes nothing.
    """
    only_told = changes.pop("dry_run", False)
    if not isinstance(only_told, bool):
        raise InvalidField.of("dry_run", "must be true or false.")
    dry_run = only_told or dry_run
    change = core_of(request).policies.change(_caller(request), changes, dry_run=dry_run)
    return whole(request, change) or Json(change_to_record(change))


@router.get("/retention/report", summary="What the sweeper does, or would do")
def retention_report(request: Request) -> Response:
    """The last sweep: what it did (`done`), and what is due and was left since the policy observes (`due`), by move and
    kind, with the ids of a few.
    """
    return Json(core_of(request).sweeper.report(_caller(request)))


@router.post("/retention/sweep", response_model=record_of(Sweep), summary="Sweep now")
def sweep_now(
    request: Request,
    dry_run: Annotated[bool, Query(description="Only say what is due.")] = False,
) -> Response:
    """Do what time asks for in the tenant, once."""
    core, principal = core_of(request), _caller(request)
    access.require(principal, access.Action.ADMINISTER)
    sweep = core.sweeper.dry_run if dry_run else core.sweeper.sweep
    return Json(sweep(principal.tenant).to_record())


def _caller(request: Request) -> Principal:
    return caller(request, source="admin")

"""Tokens of users for pages in browsers, so that no key of the tenant is in a page."""

from datetime import timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from memorist.codec import to_record
from memorist.platform.user_tokens import LIFETIME
from memorist.platform.values import TokenRights, UserToken
from memorist.surfaces.http.bodies import JsonBody
from memorist.surfaces.http.callers import caller, core_of
from memorist.surfaces.http.responses import Json
from memorist.surfaces.http.schemas import record_of
from memorist.surfaces.http.texts import Identifier

router = APIRouter(prefix="/v1/tokens", tags=["tokens"])

_SOURCE = "tokens"


class NewToken(JsonBody):
    user: Identifier = Field(description="The user that the token stands for.")
    agent: Identifier | None = Field(
        None, description="The agent (profile) that it is bound to. Absent: the key's, or none."
    )
    rights: Literal["read", "write"] = Field("write", description="What its holder may do; who writes also reads.")
    lifetime: float = Field(
        LIFETIME.total_seconds(), allow_inf_nan=False, ge=60, le=86400, description="How long it lives, in seconds."
    )


class RevokedTokens(BaseModel):
    revoked: int


@router.post("", status_code=201, response_model=record_of(UserToken), summary="Make a token for a user")
def create_token(request: Request, new: NewToken) -> Response:
    """For service and admin keys. The token is shown this once, and ends with its time, with the key that made it, and
    when the user is erased.
    """
    made = core_of(request).user_tokens.create(
        caller(request, source=_SOURCE),
        new.user,
        agent=new.agent,
        rights=TokenRights(new.rights),
        lifetime=timedelta(seconds=new.lifetime),
    )
    return Json(to_record(made), 201, {"Cache-Control": "no-store"})


@router.delete("", response_model=RevokedTokens, summary="Revoke the tokens of a user")
def revoke_tokens(request: Request, user: Annotated[Identifier, Query(description="Whose tokens end.")]) -> Response:
    """All of them, with the next request in every process; for service and admin keys."""
    return Json({"revoked": core_of(request).user_tokens.revoke(caller(request, source=_SOURCE), user)})

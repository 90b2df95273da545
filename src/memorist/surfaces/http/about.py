"""What is known of a person."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import PlainTextResponse, Response

from memorist.about.text import fenced_about
from memorist.about.values import About
from memorist.codec import to_record
from memorist.surfaces.http.callers import caller, core_of
from memorist.surfaces.http.responses import Json
from memorist.surfaces.http.schemas import record_of

router = APIRouter(prefix="/v1", tags=["facts"])


@router.get(
    "/about",
    response_model=record_of(About),
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    summary="What is known of a person",
)
def read_about(
    request: Request,
    person: Annotated[str | None, Query(description="Only who speaks under this name, or is named so.")] = None,
    limit: Annotated[int, Query(ge=1, le=100, description="Most lines of a topic.")] = 5,
) -> Response:
    """The current facts of the user in a fixed order, at most `limit` of a topic; who and what they name; what changed
    in the last 30 days; what is in doubt. As a fenced block for a prompt where `text/plain` is accepted.
    """
    about = core_of(request).profiles.about(caller(request, source="facts"), person, limit=limit)
    if "text/plain" in request.headers.get("accept", ""):
        return PlainTextResponse(fenced_about(about))
    return Json(to_record(about))

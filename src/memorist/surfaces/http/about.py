"""What is known of a person, and what an agent is given of it."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import PlainTextResponse, Response

from memorist.about.text import fenced_about
from memorist.about.values import About
from memorist.codec import to_record
from memorist.composing.values import LEAST_TOKENS, MOST_TOKENS, Composed
from memorist.surfaces.http.bodies import JsonBody
from memorist.surfaces.http.callers import caller, core_of
from memorist.surfaces.http.responses import Json
from memorist.surfaces.http.schemas import record_of
from memorist.surfaces.http.texts import EmptyQuery, Line, Wanted, Whole, within

router = APIRouter(prefix="/v1", tags=["facts"])


class ContextQuestion(JsonBody):
    question: EmptyQuery = Field("", description="What the agent is asked; empty before it is asked anything.")
    project: Wanted | None = Field(None, description="With what a coding assistant learned in this folder.")
    budget_tokens: Annotated[Whole, within(LEAST_TOKENS, MOST_TOKENS)] | None = Field(
        None, description="Most tokens; by default `context_tokens` of the settings."
    )


@router.get(
    "/about",
    response_model=record_of(About),
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    summary="What is known of a person",
)
def read_about(
    request: Request,
    person: Annotated[Line | None, Query(description="Only who speaks under this name, or is named so.")] = None,
    limit: Annotated[int, Query(ge=1, le=100, description="Most lines of a topic.")] = 5,
    written: Annotated[bool, Query(description="Let the configured language model write it down as well.")] = False,
) -> Response:
    """The current facts of the user in a fixed order, at most `limit` of a topic; who and what they name; what changed
    in the last 30 days; what is in doubt. As a fenced block for a prompt where `text/plain` is accepted.
    """
    about = core_of(request).profiles.about(caller(request, source="facts"), person, limit=limit, written=written)
    if "text/plain" in request.headers.get("accept", ""):
        return PlainTextResponse(fenced_about(about))
    return Json(to_record(about))


@router.post(
    "/context",
    response_model=record_of(Composed),
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    summary="What an agent is given",
)
def read_context(request: Request, wanted: ContextQuestion) -> Response:
    """What is known of the user, what changed lately, what is in doubt and what fits the question: one text, each line
    with its date, nothing twice, within the budget. As the fenced block alone where `text/plain` is accepted.
    """
    composed = core_of(request).composer.compose(
        caller(request, source="facts"), wanted.question, project=wanted.project, budget_tokens=wanted.budget_tokens
    )
    if "text/plain" in request.headers.get("accept", ""):
        return PlainTextResponse(composed.fenced)
    return Json(to_record(composed))

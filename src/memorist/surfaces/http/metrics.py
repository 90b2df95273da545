"""What Prometheus reads."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from memorist.errors import NotFound
from memorist.platform import access
from memorist.surfaces.http.callers import FOR_ANYBODY, KNOWN, core_of
from memorist.surfaces.http.mcp import require_known_host

router = APIRouter(tags=["health"])


@router.get(
    "/metrics",
    summary="What is counted, for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    openapi_extra={"security": [{}, {"apiKey": []}]},  # Some may read it without a key.
)
def metrics(request: Request) -> Response:
    """The text format of Prometheus, of which `docs/howto/watch-a-server.md` has every metric. Without a key for this
    machine alone, unless the setting `metrics` says otherwise; elsewhere an admin's key is needed.
    """
    state = request.scope["state"]
    holder = state.get(KNOWN)
    if holder is not None:
        access.require(holder, access.Action.ADMINISTER)
    elif not state.get(FOR_ANYBODY):
        # A page in a browser on this machine may ask under a name of its own.
        require_known_host(request, frozenset())
    core = core_of(request)
    found = core.watch.exposition(core.census.values)
    if found is None:
        raise NotFound("Nothing is counted here: MEMORIST_METRICS is off.")
    text, media_type = found
    return Response(text, media_type=media_type)

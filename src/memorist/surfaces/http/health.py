"""Whether the process lives, and whether it can serve."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from memorist.core import Core
from memorist.errors import StoreError
from memorist.secrets.logs import redacting_logger
from memorist.surfaces.http.callers import core_of
from memorist.surfaces.http.responses import Json
from memorist.version import __version__

_log = redacting_logger(__name__)

router = APIRouter(tags=["health"])


@router.get("/healthz", summary="Is the process alive?")
async def health() -> Response:
    """Answered on the event loop: it must not wait behind requests that wait for the database."""
    return Json({"status": "ok", "version": __version__})


@router.get("/readyz", summary="Can it serve?")
def readiness(request: Request) -> Response:
    """Asks the database; 503 with the kind of trouble where it does not answer, of which the log has more. `warnings`
    say what keeps nobody from serving, such as backups that fail or a disk that is nearly full, or only some: on Citus,
    nodes that do not answer."""
    core = core_of(request)
    try:
        core.store.ping()
    except StoreError as error:
        # Anybody may ask: where the database is stays out of the answer.
        _log.warning("not ready: %s", error.message)
        raise type(error) from error
    troubles = [_trouble_of(core), core.backups.trouble() if core.backups is not None else ""]
    warnings = [trouble for trouble in troubles if trouble]
    return Json({"status": "ready", **({"warnings": warnings} if warnings else {})})


def _trouble_of(core: Core) -> str:
    try:
        return core.store.trouble()
    except StoreError as error:
        _log.warning("the database does not say whether all of it works: %s", error.message)
        return "The database does not say whether all of it works: the log has more."

"""Versions of a memory as ETags: strong, quoted, and compared as RFC 9110 says."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from memorist.errors import InvalidField
from memorist.model import Memory
from memorist.surfaces.http.responses import Json


def versioned(body: Any, memory: Memory, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response that says which version of the memory it shows."""
    return Json(body, status, {"etag": _etag(memory), **(headers or {})})


def unchanged(request: Request, memory: Memory) -> Response | None:
    """304 where the request says that it already has this version."""
    header = request.headers.get("if-none-match")
    if header is None or _etag(memory) not in _tags(header):
        return None
    return Response(status_code=304, headers={"etag": _etag(memory)})


def expected_version(if_match: str | None) -> str | None:
    """The version that If-Match names; None where any will do. Raises InvalidField."""
    if if_match is None or if_match.strip() == "*":
        return None
    tags = _tags(if_match)
    if len(tags) != 1 or not tags[0].startswith('"') or not tags[0].endswith('"') or len(tags[0]) < 3:
        raise InvalidField('If-Match takes the ETag of the memory, such as "5f3c2a".', field="If-Match")
    return tags[0].strip('"')


def _etag(memory: Memory) -> str:
    return f'"{memory.version}"'


def _tags(header: str) -> list[str]:
    return [tag.strip().removeprefix("W/") for tag in header.split(",") if tag.strip()]

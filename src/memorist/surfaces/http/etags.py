"""Versions of a memory as ETags: strong, and quoted."""

import re
from typing import Annotated, Any

from fastapi import Header
from starlette.requests import Request
from starlette.responses import Response

from memorist.errors import InvalidField, StaleVersion
from memorist.memories.values import Memory
from memorist.surfaces.http.responses import Json
from memorist.surfaces.http.texts import ETag

IfMatch = Annotated[ETag | None, Header(description="The ETag that was read: the change applies to that version only.")]


def versioned(body: Any, memory: Memory, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response that says which version of the memory it shows."""
    return Json(body, status, {"etag": _etag(memory), **(headers or {})})


def unchanged(request: Request, memory: Memory) -> Response | None:
    """304 where the request says that it already has this version."""
    header = request.headers.get("if-none-match")
    if header is None:
        return None
    # Here a weak tag is as good as a strong one, and `*` is any version.
    tags = [tag.strip().removeprefix("W/") for tag in header.split(",")]
    if _etag(memory) not in tags and "*" not in tags:
        return None
    return Response(status_code=304, headers={"etag": _etag(memory)})


def expected_version(if_match: str | None) -> str | None:
    """The version that If-Match names; None where any will do. Raises InvalidField or, for a weak tag, StaleVersion."""
    if if_match is None or if_match.strip() == "*":
        return None
    if re.fullmatch(r'\s*W/"[^"]*"\s*', if_match):
        raise StaleVersion("A weak ETag never matches here. Send the one that the server gave.")
    found = re.fullmatch(r'\s*"([^"]+)"\s*', if_match)
    if found is None:
        raise InvalidField('If-Match takes one ETag, that of the memory, such as "5f3c2a".', field="If-Match")
    return found[1]


def _etag(memory: Memory) -> str:
    return f'"{memory.version}"'

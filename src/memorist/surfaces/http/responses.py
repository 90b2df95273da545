"""JSON responses. One encoder serves all of them: the framework builds a new one for each."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from memorist.codec import to_record

WHOLE = "application/vnd.memorist+json"
"""Asked for by `Accept`: the model's own value, every field of it, instead of what the API at hand shows."""

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class Json(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return _encode(content).encode()


def whole(request: Request, value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response | None:
    """The value itself, where the request asks for that; None where it does not."""
    if WHOLE not in request.headers.get("accept", ""):
        return None
    return Json(to_record(value), status, headers, media_type=WHOLE)

"""JSON responses. One encoder serves all of them: the framework builds a new one for each."""

import json
from typing import Any

from starlette.responses import Response

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class Json(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return _encode(content).encode()

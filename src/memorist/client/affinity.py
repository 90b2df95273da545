"""Where a proxy finds the index of a user: what the server says of it goes along with the next request."""

import re

import httpx2

_HEADER = "X-Memorist-Affinity"
_HINT = re.compile(r"[0-9a-f]{16}")


class Affinity:
    """Of one client. Nothing but speed depends on it, so that the last answer's word holds."""

    def __init__(self) -> None:
        self._hint: str | None = None

    def send(self, request: httpx2.Request) -> None:
        if self._hint is not None:
            request.headers[_HEADER] = self._hint

    def take(self, response: httpx2.Response) -> None:
        hint = response.headers.get(_HEADER, "")
        if _HINT.fullmatch(hint):
            self._hint = hint

    async def send_awaited(self, request: httpx2.Request) -> None:
        self.send(request)

    async def take_awaited(self, response: httpx2.Response) -> None:
        self.take(response)

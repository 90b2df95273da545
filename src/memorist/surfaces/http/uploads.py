"""Bodies that may be large: tool outputs, transcripts and imports.

They are gathered on disk, and taken in a few at a time.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from tempfile import SpooledTemporaryFile

from starlette.types import Message, Receive, Scope

from memorist.errors import PayloadTooLarge

_PATHS = re.compile(r"/v1/sessions/.+/tool-outputs|/v1/records/(?:extract|import)|/api/memory/extract")
_IN_MEMORY = 1 << 20
_AT_ONCE = 2
"""Large bodies that are in memory at a time; others wait on disk."""


class Uploads:
    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._turn = asyncio.Semaphore(_AT_ONCE)

    def accepts(self, scope: Scope) -> bool:
        """Whether a large body is taken here: only on some paths."""
        return scope["method"] == "POST" and _PATHS.fullmatch(scope["path"]) is not None

    @asynccontextmanager
    async def gathered(self, receive: Receive) -> AsyncIterator[Receive]:
        """The request with its body in one piece. Raises PayloadTooLarge."""
        with SpooledTemporaryFile(max_size=_IN_MEMORY) as file:
            last = await self._gather(receive, file)
            async with self._turn:
                file.seek(0)
                messages = [last if last["type"] != "http.request" else {"type": "http.request", "body": file.read()}]
                file.close()

                async def told() -> Message:
                    return messages.pop() if messages else await receive()

                yield told

    async def _gather(self, receive: Receive, file: "SpooledTemporaryFile[bytes]") -> Message:
        """Write the body to a file as it comes. Returns the last message: a part of it, or that the caller is gone."""
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return message
            file.write(message.get("body", b""))
            if file.tell() > self.limit:
                raise PayloadTooLarge
            if not message.get("more_body", False):
                return message

"""MCP on stdin and stdout, for one client: every request is answered, also a broken one, and the last."""

import os
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO, NoReturn

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from memorist.surfaces.mcp import messages
from memorist.surfaces.mcp.server import ServedMemory, new_server

_LAST_ANSWERS_S = 60
"""How long what is asked last may take, once stdin has ended."""


def serve_stdio(memory: ServedMemory, close: Callable[[], None]) -> None:
    """Serve one client until it closes stdin and all is answered, or until SIGTERM or SIGINT; then `close`."""

    def stop(code: int) -> NoReturn:
        # The thread that reads stdin waits for a line that may never come, so the process does not end by itself.
        close()
        os._exit(code)

    async def serve() -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async with anyio.create_task_group() as tasks:

                async def wait_for_signal() -> None:
                    async for received in signals:
                        stop(0 if received is signal.SIGTERM else 128 + received)

                tasks.start_soon(wait_for_signal)
                await _Client(*_claimed()).serve(memory)
                tasks.cancel_scope.cancel()

    try:
        anyio.run(serve)
    finally:
        close()


class _Client:
    """Who writes to our stdin and reads our stdout, and which of its requests are not answered yet."""

    def __init__(self, stdin: BinaryIO, stdout: BinaryIO) -> None:
        self._stdin = anyio.wrap_file(stdin)
        self._stdout = anyio.wrap_file(stdout)
        self._is_there = True
        self._unanswered: Counter[int | str] = Counter()
        self._settled = anyio.Event()

    async def serve(self, memory: ServedMemory) -> None:
        server = new_server(lambda _: memory)
        to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
        outgoing, answers = anyio.create_memory_object_stream[SessionMessage]()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, to_server, outgoing.clone())
            tasks.start_soon(self._write, answers)
            await server.run(incoming, outgoing, server.create_initialization_options())

    async def _read(
        self,
        to_server: MemoryObjectSendStream[SessionMessage | Exception],
        outgoing: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        async with to_server, outgoing:
            async for line in self._stdin:
                if not line.strip():
                    continue
                try:
                    message = messages.parse(line)
                except messages.RefusedMessage as refused:
                    await outgoing.send(SessionMessage(types.JSONRPCError.model_validate(refused.answer)))
                    continue
                if messages.is_answer(message):
                    continue  # Nothing is ever asked of the client.
                self._note(message)
                await to_server.send(SessionMessage(types.jsonrpc_message_adapter.validate_python(message)))
            # Whatever is still at work when the server's stream ends is cancelled, though it may have written.
            with anyio.move_on_after(_LAST_ANSWERS_S):
                while self._unanswered:
                    self._settled = anyio.Event()
                    await self._settled.wait()

    async def _write(self, answers: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async for answer in answers:
            line = answer.message.model_dump_json(by_alias=True, exclude_unset=True)
            if self._is_there:
                self._is_there = False
                with suppress(BrokenPipeError):
                    await self._stdout.write(f"{line}\n".encode())
                    await self._stdout.flush()
                    self._is_there = True
            self._settle(getattr(answer.message, "id", None))

    def _note(self, message: dict[str, Any]) -> None:
        if "id" in message:
            self._unanswered[message["id"]] += 1
        elif message["method"] == "notifications/cancelled":
            self._settle((message.get("params") or {}).get("requestId"))  # It gets no answer.

    def _settle(self, request_id: object) -> None:
        if isinstance(request_id, int | str) and self._unanswered[request_id] > 0:
            self._unanswered[request_id] -= 1
        self._unanswered = +self._unanswered
        self._settled.set()


def _claimed() -> tuple[BinaryIO, BinaryIO]:
    """Stdin and stdout, for the protocol alone: what else is printed goes to stderr, and who reads finds an end."""
    stdin, stdout = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(stdin, "rb"), os.fdopen(stdout, "wb")

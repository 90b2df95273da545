"""`python -m memorist_bench.talking_llm`: a server that answers as OpenAI's does, after a while and word by word.

Where the last message begins with `recall:` and tools are offered, it first asks for one, as a model does that wants to
know more; where it begins with `at length:`, the answer is longer. Connections are kept, as those of the real ones are.
"""

import asyncio
import json
from typing import Any

THINKS_S = 0.1
"""How long it takes to the first word."""

RECALL = "recall:"
AT_LENGTH = "at length:"
_FEW_WORDS = 3
_MANY_WORDS = 200
_WORD_S = 0.05


def answer_s() -> float:
    """How long a long answer takes."""
    return THINKS_S + _MANY_WORDS * _WORD_S


def is_first_answer(line: bytes) -> bool:
    """Whether a line of its stream holds the first word of an answer."""
    return b'"content": "word0 "' in line


async def serve() -> None:
    server = await asyncio.start_server(_talk, "127.0.0.1", 0, backlog=512)
    print(f"serving on http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


async def _talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
            body = json.loads(await reader.readexactly(length))
            await _answer(writer, body)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _answer(writer: asyncio.StreamWriter, body: dict[str, Any]) -> None:
    last = body["messages"][-1]
    head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    writer.write(head.encode())
    await asyncio.sleep(THINKS_S)
    if last["role"] == "user" and last["content"].startswith(RECALL) and body.get("tools"):
        question = json.dumps({"query": last["content"].removeprefix(RECALL)})
        call = {"index": 0, "id": "call_0", "type": "function", "function": {"name": "recall", "arguments": question}}
        await _send(writer, {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
        reason = "tool_calls"
    else:
        words = _MANY_WORDS if str(last["content"]).startswith(AT_LENGTH) else _FEW_WORDS
        for number in range(words):
            await _send(writer, {"choices": [{"index": 0, "delta": {"content": f"word{number} "}}]})
            await asyncio.sleep(_WORD_S)
        reason = "stop"
    await _send(writer, {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    await _send(writer, {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}})
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _send(writer: asyncio.StreamWriter, chunk: dict[str, Any]) -> None:
    event = f"data: {json.dumps(chunk)}\n\n".encode()
    writer.write(b"%x\r\n%s\r\n" % (len(event), event))
    await writer.drain()


if __name__ == "__main__":
    asyncio.run(serve())

"""A language model on loopback that says what it is told to, as Anthropic or OpenAI would, streamed or not."""

import json
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tests.support.scripted_http import Body, Reply, Script

Call = tuple[str, dict[str, Any]]


def says(
    text: str,
    calls: Sequence[Call] = (),
    *,
    pause: float = 0.0,
    hurry: threading.Event | None = None,
    cut_after: int | None = None,
    is_long: bool = False,
    counted: Callable[[Body], int] = lambda _: 100,
) -> Script:
    """Answer with a text, word by word, and then call tools. `cut_after` so many words the connection breaks.
    `counted` is what the model counts as the tokens of what it was asked. With `is_long` it stops because it may write
    no more.

    A slow model makes a `pause` after each word, until it is told to `hurry`.
    """
    hurried = hurry or threading.Event()

    def script(reply: Reply, body: Body) -> None:
        is_anthropic = reply.handler.path.endswith("/messages")
        if not body.get("stream"):
            reply.json(_whole_anthropic(text, calls) if is_anthropic else _whole_openai(text, calls))
            return
        words = re.findall(r"\S*\s|\S+$", text)
        events = (_anthropic if is_anthropic else _openai)(words, calls, is_long)
        _begin(reply)
        for number, event in enumerate(events):
            event = event.replace('put_tokens": 100', f'put_tokens": {counted(body)}')
            event = event.replace('"prompt_tokens": 100', f'"prompt_tokens": {counted(body)}')
            if cut_after is not None and number > cut_after:
                return
            reply.handler.wfile.write(event.encode())
            reply.handler.wfile.flush()
            if pause:
                hurried.wait(pause)

    return script


def by_question(answers: Callable[[str], Script]) -> Script:
    """Choose the answer by the last thing that the user said."""

    def script(reply: Reply, body: Body) -> None:
        asked = [message for message in body["messages"] if message["role"] == "user"]
        content = asked[-1]["content"] if asked else ""
        answers(content if isinstance(content, str) else json.dumps(content))(reply, body)

    return script


def fails(status: int, **headers: str) -> Script:
    return lambda reply, _: reply.json({"error": {"message": "no"}}, status, **headers)


def _begin(reply: Reply) -> None:
    reply.handler.send_response(200)
    reply.handler.send_header("Content-Type", "text/event-stream")
    reply.handler.send_header("Connection", "close")
    reply.handler.end_headers()


def _openai(words: Sequence[str], calls: Sequence[Call], is_long: bool) -> list[str]:
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"content": word}}]} for word in words]
    for number, (name, arguments) in enumerate(calls):
        called = {"index": number, "id": f"call_{number}", "type": "function"}
        first = {"name": name, "arguments": ""}
        chunks.append({"choices": [{"index": 0, "delta": {"tool_calls": [{**called, "function": first}]}}]})
        rest = {"index": number, "function": {"arguments": json.dumps(arguments)}}
        chunks.append({"choices": [{"index": 0, "delta": {"tool_calls": [rest]}}]})
    reason = "length" if is_long else "tool_calls" if calls else "stop"
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    chunks.append({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}})
    return [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]


def _anthropic(words: Sequence[str], calls: Sequence[Call], is_long: bool) -> list[str]:
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {"usage": {"input_tokens": 100}}}]
    if words:
        events.append({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        for word in words:
            delta = {"type": "text_delta", "text": word}
            events.append({"type": "content_block_delta", "index": 0, "delta": delta})
        events.append({"type": "content_block_stop", "index": 0})
    for number, (name, arguments) in enumerate(calls, start=1):
        block = {"type": "tool_use", "id": f"call_{number}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        events.append({"type": "content_block_start", "index": number, "content_block": block})
        events.append({"type": "content_block_delta", "index": number, "delta": delta})
        events.append({"type": "content_block_stop", "index": number})
    stop = {"stop_reason": "max_tokens" if is_long else "tool_use" if calls else "end_turn"}
    events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 10}})
    events.append({"type": "message_stop"})
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]


def _whole_openai(text: str, calls: Sequence[Call]) -> Body:
    called = [
        {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for number, (name, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text} | ({"tool_calls": called} if called else {})
    return {
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    }


def _whole_anthropic(text: str, calls: Sequence[Call]) -> Body:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    blocks += [
        {"type": "tool_use", "id": f"call_{number}", "name": name, "input": arguments}
        for number, (name, arguments) in enumerate(calls)
    ]
    return {
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn",
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }

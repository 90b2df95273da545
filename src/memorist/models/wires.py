"""How two families of language models are spoken to: Anthropic's Messages and OpenAI's Chat Completions. No I/O.

A wire writes a request as JSON, reads an answer from JSON, and puts an answer together from the events of a stream.
What does not have the shape that the family documents raises LlmMalformed.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from memorist.errors import LlmMalformed, LlmUnavailable
from memorist.models.values import LlmMessage, LlmRequest, Stop, ToolCall

# What reading an answer of another shape comes to: a number may be infinite, and lists may stand in lists for ever.
_MISSHAPEN = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


@dataclass(slots=True)
class Reply:
    """An answer as far as it has come."""

    text: str = ""
    stop: Stop = Stop.DONE
    input_tokens: int = 0
    output_tokens: int = 0
    is_complete: bool = False
    calls: dict[int, "_Call"] = field(default_factory=dict)

    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(ToolCall(call.id, call.name, _arguments(call.arguments)) for _, call in sorted(self.calls.items()))


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: str = ""


class Wire(Protocol):
    path: str

    def headers(self, api_key: str) -> dict[str, str]: ...

    def body(self, model: str, request: LlmRequest, *, stream: bool) -> dict[str, Any]: ...

    def read(self, answer: Any) -> Reply:
        """Raises LlmMalformed."""
        ...

    def take(self, reply: Reply, event: Any) -> str:
        """Add an event of a stream to the reply. Returns the piece of text it brought. Raises LlmMalformed."""
        ...


class AnthropicWire:
    """`POST /v1/messages`."""

    path = "/v1/messages"

    def headers(self, api_key: str) -> dict[str, str]:
        return {"anthropic-version": "2023-06-01"} | ({"x-api-key": api_key} if api_key else {})

    def body(self, model: str, request: LlmRequest, *, stream: bool) -> dict[str, Any]:
        body: dict[str, Any] = {"model": model, "max_tokens": request.max_tokens, "messages": []}
        for message in request.messages:
            role, blocks = _anthropic_blocks(message)
            # The results of several tool calls are one message there.
            if body["messages"] and body["messages"][-1]["role"] == role:
                body["messages"][-1]["content"] += blocks
            else:
                body["messages"].append({"role": role, "content": blocks})
        if request.system:
            body["system"] = request.system
        if request.tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
                for tool in request.tools
            ]
            # It takes no calls and results in the messages without the tools that they are of.
            if not request.may_call:
                body["tool_choice"] = {"type": "none"}
        if request.schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": dict(request.schema)}}
        return body | _sampling(request) | ({"stream": True} if stream else {})

    def read(self, answer: Any) -> Reply:
        try:
            reply = Reply(stop=_ANTHROPIC_STOPS.get(answer["stop_reason"], Stop.DONE), is_complete=True)
            for index, block in enumerate(answer["content"]):
                if block["type"] == "text":
                    reply.text += _text(block["text"])
                elif block["type"] == "tool_use":
                    reply.calls[index] = _Call(_text(block["id"]), _text(block["name"]), json.dumps(block["input"]))
            self._count(reply, answer["usage"])
        except _MISSHAPEN as error:
            raise LlmMalformed from error
        return reply

    def take(self, reply: Reply, event: Any) -> str:
        try:
            match event["type"]:
                case "message_start":
                    self._count(reply, event["message"]["usage"])
                case "content_block_start" if event["content_block"]["type"] == "tool_use":
                    block = event["content_block"]
                    reply.calls[event["index"]] = _Call(_text(block["id"]), _text(block["name"]))
                case "content_block_delta" if event["delta"]["type"] == "text_delta":
                    piece = _text(event["delta"]["text"])
                    reply.text += piece
                    return piece
                case "content_block_delta" if event["delta"]["type"] == "input_json_delta":
                    reply.calls[event["index"]].arguments += _text(event["delta"]["partial_json"])
                case "message_delta":
                    reply.stop = _ANTHROPIC_STOPS.get(event["delta"].get("stop_reason"), Stop.DONE)
                    self._count(reply, event.get("usage") or {})
                case "message_stop":
                    reply.is_complete = True
                case "error":
                    raise LlmUnavailable("The language model broke its answer off with an error.")
        except _MISSHAPEN as error:
            raise LlmMalformed from error
        return ""

    def _count(self, reply: Reply, usage: Mapping[str, Any]) -> None:
        read = sum(
            int(usage.get(name) or 0)
            for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        )
        # The end of a stream counts the output anew, and the input not always.
        reply.input_tokens = read or reply.input_tokens
        reply.output_tokens = int(usage.get("output_tokens") or 0) or reply.output_tokens


class OpenAiWire:
    """`POST /chat/completions`, of OpenAI or of any server that answers alike."""

    path = "/chat/completions"

    def __init__(self, *, is_openai: bool) -> None:
        # Its newer models know only the new name, and other servers often only the old one.
        self._limit = "max_completion_tokens" if is_openai else "max_tokens"

    def headers(self, api_key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {api_key}"} if api_key else {}

    def body(self, model: str, request: LlmRequest, *, stream: bool) -> dict[str, Any]:
        system = [{"role": "system", "content": request.system}] if request.system else []
        body: dict[str, Any] = {
            "model": model,
            self._limit: request.max_tokens,
            "messages": [*system, *map(_openai_message, request.messages)],
        }
        # Not with a `tool_choice`, which some servers overlook.
        if request.tools and request.may_call:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)},
                }
                for tool in request.tools
            ]
        if request.schema is not None:
            named = {"name": "answer", "strict": True, "schema": dict(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        streaming = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
        return body | _sampling(request) | streaming

    def read(self, answer: Any) -> Reply:
        reply = Reply(is_complete=True)
        try:
            choice = answer["choices"][0]
            message = choice["message"]
            reply.text = _content(message.get("content"))
            for index, call in enumerate(message.get("tool_calls") or ()):
                function = call["function"]
                reply.calls[index] = _Call(_text(call["id"]), _text(function["name"]), _text(function["arguments"]))
            self._stop(reply, choice.get("finish_reason"), message.get("refusal"))
            self._count(reply, answer.get("usage"))
        except _MISSHAPEN as error:
            raise LlmMalformed from error
        return reply

    def take(self, reply: Reply, event: Any) -> str:
        piece = ""
        try:
            for choice in event.get("choices") or ():
                delta = choice.get("delta") or {}
                piece += _content(delta.get("content"))
                for call in delta.get("tool_calls") or ():
                    function = call.get("function") or {}
                    known = reply.calls.setdefault(call["index"], _Call("", ""))
                    known.id = known.id or _text(call.get("id") or "")
                    known.name = known.name or _text(function.get("name") or "")
                    known.arguments += _text(function.get("arguments") or "")
                if delta.get("refusal"):
                    reply.stop = Stop.REFUSED
                if choice.get("finish_reason"):
                    self._stop(reply, choice["finish_reason"], reply.stop is Stop.REFUSED)
                    reply.is_complete = True
            self._count(reply, event.get("usage"))
            if event.get("error"):
                raise LlmUnavailable("The language model broke its answer off with an error.")
        except _MISSHAPEN as error:
            raise LlmMalformed from error
        reply.text += piece
        return piece

    def _stop(self, reply: Reply, reason: str | None, refusal: Any) -> None:
        reply.stop = Stop.REFUSED if refusal else _OPENAI_STOPS.get(reason or "", Stop.DONE)
        if reply.calls and reply.stop is Stop.DONE:
            reply.stop = Stop.TOOLS  # Some servers say `stop` whatever they stopped for.

    def _count(self, reply: Reply, usage: Mapping[str, Any] | None) -> None:
        if usage:
            reply.input_tokens = int(usage.get("prompt_tokens") or 0)
            reply.output_tokens = int(usage.get("completion_tokens") or 0)


_ANTHROPIC_STOPS = {"tool_use": Stop.TOOLS, "max_tokens": Stop.LENGTH, "refusal": Stop.REFUSED}
_OPENAI_STOPS = {"tool_calls": Stop.TOOLS, "length": Stop.LENGTH, "content_filter": Stop.REFUSED}


def _sampling(request: LlmRequest) -> dict[str, Any]:
    return {} if request.temperature is None else {"temperature": request.temperature}


def _anthropic_blocks(message: LlmMessage) -> tuple[str, list[dict[str, Any]]]:
    if message.role == "tool":
        return "user", [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.content}]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": message.content}] if message.content else []
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)}
        for call in message.tool_calls
    ]
    return message.role, blocks


def _openai_message(message: LlmMessage) -> dict[str, Any]:
    encoded: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.role == "tool":
        encoded["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        encoded["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for call in message.tool_calls
        ]
    return encoded


def _arguments(text: str) -> Mapping[str, Any]:
    # A model that writes no object is told by the tool which argument it lacks.
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _content(content: Any) -> str:
    """What is said; some servers give it in parts, of which others are what the model thought."""
    if isinstance(content, list):
        return "".join(_text(part["text"]) for part in content if part["type"] == "text")
    return _text(content or "")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value

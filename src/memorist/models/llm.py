"""A language model over plain HTTP: Anthropic's, OpenAI's, or any server that is compatible with OpenAI's.

Neither errors nor log lines quote what was sent or what came back: both hold people's words. Errors reach users, so
that they name the model; its address, which may be an inner one, stands in the log alone.
"""

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2

from memorist.errors import LlmError, LlmMalformed, LlmUnavailable
from memorist.models.context_windows import context_window
from memorist.models.prices import Price, price_of
from memorist.models.values import CallUsage, LlmAnswer, LlmRequest
from memorist.models.wires import AnthropicWire, OpenAiWire, Reply, Wire
from memorist.secrets.logs import redacting_logger
from memorist.watching import trace_headers

_log = redacting_logger(__name__)

ADDRESSES = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}

# What a server may not know, in the order in which it is done without, and how its complaint calls it.
_OPTIONAL = {
    "schema": ("schema", "response_format", "output_config", "output_format", "structured"),
    "temperature": ("temperature",),
}
_NOT_UNDERSTOOD = frozenset({400, 422})

_PATIENCE = 10
"""So many times as long as the model may be silent may a whole answer take: what only keeps a connection open may come
for ever."""
_LOOK_S = 1.0
_LARGEST_ANSWER = 32 << 20

# What passes by itself: the same request may well be answered later.
_PASSING = frozenset({408, 409, 425, 429, *range(500, 600)})


class HttpLlm:
    """One model at one address. `price` replaces what the table has."""

    def __init__(
        self, provider: str, model: str, *, address: str, api_key: str, timeout_s: float, price: Price | None = None
    ) -> None:
        self.model_id = f"{provider}:{model}"
        self.context_tokens = context_window(self.model_id)
        self._model = model
        self._price = price or price_of(provider, model)
        self._wire = _wire(provider, address)
        self._url = _full_address(address or ADDRESSES[provider], self._wire.path)
        self._client = httpx2.Client(timeout=timeout_s, headers=self._wire.headers(api_key))
        self._longest_s = _PATIENCE * timeout_s
        self._unknown: frozenset[str] = frozenset()

    def ask(self, request: LlmRequest) -> LlmAnswer:
        """The whole answer. Raises LlmUnavailable, LlmMalformed or, where asking again is no use, LlmError."""
        started = time.monotonic()
        with self._translated():
            response, content = self._post(request)
            self._refuse_failure(response)
            try:
                answer = json.loads(content)
            except (ValueError, RecursionError) as error:
                raise LlmMalformed from error
        return self._answer(self._wire.read(answer), started)

    def stream(self, request: LlmRequest) -> Iterator[str | LlmAnswer]:
        """Pieces of the text as they come, and at last the whole answer. Raises as `ask` does, also half way.

        Where something else comes for a while, such as what the model thinks, an empty piece lets whoever asked look
        whether to go on.
        """
        reply = Reply()
        started = looked = time.monotonic()
        body = self._wire.body(self._model, _without(request, self._unknown), stream=True)
        asked = self._client.stream("POST", self._url, json=body, headers=trace_headers())
        with self._translated(), asked as response:
            self._refuse_failure(response)
            for line in _lines(response.iter_bytes()):
                event = _event_of(line)
                piece = self._wire.take(reply, event) if event is not None else ""
                if piece or time.monotonic() - looked >= _LOOK_S:
                    yield piece
                    looked = time.monotonic()
        if not reply.is_complete:
            raise LlmUnavailable("The language model's answer ended half way.")
        yield self._answer(reply, started)

    def _post(self, request: LlmRequest) -> tuple[httpx2.Response, bytes]:
        """The response and what it says. Of a server that refuses what not every one knows it is asked for once more
        without that; once such a request was taken, it is not sent there again.
        """
        unknown = self._unknown
        while True:
            body = self._wire.body(self._model, _without(request, unknown), stream=False)
            response, content = self._sent(body)
            left = [name for name in _OPTIONAL if name not in unknown and getattr(request, name) is not None]
            if response.status_code not in _NOT_UNDERSTOOD or not left:
                break
            unknown |= _blamed(content.decode(errors="replace"), left)
        if response.status_code == 200 and unknown != self._unknown:
            _log.info("%s at %s is asked without %s", self.model_id, self._shown_address(), ", ".join(sorted(unknown)))
            self._unknown = unknown
        return response, content

    def _sent(self, body: Mapping[str, Any]) -> tuple[httpx2.Response, bytes]:
        """The response and what it says. Raises LlmUnavailable where it does not end, and LlmMalformed where it is too
        much.
        """
        until = time.monotonic() + self._longest_s
        content = bytearray()
        with self._client.stream("POST", self._url, json=body, headers=trace_headers()) as response:
            for piece in response.iter_bytes():
                if time.monotonic() > until:
                    raise LlmUnavailable(f"{self.model_id} did not end its answer within {self._longest_s:g} s.")
                content += piece
                if len(content) > _LARGEST_ANSWER:
                    raise LlmMalformed
        return response, bytes(content)

    def _answer(self, reply: Reply, started: float) -> LlmAnswer:
        cost = self._price.of(reply.input_tokens, reply.output_tokens) if self._price else None
        usage = CallUsage(reply.input_tokens, reply.output_tokens, cost, time.monotonic() - started)
        return LlmAnswer(reply.text, reply.stop, usage, reply.tool_calls())

    def _refuse_failure(self, response: httpx2.Response) -> None:
        status = response.status_code
        if status in _PASSING:
            _log.info("%s at %s answered %d", self.model_id, self._shown_address(), status)
            raise LlmUnavailable(
                f"{self.model_id} answered {status}.", retry_after=_seconds(response.headers.get("retry-after"))
            )
        if status != 200:
            _log.info("%s at %s answered %d", self.model_id, self._shown_address(), status)
            raise LlmError(f"{self.model_id} answered {status}. Check MEMORIST_LLM, its address and its key.")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except httpx2.TimeoutException as error:
            _log.info("%s at %s took too long", self.model_id, self._shown_address())
            raise LlmUnavailable(f"{self.model_id} took longer than MEMORIST_LLM_TIMEOUT_S allows.") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            _log.info("%s at %s cannot be asked: %s", self.model_id, self._shown_address(), type(error).__name__)
            # Where nobody is there, what was set is wrong, or it does not run.
            is_absent = isinstance(error, httpx2.ConnectError)
            where = f" at {self._shown_address()}" if is_absent else ""
            advice = " Check that it runs there, and MEMORIST_LLM_URL." if is_absent else ""
            raise LlmUnavailable(f"{self.model_id}{where} cannot be asked: {type(error).__name__}.{advice}") from error

    def _shown_address(self) -> str:
        """The address without a user or a password."""
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _wire(provider: str, address: str) -> Wire:
    if provider == "anthropic":
        return AnthropicWire()
    return OpenAiWire(is_openai=not address or urlsplit(address).hostname == urlsplit(ADDRESSES["openai"]).hostname)


def _full_address(address: str, path: str) -> str:
    """The address with the path after it, or as much of the path as it lacks: people paste either."""
    address = address.rstrip("/")
    if address.endswith(path):
        return address
    first, _, rest = path.removeprefix("/").partition("/")
    return f"{address}/{rest}" if address.endswith(f"/{first}") else address + path


def _without(request: LlmRequest, unknown: frozenset[str]) -> LlmRequest:
    return replace(
        request,
        schema=None if "schema" in unknown else request.schema,
        temperature=None if "temperature" in unknown else request.temperature,
    )


def _blamed(complaint: str, sent: Sequence[str]) -> frozenset[str]:
    """What a complaint names of what was sent; where it names nothing, the first."""
    complaint = complaint.lower()
    named = [name for name in sent if any(word in complaint for word in _OPTIONAL[name])]
    return frozenset(named or sent[:1])


def _lines(pieces: Iterator[bytes]) -> Iterator[str]:
    """The lines of a stream, with empty ones among them, at least one a piece. Raises LlmMalformed where one is too
    long.

    Only what no JSON holds ends a line: a text may have other breaks, such as U+2028.
    """
    rest = b""
    for piece in pieces:
        *complete, rest = re.split(rb"[\r\n]", rest + piece)
        if len(rest) > _LARGEST_ANSWER:
            raise LlmMalformed
        for line in complete or [b""]:
            yield line.decode(errors="replace")
    yield rest.decode(errors="replace")


def _event_of(line: str) -> Any | None:
    """What a line of a stream of server-sent events holds, where it holds something."""
    if not line.startswith("data:"):
        return None
    data = line.removeprefix("data:").strip()
    if not data or data == "[DONE]":
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise LlmMalformed from error


def _seconds(retry_after: str | None) -> float | None:
    """A Retry-After in seconds, which may be a number or a date."""
    if not retry_after:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None

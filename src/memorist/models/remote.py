"""Models behind an address: an OpenAI-compatible embedder, and a reranker with the common `/rerank`."""

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import httpx2
import numpy as np
from numpy.typing import NDArray

from memorist.errors import ModelUnavailable
from memorist.models.breaker import Breaker
from memorist.models.fair_share import IS_ENDING
from memorist.models.values import Embeddings
from memorist.secrets.logs import redacting_logger
from memorist.watching import trace_headers

_log = redacting_logger(__name__)

_ATTEMPTS = 3
_BATCH = 64
_LONGEST_WAIT_S = 5.0
_PAUSE_S = 0.3
"""Before a batch's first text that may be to blame is tried again: a server that has too much to do may be over it."""
_LARGEST_ANSWER = 64 * 1024**2
_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_REFUSALS = frozenset({400, 413, 422})
_OK = 200
_FAILED = 500
"""Of what a server cannot take some say that they failed: llama.cpp does of a text that is too long."""
_SAMPLE = "text"
"""Whoever refuses this takes nothing at all."""
_SAMPLE_S = 1.0
"""So long it is waited for at least, where somebody waits."""

Vectors = NDArray[np.float32]


class _Refused(ModelUnavailable):
    """What was asked may be at fault: something else may be taken."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class RemoteEmbedder:
    """Asks `POST {address}/embeddings` for vectors, a batch at a time."""

    is_local = False
    same_vectors_as: Sequence[str] = ()

    def __init__(self, address: str, model: str, api_key: str, timeout_s: float) -> None:
        # One each, with a breaker each: nothing that is stored keeps anybody from asking.
        self._asking = _Service(address, "/embeddings", api_key, timeout_s)
        self._storing = _Service(address, "/embeddings", api_key, timeout_s)
        self._most = _BATCH
        self._model = model
        self.model_id = f"remote:{model or 'default'}"

    def load(self) -> None:
        """Nothing to do: the model is loaded elsewhere."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row of length 1 for each text, in their order. Raises ModelUnavailable."""
        batches = [texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH)]
        return self._stacked([row for batch in batches for row in self._vectors(self._asking, batch)])

    def embed_question(self, text: str) -> Embeddings:
        """The same for one text that somebody asks. Raises ModelUnavailable."""
        deadline = self._asking.deadline()
        try:
            return Embeddings(self._vectors(self._asking, [text], deadline=deadline), [None])
        except _Refused as error:
            if error.status == _FAILED:
                # Where this is taken, others may go on asking. Who asked has waited for long.
                soon = max(deadline, time.monotonic() + _SAMPLE_S)
                with suppress(ModelUnavailable):
                    self._vectors(self._asking, [_SAMPLE], attempts=1, anyway=True, deadline=soon)
            raise

    def embed_tokens(self, texts: Sequence[str]) -> Embeddings:
        """The same for what is stored; nothing is said of tokens. A text that is refused, where others are taken, gets
        a row of zeros. Raises ModelUnavailable.
        """
        made: list[Vectors] = []
        while len(made) < len(texts):
            made += self._taken(texts[len(made) : len(made) + self._most], iter([_PAUSE_S]))
        return Embeddings(self._stacked(made), self.tokens(texts))

    def tokens(self, texts: Sequence[str]) -> list[Vectors | None]:
        return [None] * len(texts)

    def _taken(self, texts: Sequence[str], pauses: Iterator[float], *, is_part: bool = False) -> list[Vectors]:
        """Of a batch that is refused each half, down to the texts that are to blame."""
        try:
            return list(self._vectors(self._storing, texts, attempts=1 if is_part else _ATTEMPTS))
        except _Refused as error:
            if IS_ENDING.get()():
                raise
            refusal = error
        # Raises where it takes nothing: then no text is to blame.
        (sample,) = self._vectors(self._storing, [_SAMPLE], anyway=True)
        if len(texts) == 1:
            if refusal.status not in _REFUSALS and not IS_ENDING.get()():
                time.sleep(next(pauses, 0.0))  # noqa: TID251
            return self._taken_at_last(texts[0], np.zeros_like(sample))
        half = (len(texts) + 1) // 2
        made = [one for part in (texts[:half], texts[half:]) for one in self._taken(part, pauses, is_part=True)]
        if refusal.status in _REFUSALS and all(row.any() for row in made):
            self._most = min(self._most, half)  # They were only too many.
        return made

    def _taken_at_last(self, text: str, nothing: Vectors) -> list[Vectors]:
        """What is made of a text that was refused before another was taken: its server may only have been away."""
        try:
            made = list(self._vectors(self._storing, [text], attempts=1))
        except _Refused as error:
            self._vectors(self._storing, [_SAMPLE], anyway=True)
            _log.warning("a text is found by keyword only: %s", error.message)
            made = [nothing]
        return made

    def _vectors(
        self,
        service: "_Service",
        texts: Sequence[str],
        *,
        attempts: int = _ATTEMPTS,
        anyway: bool = False,
        deadline: float | None = None,
    ) -> Vectors:
        asked = {"model": self._model, "input": list(texts)}
        answer = service.ask(asked, attempts=attempts, anyway=anyway, deadline=deadline)
        # Some answer a text that they cannot take with zeros, with null or with NaN, or leave it out.
        strange = _Refused(service.strange_answer().message, _OK)
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            is_whole = [row["index"] for row in rows] == list(range(len(texts)))
            vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise strange from error
        if not is_whole or vectors.ndim != 2 or not np.isfinite(lengths).all() or not lengths.all():
            raise strange
        unit: Vectors = vectors / lengths
        return unit

    def _stacked(self, rows: Sequence[Vectors]) -> Vectors:
        if len({len(row) for row in rows}) > 1:
            raise self._asking.strange_answer()  # Another model took the place of the first meanwhile.
        return np.stack(rows) if rows else np.zeros((0, 0), np.float32)


class RemoteReranker:
    """Asks `POST {address}` (or `{address}/rerank`) to score documents against a query."""

    is_local = False

    def __init__(self, address: str, model: str, api_key: str, timeout_s: float) -> None:
        self._service = _Service(address, "/rerank", api_key, timeout_s)
        self._model = model
        self.model_id = f"remote:{model or 'default'}"

    def load(self) -> None:
        """Nothing to do: the model is loaded elsewhere."""

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """A score for each passage, in their order. Raises ModelUnavailable."""
        if not passages:
            return []
        asked: dict[str, Any] = {"query": query, "documents": list(passages), "top_n": len(passages)}
        answer = self._service.ask(asked | ({"model": self._model} if self._model else {}))
        try:
            scores = {int(one["index"]): float(one["relevance_score"]) for one in answer["results"]}
            found = [scores[index] for index in range(len(passages))]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise self._service.strange_answer() from error
        if not np.isfinite(found).all():
            raise self._service.strange_answer()
        return found


class _Service:
    """One address that is asked with JSON. All attempts at an answer together take no longer than the timeout.

    Faults that pass are tried again, a little later each time; silence is not. Then nothing is asked for a while.
    """

    def __init__(self, address: str, path: str, api_key: str, timeout_s: float) -> None:
        address = address.rstrip("/")
        self._url = address if address.endswith(path) else address + path
        self._timeout_s = timeout_s
        self._breaker = Breaker()
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx2.Client(headers=headers)

    def deadline(self) -> float:
        """By when an answer to what is asked now has to be here."""
        return time.monotonic() + self._timeout_s

    def ask(
        self,
        body: Mapping[str, Any],
        *,
        attempts: int = _ATTEMPTS,
        anyway: bool = False,
        deadline: float | None = None,
    ) -> Any:
        """The answer, by that time where one is given; `anyway` asks also who failed a moment ago. Raises
        ModelUnavailable, as _Refused where something else may be answered.
        """
        if not self._breaker.lets_through() and not anyway:
            raise ModelUnavailable(f"{self._url} did not answer a moment ago, and is not asked again yet.")
        if deadline is None:
            deadline = self.deadline()
        for attempt in range(1, attempts + 1):
            try:
                response, content = self._post(body, deadline)
                answer, fault = self._read(response, content)
            except httpx2.TimeoutException as error:
                raise self._gone(f"cannot be asked: it was silent for {self._timeout_s:g} s") from error
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                response, answer, fault = None, None, f"cannot be asked: {error or type(error).__name__}"
            if not fault:
                return answer
            wait_s = _before_the_next(attempt, response)
            if attempt == attempts or time.monotonic() + wait_s > deadline:
                break
            time.sleep(wait_s)  # noqa: TID251
        gone = self._gone(fault)
        raise _Refused(gone.message, _FAILED) if response is not None and response.status_code == _FAILED else gone

    def _post(self, body: Mapping[str, Any], deadline: float) -> tuple[httpx2.Response, bytes]:
        """The response and what it says. Raises ModelUnavailable where it comes too slowly, or is too much."""
        left_s = max(deadline - time.monotonic(), 0.001)
        asked = self._client.stream("POST", self._url, json=body, headers=trace_headers(), timeout=left_s)
        pieces: list[bytes] = []
        size = 0
        with asked as response:
            for piece in response.iter_bytes():
                # The client waits as long as that for each piece anew.
                if time.monotonic() > deadline:
                    raise self._gone(f"did not end its answer within {self._timeout_s:g} s")
                size += len(piece)
                if size > _LARGEST_ANSWER:
                    raise self.strange_answer()
                pieces.append(piece)
        return response, b"".join(pieces)

    def _read(self, response: httpx2.Response, content: bytes) -> tuple[Any, str]:
        """What was answered, or the fault that may pass. Raises ModelUnavailable for a refusal, which does not."""
        status = response.status_code
        if status in _RETRIED:
            return None, f"answered {status}"
        self._breaker.worked()
        if status != _OK:
            told = f"{self._url} answered {status}. Check its key, model and log."
            raise _Refused(told, status) if status in _REFUSALS else ModelUnavailable(told)
        try:
            return json.loads(content), ""
        except (ValueError, RecursionError):
            return None, "answered something that is not JSON"

    def strange_answer(self) -> ModelUnavailable:
        return ModelUnavailable(f"{self._url} answered something that is not what was asked for.")

    def _gone(self, fault: str) -> ModelUnavailable:
        self._breaker.failed()
        return ModelUnavailable(f"{self._url} {fault}.")


def _before_the_next(attempt: int, response: httpx2.Response | None) -> float:
    """Seconds to wait: those that the service asks for, up to a limit, or a little more each time."""
    said = response.headers.get("retry-after", "") if response is not None else ""
    seconds = min(float(said), _LONGEST_WAIT_S) if said.isdecimal() else 0.1 * 2**attempt
    return seconds * random.uniform(0.75, 1.0)

"""Models behind an address: an OpenAI-compatible embedder, and a reranker with the common `/rerank`."""

import json
import random
import time
from collections.abc import Mapping, Sequence
from typing import Any

import httpx2
import numpy as np
from numpy.typing import NDArray

from memorist.errors import ModelUnavailable
from memorist.models.breaker import Breaker
from memorist.models.values import Embeddings
from memorist.watching import trace_headers

_ATTEMPTS = 3
_BATCH = 64
_LONGEST_WAIT_S = 5.0
_LARGEST_ANSWER = 64 * 1024**2
_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


class RemoteEmbedder:
    """Asks `POST {address}/embeddings` for vectors, a batch at a time."""

    is_local = False
    same_vectors_as: Sequence[str] = ()

    def __init__(self, address: str, model: str, api_key: str, timeout_s: float) -> None:
        self._service = _Service(address, "/embeddings", api_key, timeout_s)
        self._model = model
        self.model_id = f"remote:{model or 'default'}"

    def load(self) -> None:
        """Nothing to do: the model is loaded elsewhere."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of length 1 for each text, in their order. Raises ModelUnavailable."""
        batches = [texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH)]
        return np.concatenate([self._batch(batch) for batch in batches]) if texts else np.zeros((0, 0), np.float32)

    def embed_tokens(self, texts: Sequence[str]) -> Embeddings:
        """The same: nothing is said of tokens. Raises ModelUnavailable."""
        return Embeddings(self.embed(texts), self.tokens(texts))

    def tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        return [None] * len(texts)

    def _batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        answer = self._service.ask({"model": self._model, "input": list(texts)})
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            is_whole = [row["index"] for row in rows] == list(range(len(texts)))
            vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        except (KeyError, TypeError, ValueError) as error:
            raise self._service.strange_answer() from error
        if not is_whole or vectors.ndim != 2 or not np.isfinite(lengths).all() or not lengths.all():
            raise self._service.strange_answer()
        unit: NDArray[np.float32] = vectors / lengths
        return unit


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

    def ask(self, body: Mapping[str, Any]) -> Any:
        """The answer. Raises ModelUnavailable."""
        if not self._breaker.lets_through():
            raise ModelUnavailable(f"{self._url} did not answer a moment ago, and is not asked again yet.")
        deadline = time.monotonic() + self._timeout_s
        for attempt in range(1, _ATTEMPTS + 1):
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
            if attempt == _ATTEMPTS or time.monotonic() + wait_s > deadline:
                break
            time.sleep(wait_s)  # noqa: TID251
        raise self._gone(fault)

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
        if response.status_code in _RETRIED:
            return None, f"answered {response.status_code}"
        self._breaker.worked()
        if response.status_code != 200:
            raise ModelUnavailable(f"{self._url} answered {response.status_code}. Check its key, model and log.")
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

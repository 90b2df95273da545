"""Models whose calls are told: how long they took, how much they were given, what they cost; never what was said."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, Protocol

from memorist.models.values import DatedFact, LlmAnswer, LlmRequest, Passage, Tag
from memorist.watching import Facts, Watched

# What OpenTelemetry's conventions for generative AI call it; of what else models do they say nothing.
_OPERATIONS = {"embedder": "embeddings", "llm": "chat"}
_PROVIDERS = ("anthropic", "openai")


class ModelWatch(Protocol):
    def timed(self, what: str, part: str = "", facts: Facts | None = None) -> Watched: ...

    def batch(self, part: str, size: int) -> None: ...

    def spent(self, what: str, input_tokens: int, output_tokens: int, dollars: float | None) -> None: ...


class _Model:
    """Everything but the calls that are told is the model's own."""

    def __init__(self, watch: ModelWatch, part: str, model: Any) -> None:
        self._watch = watch
        self._part = part
        self._model = model
        self._facts = _facts(part, model)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def _call(self, size: int) -> Watched:
        self._watch.batch(self._part, size)
        return self._watch.timed("model", self._part, self._facts)


class _Embedder(_Model):
    def embed(self, texts: Sequence[str]) -> Any:
        with self._call(len(texts)):
            return self._model.embed(texts)

    def embed_tokens(self, texts: Sequence[str]) -> Any:
        with self._call(len(texts)):
            return self._model.embed_tokens(texts)

    def embed_question(self, text: str) -> Any:
        with self._call(1):
            return self._model.embed_question(text)

    def tokens(self, texts: Sequence[str]) -> Any:
        with self._call(len(texts)):
            return self._model.tokens(texts)


class _Reranker(_Model):
    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        with self._call(len(passages)):
            return self._model.score(query, passages)  # type: ignore[no-any-return]


class _Tagger(_Model):
    def tag(self, passages: Sequence[Passage]) -> list[list[Tag]]:
        with self._call(len(passages)):
            return self._model.tag(passages)  # type: ignore[no-any-return]


class _Comparer(_Model):
    def compare(self, pairs: Sequence[tuple[DatedFact, DatedFact]]) -> list[dict[str, float]]:
        with self._call(len(pairs)):
            return self._model.compare(pairs)  # type: ignore[no-any-return]


class _Llm(_Model):
    def ask(self, request: LlmRequest) -> LlmAnswer:
        with self._call(1) as call:
            answer: LlmAnswer = self._model.ask(request)
            self._tell(call, answer)
        return answer

    def stream(self, request: LlmRequest) -> Iterator[str | LlmAnswer]:
        with self._call(1) as call, closing(self._model.stream(request)) as pieces:
            for piece in pieces:
                if isinstance(piece, LlmAnswer):
                    self._tell(call, piece)
                # What is done with a piece is no part of the call.
                call.step_out()
                yield piece
                call.step_in()

    def _tell(self, call: Watched, answer: LlmAnswer) -> None:
        usage = answer.usage
        self._watch.spent("llm", usage.input_tokens, usage.output_tokens, usage.cost_usd)
        call.note(
            {
                "gen_ai.usage.input_tokens": usage.input_tokens,
                "gen_ai.usage.output_tokens": usage.output_tokens,
                "gen_ai.response.finish_reasons": (str(answer.stop),),
            }
        )


WATCHED = {"embedder": _Embedder, "reranker": _Reranker, "tagger": _Tagger, "comparer": _Comparer, "llm": _Llm}
"""By the part that a model plays."""


def _facts(part: str, model: Any) -> Facts:
    name = str(getattr(model, "model_id", part))
    provider, _, model_name = name.partition(":")
    told = {"gen_ai.request.model": model_name if provider in (*_PROVIDERS, "remote") and model_name else name}
    if provider in _PROVIDERS:
        told["gen_ai.provider.name"] = provider
    if part in _OPERATIONS:
        told["gen_ai.operation.name"] = _OPERATIONS[part]
    return told | {"memorist.model.is_local": bool(getattr(model, "is_local", part != "llm"))}

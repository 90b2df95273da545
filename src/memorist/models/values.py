"""What models are asked and answer, as values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # Only those who embed pay for importing numpy.
    import numpy as np
    from numpy.typing import NDArray


class Embeddings(NamedTuple):
    """What an embedder says of texts, in their order."""

    vectors: "NDArray[np.float32]"
    """A row of length 1 for each; of zeros for what it cannot read."""

    tokens: "list[NDArray[np.float32] | None]"
    """For each a row for each of its tokens: numbers, and last what the token counts in a question. None where nothing
    is said of them."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that a language model wants to be run. `arguments` is what it wrote, which may be no good."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LlmMessage:
    """One message of a prompt: `user`, `assistant` (with the tools it called) or `tool` (what a call returned)."""

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class LlmTool:
    """A tool as a language model is told of it; `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LlmRequest:
    """What a language model is asked."""

    messages: tuple[LlmMessage, ...]
    system: str = ""
    tools: tuple[LlmTool, ...] = ()
    max_tokens: int = 4096
    schema: Mapping[str, Any] | None = None
    """The JSON Schema that the answer is to have; of no more than every server understands: no lengths or ranges."""
    temperature: float | None = None
    may_call: bool = True
    """Whether it may call tools now. Where not, they only explain the calls that stand in the messages."""


class Stop(StrEnum):
    """Why a language model stopped: it was done, wants tools to be run, ran out of tokens, or declined."""

    DONE = "done"
    TOOLS = "tools"
    LENGTH = "length"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call took. `cost_usd` is None where the price of the model is not known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0

    def plus(self, other: "Usage") -> "Usage":
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            round((self.cost_usd or 0.0) + (other.cost_usd or 0.0), 9) if known else None,
        )

    @staticmethod
    def of_all(usages: "Iterable[Usage]") -> "Usage":
        return reduce(Usage.plus, usages, Usage())


@dataclass(frozen=True, slots=True, eq=False)
class CallUsage(Usage):
    """The same of a single call, and how long it took, which tells no two apart."""

    seconds: float = 0.0
    __hash__ = Usage.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Usage) and Usage.of_all([self]) == Usage.of_all([other])


@dataclass(frozen=True, slots=True)
class LlmAnswer:
    """What a language model answered, and what that took."""

    text: str
    stop: Stop
    usage: Usage
    tool_calls: tuple[ToolCall, ...] = ()


# What the tagger says

TOPICS = (
    "identity", "home", "work", "study", "relation", "pet", "health", "diet", "taste", "goal", "plan", "habit",
    "possession", "instruction", "decision", "event", "project", "other",
)  # fmt: skip
"""What a sentence may be about, in the order of the network's outputs."""

NEEDS = ("nothing", "sentence before", "message before")
"""What has to be known for a sentence to be understood, in the order of the network's outputs."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Passage:
    """A message and the one before it. `sentences` are where its sentences begin and end in `text`."""

    text: str
    sentences: Sequence[Span]
    speaker: str = ""
    previous: str = ""
    start: int = 0
    """Where the text begins in its message."""


@dataclass(frozen=True, slots=True)
class Tag:
    """What the model says of a sentence: how likely it is worth keeping (`keep`), should be kept (`should`) or must
    be (`must`), what it is about, what it needs to be understood, and how likely it is about the one spoken to."""

    keep: float
    should: float
    must: float
    topic: str
    needs: str
    of_other: float


# What the comparer says

RULINGS = ("compatible", "contradicts", "same", "refines")
"""What the network may say, in the order of its outputs."""


@dataclass(frozen=True, slots=True)
class DatedFact:
    text: str
    date: str = ""
    """`2023-05-08`, or a part of it; empty where nobody knows."""

    def shown(self) -> str:
        return f"[{self.date[:7]}] {self.text}" if self.date else self.text

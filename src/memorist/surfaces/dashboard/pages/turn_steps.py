"""The events of a turn as steps that a person reads."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from memorist.ids import parse_id
from memorist.memories.values import Memory
from memorist.surfaces.dashboard.wording import number, say
from memorist.turns.values import Turn, TurnEvent
from memorist.views.turn_stories import TurnStory


@dataclass(frozen=True, slots=True)
class TurnStep:
    """`memories` are shown as links; `gone` counts those that are no longer there."""

    title: str
    at: datetime
    text: str = ""
    tone: str = ""
    milliseconds: int | None = None
    cost: float | None = None
    has_cost: bool = False
    arguments: Mapping[str, Any] | None = None
    memories: Sequence[Memory] = field(default=())
    gone: int = 0
    output: str | None = None
    """The memory that keeps what a tool returned."""
    is_tool: bool = False


def steps_of(story: TurnStory) -> list[TurnStep]:
    """One for each thing that happened, in its order; the pieces of the answer are none."""
    steps: list[TurnStep] = []
    calls: dict[str, int] = {}
    for event in story.events:
        data = event.data
        if event.event == "tool.completed" and data.get("id") in calls:
            index = calls[str(data["id"])]
            steps[index] = _returned(steps[index], data, story)
            continue
        step = _step(event, story)
        if step is None:
            continue
        if event.event == "tool.called":
            calls[str(data.get("id"))] = len(steps)
        steps.append(step)
    return steps


def answer_of(story: TurnStory) -> str:
    """The answer, or what there is of it."""
    if story.turn.answer is not None:
        return story.turn.answer
    return "".join(str(event.data.get("text", "")) for event in story.events if event.event == "answer.delta")


def asked_of(story: TurnStory) -> list[str]:
    said = [memory.content for memory in story.said if memory.meta_text("role") == "user"]
    return said or requested(story.turn)


def requested(turn: Turn) -> list[str]:
    """What was asked, before it is a memory; a turn that is over no longer knows."""
    messages = json.loads(turn.request)["messages"] if turn.request else []
    return [message["content"] for message in messages if message["role"] == "user"]


def model_of(story: TurnStory) -> str | None:
    return next((event.data.get("model") for event in story.events if event.event == "turn.started"), None)


def _step(event: TurnEvent, story: TurnStory) -> TurnStep | None:
    data = event.data
    if event.event == "memory.injected":
        return _injected(event, story)
    if event.event == "context.compressed":
        dropped = data.get("dropped", 0)
        text = say("{count} older messages were left out, so that the rest fits the model.", count=dropped)
        return TurnStep(say("Shortened"), event.created_at, text)
    if event.event == "agent.completed":
        return _worked(event, story)
    if event.event == "tool.called":
        return TurnStep(
            say("Tool {name}", name=data.get("name", "")),
            event.created_at,
            say("runs"),
            arguments=data.get("arguments") or None,
            is_tool=True,
        )
    if event.event == "turn.failed":
        error = data.get("error") or {}
        return TurnStep(say("Failed"), event.created_at, str(error.get("message", "")), tone="bad")
    if event.event == "turn.completed":
        return TurnStep(say("Done"), event.created_at, tone="good", milliseconds=data.get("duration_ms"))
    return None


def _injected(event: TurnEvent, story: TurnStory) -> TurnStep:
    data = event.data
    if "entries" not in data:
        return TurnStep(say("Remembered"), event.created_at, say("What was told to the model has been erased since."))
    text = say("Nothing is known yet.")
    if data["entries"]:
        text = say("{tokens} tokens go to the model", tokens=number(data.get("tokens", 0)))
    gone = max(0, len(data.get("ids", ())) - len(story.injected))
    return TurnStep(say("Remembered"), event.created_at, text, memories=story.injected, gone=gone)


def _worked(event: TurnEvent, story: TurnStory) -> TurnStep:
    data = event.data
    is_memory = data.get("agent") == "memory"
    return TurnStep(
        say("Learned") if is_memory else say("Model"),
        event.created_at,
        str(data.get("output_summary", "")),
        milliseconds=data.get("duration_ms"),
        cost=data.get("cost_usd"),
        has_cost=True,
        memories=story.learned if is_memory else (),
    )


def _returned(step: TurnStep, data: Mapping[str, Any], story: TurnStory) -> TurnStep:
    failed = bool(data.get("is_error"))
    text = say("refused")
    if not failed:
        text = say("returned {count} characters", count=number(data.get("characters", 0)))
        text += ", " + say("{count} memories", count=len(data["ids"])) if data.get("ids") else ""
    key = str(data.get("tool_output_key"))
    return replace(
        step,
        text=text,
        tone="bad" if failed else "",
        milliseconds=data.get("duration_ms"),
        output=parse_id("mem", key.removeprefix("tout_")) if key in story.outputs else None,
    )

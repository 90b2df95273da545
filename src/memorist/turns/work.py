"""What is done in a turn: remember, tell the model, let it answer and call tools, and learn from the exchange."""

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from memorist.composing.service import Composer
from memorist.context.companion import Companion
from memorist.errors import LlmEmpty, LlmError, LlmRefused, LlmUnavailable, MemoristError, NotFound
from memorist.ids import parse_id
from memorist.ingestion.service import Ingestion, Message
from memorist.learning.outcomes import told_dropped
from memorist.learning.service import ExtractedMemories, Extraction
from memorist.memories.accesses import unnoted
from memorist.memories.values import Memory
from memorist.models.fair_share import in_background
from memorist.models.port import Llm
from memorist.models.values import LlmAnswer, LlmMessage, LlmRequest, LlmTool, Stop, ToolCall, Usage
from memorist.platform import validation
from memorist.platform.loop import unexpected_is_logged
from memorist.platform.redaction import Redaction
from memorist.platform.spending import Spending
from memorist.secrets.logs import redacting_logger
from memorist.times import to_iso
from memorist.turns.calibration import Calibration
from memorist.turns.limits import Toolbox, TurnLimits
from memorist.turns.prompts import FULL, Prompt, cut_results, estimated_tokens, fitting_results, prompt_for
from memorist.turns.run import Run, spent
from memorist.turns.running import Runner
from memorist.turns.telling import Telling
from memorist.turns.values import TurnStatus
from memorist.watching import Watch

_log = redacting_logger(__name__)

Prompting = Callable[..., Prompt]

MAX_ROUNDS = 6
"""How often a model may call tools before it has to answer."""

MAX_ANSWER_TOKENS = 4096
_LONGEST_NAME = 100
_NEARLY = 0.9
"""The share of a model's window from which on a refusal may be for the length."""
_FLUSH_S = 0.04
# Of all turns of a process together: where many run, each tells more at a time, so that none waits for the disk.
_MOST_DELTAS_A_SECOND = 200
_ATTEMPTS = 3
_LONGEST_WAIT_S = 5.0
_LONGEST_INDEXING_S = 10.0
"""So long a turn waits for the meaning of its messages; what takes longer goes on without it."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a turn is worked on with."""

    companion: Companion
    composer: Composer
    ingestion: Ingestion
    extraction: Extraction
    toolbox: Callable[[], Toolbox | None]
    limits: TurnLimits
    redaction: Redaction
    spending: Spending
    runner: Runner
    calibration: Calibration
    watch: Watch


def answer(run: Run, llm: Llm, means: Means) -> None:
    """Work on a turn until it is completed or failed. Never raises."""
    work = _Work(run, llm, means)
    status = TurnStatus.COMPLETED
    with means.watch.timed("turn") as told:
        try:
            with unexpected_is_logged("a turn"), unnoted() if work.is_trial else nullcontext():
                work.answer()
        except MemoristError as error:
            status = TurnStatus.FAILED
            told.note({"error.type": error.code})
            _fail(run, error, work)
    means.watch.count("turn", status)
    means.watch.spent("turn", work.usage.input_tokens, work.usage.output_tokens, work.usage.cost_usd)


def _fail(run: Run, error: MemoristError, work: "_Work") -> None:
    try:
        run.fail(error, work.usage)
        # What the user said is worth remembering all the same.
        if not work.is_trial and not work.has_learned:
            work.learn()
    except MemoristError as later:
        _log.warning("a turn could not be ended here: %s", later.message)


class _Work:
    def __init__(self, run: Run, llm: Llm, means: Means) -> None:
        self._run = run
        self._llm = llm
        self._means = means
        request = json.loads(run.turn.request)
        self._messages = [Message(one["role"], one["content"]) for one in request["messages"]]
        self._include_memory: bool = request["include_memory"]
        self.is_trial: bool = request["trial"]
        self.has_learned = False
        self._kept: list[Memory] = []
        self._fresh: list[Message] = []
        self._dropped = 0
        self.usage = Usage()

    def answer(self) -> None:
        # First of all what was said is stored, so that nothing is lost whatever happens to the model. Its meaning is
        # computed while the model thinks: whoever waits for the first word does not wait for that as well.
        *before, asked = (one for one in self._messages if one.role != "system")
        self._keep(asked, before)
        self._run.check()
        box = self._means.toolbox() if self._include_memory else None
        tools = box.offered(self._run.principal) if box is not None else ()
        prompting = self._prompting(tools)
        run, kept = self._run, list(self._kept)
        indexing = self._means.runner.meanwhile(lambda: self._means.extraction.index_kept(run.principal, kept))
        text, stop = self._converse(prompting, box, tools)
        at = self._run.clock.now()
        # Before it is told: whoever has it may send it as said before at once.
        answered = self._keep(Message("assistant", text))
        self._run.emit("synthesis", {"answer": text, "stop": stop, **spent(self.usage)})
        complete = partial(self._complete, text, stop, at)
        self._run.answered(complete)
        self._means.extraction.index_kept(run.principal, answered)
        if not self.is_trial:
            self._run.emit("agent.completed", self.learn())
        if indexing is not None:
            wait([indexing], timeout=_LONGEST_INDEXING_S)
        complete()

    def _complete(self, text: str, stop: Stop, at: datetime) -> None:
        told = {"turn_id": self._run.turn.id, "status": "completed", "stop": stop, "completed_at": to_iso(at)}
        taken = {"duration_ms": round(1000 * self._run.seconds), **spent(self.usage)}
        self._run.complete(text, self.usage, {**told, **taken}, at)

    # Remembering

    def _keep(self, said: Message, before: Sequence[Message] = ()) -> list[Memory]:
        """Store what is said in the turn, and what the session has not of what was said before. Returns what is new."""
        turn = self._run.turn
        self._fresh.append(said)
        if not turn.has_session:
            return []
        keep = self._means.extraction.keep_messages
        kept = keep(self._run.principal, turn.session, [said], turn=turn.id, before=before)
        self._kept += kept
        return kept

    def learn(self) -> dict[str, Any]:
        """Find what is worth remembering. Whatever goes wrong with it is told, and is no failure of the turn."""
        self.has_learned = True
        started = time.monotonic()
        spent: list[Usage] = []
        try:
            with in_background():  # Whoever asked has the answer, and others wait for theirs.
                found = self._learned(spent)
        except MemoristError as error:
            usage = Usage.of_all(spent)
            summary = f"not extracted: {error.code}"
        else:
            usage = found.usage
            summary = _summary(found)
        self.usage = self.usage.plus(usage)
        return _completed("memory", started, usage, summary)

    def _learned(self, spent: list[Usage]) -> ExtractedMemories:
        run, extraction = self._run, self._means.extraction
        # What the extractor is shown of the memory is a request to a model as well.
        shows_known = self._include_memory
        # Where everything ends, no language model is waited for.
        may_wait = not self._means.runner.stopping
        if run.turn.has_session:
            return extraction.read_kept(
                run.principal,
                run.turn.session,
                self._kept,
                source_ref=run.turn.id,
                shows_known=shows_known,
                wait=may_wait,
            )
        before = [one for one in self._messages[:-1] if one.role != "system"]
        return extraction.read_unkept(
            run.principal,
            self._fresh,
            before=before,
            source_ref=run.turn.id,
            spent=spent,
            shows_known=shows_known,
            locally=not may_wait,
        )

    # Asking

    def _prompting(self, tools: Sequence[LlmTool]) -> Prompting:
        """How what the model is shown is made: what was said, with the memory."""
        memory = ""
        window = self._window()
        said = [LlmMessage(one.role, one.content) for one in self._messages]
        prompting = partial(
            prompt_for, said, tools=tools, window=window, count=self._count, is_stored=self._run.turn.has_session
        )
        if self._include_memory:
            # What the model is shown of the conversation need not be recalled from it.
            seen = {one.content for one in prompting(memory="").messages}
            found = self._means.composer.for_turn(
                self._run.principal, self._messages[-1].content, window=window, apart_from=seen
            )
            composed, memory = found.composed, found.composed.fenced
            # Which memories, not what they say: an erased one is then nowhere in a turn's events.
            lines = [{"heading": one.heading, "ids": list(one.ids), "tokens": one.tokens} for one in found.lines]
            told = {"entries": composed.entries, "tokens": composed.tokens, "ids": list(composed.ids)}
            self._run.emit("memory.injected", {**told, "budget": found.budget, "lines": lines})
        return partial(prompting, memory=memory)

    def _shown(self, prompting: Prompting, exchange: Sequence[LlmMessage]) -> Prompt:
        """What the model is shown after what it and its tools have said."""
        window = self._window()
        prompt = prompting(exchange=fitting_results(exchange, window=window, count=self._count))
        if prompt.dropped > self._dropped:
            self._dropped = prompt.dropped
            told = {"dropped": prompt.dropped, "kept": len(self._messages) - prompt.dropped, "tokens": prompt.tokens}
            self._run.emit("context.compressed", {**told, "window": window})
        return prompt

    def _converse(self, prompting: Prompting, box: Toolbox | None, tools: tuple[LlmTool, ...]) -> tuple[str, Stop]:
        """The answer, and why the model stopped."""
        exchange: list[LlmMessage] = []
        answer = Telling(self._means.redaction)
        for round_ in range(MAX_ROUNDS + 1):
            may_call = round_ < MAX_ROUNDS
            prompt = self._shown(prompting, exchange)
            request = LlmRequest(
                prompt.messages, prompt.system, tools, max_tokens=self._answer_tokens(), may_call=may_call
            )
            started = time.monotonic()
            said = self._answered(request, answer, prompt.tokens)
            if may_call:
                self._learn_count(request, said.usage)
            self._means.spending.add(self._run.principal.tenant, [said.usage])
            self.usage = self.usage.plus(said.usage)
            told = _completed("assistant", started, said.usage, _said(said, request.max_tokens))
            self._run.emit("agent.completed", {**told, "stop": said.stop})
            if said.stop is Stop.REFUSED:
                raise LlmRefused
            if not said.tool_calls or box is None or not may_call:
                break
            exchange.append(LlmMessage("assistant", said.text, said.tool_calls))
            called = [self._call(box, call) for call in said.tool_calls]
            shown = cut_results(called, window=self._window(), count=self._count)
            exchange += [
                LlmMessage("tool", content, tool_call_id=call.id)
                for call, content in zip(said.tool_calls, shown, strict=True)
            ]
        if not answer.answer.strip():
            raise LlmEmpty
        return answer.answer, said.stop

    def _answered(self, request: LlmRequest, answer: Telling, tokens: int) -> LlmAnswer:
        try:
            return self._ask(request, answer)
        except LlmError as error:
            # Most of those who refuse do so for the length where it is near what they read.
            if type(error) is not LlmError or tokens + request.max_tokens < _NEARLY * self._window():
                raise
            raise LlmError(
                f"{error.message} It was sent some {tokens} tokens, and reads {self._window()} with its answer: send "
                "less, or set MEMORIST_LLM_CONTEXT_TOKENS to what it reads."
            ) from error

    def _count(self, estimated: int) -> int:
        """What the model will count where we estimate so much."""
        return self._means.calibration.tokens(self._llm.model_id, self._run.turn.session, estimated)

    def _window(self) -> int:
        return self._means.limits.context_tokens or self._llm.context_tokens

    def _answer_tokens(self) -> int:
        """What an answer may take: a small model's window has room for what the prompt leaves free."""
        return min(MAX_ANSWER_TOKENS, round((1 - FULL) * self._window()))

    def _learn_count(self, request: LlmRequest, usage: Usage) -> None:
        estimated = estimated_tokens(request.system, request.messages, request.tools)
        self._means.calibration.learn(self._llm.model_id, self._run.turn.session, estimated, usage.input_tokens)

    def _ask(self, request: LlmRequest, answer: Telling) -> LlmAnswer:
        """One answer, its pieces told as they come. It is asked for again while nothing of it was told yet."""
        for attempt in range(1, _ATTEMPTS + 1):
            before = answer.told
            try:
                return self._stream(request, answer)
            except LlmUnavailable as error:
                if answer.told > before or attempt == _ATTEMPTS:
                    raise
                answer.drop_untold()
                self._run.stopped.wait(min(error.retry_after or attempt, _LONGEST_WAIT_S))
                self._run.check()
        raise AssertionError("unreachable")

    def _stream(self, request: LlmRequest, answer: Telling) -> LlmAnswer:
        is_first = True
        told_at = 0.0
        final = LlmAnswer("", Stop.DONE, Usage())

        def tell(*, is_whole: bool) -> None:
            nonlocal told_at
            text = answer.next(is_whole=is_whole)
            if text:
                self._run.emit("answer.delta", {"text": text})
                told_at = time.monotonic()

        self._run.check()
        stream = self._llm.stream(request)
        try:
            for piece in stream:
                self._run.check()
                if isinstance(piece, LlmAnswer):
                    final = piece
                    continue
                if not piece:  # Something comes, and no word.
                    continue
                if is_first and answer.told:
                    answer.add("\n\n")  # After what was said before a tool was called.
                is_first = False
                answer.add(piece)
                # The first piece goes out at once; later ones are gathered a little, since each event is written.
                if time.monotonic() - told_at >= max(_FLUSH_S, self._means.runner.running / _MOST_DELTAS_A_SECOND):
                    tell(is_whole=False)
            tell(is_whole=True)
        finally:
            close = getattr(stream, "close", None)
            if close is not None:
                close()
        return final

    def _call(self, box: Toolbox, call: ToolCall) -> tuple[str, str | None]:
        """What a tool returned, and where it can be read again."""
        arguments = self._means.redaction.json(dict(call.arguments))
        self._run.emit("tool.called", {"id": call.id, "name": call.name, "arguments": arguments})
        started = time.monotonic()
        is_error = False
        result: Mapping[str, Any] = {}
        try:
            result = box.run(self._run.principal, call.name, call.arguments)
            content = json.dumps(result, ensure_ascii=False)
        except MemoristError as error:
            is_error = True
            content = json.dumps({"error": {"code": error.code, "message": error.message}}, ensure_ascii=False)
        # Its output is stored; the event names it and what it found, and repeats nothing.
        told = {"id": call.id, "name": call.name, "duration_ms": _ms(started), "is_error": is_error}
        ids = [item["id"] for item in result.get("items", ())]
        key = self._keep_output(call, content, [*ids, result.get("id"), result.get("tool_output_key")])
        self._run.emit("tool.completed", {**told, "characters": len(content), "ids": ids, "tool_output_key": key})
        return content, key

    def _keep_output(self, call: ToolCall, content: str, named: Sequence[str | None]) -> str | None:
        """Store what a tool returned, word for word, and return its key; None where nothing of the turn is stored, or
        what it found is erased by now.
        """
        run = self._run
        if not run.turn.has_session:
            return None
        try:
            stored = self._means.ingestion.add_tool_output(
                run.principal,
                run.turn.session,
                # A model may write anything there.
                tool_call_id=_one_line(call.id),
                tool_name=_one_line(call.name),
                content=content[: validation.MAX_TOOL_OUTPUT],
                quotes=[parse_id("mem", one.removeprefix("tout_")) for one in named if one is not None],
            )
        except NotFound:
            return None
        return stored.key


def _one_line(text: str) -> str:
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())[:_LONGEST_NAME] or "unnamed"


def _said(answer: LlmAnswer, most: int) -> str:
    if answer.tool_calls:
        return f"called {', '.join(call.name for call in answer.tool_calls)}"
    told = f"answered in {len(answer.text)} characters"
    return f"{told}, cut off after {most} tokens" if answer.stop is Stop.LENGTH else told


def _completed(agent: str, started: float, usage: Usage, summary: str) -> dict[str, Any]:
    return {"agent": agent, "duration_ms": _ms(started), "cost_usd": usage.cost_usd, "output_summary": summary}


def _summary(found: ExtractedMemories) -> str:
    """Such as "+3 entries (1 insight, 1 goal, 1 history)"."""
    new = [one.memory.category or "fact" for one in found.memories if one.was_new]
    kinds = ", ".join(f"{count} {category}" for category, count in Counter(new).items())
    told = f"+{len(new)} {'entry' if len(new) == 1 else 'entries'}{f' ({kinds})' if kinds else ''}"
    if found.dropped:
        told += f"; {told_dropped(found.dropped)}"
    if found.failure is not None:
        told += f"; found locally: {found.failure}"
    return f"{told}; found locally, and tried again" if found.waiting else told


def _ms(started: float) -> int:
    return round(1000 * (time.monotonic() - started))

"""`memorist demo`: the story is stored, and asked about, in a store of which nothing stays."""

import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from memorist.core import Core
from memorist.ingestion.service import Message
from memorist.models.passages import spoken_date
from memorist.platform.values import Principal, Role
from memorist.recall.values import Question, Recalled
from memorist.surfaces.cli.flags import REFUSED_KEY, STORE, Flags, with_flags
from memorist.surfaces.cli.hits import hit_table, recalled_record
from memorist.surfaces.cli.scratch import scratch
from memorist.surfaces.cli.terminal import print_json, print_line, print_rendered
from memorist.views import story

if TYPE_CHECKING:
    from rich.table import Table

_SHOWN = 2
# Long enough to read an answer, short enough for the whole tour to take half a minute.
_PAUSE_SECONDS = 2.5
_TODAY = datetime(2026, 6, 1, 9, tzinfo=UTC)
_BETWEEN_TURNS = timedelta(minutes=1)

_NEXT_STEPS = (
    ("memorist ingest notes/ chat.jsonl", "store your own documents and conversations"),
    ('memorist recall "…" --explain', "ask, and see why each memory came back"),
    ("memorist serve", "let your agents remember through the API"),
    ("memorist --help", "everything else"),
)


@with_flags(*STORE, *REFUSED_KEY)
def demo(flags: Flags) -> None:
    """Take a tour of half a minute: a sample conversation is stored and asked about, and nothing stays.

    Without --data or --database it happens in a temporary folder; in a given database the rows are erased afterwards.
    """
    clock = _StoryClock()
    with scratch(flags, clock=clock) as space:
        principal = Principal(space.tenant, Role.USER, f"{space.prefix}-ines", source="demo")
        told = _Told(space.core, principal, clock, speaking=not flags.as_json)
        told.store()
        for asked in story.QUESTIONS:
            told.ask(asked)
    if flags.as_json:
        print_json({"stored": told.stored, "answers": told.answers})
    else:
        _print_end(folder_gone=flags.data is None and flags.database is None)


@dataclass(slots=True)
class _StoryClock:
    """Stands where the story is, so that it can be asked what was known when."""

    moment: datetime = _TODAY

    def now(self) -> datetime:
        return self.moment


class _Told:
    """The tour: does one thing after the other and, unless it is for a program, shows it."""

    def __init__(self, core: Core, principal: Principal, clock: _StoryClock, *, speaking: bool) -> None:
        self._core = core
        self._principal = principal
        self._clock = clock
        self._speaking = speaking
        self._ids: dict[str, str] = {}
        self.stored: dict[str, Any] = {}
        self.answers: list[dict[str, Any]] = []

    def store(self) -> None:
        if self._speaking:
            _print_styled(("Memorist", "bold"), (": long-term memory for AI agents.", ""))
            print_line(
                "This tour runs in a store that is gone afterwards, with models on this machine:\nno key, no network.\n"
            )
        started = time.perf_counter()
        messages = sum(self._store_scene(scene) for scene in story.SCENES)
        document = self._core.ingestion.add_document(
            self._principal, title=story.DOCUMENT_TITLE, content=story.DOCUMENT, media_type="text/markdown"
        )
        self._core.facts.remember(self._principal, story.FACT)
        self._clock.moment = _TODAY
        for _ in self._core.indexer.finish(self._principal.tenant):
            pass
        self.stored = {
            "sessions": len(story.SCENES),
            "messages": messages,
            "tool_outputs": 1,
            "document_chunks": document.document.chunks,
            "facts": 1,
            "seconds": round(time.perf_counter() - started, 3),
        }
        if self._speaking:
            self._print_stored()

    def _store_scene(self, scene: story.Scene) -> int:
        self._clock.moment = scene.time
        messages = [
            Message("user", text, speaker, scene.time + index * _BETWEEN_TURNS)
            for index, (speaker, text) in enumerate(scene.turns)
        ]
        stored = self._core.ingestion.add_messages(self._principal, scene.session, messages, extract=False)
        self._ids |= {one.memory.content: one.memory.id for one in stored}
        if scene.session == story.TOOL_SESSION:
            self._core.ingestion.add_tool_output(
                self._principal,
                scene.session,
                tool_call_id="call_1",
                tool_name=story.TOOL_NAME,
                content=story.TOOL_OUTPUT,
            )
        return len(messages)

    def ask(self, asked: story.StoryQuestion) -> None:
        question = Question(
            asked.question,
            top_k=_SHOWN,
            known_at=asked.known_at,
            explain=True,
            why_not=self._ids[asked.why_not] if asked.why_not else None,
        )
        started = time.perf_counter()
        recalled = self._core.recall.recall(self._principal, question)
        milliseconds = round((time.perf_counter() - started) * 1000, 1)
        record = {"question": asked.question, "shows": asked.shows, "milliseconds": milliseconds}
        self.answers.append(record | recalled_record(recalled))
        if self._speaking:
            self._print_answer(asked, recalled, milliseconds)
            _pause()

    def _print_stored(self) -> None:
        first, last = story.SCENES[0].time, story.SCENES[-1].time
        counts = f"{self.stored['messages']} messages in {self.stored['sessions']} conversations"
        _print_styled(("Stored", "bold"), (f": {counts} of {story.PEOPLE}, {first:%B} to {last:%B %Y},", ""))
        chunks = f"{self.stored['document_chunks']} chunks"
        print_line(f"a tool's output, a document in {chunks} and a fact, in {self.stored['seconds']:.1f} s.\n")
        _pause()

    def _print_answer(self, asked: story.StoryQuestion, recalled: Recalled, milliseconds: float) -> None:
        when = f"  (as of {spoken_date(asked.known_at)})" if asked.known_at else ""
        _print_styled((f"? {asked.question}", "bold green"), (f"{when}  {milliseconds:.0f} ms", "dim"))
        _print_styled((f"  {asked.shows}", "italic"))
        if recalled.hits:
            table = hit_table(recalled.hits, asked.question, with_ids=False, with_head=False)
            _print_indented(table)
        else:
            print_line("  Nothing relevant is remembered.")
        if recalled.why_not is not None:
            _print_styled((f'  Why not "{asked.why_not}"?', ""))
            print_line(f"  {recalled.why_not['reason']}")
        print_line("")


def _print_end(*, folder_gone: bool) -> None:
    print_line("The temporary folder is gone." if folder_gone else "What was stored for the tour is erased.")
    print_line("")
    _print_styled(("What to do next", "bold"))
    width = max(len(command) for command, _ in _NEXT_STEPS) + 2
    for command, what in _NEXT_STEPS:
        _print_styled((f"  {command:{width}}", "cyan"), (what, ""))


def _print_styled(*parts: tuple[str, str]) -> None:
    from rich.text import Text

    print_rendered(Text.assemble(*parts))


def _print_indented(table: "Table") -> None:
    from rich.padding import Padding

    print_rendered(Padding(table, (0, 0, 0, 2)))


def _pause() -> None:
    if sys.stdout.isatty():
        time.sleep(_PAUSE_SECONDS)  # noqa: TID251

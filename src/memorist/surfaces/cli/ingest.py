"""`memorist ingest`."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from memorist.documents import media_type_of
from memorist.errors import IdempotencyMismatch, Invalid, InvalidField, PayloadTooLarge
from memorist.ingestion.service import Message
from memorist.platform import validation
from memorist.surfaces.cli.failures import exit_code_of
from memorist.surfaces.cli.files import (
    Format,
    FoundFile,
    Located,
    SkippedFile,
    UnreadableFile,
    find_files,
    format_of,
    in_batches,
    read_conversations,
)
from memorist.surfaces.cli.flags import ANYWHERE, IDENTITY, Flags, with_flags
from memorist.surfaces.cli.progress import NoWait, progress_bar, wait_for_vectors
from memorist.surfaces.cli.speaking import core_here, speaking
from memorist.surfaces.cli.terminal import note, print_json
from memorist.verbs import Verbs

# One transaction each: large enough to be fast, small enough to be held in memory twice.
_MESSAGES_AT_ONCE = 200
_CHARACTERS_AT_ONCE = 250_000  # Well below what a server takes at once, where nobody changed that.
# The most bytes that the longest document can take in UTF-8.
_LARGEST_DOCUMENT = 4 * validation.MAX_DOCUMENT
_SHOWN = 5


@dataclass(slots=True)
class _Summary:
    """What was done, file by file."""

    files: int = 0
    documents: int = 0
    replaced: int = 0
    unchanged: int = 0
    chunks: int = 0
    messages: int = 0
    already_there: int = 0
    skipped: list[dict[str, str]] = field(default_factory=list)
    failed: list[dict[str, str]] = field(default_factory=list)
    waiting: int | None = 0


@with_flags(*ANYWHERE, *IDENTITY)
def ingest(
    flags: Flags,
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files, and folders with everything below.")],
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="Session of the messages. Default: the name of the file.")
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="What the files hold.")] = Format.AUTO,
    title: Annotated[
        str | None, typer.Option(metavar="LINE", help="Title of the document. Default: the name of the file.")
    ] = None,
    shared: Annotated[
        bool | None,
        typer.Option("--shared/--own", help="Documents for the whole tenant, or your own. Default: as you may."),
    ] = None,
    no_extract: Annotated[bool, typer.Option("--no-extract", help="Find no facts in conversations.")] = False,
    no_wait: NoWait = False,
) -> None:
    """Store files: documents (text, Markdown, HTML, PDF) in chunks, and conversations (JSON, JSON lines) as messages.

    A conversation is a list or lines of messages with `role` and `content`, and optionally `name` and `event_time`, or
    an object that has them in `messages`. Ingesting a document again replaces it; ingesting the same conversation again
    within 24 hours adds nothing. What is worth remembering of a conversation is found in it once it is stored. A file
    that cannot be read is told, and the others go on; the exit code is then 2.
    """
    if session is not None:
        validation.identifier("session", session)
    summary = _Summary()
    found = list(_found(paths, summary))
    count = len(found) + len(summary.failed)
    if title is not None and count != 1:
        raise InvalidField(f"--title is for one document, and there are {count} files.", field="title")
    if found or not summary.failed:  # No database is made for what cannot be read.
        with speaking(flags) as memory:
            step = _Ingesting(memory, summary, session, title, shared, not no_extract)
            try:
                _take_all(step, found, format_)
            except BaseException:
                _note(summary)
                raise
            summary.waiting = _finish(memory, no_wait=no_wait)
    if flags.as_json:
        print_json(asdict(summary))
    else:
        _note(summary)
    if summary.failed:
        raise typer.Exit(exit_code_of(Invalid()))


def _take_all(step: "_Ingesting", found: list[FoundFile], format_: Format) -> None:
    with _bytes_of(found) as moved:
        for number, one in enumerate(found):
            step.take(one, format_, partial(moved, number))
            moved(number, one.size)


def _finish(memory: Verbs, *, no_wait: bool) -> int | None:
    """Have what was stored found by meaning and read for facts, unless somebody else is to. How many memories still
    wait, which a server does not tell; it also reads by itself.
    """
    core = core_here(memory)
    if core is None:
        return None if no_wait else memory.wait_until_indexed() or 0
    tenant = memory.principal.tenant
    if no_wait:
        return core.indexer.progress(tenant).waiting
    waiting = wait_for_vectors(core, tenant)
    core.jobs.finish(tenant)
    return waiting


def _found(paths: list[str], summary: _Summary) -> Iterator[FoundFile]:
    for one in find_files(paths):
        if isinstance(one, SkippedFile):
            summary.skipped.append(asdict(one))
        elif isinstance(one, UnreadableFile):
            summary.failed.append(asdict(one))
        else:
            yield one


@dataclass(frozen=True, slots=True)
class _Ingesting:
    """Takes one file after the other, and writes down what came of it."""

    memory: Verbs
    summary: _Summary
    session: str | None
    title: str | None
    shared: bool | None
    extract: bool
    names: dict[str, Path] = field(default_factory=dict)

    def take(self, found: FoundFile, format_: Format, moved: Callable[[int], None]) -> None:
        """Store a file, telling how many bytes of it are done. What cannot be understood is written down as failed."""
        try:
            if format_ is Format.AUTO:
                format_ = format_of(found)
            if format_ is Format.MESSAGES:
                self._take_messages(found, moved)
            else:
                self._take_document(found)
            self.summary.files += 1
        except (Invalid, PayloadTooLarge) as error:
            self._fail(found, error.message)
        except OSError as error:
            self._fail(found, f"It cannot be read: {error.strerror}.")

    def _fail(self, found: FoundFile, message: str) -> None:
        self.summary.failed.append({"path": str(found.path), "message": message})

    def _take_document(self, found: FoundFile) -> None:
        if found.size > _LARGEST_DOCUMENT:
            raise Invalid(f"It is larger than {_LARGEST_DOCUMENT >> 20} MB. Split it.", field="path")
        self._claim(found)
        stored = self.memory.add_document(
            self.title or found.name,
            found.path.read_bytes(),
            media_type=media_type_of(found.name) or "text/plain",
            shared=self.shared,
        )
        self.summary.documents += stored.changed
        self.summary.replaced += stored.changed and not stored.was_new
        self.summary.unchanged += not stored.changed
        self.summary.chunks += stored.document.chunks if stored.changed else 0

    def _claim(self, found: FoundFile) -> None:
        """Raises Invalid where another file has the name, under which one would replace the other."""
        first = self.names.setdefault(found.name, found.path)
        if not first.samefile(found.path):
            raise Invalid(
                f"{first} is called {found.name}, too. Ingest a folder that holds both, or this one alone with "
                "--title or --session.",
                field="path",
            )

    def _take_messages(self, found: FoundFile, moved: Callable[[int], None]) -> None:
        if self.session is None:
            self._claim(found)
        with found.path.open("rb") as source:
            for conversation in read_conversations(found, source):
                session = self.session or found.session
                if conversation.number is not None and self.session is None:
                    session = f"{session}-{conversation.number}"[-validation.MAX_IDENTIFIER :]
                stored = 0
                for batch in in_batches(conversation.messages, _MESSAGES_AT_ONCE, _CHARACTERS_AT_ONCE):
                    self._store(session, stored, batch)
                    stored += len(batch)
                    moved(source.tell())

    def _store(self, session: str, first: int, located: list[Located]) -> None:
        batch = [one.message for one in located]
        try:
            results = self.memory.add_messages(
                session, batch, extract=self.extract, idempotency_key=_batch_key(session, first, batch)
            )
        except IdempotencyMismatch:
            # The key is made of the messages: they are there, stored with --no-extract or without, unlike now.
            self.summary.already_there += len(batch)
            return
        except InvalidField as error:
            counted = f"After {first} messages: " if first else ""
            raise InvalidField(counted + _told_in_file(error, located), field=error.field) from error
        self.summary.messages += sum(not result.replayed for result in results)
        self.summary.already_there += sum(result.replayed for result in results)


def _told_in_file(error: InvalidField, batch: list[Located]) -> str:
    """What an error says of a message of the batch, by where that is in the file."""
    match = re.match(r"messages\.(\d+)", error.field or "")
    return error.message if match is None else error.message.replace(match[0], batch[int(match[1])].where, 1)


def _batch_key(session: str, first: int, batch: list[Message]) -> str:
    """The same for the same messages at the same position of a session, so that repeating them adds nothing."""
    parts = [session, first, [asdict(_in_utc(message)) for message in batch]]
    return f"ingest-{hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()}"


def _in_utc(message: Message) -> Message:
    at = message.event_time
    return replace(message, event_time=at.astimezone(UTC)) if isinstance(at, datetime) else message


@contextmanager
def _bytes_of(found: list[FoundFile]) -> Iterator[Callable[[int, int], None]]:
    """A bar over the bytes of all files, moved by the number of a file and how much of it is done."""
    starts = [0]
    for one in found:
        starts.append(starts[-1] + one.size)
    with progress_bar(in_bytes=True) as report:
        yield lambda number, done: report("Storing", starts[number] + done, starts[-1])


def _note(summary: _Summary) -> None:
    replaced = f" ({summary.replaced} replaced)" if summary.replaced else ""
    parts = [
        f"{_count(summary.documents, 'document')}{replaced} in {_count(summary.chunks, 'chunk')}"
        if summary.documents
        else "",
        f"{_count(summary.unchanged, 'document')} unchanged" if summary.unchanged else "",
        _count(summary.messages, "message") if summary.messages else "",
        f"{_count(summary.already_there, 'message')} already there" if summary.already_there else "",
    ]
    told = ", ".join(filter(None, parts)) or "Nothing new"
    note(f"{told} from {_count(summary.files, 'file')}.")
    if summary.waiting:
        note(f"{_count(summary.waiting, 'memory')} without vectors yet, found by keyword meanwhile.")
    reasons: dict[str, list[str]] = {}
    for skipped in summary.skipped:
        reasons.setdefault(skipped["reason"], []).append(skipped["path"])
    for reason, paths in reasons.items():
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        note(f"Skipped, {reason}: {', '.join(paths[:_SHOWN])}{more}")
    for failed in summary.failed:
        note(f"error: {failed['path']}: {failed['message']}")


def _count(number: int, noun: str) -> str:
    return (
        f"{number} {noun}" if number == 1 else f"{number} {noun.removesuffix('y')}{'ies' if noun[-1] == 'y' else 's'}"
    )

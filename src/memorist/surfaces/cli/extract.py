"""`memorist extract`."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from memorist.errors import Invalid, PayloadTooLarge
from memorist.learning.extractors.kinds import Vocabulary, category_of
from memorist.learning.outcomes import told_dropped
from memorist.learning.service import ExtractedMemories, Preview
from memorist.learning.transcript_files import MAX_BYTES
from memorist.models.values import Usage
from memorist.surfaces.cli.flags import ANYWHERE, IDENTITY, Flags, with_flags
from memorist.surfaces.cli.progress import progress_bar
from memorist.surfaces.cli.speaking import core_here, only_here, speaking
from memorist.surfaces.cli.terminal import counted, note, print_json, print_table


@with_flags(*ANYWHERE, *IDENTITY)
def extract(
    flags: Flags,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A transcript; - reads from stdin.")],
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="Session of the messages. Default: the one that the file names.")
    ] = None,
    project: Annotated[
        str | None, typer.Option(metavar="PATH", help="Project of the memories. Default: the one that the file names.")
    ] = None,
    vocabulary: Annotated[Vocabulary, typer.Option(help="Which categories the memories get.")] = Vocabulary.CODING,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be found; nothing is stored.")
    ] = False,
) -> None:
    """Find what is worth remembering in a transcript: JSON lines of coding assistants, or plain text with speakers.

    The messages are stored first, then what is found in them: by the language model where MEMORIST_LLM names one, else
    by a local model. A transcript that is given again, and has grown, adds what is new. What the language model did
    not read is read by the local one, and waits for it in `memorist jobs list`.
    """
    text = _read(file)
    with speaking(flags) as memory, progress_bar() as report:

        def advance(done: int, total: int) -> None:
            report("Reading", done, total)

        if dry_run:
            found = only_here(memory, "--dry-run").core.extraction.find(text, vocabulary=vocabulary, report=advance)
        elif core_here(memory) is None and vocabulary is Vocabulary.CODING:
            extracted = memory.extract(text, session=session, project=project)
        else:
            me = only_here(memory, "--vocabulary")
            extracted = me.core.extraction.read_transcript(
                me.writing(), text, session=session, project=project, vocabulary=vocabulary, report=advance
            )
    if dry_run:
        _show_found(flags, found, vocabulary)
    else:
        _show_extracted(flags, extracted)


def _read(file: str) -> str:
    """The text of a file. Raises Invalid or PayloadTooLarge."""
    try:
        content = sys.stdin.buffer.read(MAX_BYTES + 1) if file == "-" else _bytes_of(Path(file))
    except (OSError, ValueError) as error:
        raise Invalid(f"{file} cannot be read: {getattr(error, 'strerror', error)}.", field="file") from error
    if len(content) > MAX_BYTES:
        raise PayloadTooLarge(f"{file} has more than {MAX_BYTES:,} bytes. Split it.")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        what = "The text from stdin" if file == "-" else file
        raise Invalid(f"{what} is not valid UTF-8.", field="file") from error


def _bytes_of(path: Path) -> bytes:
    with path.open("rb") as source:
        return source.read(MAX_BYTES + 1)


def _show_found(flags: Flags, found: Preview, vocabulary: Vocabulary) -> None:
    items = [
        {
            "category": category_of(one.found, vocabulary),
            "content": one.content,
            "excerpt": one.excerpt,
            "confidence": one.confidence,
            "trust": str(one.trust),
        }
        for one in found.candidates
    ]
    if flags.as_json:
        counts = {"messages": len(found.messages), "skipped": found.skipped, "dropped": dict(found.dropped)}
        print_json({"memories": items, **counts, "extractor": found.extractor, **_usage(found.usage)})
        return
    _table(items)
    note(f"{len(items)} found in {counted(len(found.messages), 'message')} by {found.extractor}; nothing was stored.")
    _note_left_out(found.skipped, found.dropped)


def _show_extracted(flags: Flags, extracted: ExtractedMemories) -> None:
    items = [
        {
            "id": one.memory.id,
            "was_new": one.was_new,
            "category": one.memory.category,
            "content": one.memory.content,
            "excerpt": one.memory.excerpt,
            "confidence": one.memory.confidence,
            "trust": str(one.memory.trust),
        }
        for one in extracted.memories
    ]
    if flags.as_json:
        names = ("session", "messages", "known", "skipped", "waiting", "dropped")
        counts = {name: getattr(extracted, name) for name in names}
        print_json({"memories": items, **counts, "extractor": extracted.extractor, **_usage(extracted.usage)})
        return
    _table(items)
    there = f", {extracted.known} {'was' if extracted.known == 1 else 'were'} there already" if extracted.known else ""
    note(f"{len(items)} found by {extracted.extractor}; {counted(extracted.messages, 'message')} stored{there}.")
    if extracted.usage.input_tokens:
        cost = "" if extracted.usage.cost_usd is None else f", {extracted.usage.cost_usd:.4f} dollars"
        note(f"{extracted.usage.input_tokens} tokens read and {extracted.usage.output_tokens} written{cost}.")
    if extracted.waiting:
        parts = counted(extracted.waiting, "part")
        them = "it" if extracted.waiting == 1 else "them"
        note(
            f"warning: the language model did not read {parts}, and the local extractor did. It is asked again; "
            f"`memorist jobs list` shows {them}."
        )
    _note_left_out(extracted.skipped, extracted.dropped)


def _table(items: Sequence[dict[str, Any]]) -> None:
    if items:
        rows = [[one["category"] or "", one["content"], f"{one['confidence']:.2f}"] for one in items]
        print_table(["category", "memory", "confidence"], rows, whole=["category", "confidence"])


def _note_left_out(skipped: int, dropped: Mapping[str, int]) -> None:
    if dropped:
        note(f"{told_dropped(dropped)}.")
    if skipped:
        were = "was" if skipped == 1 else "were"
        note(f"{counted(skipped, 'line')} could not be understood, and {were} skipped.")


def _usage(usage: Usage) -> dict[str, Any]:
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "cost_usd": usage.cost_usd}

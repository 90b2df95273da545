"""`memorist remember`, `edit` and `forget`."""

import json
import sys
from datetime import timedelta
from typing import Annotated, Any

import typer

from memorist.errors import Invalid, InvalidField, InvalidJson
from memorist.memories.fields import check_draft
from memorist.memories.values import Draft, Kind, Memory
from memorist.platform import validation
from memorist.platform.values import Owner
from memorist.surfaces.cli.answers import answer
from memorist.surfaces.cli.erasure import ReceiptFile, report_receipt, require_writable
from memorist.surfaces.cli.flags import ANYWHERE, IDENTITY, Flags, IdempotencyKey, with_flags
from memorist.surfaces.cli.naming import MemoryName, id_of
from memorist.surfaces.cli.records import memory_record
from memorist.surfaces.cli.speaking import only_here, speaking
from memorist.surfaces.cli.terminal import note, print_json, print_line

_STDIN = "-"
# The most bytes that the longest text can take in UTF-8.
_MAX_CONTENT_BYTES = 4 * validation.MAX_CONTENT

Category = Annotated[str | None, typer.Option(metavar="SLUG", help="What it is about, such as goal or decision.")]
Name = Annotated[str | None, typer.Option(metavar="SLUG", help="A name, unique in the profile.")]
Description = Annotated[str | None, typer.Option(metavar="LINE", help="One line about it, for the memory section.")]
Project = Annotated[str | None, typer.Option(metavar="NAME", help="Project it belongs to.")]
Confidence = Annotated[float | None, typer.Option(metavar="0..1", help="How certain it is.")]
Meta = Annotated[str | None, typer.Option(metavar="JSON", help="Further fields, as a JSON object.")]


@with_flags(*ANYWHERE, *IDENTITY)
def remember(
    flags: Flags,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text; - reads it from stdin.")],
    category: Category = None,
    name: Name = None,
    description: Description = None,
    importance: Annotated[int, typer.Option(metavar="N", help="Higher comes first in the memory section.")] = 0,
    project: Project = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="Session it comes from.")] = None,
    kind: Annotated[Kind, typer.Option(help="Where it came from.")] = Kind.FACT,
    confidence: Confidence = None,
    meta: Meta = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="For everybody in the tenant (operator and admins).")
    ] = False,
    ttl_minutes: Annotated[
        float | None, typer.Option(metavar="N", help="Let it end after so many minutes; fractions are allowed.")
    ] = None,
    idempotency_key: IdempotencyKey = None,
) -> None:
    """Store one memory durably and print its id.

    A fact that is already remembered is not stored again. Of a text from stdin, one line break at the end is dropped.
    """
    draft = Draft(
        _content(text), kind, category, name, description, importance=importance, confidence=confidence,
        meta=_json_object(meta), project=project, session=session, owner=Owner() if shared else None,
        ttl=None if ttl_minutes is None else _minutes(ttl_minutes),
    )  # fmt: skip
    check_draft(draft)  # Before a tenant is made for it.
    with speaking(flags, models=True, size=len(draft.content) + len(meta or "")) as memory:
        [result] = memory.remember_all([draft], idempotency_key=idempotency_key)
    answer(
        flags,
        {**memory_record(result.memory), "was_new": result.was_new, "replayed": result.replayed},
        result.memory.id,
        remark="Remembered." if result.was_new else "This was remembered already; nothing was written.",
    )


@with_flags(*ANYWHERE, *IDENTITY)
def edit(
    flags: Flags,
    memory_id: MemoryName,
    content: Annotated[str | None, typer.Option(metavar="TEXT", help="The text; - reads it from stdin.")] = None,
    category: Category = None,
    name: Name = None,
    description: Description = None,
    importance: Annotated[int | None, typer.Option(metavar="N", help="Higher comes first.")] = None,
    project: Project = None,
    confidence: Confidence = None,
    relevance: Annotated[float | None, typer.Option(metavar="0..1", help="How much it matters.")] = None,
    excerpt: Annotated[str | None, typer.Option(metavar="TEXT", help="The part that is quoted.")] = None,
    meta: Meta = None,
    clear: Annotated[list[str] | None, typer.Option(metavar="FIELD", help="Empty this field; repeatable.")] = None,
    if_version: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Only if it still is this version (see `show`).")
    ] = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Write an entry of the companion anew, and erase the old one for good.")
    ] = False,
    idempotency_key: IdempotencyKey = None,
) -> None:
    """Change fields of a memory.

    What the companion, lifecycle, coding-assistant and agent-tools APIs wrote is not changed in place. An entry of the
    companion is written anew with --anew --content TEXT and, where it changes, --category: the new one has an id of its
    own, which is printed.
    """
    given = {
        "content": None if content is None else _content(content), "category": category, "name": name,
        "description": description, "importance": importance, "project": project, "confidence": confidence,
        "relevance": relevance, "excerpt": excerpt, "meta": _json_object(meta),
    }  # fmt: skip
    changes = {field: value for field, value in given.items() if value is not None}
    for field in clear or ():
        if field in changes:
            raise Invalid(f"{field} cannot be set and cleared at once.", field=field)
        changes[field] = None
    if not changes:
        raise Invalid("Name at least one field to change. `memorist edit --help` lists them.")
    if anew:
        _write_anew(flags, memory_id, changes)
        return
    with speaking(flags) as memory:
        edited = memory.edit(
            id_of(memory, memory_id), changes, expected_version=if_version, idempotency_key=idempotency_key
        )
    answer(flags, memory_record(edited), edited.id, remark="Changed.")


def _write_anew(flags: Flags, memory_id: str, changes: dict[str, Any]) -> None:
    if "content" not in changes or not changes.keys() <= {"content", "category"}:
        raise Invalid("--anew comes with --content and, where it changes, --category: nothing else.", field="anew")
    from memorist.context.companion import Category as EntryCategory

    category = changes.get("category")
    with speaking(flags) as memory:
        me = only_here(memory, "--anew")
        written = me.core.companion.rewrite(
            me.principal,
            memory_id,
            changes["content"],
            None if category is None else validation.choice("category", category, EntryCategory),
        )
    answer(flags, memory_record(written.memory), written.memory.id, remark="Written anew; the old entry is erased.")


@with_flags(*ANYWHERE, *IDENTITY)
def forget(
    flags: Flags,
    memory_ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of the memories.")],
    hard: Annotated[bool, typer.Option("--hard", help="Erase them for good, all or none, with a receipt.")] = False,
    receipt: ReceiptFile = None,
) -> None:
    """Delete memories: gone from every list at once.

    They are deleted one by one, and the first that cannot be ends the command; those before it are printed. With --hard
    they are erased instead, from every table and from the bytes of the files, whatever their state.
    """
    if hard:
        with speaking(flags) as memory:
            require_writable(receipt)
            report_receipt(flags, memory, memory.erase(*memory_ids), receipt)
        return
    if receipt is not None:
        raise Invalid("--receipt comes with --hard: only an erasure has a receipt.", field="receipt")
    forgotten: list[Memory] = []
    try:
        with speaking(flags) as memory:
            for memory_id in memory_ids:
                # One by one, so that what was done before an error is known.
                forgotten.append(memory.forget(memory_id))  # noqa: PERF401
    finally:
        if flags.as_json:
            print_json({"items": [memory_record(one) for one in forgotten]})
        else:
            for one in forgotten:
                print_line(one.id)
    note(f"{len(forgotten)} forgotten.")


def _content(text: str) -> str:
    if text != _STDIN:
        return text
    raw = sys.stdin.buffer.read(_MAX_CONTENT_BYTES + 3)
    try:
        content = raw.decode()
    except UnicodeDecodeError as error:
        if len(raw) > _MAX_CONTENT_BYTES:
            raise InvalidField.of("content", f"has more than {validation.MAX_CONTENT} characters.") from error
        raise InvalidField("The text from stdin is not valid UTF-8.", field="content") from error
    return content.removesuffix("\n").removesuffix("\r")


def _minutes(minutes: float) -> timedelta:
    try:
        return validation.ttl(timedelta(minutes=minutes))
    except (OverflowError, ValueError) as error:  # ValueError: not a number.
        raise InvalidField("--ttl-minutes is no number of minutes that a memory can live.", field="ttl") from error


def _json_object(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return validation.meta(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise InvalidJson(f"--meta is not JSON: {error}.", field="meta") from error

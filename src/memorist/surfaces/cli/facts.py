"""`memorist fact`, `about`, `history`, and `doubts list`, `confirm` and `dismiss`."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from memorist.about.text import format_about
from memorist.codec import to_record
from memorist.facts.records import doubt_record, version_record
from memorist.facts.service import FactScope
from memorist.facts.values import DoubtStatus, FactVersion, InDoubt
from memorist.platform import validation
from memorist.surfaces.cli.answers import answer, answer_page
from memorist.surfaces.cli.flags import (
    ANYWHERE,
    IDENTITY,
    Cursor,
    Flags,
    IdempotencyKey,
    Limit,
    new_group,
    with_flags,
)
from memorist.surfaces.cli.naming import id_of
from memorist.surfaces.cli.records import memory_record
from memorist.surfaces.cli.speaking import speaking
from memorist.surfaces.cli.terminal import note, print_json, print_line, print_table
from memorist.verbs import Verbs

DoubtId = Annotated[str, typer.Argument(metavar="ID", help="Id of the doubt, as dbt_….")]


@with_flags(*ANYWHERE, *IDENTITY)
def fact(
    flags: Flags,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="One fact, as a sentence.")],
    scope: Annotated[FactScope, typer.Option(help="About the user, or of the agent (--agent).")] = FactScope.USER,
    idempotency_key: IdempotencyKey = None,
) -> None:
    """Store a fact, retire what it contradicts, and print its id.

    A fact that is already known is not stored again. What was retired is listed by `memorist history`, and comes back
    with `memorist restore`.
    """
    validation.text("content", text, longest=validation.MAX_CONTENT)
    with speaking(flags, models=True, size=len(text)) as memory:
        told = memory.remember_fact(text, scope, idempotency_key=idempotency_key)
        chain = memory.history(told.memory.id)
    replaced = [version.memory for version in chain if version.memory.superseded_by == told.memory.id]
    if flags.as_json:
        record = {**memory_record(told.memory), "was_new": told.was_new, "replayed": told.replayed}
        print_json({**record, "supersedes": [one.id for one in replaced]})
        return
    print_line(told.memory.id)
    note("Remembered." if told.was_new else "This was remembered already; nothing was written.")
    for one in replaced:
        note(f"It takes the place of {one.id}: {one.content}")


@with_flags(*ANYWHERE, *IDENTITY)
def about(
    flags: Flags,
    person: Annotated[
        str | None, typer.Argument(metavar="[PERSON]", help="Who speaks under this name, or is mentioned.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="Most lines of a topic, 1 to 100.")] = 5,
    written: Annotated[bool, typer.Option("--written", help="Let the language model write it down as well.")] = False,
) -> None:
    """Show what is known of you and of all who speak, or of one person: facts by topic, each with its date; a timeline;
    who and what is mentioned; what changed in the last 30 days; what is in doubt.
    """
    with speaking(flags, reads=True) as memory:
        found = memory.about(person, limit=limit, written=written)
    answer(flags, to_record(found), format_about(found))


@with_flags(*ANYWHERE, *IDENTITY)
def history(
    flags: Flags,
    fact_id: Annotated[str, typer.Argument(metavar="ID|NAME", help="Id of a fact, current or retired, or its name.")],
) -> None:
    """Show the facts that replaced each other, oldest first, and why."""
    with speaking(flags, reads=True) as memory:
        chain = memory.history(id_of(memory, fact_id))
    records = [version_record(version) for version in chain]
    if flags.as_json:
        print_json({"items": records})
        return
    rows = [
        [one["id"], _state(one), _minute(one["valid_from"]), _minute(one["valid_to"]), one["content"], _why(version)]
        for one, version in zip(records, chain, strict=True)
    ]
    print_table(["id", "state", "from", "until", "fact", "why it went"], rows, whole=["id", "state", "from", "until"])


@with_flags(*ANYWHERE, *IDENTITY)
def list_(
    flags: Flags,
    status: Annotated[DoubtStatus, typer.Option(help="Those not decided, or decided so.")] = DoubtStatus.OPEN,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> None:
    """List pairs of facts that may contradict each other, or say the same, newest first."""
    with speaking(flags, reads=True) as memory:
        page = memory.in_doubt(status=status, limit=limit, cursor=cursor)
    answer_page(
        flags,
        page,
        doubt_record,
        ["id", "newer", "older", "reason"],
        lambda pair: [pair.doubt.id, pair.fact.content, pair.other.content, pair.doubt.reason],
        whole=["id"],
        empty="Nothing is in doubt." if status is DoubtStatus.OPEN else f"Nothing was {status}.",
    )


@with_flags(*ANYWHERE, *IDENTITY)
def confirm(flags: Flags, doubt_id: DoubtId) -> None:
    """Decide that the newer fact holds: the older one is retired."""
    _decide(flags, lambda memory: memory.confirm_doubt(doubt_id), "The older fact is retired.")


@with_flags(*ANYWHERE, *IDENTITY)
def refute(flags: Flags, doubt_id: DoubtId) -> None:
    """Decide that the older fact holds: the newer one is retired."""
    _decide(flags, lambda memory: memory.refute_doubt(doubt_id), "The newer fact is retired.")


@with_flags(*ANYWHERE, *IDENTITY)
def dismiss(flags: Flags, doubt_id: DoubtId) -> None:
    """Decide that both facts hold: the two are not judged again."""
    _decide(flags, lambda memory: memory.dismiss_doubt(doubt_id), "Both facts stay.")


def _decide(flags: Flags, decide: Callable[[Verbs], InDoubt], remark: str) -> None:
    with speaking(flags) as memory:
        pair = decide(memory)
    answer(flags, doubt_record(pair), pair.doubt.id, remark=remark)


def _state(record: Mapping[str, Any]) -> str:
    return "now" if record["status"] == "active" else str(record["status"])


def _minute(moment: str | None) -> str:
    return (moment or "")[:16].replace("T", " ")


def _why(version: FactVersion) -> str:
    """The reason of the last event that retired it."""
    reasons = [event.payload.get("reason", "") for event in version.events if event.event_type == "superseded"]
    return str(reasons[-1]) if reasons and version.memory.superseded_by is not None else ""


doubts = new_group({"list": list_, "confirm": confirm, "refute": refute, "dismiss": dismiss})

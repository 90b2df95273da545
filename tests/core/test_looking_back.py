"""What redaction took out, what a turn left behind, and work that is not done: whose it is, and page by page."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from memorist.bootstrap import open_store
from memorist.core import Core
from memorist.errors import Forbidden, InvalidCursor, NotFound
from memorist.facts.values import Doubt
from memorist.ids import new_id
from memorist.ingestion.service import Message
from memorist.memories.values import Kind, Memory, Retention
from memorist.platform.values import JobStatus, Owner, Principal, Role
from memorist.ports import Writer
from memorist.store.drivers import Connection
from memorist.store.statements import SqlStatement, load_statements
from memorist.testing import StepClock
from memorist.testing.clocks import START
from memorist.turns.values import Turn, TurnEvent, TurnStatus
from memorist.views import redaction_log
from tests.support.stores import bare

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
Remember = Callable[..., Memory]


# What redaction took out


def test_redactions_name_the_memory_and_the_rule_and_never_the_secret(
    core: Core, ada: Principal, remember: Remember
) -> None:
    memory = remember(ada, f"Deploy with {SECRET} and {SECRET[:-1]}X.")
    remember(ada, "nothing to hide")
    [note] = core.redaction_log.list(ada).items
    assert (note.memory_id, dict(note.rules), note.owner) == (memory.id, {"github-token": 2}, Owner("ada"))
    assert note.at >= memory.created_at
    assert "ghp_" not in repr(note)


def test_redactions_come_newest_first_and_page_by_page(core: Core, ada: Principal, remember: Remember) -> None:
    written = [remember(ada, f"number {number} {SECRET}").id for number in range(7)]
    seen: list[str] = []
    cursor = None
    while True:
        page = core.redaction_log.list(ada, limit=3, cursor=cursor)
        seen += [note.memory_id for note in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == written[::-1]


def test_redactions_of_others_are_hidden_and_an_admin_sees_all(
    core: Core, ada: Principal, bob: Principal, admin: Principal, remember: Remember
) -> None:
    remember(ada, f"ada's {SECRET}")
    remember(bob, f"bob's {SECRET}")
    assert [note.owner.user for note in core.redaction_log.list(ada).items] == ["ada"]
    assert [note.owner.user for note in core.redaction_log.list(admin).items] == ["bob", "ada"]
    stranger = Principal("somebody-else", Role.ADMIN)
    core.identity.create_tenant(stranger.tenant)
    assert core.redaction_log.list(stranger).items == ()


def test_somebody_without_any_among_many_gets_an_answer_and_can_look_further(
    core: Core, ada: Principal, bob: Principal, remember: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redaction_log, "_BATCH", 2)
    monkeypatch.setattr(redaction_log, "_BATCHES", 2)
    first = remember(ada, f"ada's {SECRET}")
    for number in range(5):
        remember(bob, f"bob's {number} {SECRET}")
    page = core.redaction_log.list(ada)
    assert page.items == ()
    assert page.next_cursor is not None
    rest = core.redaction_log.list(ada, cursor=page.next_cursor)
    assert [note.memory_id for note in rest.items] == [first.id]


def test_erased_memory_leaves_no_redaction(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada, f"Deploy with {SECRET}")
    core.erasure.erase(ada, [memory.id])
    assert core.redaction_log.list(ada).items == ()


@pytest.mark.parametrize("cursor", ["", "x", "WyJqb2JzIiwgMV0", "WyJyZWRhY3Rpb25zIiwgIngiXQ"])
def test_cursor_of_another_list_is_refused(core: Core, ada: Principal, cursor: str) -> None:
    with pytest.raises(InvalidCursor):
        core.redaction_log.list(ada, cursor=cursor)


# What enforcing would do


def test_enforcing_is_previewed_alike_by_counting_and_by_walking(
    core: Core, ada: Principal, admin: Principal, remember: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        remember(ada, f"{number}", kind=Kind.CHAT_MESSAGE, retention=Retention.POLICY, session="s")
    core.retention.archive(ada, remember(ada, "a fact", retention=Retention.POLICY).id)
    core.policies.change(admin, {"active_days": 0, "archive_days": 0})
    core.sweeper.sweep(admin.tenant)
    counted = core.policies.change(admin, {"mode": "enforce"}, dry_run=True)
    walked: list[str] = []
    monkeypatch.setattr(core.policies, "is_settled", lambda _: bool(walked.append("yes")))
    assert core.policies.change(admin, {"mode": "enforce"}, dry_run=True) == counted
    assert walked == ["yes"]
    assert counted.due == {"archived": {"chat_message": 4}, "deleted": {"fact": 1}}
    assert counted.touched == {}


# What a turn left behind


def finished_turn(core: Core, owner: Owner, tenant: str, session: str | None, ids: list[str]) -> Turn:
    """A turn that is over, written as the pipeline writes it."""
    id_ = new_id("turn")
    now = core.clock.now()
    later = now + timedelta(hours=1)
    turn = Turn(
        id_, owner, session or id_, TurnStatus.RUNNING, now, runner="r", lease_until=later, attended_until=later
    )
    injected = TurnEvent(2, "memory.injected", {"entries": len(ids), "tokens": 9, "ids": ids}, now)
    core.store.write(tenant, lambda tx: _write(tx, turn, [TurnEvent(1, "turn.started", {}, now), injected]))
    return turn


def _write(tx: Writer, turn: Turn, events: list[TurnEvent]) -> None:
    tx.turns.insert(turn)
    for event in events:
        tx.turns.append_event(turn.id, event)


def end(core: Core, tenant: str, turn: Turn, at: datetime) -> None:
    ended = replace(turn, status=TurnStatus.COMPLETED, answer="Noted.", completed_at=at)
    assert core.store.write(tenant, lambda tx: tx.turns.finish(ended))


def test_story_has_what_was_said_told_and_learned(
    core: Core, ada: Principal, remember: Remember, clock: StepClock
) -> None:
    known = remember(ada, "I like tea.")
    before, said, after = (Message("user", text) for text in ("said before", "I moved to Oslo.", "said after"))
    core.extraction.keep_messages(ada, "s1", [before], turn=new_id("turn"))
    turn = finished_turn(core, Owner("ada"), ada.tenant, "s1", [known.id, new_id("mem")])
    core.extraction.keep_messages(ada, "s1", [said], turn=turn.id, before=[before])
    end(core, ada.tenant, turn, clock.now())
    core.extraction.keep_messages(ada, "s1", [after], turn=new_id("turn"))
    learned = remember(ada, "Lives in Oslo.", source_ref=turn.id)
    remember(ada, "Lives elsewhere.", source_ref=new_id("turn"))
    story = core.turn_stories.tell(ada, turn.id)
    assert [memory.content for memory in story.said] == ["I moved to Oslo."]
    assert [memory.id for memory in story.injected] == [known.id]
    assert [memory.id for memory in story.learned] == [learned.id]
    assert [event.event for event in story.events] == ["turn.started", "memory.injected"]
    assert story.turn.answer == "Noted."


def test_story_has_what_the_learned_replaced_and_may_contradict(
    core: Core, ada: Principal, remember: Remember, clock: StepClock
) -> None:
    turn = finished_turn(core, Owner("ada"), ada.tenant, "s1", [])
    replaced, doubted, apart = (remember(ada, text) for text in ("Lives in Rome.", "Lives by the sea.", "Likes tea."))
    learned = remember(ada, "Lives in Oslo.", source_ref=turn.id)
    now = clock.now()

    def judge(tx: Writer) -> None:
        assert core.facts.retire(tx, ada, replaced, learned, {"reason": "It changed.", "judge": "test"})
        for number, pair in enumerate(((learned, doubted), (apart, doubted))):
            ids = [one.id for one in pair]
            assert tx.facts.insert_doubt(Doubt(new_id("dbt"), Owner("ada"), *ids, f"{number}", "test", now, now))

    core.store.write(ada.tenant, judge)
    story = core.turn_stories.of_session(ada, "s1", 5)[0]
    assert [one.id for one in story.learned] == [learned.id]
    assert [one.id for one in story.replaced] == [replaced.id]
    assert [one.id for one in story.doubted] == [doubted.id]


def test_turns_of_a_session_come_in_their_order_and_to_their_user_alone(
    core: Core, ada: Principal, bob: Principal
) -> None:
    taken = [finished_turn(core, Owner("ada", agent), ada.tenant, "s1", []) for agent in (None, "a", "b")]
    finished_turn(core, Owner("ada"), ada.tenant, "s2", [])
    assert [one.turn.id for one in core.turn_stories.of_session(ada, "s1", 2)] == [one.id for one in taken[1:]]
    of_agent = core.turn_stories.of_session(replace(ada, agent="b"), "s1", 5)
    assert [one.turn.id for one in of_agent] == [taken[0].id, taken[2].id]
    assert core.turn_stories.of_session(bob, "s1", 5) == []


def test_story_of_many_events_is_whole(core: Core, ada: Principal) -> None:
    turn = finished_turn(core, Owner("ada"), ada.tenant, None, [])
    now = core.clock.now()
    pieces = [TurnEvent(seq, "answer.delta", {"text": f"{seq} "}, now) for seq in range(3, 1203)]
    core.store.write(ada.tenant, lambda tx: [tx.turns.append_event(turn.id, piece) for piece in pieces])
    assert [event.seq for event in core.turn_stories.tell(ada, turn.id).events] == list(range(1, 1203))


def test_story_is_told_to_its_user_alone(
    core: Core, ada: Principal, bob: Principal, admin: Principal, remember: Remember
) -> None:
    turn = finished_turn(core, Owner("ada"), ada.tenant, None, [])
    learned = remember(ada, "Lives in Oslo.", source_ref=turn.id)
    acting = replace(admin, user="ada", on_behalf=True)
    assert core.turn_stories.tell(acting, turn.id).turn.id == turn.id
    assert core.dossiers.get(acting, learned.id).origin.has_turn
    for barred in (admin, replace(acting, role=Role.READER)):
        assert core.turn_stories.of_session(barred, turn.session, 5) == []
        with pytest.raises(Forbidden):
            core.turn_stories.tell(barred, turn.id)
        assert not core.dossiers.get(barred, learned.id).origin.has_turn
    for other in (bob, replace(bob, tenant="somebody-else")):
        core.identity.create_tenant(other.tenant)
        with pytest.raises(NotFound):
            core.turn_stories.tell(other, turn.id)


def test_story_hides_memories_that_its_reader_may_not_see(
    core: Core, ada: Principal, bob: Principal, remember: Remember
) -> None:
    hidden = remember(bob, "bob's own")
    turn = finished_turn(core, Owner("ada"), ada.tenant, None, [hidden.id])
    remember(bob, "bob claims the turn", source_ref=turn.id)
    story = core.turn_stories.tell(ada, turn.id)
    assert (story.injected, story.learned) == ((), ())


# Work that is not done


def test_work_is_listed_by_its_state(core: Core, ada: Principal, bob: Principal) -> None:
    def add(principal: Principal, kind: str, *, claimed: bool = False) -> str:
        return core.store.write(
            ada.tenant, lambda tx: core.jobs.add(tx, principal, kind, {"n": kind}, claimed=claimed)
        ).id

    dead = [add(ada, "unknown"), add(ada, "unheard")]
    core.jobs.run_due(ada.tenant)
    waiting = [add(ada, "later", claimed=True)]
    add(bob, "later", claimed=True)
    assert [job.id for job in core.jobs.list(ada, status=JobStatus.DEAD).items] == dead[::-1]
    assert [job.id for job in core.jobs.list(ada, status=JobStatus.WAITING).items] == waiting
    assert [job.id for job in core.jobs.list(ada, status=JobStatus.DEAD, kind="unheard").items] == dead[1:]
    page = core.jobs.list(ada, status=JobStatus.DEAD, limit=1)
    assert [job.id for job in core.jobs.list(ada, status=JobStatus.DEAD, cursor=page.next_cursor).items] == dead[:1]
    assert core.jobs.list(ada, status=JobStatus.DONE).items == ()


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("list_redactions", "memory_events_redacted"),
        ("list_jobs_not_done", "jobs_not_done"),
        ("list_learned", "memories_of_source"),
        ("list_said", "memories_of_session"),
        ("list_last_said", "memories_of_session"),
    ],
)
def test_lists_walk_an_index_of_their_own(tmp_path: Path, name: str, index: str) -> None:
    store = open_store(bare(str(tmp_path / "memorist.db")))
    store.migrator.migrate(START)
    statement = load_statements("sqlite")[name]
    explain = SqlStatement("explain", "", f"EXPLAIN QUERY PLAN {statement.sql}", statement.parameters)

    def work(connection: Connection) -> list[str]:
        return [row[3] for row in connection.rows(explain, dict.fromkeys(statement.parameters, "x"))]

    plan = store.driver.read(None, work)
    store.close()
    assert re.search(rf"USING INDEX {index} ", plan[0]), plan

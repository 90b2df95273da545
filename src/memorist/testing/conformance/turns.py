"""What every store must do for turns and spending."""

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from memorist.models.values import Usage
from memorist.platform.values import Owner, OwnerFilter, SpentDay
from memorist.ports import Reader, Store, Writer
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.helpers import ADA, EVERYBODY
from memorist.testing.makers import make_turn
from memorist.turns.values import Turn, TurnEvent, TurnFigures, TurnStatus

_SOON = START + timedelta(minutes=5)
_LATER = START + timedelta(days=30)


class TurnConformance(StoreFixtures):
    """`tx.turns`: turns and their events."""

    def test_turn_comes_back_as_it_began_and_as_it_ended(self, store: Store, tenant: str, neighbour: str) -> None:
        turn = _begin(store, tenant, make_turn(owner=Owner("ada", "coder"), request='{"ask": "ключ"}'))
        assert store.read(tenant, lambda tx: tx.turns.get(turn.id)) == turn
        assert store.read(neighbour, lambda tx: (tx.turns.get(turn.id), tx.turns.page(EVERYBODY, None, 9))) == (
            None,
            [],
        )
        over = replace(
            turn,
            status=TurnStatus.FAILED,
            request="",
            answer="Half of it",
            error={"code": "model_error", "message": "It is 'down'."},
            usage=Usage(3, 4, 0.25),
            completed_at=_SOON,
        )
        assert not store.write(neighbour, lambda tx: tx.turns.finish(over))
        assert store.write(tenant, lambda tx: tx.turns.finish(over))
        assert store.read(tenant, lambda tx: tx.turns.get(turn.id)) == over
        assert not store.write(tenant, lambda tx: tx.turns.finish(over))

    def test_turns_of_a_slice_come_newest_first(self, store: Store, tenant: str) -> None:
        owners = (Owner("ada"), Owner("ada", "coder"), Owner("bob"))
        turns = [_begin(store, tenant, make_turn(owner=owner)) for owner in owners]

        def listed(owner: OwnerFilter, before: str | None = None, limit: int = 9) -> list[Turn]:
            return store.read(tenant, lambda tx: tx.turns.page(owner, before, limit))

        assert listed(EVERYBODY) == turns[::-1]
        assert listed(EVERYBODY, limit=1) == turns[2:]
        assert listed(EVERYBODY, turns[2].id) == turns[1::-1]
        assert listed(ADA) == turns[1::-1]
        assert listed(OwnerFilter("ada")) == turns[:1]

    def test_figures_of_a_slice_come_newest_first(self, store: Store, tenant: str, neighbour: str) -> None:
        begun = [
            make_turn(owner=Owner(user), created_at=at) for user, at in (("ada", START), ("bob", _SOON), ("ada", _SOON))
        ]
        for turn in begun:
            _begin(store, tenant, turn)
        over = replace(begun[2], status=TurnStatus.COMPLETED, usage=Usage(3, 4, 0.25), completed_at=_LATER)
        assert store.write(tenant, lambda tx: tx.turns.finish(over))
        last = TurnFigures(TurnStatus.COMPLETED, Usage(3, 4, 0.25), _SOON, _LATER)
        first = TurnFigures(TurnStatus.RUNNING, Usage(), START, None)
        assert store.read(tenant, lambda tx: tx.turns.figures(ADA, START, 9)) == [last, first]
        assert store.read(tenant, lambda tx: tx.turns.figures(ADA, START, 1)) == [last]
        assert store.read(tenant, lambda tx: tx.turns.figures(ADA, _SOON, 9)) == [last]
        assert len(store.read(tenant, lambda tx: tx.turns.figures(EVERYBODY, START, 9))) == 3
        assert store.read(neighbour, lambda tx: tx.turns.figures(EVERYBODY, START, 9)) == []

    def test_turns_without_a_session_go_once_their_time_is_over(
        self, store: Store, tenant: str, neighbour: str
    ) -> None:
        begun = [make_turn(), make_turn(), make_turn(session="s"), make_turn(created_at=_LATER)]
        alone, running, of_session, later = (
            _begin(store, tenant, one if one.session == "s" else replace(one, session=one.id)) for one in begun
        )
        for one in (alone, of_session, later):
            over = replace(one, status=TurnStatus.COMPLETED, completed_at=_SOON)
            assert store.write(tenant, partial(_end, over))
        assert store.write(neighbour, lambda tx: tx.turns.drop_unkept(_SOON)) == 0
        assert store.write(tenant, lambda tx: tx.turns.drop_unkept(_SOON)) == 1
        assert store.read(tenant, lambda tx: tx.turns.events(alone.id, 0, 9)) == []
        left = store.read(tenant, lambda tx: [turn.id for turn in tx.turns.page(EVERYBODY, None, 9)])
        assert set(left) == {running.id, of_session.id, later.id}

    def test_turn_is_locked_where_there_is_one(self, store: Store, tenant: str, neighbour: str) -> None:
        turn = _begin(store, tenant, make_turn())
        assert store.write(tenant, lambda tx: tx.turns.lock(turn.id))
        assert not store.write(neighbour, lambda tx: tx.turns.lock(turn.id))

    def test_events_of_a_turn_are_read_after_one_of_them(self, store: Store, tenant: str, neighbour: str) -> None:
        turn = _begin(store, tenant, make_turn())
        assert store.read(tenant, lambda tx: tx.turns.last_event(turn.id)) == 0
        events = [TurnEvent(seq, "text", {"nested": ["ключ", None, seq]}, START) for seq in (1, 2, 3)]
        for event in events:
            store.write(tenant, partial(_append, turn.id, event))
        assert store.read(tenant, lambda tx: tx.turns.events(turn.id, 0, 9)) == events
        assert store.read(tenant, lambda tx: tx.turns.events(turn.id, 1, 1)) == events[1:2]
        assert store.read(tenant, lambda tx: tx.turns.last_event(turn.id)) == 3
        assert store.read(neighbour, lambda tx: tx.turns.events(turn.id, 0, 9)) == []

    def test_turn_knows_that_what_it_was_told_is_erased(self, store: Store, tenant: str, neighbour: str) -> None:
        told, silent = _begin(store, tenant, make_turn()), _begin(store, tenant, make_turn())
        for turn, data in ((told, {"ids": ["mem_1"]}), (silent, {})):
            store.write(tenant, partial(_append, turn.id, TurnEvent(1, "answer.delta", {}, START)))
            store.write(tenant, partial(_append, turn.id, TurnEvent(2, "memory.injected", data, START)))
        read = [store.read(tenant, partial(_was_told_what_is_erased, turn.id)) for turn in (told, silent)]
        assert read == [False, True]
        assert not store.read(neighbour, partial(_was_told_what_is_erased, silent.id))

    def test_turn_is_lost_when_nobody_holds_it_and_is_taken_once(self, store: Store, tenant: str) -> None:
        held, left = _begin(store, tenant, make_turn()), _begin(store, tenant, make_turn())
        assert store.read(tenant, lambda tx: tx.turns.lost(START, 9)) == []
        assert store.write(tenant, lambda tx: tx.turns.hold(held.id, "first", _LATER))
        assert store.read(tenant, lambda tx: tx.turns.lost(_SOON, 9)) == [left]
        assert not store.write(tenant, lambda tx: tx.turns.take(held.id, "second", _SOON, _LATER))
        assert store.write(tenant, lambda tx: tx.turns.take(left.id, "second", _SOON, _LATER))
        assert not store.write(tenant, lambda tx: tx.turns.take(left.id, "third", _SOON, _LATER))
        assert not store.write(tenant, lambda tx: tx.turns.hold(left.id, "first", _LATER))
        assert not store.write(tenant, lambda tx: tx.turns.finish(replace(left, status=TurnStatus.COMPLETED)))
        assert store.read(tenant, lambda tx: tx.turns.lost(_SOON, 9)) == []

    def test_attendance_moves_forward_only(self, store: Store, tenant: str) -> None:
        turn = _begin(store, tenant, make_turn())
        for until in (_LATER, _SOON):
            store.write(tenant, partial(_attend, turn.id, until))
        assert store.read(tenant, lambda tx: tx.turns.get(turn.id)) == replace(turn, attended_until=_LATER)


class SpendingConformance(StoreFixtures):
    """`tx.spending`: what calls of language models took."""

    def test_spending_is_counted_by_tenant_and_day_and_outlives_users(
        self, store: Store, tenant: str, neighbour: str
    ) -> None:
        for day, cost, budgeted in ((START, 0.25, True), (START, 0.5, True), (START, 4.0, False), (_LATER, 2.0, True)):
            took = SpentDay(day, 2, 1, 10, 3, cost, 1.5 + cost, 1.0 + cost)
            store.write(tenant, lambda tx: tx.spending.add(took, budgeted=budgeted))

        def spent(of: str, since: datetime) -> float:
            return store.read(of, lambda tx: tx.spending.spent(since))

        days = store.read(tenant, lambda tx: tx.spending.days(START))
        assert days == [
            SpentDay(START, 6, 3, 30, 9, 4.75, 9.25, 5.0),
            SpentDay(_LATER, 2, 1, 10, 3, 2.0, 3.5, 3.0),
        ]
        assert store.read(tenant, lambda tx: tx.spending.days(_LATER)) == days[1:]
        assert store.read(neighbour, lambda tx: tx.spending.days(START)) == []

        store.write(tenant, lambda tx: tx.erasure.erase_owned(ADA))
        assert (spent(tenant, START), spent(tenant, _LATER), spent(neighbour, START)) == (2.75, 2.0, 0.0)
        assert store.write(tenant, lambda tx: tx.erasure.erase_leftovers())["spending"] == 2
        assert spent(tenant, START) == 0.0


def _begin(store: Store, tenant: str, turn: Turn) -> Turn:
    store.write(tenant, lambda tx: tx.turns.insert(turn))
    return turn


def _append(turn_id: str, event: TurnEvent, tx: Writer) -> None:
    tx.turns.append_event(turn_id, event)


def _attend(turn_id: str, until: datetime, tx: Writer) -> None:
    tx.turns.attend(turn_id, until)


def _end(turn: Turn, tx: Writer) -> bool:
    tx.turns.append_event(turn.id, TurnEvent(1, "turn.completed", {}, _SOON))
    return tx.turns.finish(turn)


def _was_told_what_is_erased(turn_id: str, tx: Reader) -> bool:
    return tx.turns.was_told_what_is_erased(turn_id)

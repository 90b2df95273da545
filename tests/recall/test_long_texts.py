"""A long text is embedded in pieces, and whatever is short goes between them: it keeps nobody else waiting."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import psycopg
import pytest

from memorist.core import Core
from memorist.errors import ModelError, ModelUnavailable
from memorist.memories.values import Draft, Memory
from memorist.platform.values import Principal, Role
from memorist.recall.index import indexer, vectors
from memorist.recall.index.embedding import LONG, next_of, texts_of
from memorist.recall.values import Unembedded
from memorist.testing import StepClock
from memorist.testing.conformance.helpers import index_rows
from tests.recall.conftest import OpenCore, ask, is_done, remember, reword, say, user_of
from tests.support.models import WordEmbedder, word_vector
from tests.support.postgres import become


class Script:
    """A core whose background is told when to go round, and what its embedder was given each time."""

    def __init__(self, open_with: OpenCore) -> None:
        self.calls: list[list[str]] = []
        self.embedder = WordEmbedder(before=lambda texts: self.calls.append(list(texts)))
        self.core: Core = open_with(self.embedder, background=False)
        self.bob = replace(user_of(self.core), user="bob")
        self.ada = replace(self.bob, user="ada")

    def go_round(self, times: int = 1) -> list[str]:
        """What the embedder was given meanwhile: `name` for a piece of a text of that name, `name*3` for three."""
        self.calls.clear()
        for _ in range(times):
            self.core.indexer._loop._go_round()
        return [_told(texts) for texts in self.calls]

    def read(self, name: str) -> list[str]:
        """What the embedder was given of texts of a name, from the beginning."""
        return [text for text in self.embedder.embedded if name in text]

    def windows(self, memory: Memory) -> list[str]:
        (texts,) = self.core.store.read(memory.tenant, lambda tx: texts_of([memory], tx))
        return texts

    def go_on(self, most: int = 200) -> list[str]:
        """Go round until everything is done."""
        told: list[str] = []
        while not is_done(self.core, self.bob.tenant):
            told += self.go_round()
            most -= 1
            assert most, "it ends"
        return told


def _told(texts: Sequence[str]) -> str:
    names = [text.partition("] ")[2].removeprefix("| ").split()[0] for text in texts]
    return f"{names[0]}*{len(names)}" if len(set(names)) == 1 and "long" not in names[0] else names[0]


@pytest.fixture
def script(open_with: OpenCore) -> Script:
    return Script(open_with)


def long(name: str = "long", count: int = 8000) -> str:
    """Every window of it begins with its name, or nearly."""
    return " ".join(f"{name} w{number}" for number in range(count // 2))


def short(core: Core, who: Principal, count: int = 50, name: str = "short") -> list[Memory]:
    return [one.memory for one in core.memories.remember(who, [Draft(f"{name} {number}") for number in range(count)])]


def assert_embedded(core: Core, *memories: Memory) -> None:
    """Each has the vectors of the text that it has now."""
    for memory in memories:
        texts = core.store.read(memory.tenant, lambda tx, memory=memory: texts_of([memory], tx))[0]
        rows = index_rows(core.store, memory.tenant, memory.owner.user)
        (row,) = [row for row in rows if row.memory_id == memory.id]
        assert row.vectors == vectors.pack(np.stack([word_vector(text) for text in texts]))


# In between


@pytest.mark.parametrize("is_of_the_tenant", [True, False])
def test_what_is_short_goes_before_the_next_piece_of_a_long_text(script: Script, is_of_the_tenant: bool) -> None:
    core = script.core
    ada = script.ada if is_of_the_tenant else user_of(core)
    memory = remember(core, script.bob, long())
    assert script.go_round() == ["long"]
    assert ask(core, script.bob, "w7").degraded
    short(core, ada)
    assert script.go_round() == ["short*50", "long"]
    assert not ask(core, ada, "short 7").degraded
    told = script.go_on()
    assert set(told) == {"long"}
    assert_embedded(core, memory)
    assert not ask(core, script.bob, "w7").degraded


def test_no_window_of_a_long_text_is_embedded_twice(script: Script) -> None:
    memory = remember(script.core, script.bob, long())
    rounds = 0
    while ask(script.core, script.bob, "w7").degraded:
        short(script.core, script.ada, name=f"short{rounds}")
        assert script.go_round() == [f"short{rounds}*50", "long"]
        rounds += 1
    assert script.read("long") == script.windows(memory)


def test_many_long_texts_of_one_keep_what_is_short_waiting_for_one_piece(script: Script) -> None:
    core = script.core
    short(core, script.ada)
    texts = [remember(core, script.bob, long(f"long{number}", 4000)) for number in range(20)]
    assert script.go_round() == ["short*50", "long19"], "although what is long is newer"
    short(core, script.ada, name="next")
    assert script.go_round() == ["next*50", "long19"]
    told = script.go_on()
    assert list(dict.fromkeys(told)) == [f"long{number}" for number in range(19, -1, -1)], "the newest first"
    assert_embedded(core, *texts)


def test_what_is_short_goes_first_behind_more_long_texts_than_are_looked_at(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = script.core
    core.indexer._background = True  # As if it had a thread.
    monkeypatch.setattr(indexer, "_LOOKED_AT", 4)
    few = short(core, script.ada)
    for number in range(6):
        remember(core, script.bob, long(f"long{number}", 4000))
    assert script.go_round()[0] == "short*50"
    assert_embedded(core, *few)
    assert not core.indexer.wait_for(script.bob.tenant, 0), "there may be more"
    script.go_on()
    assert core.indexer.wait_for(script.bob.tenant, 0)


def test_texts_that_are_nearly_long_keep_nobody_waiting_either(script: Script) -> None:
    core = script.core
    few = short(core, script.ada, 20)
    core.memories.remember(script.bob, [Draft(long(f"long{number}", 2000)) for number in range(20)])
    script.go_round()
    assert_embedded(core, *few)
    script.go_on()


def test_a_long_text_goes_on_while_others_have_more_than_can_be_done(script: Script) -> None:
    core = script.core
    memory = remember(core, script.bob, long(count=6000))
    rounds = 0
    while ask(core, script.bob, "w7").degraded:
        short(core, script.ada, 300, f"short{rounds}")
        script.go_round()
        rounds += 1
        assert rounds < 50
    assert ask(core, script.ada, "short").degraded, "there is still more"
    assert_embedded(core, memory)
    script.go_on()


def test_long_texts_of_several_users_come_in_turn(script: Script) -> None:
    core = script.core
    for _ in range(2):
        remember(core, script.bob, long("longbob"))
    assert script.go_round(2) == ["longbob", "longbob"]
    remember(core, script.ada, long("longada", 4000))
    assert script.go_round(6) == ["longbob", "longada"] * 3
    script.go_on()


def test_long_texts_of_several_tenants_come_in_turn(script: Script) -> None:
    core = script.core
    one, another = sorted((user_of(core), user_of(core)), key=lambda who: who.tenant)
    for user in range(12):
        remember(core, replace(one, user=f"user{user}"), long("longone", 3000))
    memories = [remember(core, replace(another, user=user), long("longother", 3000)) for user in ("ada", "bob")]
    begun: dict[tuple[str, str], None] = {}
    while not is_done(core, one.tenant):
        script.go_round()
        begun.update(dict.fromkeys(core.indexer._long._begun))
    turns = ["one" if tenant == one.tenant else "another" for tenant, _ in begun]
    assert turns == ["one"] * 8 + ["one", "another", "one", "another", "one", "one"]
    assert_embedded(core, *memories)


def test_tenants_that_wait_for_a_place_are_not_looked_at_for_every_piece(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = script.core
    everybody = [user_of(core) for _ in range(20)]
    core.indexer._loop._rounds.leave_to_another()  # As a process that looks at whom it is told of.
    memories = [remember(core, who, long(count=4000)) for who in everybody]
    looked: list[str] = []
    work_once = core.indexer._work_once
    monkeypatch.setattr(
        core.indexer, "_work_once", lambda tenant, texts: looked.append(tenant) or work_once(tenant, texts)
    )
    script.go_round(200)
    assert_embedded(core, *memories)
    assert core.indexer.lag == 0
    assert len(looked) <= 20 * 4, "at first, once it is ready, when there is room, and when its text has ended"


@pytest.mark.parametrize(
    ("waiting", "taken"),
    [
        ([("a", 1)] * 3 + [("b", 1)] * 3, "abab"),
        ([("a", LONG - 1)] * 3 + [("b", 9)] * 3, "ab"),
        ([("a", LONG - 100)] * 3 + [("b", 9)] * 3, "abbb"),
        ([("a", LONG // 3)] * 9, "aaaa"),
        ([("a", LONG)] * 2, "a"),
        ([], ""),
    ],
)
def test_each_user_gets_about_as_much(waiting: list[tuple[str, int]], taken: str) -> None:
    rows = [Unembedded(user, f"mem_{number}", size) for number, (user, size) in enumerate(waiting)]
    found = next_of(rows, 4)
    assert "".join(one.user for one in found) == taken
    for user in "ab":
        own = [one for one in rows if one.user == user]
        assert [one for one in found if one.user == user] == own[: taken.count(user)], "in their order"


# Who waits


def test_nobody_waits_for_a_long_text_but_it_counts_as_late(script: Script, open_with: OpenCore) -> None:
    core = open_with(WordEmbedder(), background=False)
    core.indexer._background = True  # As if it had a thread.
    remember(core, script.bob, long())
    assert not core.indexer.wait_for(script.bob.tenant, 0)
    core.indexer._loop._go_round()
    assert core.indexer.wait_for(script.bob.tenant, 0)
    assert core.indexer.lag > 0
    while not is_done(core, script.bob.tenant):
        core.indexer._loop._go_round()
    core.indexer._loop._go_round()
    assert core.indexer.lag == 0


def test_who_waits_for_all_of_it_does_what_is_short_in_between(script: Script) -> None:
    core = script.core
    memory = remember(core, script.bob, long())
    for number, _ in enumerate(core.indexer.finish(script.bob.tenant)):
        if number < 3:
            short(core, script.ada, name=f"short{number}")
    told = [_told(texts) for texts in script.calls]
    assert told[:6] == ["short0*50", "long", "short1*50", "long", "short2*50", "long"]
    assert set(told[6:]) == {"long"}
    assert_embedded(core, memory)


def test_who_stops_waiting_for_all_of_it_gives_it_back(script: Script) -> None:
    core = script.core
    memory = remember(core, script.bob, long())
    short(core, script.ada)
    steps = core.indexer.finish(script.bob.tenant)
    while next(steps).waiting > 1:
        pass
    now = core.clock.now()
    assert core.store.read(memory.tenant, lambda tx: tx.index.waiting(now, 10)) == []
    steps.close()
    (row,) = core.store.read(memory.tenant, lambda tx: tx.index.waiting(now, 10))
    assert row.memory_id == memory.id


# Several processes


@pytest.mark.parametrize("goes_on", [True, False])
def test_who_waits_for_all_of_it_waits_while_another_goes_on(
    script: Script, open_with: OpenCore, clock: StepClock, monkeypatch: pytest.MonkeyPatch, goes_on: bool
) -> None:
    memory = remember(script.core, script.bob, long())
    script.go_round()
    another = open_with(WordEmbedder(), background=False)
    passed = 0.0

    def rest(_: float) -> None:
        """Nearly as much time as is given up after."""
        nonlocal passed
        passed += indexer._GIVEN_UP_S * 0.9
        if goes_on:
            clock.advance(timedelta(seconds=30))
            script.go_round()

    monkeypatch.setattr(indexer, "time", SimpleNamespace(monotonic=lambda: passed))
    monkeypatch.setattr(another.indexer._loop, "rest", rest)
    steps = another.indexer.finish(script.bob.tenant)
    if goes_on:
        assert list(steps)[-1].waiting == 0
        assert_embedded(another, memory)
    else:
        with pytest.raises(ModelError, match="stay as they are"):
            list(steps)


def test_claim_is_kept_for_as_long_as_it_takes(script: Script, open_with: OpenCore, clock: StepClock) -> None:
    core = script.core
    memories = [remember(core, who, long()) for who in (script.bob, script.ada)]
    other = WordEmbedder()
    another = open_with(other, background=False)
    another.indexer.prepare(script.bob.tenant)
    script.go_round(2)
    while not is_done(core, script.bob.tenant):
        clock.advance(timedelta(seconds=40))
        script.go_round()
        another.indexer._loop.again(script.bob.tenant)
        another.indexer._loop._go_round()
    assert other.embedded == []
    assert_embedded(core, *memories)


def test_what_a_process_had_begun_that_is_gone_is_begun_anew(
    script: Script, open_with: OpenCore, clock: StepClock
) -> None:
    memory = remember(script.core, script.bob, long())
    script.go_round(2)
    another = open_with(WordEmbedder(), background=False)
    another.indexer._loop.tell(script.bob.tenant)
    another.indexer._loop._go_round()
    assert not another.indexer._long
    clock.advance(timedelta(seconds=61))
    while not is_done(another, script.bob.tenant):
        another.indexer._loop.again(script.bob.tenant)
        another.indexer._loop._go_round()
    assert_embedded(another, memory)
    assert script.go_round() == [], "it is another's now"
    assert not script.core.indexer._long


def test_processes_that_come_and_go_take_nothing_long_from_who_goes_on(script: Script, open_with: OpenCore) -> None:
    memory = remember(script.core, script.bob, long())
    other = WordEmbedder()
    for _ in range(3):
        script.go_round()
        another = open_with(other, background=False)
        ask(another, script.ada, "anything")  # It takes whoever had claims for gone.
        another.indexer._loop._go_round()
        another.close()
    script.go_on()
    assert [text for text in other.embedded if "long" in text] == []
    assert_embedded(script.core, memory)
    assert script.read("long") == script.windows(memory)


def test_who_closes_gives_back_what_was_begun(open_with: OpenCore) -> None:
    core = open_with(WordEmbedder(before=lambda texts: len(texts) > 1 and core.indexer._loop.stop()))
    bob = user_of(core)
    memory = remember(core, bob, long())
    core.indexer._loop._thread.join()
    (row,) = core.store.read(bob.tenant, lambda tx: tx.index.waiting(core.clock.now(), 10))
    assert row.memory_id == memory.id


# Changes meanwhile


@pytest.mark.parametrize("content", [long("longer"), "a short one"])
def test_text_that_is_edited_in_the_middle_is_begun_anew(script: Script, content: str) -> None:
    core = script.core
    memory = remember(core, script.bob, long())
    script.go_round(2)
    edited = core.memories.edit(script.bob, memory.id, {"content": content})
    assert "long" not in script.go_on()
    assert_embedded(core, edited)
    script.go_round()
    assert not core.indexer._long


def test_long_turn_is_embedded_with_the_message_before_as_it_is_now(script: Script) -> None:
    core = script.core
    first, second = say(core, script.bob, "Is it Porto?", ("assistant", long()))
    script.go_round(2)
    reword(core, first, "Is it Rome?")
    script.go_on()
    assert_embedded(core, second)
    script.calls.clear()
    reword(core, second, long("longer"))
    script.go_round(2)
    core.erasure.erase(script.bob, [first.id])
    script.go_on()
    assert_embedded(core, core.memories.get(script.bob, second.id))


def test_message_before_that_changes_at_the_last_piece_is_seen(script: Script) -> None:
    core = script.core
    first, second = say(core, script.bob, "Is it Porto?", ("assistant", long(count=4000)))
    edited: list[Memory] = []

    def edit(texts: Sequence[str]) -> None:
        if any("w1999" in text for text in texts) and not edited:
            edited.append(reword(core, first, "Is it Rome?"))

    script.embedder.before = edit
    script.go_on()
    assert edited
    assert_embedded(core, second)


def test_message_before_that_somebody_holds_at_the_last_piece_costs_nothing(
    open_with: OpenCore, postgres_url: str
) -> None:
    """On SQLite who holds one row holds them all, and is waited for."""
    script = Script(lambda *given, **options: open_with(*given, url=postgres_url, **options))
    core = script.core
    first, second = say(core, script.bob, "Is it Porto?", ("assistant", long(count=4000)))
    last = script.windows(second)[-1]
    with psycopg.connect(postgres_url) as other:
        become(other, first.tenant)
        other.execute("SELECT 1 FROM memories WHERE tenant_id = %s AND id = %s FOR UPDATE", [first.tenant, first.id])
        while last not in script.embedder.embedded:
            script.go_round()
        assert script.go_round() == [], "it is whole, and is saved later"
        assert not is_done(core, first.tenant)
        other.rollback()  # As one does that was about to erase it.
    assert script.go_round() == []
    assert_embedded(core, second)
    assert script.read("long") == script.windows(second)


def test_text_that_is_erased_in_the_middle_is_no_failure(script: Script) -> None:
    core = script.core
    remember(core, script.bob, long())
    script.go_round(2)
    core.erasure.reset(script.bob)
    assert script.go_round() == []
    assert core.indexer.failure is None
    assert not core.indexer._long
    assert is_done(core, script.bob.tenant)


def test_tenant_that_is_erased_in_the_middle_is_no_failure(script: Script) -> None:
    core = script.core
    remember(core, script.bob, long())
    script.go_round(2)
    admin = Principal(script.bob.tenant, Role.ADMIN)
    core.erasure.delete_tenant(admin, confirm=admin.tenant, at_once=True)
    assert script.go_round() == []
    assert not core.indexer._long


def test_what_was_made_is_kept_while_the_embedder_fails(script: Script) -> None:
    core, embedder = script.core, script.embedder
    memory = remember(core, script.bob, long())
    script.go_round(2)

    def refuse(_: Sequence[str]) -> None:
        raise ModelUnavailable("The embedder is broken.")

    works, embedder.before = embedder.before, refuse
    with pytest.raises(ModelUnavailable):
        script.go_round()
    assert core.indexer.failure == "The embedder is broken."
    (row,) = core.store.read(memory.tenant, lambda tx: tx.index.waiting(core.clock.now(), 10))
    assert row.memory_id == memory.id, "another may take it"
    embedder.before = works
    script.go_on()
    assert core.indexer.failure is None
    assert_embedded(core, memory)
    assert script.read("long") == script.windows(memory)


def test_text_that_the_embedder_refuses_keeps_no_other_from_its_turn(script: Script, clock: StepClock) -> None:
    core, embedder = script.core, script.embedder
    good = remember(core, script.bob, long("longgood"))
    bad = remember(core, script.bob, long("longbad"))
    script.go_round(2)
    made = len(script.read("longbad"))
    assert made

    def refuse(texts: Sequence[str]) -> None:
        if any("longbad" in text for text in texts):
            raise ModelUnavailable("It is refused.")

    embedder.before = refuse
    for _ in range(3):
        with pytest.raises(ModelUnavailable):
            script.go_round()
    while core.indexer.progress(script.bob.tenant).waiting > 1:
        script.go_round()
    assert_embedded(core, good)
    embedder.before = lambda _: None
    clock.advance(timedelta(seconds=61))
    script.go_on()
    assert_embedded(core, bad)
    assert script.read("longbad") == script.windows(bad), "what was made of it was kept"


def test_what_was_made_of_a_refused_text_is_not_kept_for_long(script: Script, clock: StepClock) -> None:
    core, embedder = script.core, script.embedder
    memory = remember(core, script.bob, long())
    script.go_round(2)

    def refuse(_: Sequence[str]) -> None:
        raise ModelUnavailable("It is refused.")

    embedder.before = refuse
    for _ in range(3):
        with pytest.raises(ModelUnavailable):
            script.go_round()
    core.erasure.erase(script.bob, [memory.id])
    clock.advance(timedelta(seconds=121))
    script.go_round()
    assert not core.indexer._long._refused

"""Vectors come at once or soon, survive crashes, are shared among processes, and follow the model that is set."""

import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from memorist.bootstrap import open_store
from memorist.core import Core
from memorist.errors import ModelError, StoreBusy, StoreReadOnly
from memorist.ingestion.service import Message
from memorist.memories import writing
from memorist.memories.values import Draft, Kind, Memory, Status
from memorist.models import passages
from memorist.options import Options
from memorist.platform.values import Job, Principal, Role
from memorist.recall.index import embedding, indexer
from memorist.recall.index.indexer import Progress
from memorist.store.migrations import Migrator, load_migrations
from memorist.store.rows import PARAMETERS, memory_to_values
from memorist.store.statements import load_statements
from memorist.testing import make_memory
from memorist.testing.clocks import START
from memorist.times import SystemClock
from tests.recall.conftest import OpenCore, ask, found, is_done, make_tenant, remember, user_of
from tests.support.jobs import remember_and_die
from tests.support.models import BrokenEmbedder, WordEmbedder
from tests.support.postgres import become
from tests.support.processes import CONTEXT
from tests.support.stores import bare
from tests.support.waiting import SOON, eventually

# At once, or in the background


@pytest.mark.parametrize("count", [1, 8])
def test_small_local_batch_is_embedded_before_the_write_returns(open_with: OpenCore, count: int) -> None:
    embedder = WordEmbedder()
    core = open_with(embedder)
    ada = user_of(core)
    core.memories.remember(ada, [Draft(f"fact {number}") for number in range(count)])
    assert len(embedder.embedded) == count
    assert core.indexer.progress(ada.tenant) == Progress("words-1", count, 0)
    assert not ask(core, ada, "fact").degraded


def words(count: int) -> str:
    return " ".join(f"word{number}" for number in range(count))


def test_long_text_waits_for_the_background_and_keywords_find_it_at_once(open_with: OpenCore) -> None:
    go = threading.Event()
    core = open_with(WordEmbedder(before=lambda texts: len(texts) > 1 and go.wait(SOON)))
    ada = user_of(core)
    before = time.monotonic()
    remember(core, ada, f"{words(50_000)} zeppelin")
    assert time.monotonic() - before < SOON / 4
    recalled = ask(core, ada, "zeppelin")
    assert recalled.degraded
    assert len(recalled.hits) == 1
    go.set()
    eventually(lambda: is_done(core, ada.tenant))
    assert not ask(core, ada, "zeppelin").degraded


@pytest.mark.parametrize(("texts", "at_once"), [((100,), True), ((30,) * 8, True), ((300,), False), ((60,) * 8, False)])
def test_write_waits_for_a_bounded_number_of_words(open_with: OpenCore, texts: tuple[int, ...], at_once: bool) -> None:
    embedder = WordEmbedder(model_id="words-1")
    core = open_with(embedder, background=False)
    ada = user_of(core)
    core.memories.remember(ada, [Draft(f"text{index} {words(count)}") for index, count in enumerate(texts)])
    assert is_done(core, ada.tenant) is at_once
    assert bool(embedder.embedded) is at_once


def test_indexer_stops_in_the_middle_of_a_long_text_and_another_does_it(open_with: OpenCore) -> None:
    asked: list[int] = []

    def stop(texts: Sequence[str]) -> None:
        asked.append(len(texts))
        core.indexer._loop.stop()

    core = open_with(WordEmbedder(before=stop))
    ada = user_of(core)
    remember(core, ada, words(20_000))
    eventually(lambda: bool(asked))
    core.indexer.close()
    assert len(asked) == 1
    assert asked[0] * passages.WINDOW_WORDS <= embedding._WORDS_AT_ONCE
    other = open_with(WordEmbedder())
    assert not is_done(other, ada.tenant)
    assert list(other.indexer.finish(ada.tenant))[-1].waiting == 0


def test_newest_of_many_is_embedded_first(open_with: OpenCore) -> None:
    seen: list[str] = []
    core = open_with(WordEmbedder(before=seen.extend), background=False)
    ada = user_of(core)
    for batch in range(3):
        core.memories.remember(ada, [Draft(f"fact {batch * 100 + number}") for number in range(100)])
    core.indexer._work_once(ada.tenant, core.indexer._long)
    numbers = {int(text.rpartition(" ")[2]) for text in seen}
    assert numbers == set(range(300 - indexer._CLAIM, 300))


def test_edit_is_embedded_before_it_returns(open_with: OpenCore) -> None:
    core = open_with(WordEmbedder())
    ada = user_of(core)
    memory = remember(core, ada, "a teapot")
    for changes in ({"content": "a kettle"}, {"description": "of brass"}, {"meta": {"speaker": "Melanie"}}):
        core.memories.edit(ada, memory.id, changes)
        assert not ask(core, ada, "kettle").degraded, changes
    core.memories.edit(ada, memory.id, {"importance": 3, "category": "goal"})
    assert not ask(core, ada, "kettle").degraded


def test_large_batch_waits_for_the_background_and_keywords_find_it_at_once(open_with: OpenCore) -> None:
    go = threading.Event()
    core = open_with(WordEmbedder(before=lambda texts: len(texts) > 1 and go.wait(SOON)))
    ada = user_of(core)
    core.memories.remember(ada, [Draft(f"unusual{number} fact") for number in range(40)])
    recalled = ask(core, ada, "unusual17")
    assert recalled.degraded
    assert recalled.hits[0].memory.content == "unusual17 fact"
    go.set()
    eventually(lambda: is_done(core, ada.tenant))
    assert not ask(core, ada, "unusual17").degraded


def test_memory_that_waits_for_its_vectors_is_found_by_its_words_among_many_that_do_not(open_with: OpenCore) -> None:
    embedder = WordEmbedder(is_local=False)
    core = open_with(embedder)
    ada = user_of(core)
    core.memories.remember(ada, [Draft(f"fact {number} about tea and trains") for number in range(40)])
    list(core.indexer.finish(ada.tenant))
    go = threading.Event()
    embedder.before = lambda texts: "zeppelin" in texts[0] and len(texts[0]) > 40 and go.wait(SOON)
    waiting = remember(core, ada, "the zeppelin is something that nobody else has mentioned so far")
    recalled = ask(core, ada, "zeppelin")
    assert recalled.degraded
    assert recalled.hits[0].memory.id == waiting.id
    go.set()


def test_remote_embedder_is_never_waited_for(open_with: OpenCore) -> None:
    go = threading.Event()
    embedder = WordEmbedder(is_local=False)
    core = open_with(embedder)
    ada = user_of(core)
    embedder.before = lambda _: go.wait(SOON)
    remember(core, ada, "a teapot")
    assert embedder.embedded == []
    embedder.before = None
    go.set()
    eventually(lambda: is_done(core, ada.tenant))
    assert not ask(core, ada, "teapot").degraded


def test_without_an_embedder_keywords_alone_count(open_with: OpenCore) -> None:
    core = open_with(None)
    ada = user_of(core)
    memory = remember(core, ada, "a teapot")
    assert found(core, ada, "teapot") == [memory.id]
    assert core.indexer.progress(ada.tenant) == Progress(None, 1, 0)
    assert list(core.indexer.finish(ada.tenant))[-1].waiting == 0


def test_chunk_is_embedded_with_its_headings(open_with: OpenCore) -> None:
    embedder = WordEmbedder()
    core = open_with(embedder)
    admin = Principal(make_tenant(core), Role.ADMIN)
    core.ingestion.add_document(
        admin,
        title="Manual",
        content="# Setup\n\nPlug it in.\n\n# Use\n\nPress the button.",
        media_type="text/markdown",
    )
    assert all("Manual" in text for text in embedder.embedded)
    assert any("Use" in text and "Press the button." in text for text in embedder.embedded)


def test_long_text_is_embedded_in_windows(open_with: OpenCore) -> None:
    embedder = WordEmbedder()
    core = open_with(embedder)
    ada = user_of(core)
    remember(core, ada, words(1000))
    eventually(lambda: is_done(core, ada.tenant))
    assert len(embedder.embedded) > 5
    explained = ask(core, ada, "word999", explain=True).hits[0].explanation["vector"]
    assert explained["windows"] == len(embedder.embedded) - 1  # The question was embedded as well.


# Failures


@pytest.mark.parametrize("is_local", [True, False])
def test_failing_embedder_fails_no_write_and_no_recall_and_is_tried_again(
    open_with: OpenCore, is_local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "_POLL_SECONDS", 0.01)
    embedder = BrokenEmbedder(is_local=is_local)
    core = open_with(embedder)
    ada = user_of(core)
    memory = remember(core, ada, "a teapot")
    core.memories.edit(ada, memory.id, {"content": "a brass teapot"})
    recalled = ask(core, ada, "teapot")
    assert [hit.memory.id for hit in recalled.hits] == [memory.id]
    assert recalled.degraded
    assert embedder.refused.wait(SOON)
    eventually(lambda: core.indexer.failure is not None)
    assert "broken" in core.indexer.failure
    embedder.is_broken = False
    eventually(lambda: is_done(core, ada.tenant))
    assert not ask(core, ada, "teapot").degraded
    eventually(lambda: core.indexer.failure is None)


def test_finishing_with_a_broken_embedder_says_so(open_with: OpenCore) -> None:
    embedder = BrokenEmbedder(is_local=False)
    core = open_with(embedder)
    ada = user_of(core)
    core.store.write(ada.tenant, lambda tx: writing.insert(tx, make_memory(ada.tenant)))
    with pytest.raises(ModelError, match="broken"):
        list(core.indexer.finish(ada.tenant))


def test_text_that_is_edited_while_it_is_embedded_gets_its_own_vector(
    open_with: OpenCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "_POLL_SECONDS", 0.01)
    embedder = WordEmbedder(is_local=False)
    core = open_with(embedder)
    ada = user_of(core)
    started, go = threading.Event(), threading.Event()

    def wait(texts: Sequence[str]) -> None:
        if "old" in texts[0]:
            started.set()
            assert go.wait(SOON)

    embedder.before = wait
    memory = remember(core, ada, "an old teapot")
    assert started.wait(SOON)
    core.memories.edit(ada, memory.id, {"content": "new kettle"})
    go.set()
    eventually(lambda: is_done(core, ada.tenant))
    hit = ask(core, ada, "[2 January 2026] new kettle", explain=True).hits[0]
    assert hit.explanation["vector"]["cosine"] > 0.98


def test_memory_that_is_erased_while_it_is_embedded_is_no_failure(open_with: OpenCore) -> None:
    embedder = WordEmbedder(is_local=False)
    core = open_with(embedder)
    ada = user_of(core)
    started, go = threading.Event(), threading.Event()

    def wait(_: Sequence[str]) -> None:
        started.set()
        assert go.wait(SOON)

    embedder.before = wait
    remember(core, ada, "a teapot")
    assert started.wait(SOON)
    core.erasure.reset(ada)
    go.set()
    embedder.before = None
    other = remember(core, ada, "a kettle")
    eventually(lambda: is_done(core, ada.tenant))
    assert found(core, ada, "kettle") == [other.id]
    assert core.indexer.progress(ada.tenant).total == 1


# Restarts


def test_what_was_not_embedded_is_embedded_by_the_next_process(open_with: OpenCore) -> None:
    writer = open_with(None)
    ada = user_of(writer)
    writer.memories.remember(ada, [Draft(f"fact {number}") for number in range(50)])
    writer.close()
    embedder = WordEmbedder()
    core = open_with(embedder)
    ask(core, ada, "fact")
    eventually(lambda: is_done(core, ada.tenant))
    assert len([text for text in embedder.embedded if "fact " in text]) == 50
    assert not ask(core, ada, "fact").degraded


def test_servers_index_what_waits_without_being_asked(open_alone: OpenCore) -> None:
    writer = open_alone(None)
    ada = user_of(writer)
    remember(writer, ada, "a teapot")
    core = open_alone(WordEmbedder())
    core.start()
    eventually(lambda: is_done(core, ada.tenant))


def test_crash_between_row_and_vector_is_healed_at_the_next_start(open_with: OpenCore, database_url: str) -> None:
    """The process is killed while it embeds what it has committed; what it had claimed is taken over at once."""
    tenant = make_tenant(open_with(None))
    ada = Principal(tenant, Role.USER, "ada")
    for count in (1, 40):  # Inline, and in the background under a claim.
        receiver, sender = CONTEXT.Pipe(duplex=False)
        process = CONTEXT.Process(target=remember_and_die, args=(database_url, tenant, count, sender))
        process.start()
        assert receiver.poll(60)
        assert receiver.recv() == "embedding"
        process.kill()
        process.join(30)
        process.close()
    core = open_with(WordEmbedder())
    assert core.indexer.progress(tenant) == Progress("words-1", 41, 41)
    assert len(ask(core, ada, "unembedded", top_k=20).hits) == 20
    eventually(lambda: is_done(core, tenant))
    assert not ask(core, ada, "unembedded").degraded
    assert core.store.check(thorough=False)[f"tenant {tenant}"] == "ok"


def test_rows_of_the_first_release_are_adopted(new_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an embedder and without one; keyword search is complete at the first question."""
    old = open_store(bare(new_database_url))
    dialect = old.driver.dialect
    Migrator(old.driver, load_statements(dialect), load_migrations(dialect)[:1]).migrate(START)
    old.close()
    memories = [make_memory("t", content=f"unusual{number} fact") for number in range(12)]
    memories += [
        make_memory("t", content="archived1", status=Status.ARCHIVED),
        make_memory("t", content="deleted1", status=Status.SOFT_DELETED),
        make_memory("t", content="superseded1", superseded_by=memories[0].id),
        make_memory("t", content="message1", kind=Kind.CHAT_MESSAGE, session="s1"),
    ]
    _insert_with_the_first_release(new_database_url, memories)
    ada = Principal("t", Role.USER, "ada")
    monkeypatch.setattr(indexer, "_ADOPT_BATCH", 5)
    for embedder in (None, WordEmbedder()):
        store = open_store(bare(new_database_url))
        store.migrator.migrate(START)
        core = Core(store, SystemClock(), Options(embedder=lambda embedder=embedder: embedder))
        assert found(core, ada, "unusual7")[0] == memories[7].id
        assert found(core, ada, "message1")[0] == memories[-1].id
        for gone in ("archived1", "deleted1", "superseded1"):
            assert not any(gone in hit.memory.content for hit in ask(core, ada, gone).hits)
        if embedder is not None:
            eventually(lambda core=core: is_done(core, "t"))
            assert not ask(core, ada, "unusual7").degraded
        assert core.store.check()["tenant t"] == "ok"
        core.close()


def _insert_with_the_first_release(url: str, memories: list[Memory]) -> None:
    """Rows as a database of the first release has them: straight into its tables."""
    known = [name for name in PARAMETERS if name != "governed_by"]
    names = [("tenant_id" if name == "tenant" else name) for name in known]

    def values_of(memory: Memory) -> list[Any]:
        values = dict(zip(PARAMETERS, memory_to_values(memory, "t"), strict=True))
        return [str(values[name]) if isinstance(values[name], str) else values[name] for name in known]

    event = "INSERT INTO memory_events (tenant_id, memory_id, event_type, source, payload, created_at) VALUES "
    if url.startswith("postgres"):
        marks = ", ".join(["%s"] * len(names))
        with psycopg.connect(url) as connection:
            become(connection, "t")
            connection.execute("INSERT INTO tenants (id, created_at) VALUES ('t', 1)")
            for memory in memories:
                connection.execute(f"INSERT INTO memories ({', '.join(names)}) VALUES ({marks})", values_of(memory))
                connection.execute(event + "('t', %s, 'created', 'library', '{}', 1)", [memory.id])
        return
    connection = apsw.Connection(url)
    connection.execute("INSERT INTO tenants (id, created_at) VALUES ('t', 1)")
    marks = ", ".join(["?"] * len(names))
    for memory in memories:
        connection.execute(f"INSERT INTO memories ({', '.join(names)}) VALUES ({marks})", values_of(memory))
        connection.execute(event + "('t', ?, 'created', 'library', '{}', 1)", [memory.id])
    connection.close()
    assert Path(url).exists()


# Several processes, and another model


def test_several_indexers_share_the_work_and_embed_nothing_twice(open_with: OpenCore) -> None:
    writer = open_with(None)
    ada = user_of(writer)
    embedders = [WordEmbedder() for _ in range(3)]
    cores = [open_with(embedder, clock=SystemClock()) for embedder in embedders]
    for core in cores:
        core.indexer.prepare(ada.tenant)
    for start in range(0, 400, 100):
        writer.memories.remember(ada, [Draft(f"fact {number}") for number in range(start, start + 100)])
    ready = threading.Barrier(3)
    working, together = set(), threading.Event()

    def meet(number: int) -> None:
        """Nobody goes on before a second one has something to do."""
        working.add(number)
        if len(working) > 1:
            together.set()
        assert together.wait(SOON)

    for number, embedder in enumerate(embedders):
        embedder.before = lambda _, number=number: meet(number)

    def work(core: Core) -> None:
        ready.wait(SOON)
        for _ in core.indexer.finish(ada.tenant):
            pass

    threads = [threading.Thread(target=work, args=(core,)) for core in cores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    texts = [text for embedder in embedders for text in embedder.embedded]
    assert len(texts) == len(set(texts)) == 400
    assert writer.store.read(ada.tenant, lambda tx: tx.index.count("words-1")).waiting == 0
    assert sum(bool(embedder.embedded) for embedder in embedders) > 1


def test_another_model_embeds_anew_while_recall_stays_up(open_with: OpenCore) -> None:
    one = open_with(WordEmbedder("words-1"))
    ada = user_of(one)
    one.memories.remember(ada, [Draft(f"unusual{number} fact") for number in range(8)])
    assert not ask(one, ada, "unusual3").degraded
    go = threading.Event()
    embedder = WordEmbedder("words-2", before=lambda texts: len(texts) > 1 and go.wait(SOON))
    two = open_with(embedder)
    recalled = ask(two, ada, "unusual3")
    assert recalled.degraded
    assert recalled.hits[0].memory.content == "unusual3 fact"
    # The process with the model of before goes on as well.
    assert ask(one, ada, "unusual3").hits[0].memory.content == "unusual3 fact"
    go.set()
    eventually(lambda: is_done(two, ada.tenant))
    assert not ask(two, ada, "unusual3").degraded
    assert len([text for text in embedder.embedded if "fact" in text]) == 8
    assert ask(one, ada, "unusual3").degraded


def test_embedder_that_is_turned_off_and_on_again_embeds_only_what_is_new(open_with: OpenCore) -> None:
    one = open_with(WordEmbedder())
    ada = user_of(one)
    remember(one, ada, "a teapot")
    one.close()  # It would go on embedding what is new.
    off = open_with(None)
    remember(off, ada, "a kettle")
    assert len(found(off, ada, "teapot kettle")) == 2
    embedder = WordEmbedder()
    again = open_with(embedder)
    list(again.indexer.finish(ada.tenant))
    assert [text for text in embedder.embedded if "teapot" in text] == []
    assert len(embedder.embedded) == 1


def test_rebuild_embeds_everything_anew_and_tells_its_progress(open_with: OpenCore) -> None:
    embedder = WordEmbedder()
    core = open_with(embedder)
    ada = user_of(core)
    for number in range(5):
        core.memories.remember(ada, [Draft(f"fact {number} {one}") for one in range(8)])
    embedder.embedded.clear()
    steps = list(core.indexer.rebuild(ada.tenant))
    assert len(embedder.embedded) == 40
    assert (steps[0].waiting, steps[-1].waiting) == (40, 0)
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert not ask(core, ada, "fact 3").degraded


def test_closing_ends_the_background_and_what_waits_stays_waiting(open_with: OpenCore) -> None:
    core = open_with(WordEmbedder(before=lambda _: core.indexer._stopping.wait(SOON)))
    ada = user_of(core)
    core.memories.remember(ada, [Draft(f"fact {number}") for number in range(200)])
    assert core.indexer._loop.is_alive
    core.close()
    assert not core.indexer._loop.is_alive
    witness = open_with(None)
    counts = witness.store.read(ada.tenant, lambda tx: tx.index.count("words-1"))
    assert counts.total == 200
    assert counts.waiting > 0


def test_events_of_indexing_are_none(open_with: OpenCore) -> None:
    """Vectors are no change of a memory: neither its version nor its trail moves."""
    core = open_with(WordEmbedder())
    ada = user_of(core)
    memory = remember(core, ada, "a teapot")
    list(core.indexer.rebuild(ada.tenant))
    assert core.memories.get(ada, memory.id).version == memory.version
    assert [event.event_type for event in core.memories.events(ada, memory.id)] == ["created"]


def test_database_that_cannot_be_written_is_searched(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once its rows are in the index, a question writes nothing that it could not do without."""
    store = open_store(bare(sqlite_url))
    store.migrator.migrate(START)
    core = Core(store, SystemClock(), Options(embedder=WordEmbedder))
    ada = user_of(core)
    memory = remember(core, ada, "a teapot")
    core.close()
    for embedder in (None, WordEmbedder()):
        store = open_store(bare(sqlite_url))
        core = Core(store, SystemClock(), Options(embedder=lambda embedder=embedder: embedder))

        def refuse(*_: object, **__: object) -> None:
            raise StoreReadOnly

        monkeypatch.setattr(store, "write", refuse)
        assert found(core, ada, "teapot") == [memory.id]
        core.close()


def test_while_another_writes_the_index_is_searched_as_it_is(sqlite_url: str) -> None:
    """Who searches does not fail, and makes it ready the next time; who is to make it ready is told."""
    writer = Core(open_store(bare(sqlite_url)), SystemClock(), Options())
    writer.store.migrator.migrate(START)
    ada = user_of(writer)
    memory = remember(writer, ada, "a teapot")
    now = SystemClock().now()
    stores = [open_store(bare(sqlite_url, busy_timeout_ms=1)) for _ in range(2)]
    cores = [Core(store, SystemClock(), Options(embedder=WordEmbedder), background=False) for store in stores]

    def look(core: Core) -> None:
        assert found(core, ada, "teapot") == [memory.id]
        with pytest.raises(StoreBusy):
            list(core.indexer.finish(ada.tenant))

    def claim() -> list[str]:
        rows = [("ada", memory.id)]
        return writer.store.write(ada.tenant, lambda tx: tx.index.claim_waiting(rows, now, now + timedelta(days=1)))

    for core in cores:  # The first gives up the other model's vectors, and both what is claimed.
        writer.store.write(ada.tenant, lambda _, core=core: look(core))
        assert found(core, ada, "teapot") == [memory.id]
        assert claim() == [memory.id]
    for core in (writer, *cores):
        core.close()


def test_index_goes_before_the_reading_for_facts(open_with: OpenCore) -> None:
    go, done = threading.Event(), threading.Event()
    core = open_with(WordEmbedder(before=lambda texts: len(texts) > 1 and go.wait(SOON)))
    ada = user_of(core)
    waiting_when_read: list[int] = []
    read = core.extraction.parts.work

    def noting(job: Job) -> object:
        waiting_when_read.append(core.indexer.progress(ada.tenant).waiting)
        done.set()
        return read(job)

    core.extraction.parts.work = noting  # type: ignore[method-assign, assignment]
    core.ingestion.add_messages(ada, "s1", [Message("user", f"I like tea number {number}.") for number in range(40)])
    assert ask(core, ada, "number 17").degraded
    assert not core.indexer.wait_for(ada.tenant, 0)
    go.set()
    assert done.wait(SOON)
    assert waiting_when_read[0] == 0


def test_closing_waits_for_no_job_that_waits_for_the_index(open_with: OpenCore) -> None:
    go = threading.Event()
    core = open_with(WordEmbedder(before=lambda texts: len(texts) > 1 and go.wait(SOON)))
    ada = user_of(core)
    core.ingestion.add_messages(ada, "s1", [Message("user", f"I like tea number {number}.") for number in range(40)])
    eventually(lambda: bool(core.jobs._running))
    before = time.monotonic()
    core.indexer.let_go()
    core.jobs.close()
    assert time.monotonic() - before < SOON / 4
    go.set()


def test_index_that_fails_keeps_nobody_waiting(open_with: OpenCore) -> None:
    core = open_with(BrokenEmbedder())
    ada = user_of(core)
    core.memories.remember(ada, [Draft(f"fact {number}") for number in range(40)])
    assert core.indexer.wait_for(ada.tenant, SOON)

"""Vectors of a model of before stay where the one that is set makes the same: only tokens are added."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memorist.core import Core
from memorist.errors import ModelError, ModelUnavailable
from memorist.languages import is_english
from memorist.memories.values import Draft
from memorist.models.embedder import LocalEmbedder
from memorist.models.port import Embedder, Reranker
from memorist.models.values import Embeddings
from memorist.platform.values import Principal, Role
from memorist.recall.index import indexer, reading, renewal
from memorist.recall.index.embedding import windows_of
from memorist.recall.index.indexer import Progress
from memorist.recall.index.snapshot_folder import SnapshotFolder
from memorist.recall.values import Embedded, IndexRow
from memorist.testing import StepClock
from memorist.testing.conformance.helpers import index_rows
from tests.recall.conftest import OpenCore, ask, make_tenant, remember, reword, say
from tests.support.models import WordEmbedder
from tests.support.waiting import SOON, eventually

OLD, NEW = "memorist-embedder-6", "memorist-embedder-8"


class TokenEmbedder(WordEmbedder):
    """The vectors of a WordEmbedder, and of each text a token that all texts of as many letters share."""

    def __init__(self, before: Callable[[Sequence[str]], object] | None = None) -> None:
        super().__init__("words-2", before=before, same_vectors_as=["words-0", "words-1"])
        self.read: list[str] = []

    def tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        super().tokens(texts)
        self.read += texts
        return [np.random.default_rng(len(text)).normal(size=(3, 129)).astype(np.float32) for text in texts]

    def embed_tokens(self, texts: Sequence[str]) -> Embeddings:
        return Embeddings(self.embed(texts), self.tokens(texts))


class EmbedderOfBefore:
    """The local networks as they were: the same vectors, and not a word of tokens."""

    model_id = OLD
    same_vectors_as: Sequence[str] = ()
    is_local = True

    def __init__(self, network: Embedder) -> None:
        self._network = network

    def load(self) -> None:
        self._network.load()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._network.embed(texts)

    def embed_tokens(self, texts: Sequence[str]) -> Embeddings:
        return Embeddings(self.embed(texts), self.tokens(texts))

    def embed_question(self, text: str) -> Embeddings:
        return self.embed_tokens([text])

    def tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        return [None] * len(texts)


def filled(open_with: OpenCore, count: int, *users: str, words: int = 0) -> tuple[str, dict[str, IndexRow]]:
    """A tenant whose users have so many memories each, embedded by the model of before; and the rows of the index."""
    more = " and so on" * (words // 3)
    core = open_with(WordEmbedder("words-1"), background=False)
    tenant = make_tenant(core)
    for user in users or ("ada",):
        drafts = [Draft(f"unusual{number} fact of {user}{more}") for number in range(count)]
        for start in range(0, count, 100):
            core.memories.remember(Principal(tenant, Role.USER, user), drafts[start : start + 100])
    list(core.indexer.finish(tenant))
    rows = all_rows(core, tenant, *users)
    core.close()
    assert len(rows) == count * len(users or ("ada",))
    return tenant, rows


def all_rows(core: Core, tenant: str, *users: str) -> dict[str, IndexRow]:
    return {row.memory_id: row for user in users or ("ada",) for row in index_rows(core.store, tenant, user)}


def kept_tokens(core: Core, tenant: str, memory_ids: Sequence[str]) -> dict[str, bytes]:
    return core.store.read(tenant, lambda tx: tx.index.tokens(memory_ids, core.indexer.model))


def is_renewed(core: Core, tenant: str) -> bool:
    return core.store.index_model(tenant) == core.indexer.model


def assert_renewed(core: Core, tenant: str, before: dict[str, IndexRow], *users: str) -> None:
    """All rows are of the new model, all have tokens, and nothing else changed: no vector, and not even its number."""
    after = all_rows(core, tenant, *users)
    model = core.indexer.model
    assert after == {memory_id: row._replace(model=model) for memory_id, row in before.items()}
    assert kept_tokens(core, tenant, list(before)).keys() == before.keys()
    assert core.indexer.progress(tenant) == Progress(model, len(before), 0, 0)


# The shipped embedder


@pytest.fixture
def networks(models: tuple[Embedder, Reranker]) -> tuple[Embedder, Embedder]:
    return EmbedderOfBefore(models[0]), models[0]


def test_the_shipped_embedder_names_those_before(models: tuple[Embedder, Reranker]) -> None:
    assert (models[0].model_id, list(models[0].same_vectors_as)) == (NEW, ["memorist-embedder-7", OLD])


def test_upgrade_finds_by_meaning_at_once_and_adds_tokens(
    open_with: OpenCore, networks: tuple[Embedder, Embedder]
) -> None:
    before, after = networks
    core = open_with(before, background=False)
    ada = Principal(make_tenant(core), Role.USER, "ada")
    told = [
        remember(core, ada, text).id
        for text in ("I bought a red bicycle in May.", "The piano was tuned.", "My sister grows tomatoes at home.")
    ]
    told += [one.id for one in say(core, ada, "Where did you put the keys?", "On the shelf beside the door.")]
    told.append(remember(core, ada, "Meine Schwester hat einen Hund, und der ist nicht sehr groß.").id)
    list(core.indexer.finish(ada.tenant))
    rows = all_rows(core, ada.tenant)
    assert {row.model for row in rows.values()} == {OLD}
    question = "Which vehicle did I buy?"
    asked = {"explain": True, "min_score": 0, "enable_rerank": False, "top_k": 10}
    first = ask(core, ada, question, **asked)
    core.close()

    core = open_with(after, background=False)
    recalled = ask(core, ada, question, **asked)
    assert (recalled.degraded, recalled.degraded_by) == (False, ())
    assert [hit.memory.id for hit in recalled.hits] == [hit.memory.id for hit in first.hits]
    assert [hit.score for hit in recalled.hits] == pytest.approx([hit.score for hit in first.hits])
    assert all("tokens" not in hit.explanation for hit in recalled.hits)
    assert core.indexer.progress(ada.tenant) == Progress(NEW, 6, 0, 6)

    steps = list(core.indexer.finish(ada.tenant, tokens=True))
    assert steps[-1] == Progress(NEW, 6, 0, 0)
    assert all_rows(core, ada.tenant) == {one: row._replace(model=NEW) for one, row in rows.items()}
    assert kept_tokens(core, ada.tenant, told).keys() == set(told)
    assert is_renewed(core, ada.tenant)
    recalled = ask(core, ada, question, **asked)
    assert recalled.hits[0].memory.content.startswith("I bought")
    assert {hit.memory.id for hit in recalled.hits if "tokens" in hit.explanation} == set(told)


def test_tokens_alone_are_those_that_come_with_vectors_in_every_language(models: tuple[Embedder, Reranker]) -> None:
    told = ["I bought a red bicycle in May.", "Das ist ein Hund, und der ist nicht groß.", "The piano was tuned."]
    embedder = models[0]
    assert isinstance(embedder, LocalEmbedder)
    assert list(map(is_english, told)) == [True, False, True]
    for alone, whole in zip(embedder.tokens(told), embedder.embed_tokens(told).tokens, strict=True):
        assert alone is not None
        np.testing.assert_allclose(alone, whole, atol=1e-3)
    assert embedder.tokens([]) == []


# At once, and in the background


def test_rows_of_the_same_vectors_are_searched_before_any_has_tokens(open_with: OpenCore) -> None:
    tenant, before = filled(open_with, 40)
    go = threading.Event()
    embedder = TokenEmbedder(before=lambda texts: len(texts) > 1 and go.wait(30))
    core = open_with(embedder)
    ada = Principal(tenant, Role.USER, "ada")
    recalled = ask(core, ada, "unusual3 fact")
    assert not recalled.degraded
    assert recalled.hits[0].memory.content == "unusual3 fact of ada"
    assert core.indexer.progress(tenant) == Progress("words-2", 40, 0, 40)
    go.set()
    eventually(lambda: is_renewed(core, tenant))
    assert_renewed(core, tenant, before)
    assert len(embedder.read) - len(set(embedder.read)) <= 1, "questions are read, and each memory once"
    assert [one for one in embedder.embedded if "of ada" in one] == [], "no vector is made again"


def test_servers_add_tokens_without_being_asked(open_alone: OpenCore) -> None:
    tenants = [filled(open_alone, 3) for _ in range(3)]
    core = open_alone(TokenEmbedder())
    core.start()
    for tenant, before in tenants:
        eventually(lambda tenant=tenant: is_renewed(core, tenant))
        assert_renewed(core, tenant, before)


def test_what_is_new_goes_before_what_lacks_tokens(open_with: OpenCore) -> None:
    tenant, before = filled(open_with, 3 * renewal._CLAIM)
    began, go = threading.Event(), threading.Event()

    def wait(texts: Sequence[str]) -> None:
        if any("fact of ada" in text for text in texts) and not began.is_set():
            began.set()
            assert go.wait(SOON)

    embedder = TokenEmbedder(before=wait)
    core = open_with(embedder)
    ada = Principal(tenant, Role.USER, "ada")
    ask(core, ada, "unusual3")
    assert began.wait(SOON)
    core.memories.remember(ada, [Draft(f"new{number} thing") for number in range(50)])
    go.set()
    assert core.indexer.wait_for(tenant, SOON)
    eventually(lambda: is_renewed(core, tenant))
    read = [text for text in embedder.read if "fact of ada" in text or "thing" in text]
    new = [place for place, text in enumerate(read) if "thing" in text]
    assert new == list(range(renewal._CLAIM, renewal._CLAIM + 50)), "right after those that had begun"
    assert core.indexer.progress(tenant) == Progress("words-2", len(before) + 50, 0, 0)


# Interrupted


def test_what_was_interrupted_goes_on_in_the_next_process(open_with: OpenCore) -> None:
    count = 2 * renewal._CLAIM + 10
    tenant, before = filled(open_with, count, "ada", "bob")
    first = TokenEmbedder()
    core = open_with(first, background=False)
    steps = core.indexer.finish(tenant, tokens=True)
    while next(steps).lacking > 2 * count - 2 * renewal._CLAIM:
        pass
    steps.close()
    left = core.indexer.progress(tenant)
    assert left == Progress("words-2", 2 * count, 0, 2 * count - 2 * renewal._CLAIM)
    assert core.store.index_model(tenant) == "words-1"
    core.close()
    second = TokenEmbedder()
    core = open_with(second)
    ask(core, Principal(tenant, Role.USER, "bob"), "unusual3")
    eventually(lambda: is_renewed(core, tenant))
    assert_renewed(core, tenant, before, "ada", "bob")
    again = [text for text in second.read if "fact of" in text]
    assert len(again) == len(set(again)) == left.lacking, "what had its tokens is not read again"


def test_who_is_stopped_in_the_middle_gives_back_what_it_had_taken(open_with: OpenCore) -> None:
    tenant, before = filled(open_with, 40, words=200)

    def stop(_: Sequence[str]) -> None:
        core.indexer._loop.stop()

    core = open_with(TokenEmbedder(before=stop), background=False)
    core.indexer.prepare(tenant)
    assert core.indexer._renewal.some_of(tenant) == 0
    assert core.indexer.progress(tenant).lacking == 40
    other = open_with(TokenEmbedder(), background=False)
    assert list(other.indexer.finish(tenant, tokens=True))[-1].lacking == 0
    assert_renewed(other, tenant, before)


def test_what_a_process_took_that_is_gone_is_done_after_a_while(open_with: OpenCore, clock: StepClock) -> None:
    tenant, before = filled(open_with, renewal._CLAIM + 10)
    now = clock.now()
    core = open_with(TokenEmbedder(), background=False)
    taken = core.store.write(
        tenant, lambda tx: tx.index.claim_of(["words-1"], ("", ""), now, now + renewal._CLAIMED_FOR, 10)
    )
    core.indexer.prepare(tenant)
    assert [core.indexer._renewal.some() for _ in range(3)] == [True, False, False]
    assert core.indexer.progress(tenant).lacking == len(taken) == 10
    assert not is_renewed(core, tenant)
    clock.advance(2 * renewal._CLAIMED_FOR)
    assert [core.indexer._renewal.some() for _ in range(3)] == [True, False, False]
    assert is_renewed(core, tenant)
    assert_renewed(core, tenant, before)


def test_embedder_that_fails_keeps_nobody_from_recall_and_is_tried_again(open_with: OpenCore) -> None:
    class Broken(TokenEmbedder):
        is_broken = True

        def tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
            if self.is_broken and len(texts) > 1:
                raise ModelUnavailable("The embedder is broken.")
            return super().tokens(texts)

    tenant, before = filled(open_with, 40)
    embedder = Broken()
    core = open_with(embedder)
    ada = Principal(tenant, Role.USER, "ada")
    assert not ask(core, ada, "unusual3").degraded
    eventually(lambda: core.indexer.failure == "The embedder is broken.")
    assert not ask(core, ada, "unusual3").degraded
    with pytest.raises(ModelUnavailable):
        list(core.indexer.finish(tenant, tokens=True))
    embedder.is_broken = False
    core.indexer.look_again(tenant)
    eventually(lambda: is_renewed(core, tenant))
    assert core.indexer.failure is None
    assert_renewed(core, tenant, before)


def test_several_processes_share_the_work(open_with: OpenCore) -> None:
    tenant, before = filled(open_with, 6 * renewal._CLAIM)
    together = threading.Barrier(2)
    embedders = [TokenEmbedder(), TokenEmbedder()]
    cores = [open_with(embedder, background=False) for embedder in embedders]

    def work(core: Core, embedder: TokenEmbedder) -> None:
        core.indexer.prepare(tenant)
        # Nobody goes on before the other one has something to do.
        embedder.before = lambda _: together.wait(SOON) and None if not embedder.read else None
        for _ in core.indexer.finish(tenant, tokens=True):
            pass

    threads = [threading.Thread(target=work, args=one) for one in zip(cores, embedders, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    read = [text for embedder in embedders for text in embedder.read]
    assert len(read) == len(set(read)) == len(before)
    assert all(embedder.read for embedder in embedders)
    assert_renewed(cores[0], tenant, before)


# Texts that change meanwhile


def test_text_that_is_edited_while_its_tokens_are_read_gets_its_own(open_with: OpenCore) -> None:
    tenant, before = filled(open_with, 3)
    ada = Principal(tenant, Role.USER, "ada")
    edited = min(before)

    def edit(texts: Sequence[str]) -> None:
        embedder.before = None
        assert len(texts) == 3
        core.memories.edit(ada, edited, {"content": "a brass kettle"})

    embedder = TokenEmbedder(before=edit)
    core = open_with(embedder, background=False)
    list(core.indexer.finish(tenant, tokens=True))
    after = all_rows(core, tenant)
    assert {row.model for row in after.values()} == {"words-2"}
    assert after[edited].vectors != before[edited].vectors
    assert {one: row.vectors for one, row in after.items() if one != edited} == {
        one: row.vectors for one, row in before.items() if one != edited
    }
    (text,) = (one for one in embedder.read if "a brass kettle" in one)
    (expected,) = windows_of(embedder.embed_tokens([text]))
    assert kept_tokens(core, tenant, [edited]) == {edited: expected.tokens}


def test_turn_whose_message_before_is_changed_meanwhile_is_embedded_again(open_with: OpenCore) -> None:
    core = open_with(WordEmbedder("words-1"), background=False)
    ada = Principal(make_tenant(core), Role.USER, "ada")
    first, second = say(core, ada, "Where is the teapot?", "On the shelf.")
    list(core.indexer.finish(ada.tenant))
    before = all_rows(core, ada.tenant)
    core.close()

    def edit(_: Sequence[str]) -> None:
        embedder.before = None
        reword(core, first, "Where is the trombone?")

    embedder = TokenEmbedder(before=edit)
    core = open_with(embedder, background=False)
    core.indexer.prepare(ada.tenant)
    core.indexer._renewal.some_of(ada.tenant)
    assert {row.memory_id for row in all_rows(core, ada.tenant).values() if row.model == ""} == {second.id}
    assert kept_tokens(core, ada.tenant, [second.id]) == {}
    list(core.indexer.finish(ada.tenant, tokens=True))
    after = all_rows(core, ada.tenant)
    assert {row.model for row in after.values()} == {"words-2"}
    assert after[second.id].vectors != before[second.id].vectors
    assert kept_tokens(core, ada.tenant, [first.id, second.id]).keys() == {first.id, second.id}


def test_rows_of_a_model_that_went_on_elsewhere_are_embedded_again(open_with: OpenCore) -> None:
    tenant, before = filled(open_with, 3)
    other = open_with(WordEmbedder("words-9"), background=False)
    list(other.indexer.finish(tenant))
    other.store.set_index_model(tenant, "words-1")
    other.close()
    core = open_with(TokenEmbedder(), background=False)
    assert core.indexer.progress(tenant).waiting == 3
    assert list(core.indexer.finish(tenant, tokens=True))[-1] == Progress("words-2", 3, 0, 0)
    assert is_renewed(core, tenant)
    assert kept_tokens(core, tenant, list(before)).keys() == before.keys()


def test_what_nobody_can_do_is_given_up(open_with: OpenCore, monkeypatch: pytest.MonkeyPatch) -> None:
    tenant, before = filled(open_with, 3)
    core = open_with(TokenEmbedder(), background=False)
    now = core.clock.now()
    forever = now + 1000 * renewal._CLAIMED_FOR
    core.store.write(tenant, lambda tx: tx.index.claim_of(["words-1"], ("", ""), now, forever, len(before)))
    monkeypatch.setattr(indexer, "_GIVEN_UP_S", 0.1)
    with pytest.raises(ModelError, match="3 memories stay as they are"):
        list(core.indexer.finish(tenant, tokens=True))


def test_rebuild_makes_every_vector_anew(open_with: OpenCore) -> None:
    tenant, before = filled(open_with, 3)
    embedder = TokenEmbedder()
    core = open_with(embedder, background=False)
    list(core.indexer.rebuild(tenant))
    assert len(embedder.embedded) == 3
    assert is_renewed(core, tenant)
    assert {one: row.vectors for one, row in all_rows(core, tenant).items()} == {
        one: row.vectors for one, row in before.items()
    }


# What was saved


def test_saved_index_is_read_by_the_next_release_and_stays(
    open_with: OpenCore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant, before = filled(open_with, 100)
    ada = Principal(tenant, Role.USER, "ada")
    folder = SnapshotFolder(tmp_path / "shelves", 1 << 30, smallest=50, rest_s=0)
    core = open_with(WordEmbedder("words-0"), background=False)
    core.store.set_index_model(tenant, "words-0")  # As the first of those that make the same vectors would have it.
    for memory_id, row in before.items():
        made = Embedded(memory_id, "ada", row.digest, row.terms, "words-0", row.vectors or b"")
        core.store.write(tenant, lambda tx, made=made: tx.index.save_vectors([made]))
    core.close()
    core = open_with(WordEmbedder("words-0"), index_folder=folder)
    ask(core, ada, "unusual3")
    core.recall.finish_saving()
    core.close()
    (file,) = folder.path.iterdir()
    written = file.read_bytes()
    load = reading._load
    monkeypatch.setattr(
        reading, "_load", lambda shelf, *rest: pytest.fail("read anew") if shelf.user else load(shelf, *rest)
    )
    for _ in range(2):
        core = open_with(TokenEmbedder(), index_folder=folder)
        assert not ask(core, ada, "unusual3").degraded
        eventually(lambda core=core: is_renewed(core, tenant))
        assert not ask(core, ada, "unusual3").degraded
        core.recall.finish_saving()
        core.close()
        assert list(folder.path.iterdir()) == [file]
        assert file.read_bytes() == written, "nothing that it holds has changed"

"""Turns are embedded with the message before them, and never with one that is not there any more."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memorist.memories import writing
from memorist.memories.values import Kind
from memorist.ports import Writer
from memorist.recall.index import vectors
from memorist.recall.index.embedding import embedded, save, texts_of, windows_of
from memorist.store.memories import MemoryStatements
from memorist.testing import make_memory
from memorist.testing.conformance.helpers import index_rows
from tests.recall.conftest import OpenCore, is_done, reword, say, user_of
from tests.support.models import WordEmbedder, word_vector
from tests.support.waiting import SOON, eventually


@pytest.mark.parametrize("at_once", [True, False])
def test_words_that_are_erased_while_they_are_embedded_are_not_kept(open_with: OpenCore, at_once: bool) -> None:
    erased: list[str] = []

    def erase(texts: Sequence[str]) -> None:
        if not erased and any("Porto" in text and "teapot" in text for text in texts):
            erased.append(first.id)
            core.erasure.erase(ada, [first.id])

    embedder = WordEmbedder(before=erase, is_local=at_once)
    core = open_with(embedder)
    ada = user_of(core)
    (first,) = say(core, ada, "I was in Porto.")
    list(core.indexer.finish(ada.tenant))
    (second,) = say(core, ada, "I broke a teapot.")
    list(core.indexer.finish(ada.tenant))
    assert erased
    assert is_done(core, ada.tenant)
    (row,) = index_rows(core.store, ada.tenant, "ada")
    assert row.memory_id == second.id
    alone = word_vector("[2 January 2026] | user: I broke a teapot.")
    assert row.vectors == vectors.pack(alone[np.newaxis]), "or it would tell of what was erased"


def test_turns_are_embedded_with_who_spoke_when_and_the_turn_before(open_with: OpenCore) -> None:
    embedder = WordEmbedder()
    core = open_with(embedder)
    ada = user_of(core)
    say(core, ada, "Did the parcel arrive?", ("assistant", "Yes, last Friday!"))
    say(core, ada, "Another session begins.", session="s2")
    # The background may have come upon one of them at the same moment.
    assert list(dict.fromkeys(embedder.embedded)) == [
        "[2 January 2026] | user: Did the parcel arrive?",
        "[2 January 2026] user: Did the parcel arrive? | assistant: Yes, last Friday!",
        "[2 January 2026] | user: Another session begins.",
    ]


def test_turn_is_embedded_anew_when_the_one_before_is_edited_or_erased(open_with: OpenCore) -> None:
    embedder = WordEmbedder()
    core = open_with(embedder)
    ada = user_of(core)
    first, _ = say(core, ada, "Did the parcel arrive?", ("assistant", "Yes, last Friday!"))
    reword(core, first, "Did the book arrive?")
    edited = "[2 January 2026] user: Did the book arrive? | assistant: Yes, last Friday!"
    eventually(lambda: edited in embedder.embedded)
    eventually(lambda: is_done(core, ada.tenant))
    core.erasure.erase(ada, [first.id])
    eventually(lambda: embedder.embedded[-1] == "[2 January 2026] | assistant: Yes, last Friday!")


def test_turn_is_embedded_anew_when_a_message_comes_before_it_later(open_with: OpenCore) -> None:
    embedder = WordEmbedder()
    core = open_with(embedder)
    ada = user_of(core)
    first, between = (make_memory(ada.tenant, kind=Kind.CHAT_MESSAGE, session="s1", content=text) for text in "ab")
    core.store.write(ada.tenant, lambda tx: writing.insert(tx, first))
    say(core, ada, ("assistant", "Yes, last Friday!"))
    assert any(text.endswith(" a | assistant: Yes, last Friday!") for text in embedder.embedded)
    core.store.write(ada.tenant, lambda tx: writing.insert(tx, between))
    list(core.indexer.finish(ada.tenant))
    assert any(text.endswith(" b | assistant: Yes, last Friday!") for text in embedder.embedded)
    core.erasure.erase(ada, [first.id])
    eventually(lambda: is_done(core, ada.tenant))
    assert any(text.endswith("| b") for text in embedder.embedded)


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)  # SQLite has one writer at a time.
def test_what_is_said_while_the_message_before_is_erased_does_not_keep_its_words(open_with: OpenCore) -> None:
    """The one who erases has looked for what follows before that was there."""
    core = open_with(WordEmbedder())
    ada = user_of(core)
    (first,) = say(core, ada, "I was in Porto.")
    second = make_memory(ada.tenant, kind=Kind.CHAT_MESSAGE, session="s1", content="I broke a teapot.")
    is_erasing, may_end = threading.Event(), threading.Event()

    def erase() -> None:
        def work(tx: Writer) -> None:
            tx.erasure.erase_rows([first.id])
            is_erasing.set()
            may_end.wait(SOON)

        core.store.write(ada.tenant, work)

    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(erase)
        try:
            assert is_erasing.wait(SOON)
            core.store.write(ada.tenant, lambda tx: writing.insert(tx, second))
            (texts,) = core.store.read(ada.tenant, lambda tx: texts_of([second], tx))
            assert "Porto" in texts[0]
            made = windows_of(WordEmbedder().embed_tokens(texts))
            read = [(second, texts, embedded([second], [texts], made, core.indexer.model)[0])]
            assert not save(core.store, ada.tenant, read, lambda tx, found: tx.index.save_vectors(found))
        finally:
            may_end.set()
        done.result(SOON)
    (row,) = index_rows(core.store, ada.tenant, "ada")
    assert (row.memory_id, row.vectors) == (second.id, None)


def test_what_follows_is_looked_for_once_however_many_messages_are_written(
    open_with: OpenCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = open_with(WordEmbedder())
    ada = user_of(core)
    asked: list[list[str]] = []
    look = MemoryStatements._unindex_next

    def counted(self: MemoryStatements, user: str, messages: list[str], change: int) -> None:
        asked.append(list(messages))
        look(self, user, messages, change)

    monkeypatch.setattr(MemoryStatements, "_unindex_next", counted)
    turns = [make_memory(ada.tenant, kind=Kind.CHAT_MESSAGE, session="s1") for _ in range(5)]
    core.store.write(ada.tenant, lambda tx: [writing.insert(tx, one) for one in turns])
    assert asked == [[one.id for one in turns]]

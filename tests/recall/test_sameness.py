"""A remote model that is another one day, under the name of the one before: its vectors are never mixed with those."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from memorist.core import Core
from memorist.platform.values import Principal
from tests.recall.conftest import OpenCore, ask, is_done, remember, user_of
from tests.support.models import BrokenEmbedder, WordEmbedder
from tests.support.waiting import eventually


class OtherEmbedder(WordEmbedder):
    """Other vectors under the same name: of the same length, or shorter ones."""

    def __init__(self, dimensions: int) -> None:
        super().__init__(is_local=False)
        self.dimensions = dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        turned = np.roll(super().embed(texts), 7, axis=1) * np.tile(np.float32([1, -1]), 32)
        short = turned[:, : self.dimensions]
        return short / np.linalg.norm(short, axis=1, keepdims=True)


@pytest.fixture(params=[64, 48], ids=["same length", "shorter"])
def other(request: pytest.FixtureRequest) -> OtherEmbedder:
    return OtherEmbedder(request.param)


@pytest.fixture
def ada(open_with: OpenCore) -> Principal:
    """With six memories that the first model embedded."""
    core = open_with(WordEmbedder(is_local=False), background=False)
    ada = user_of(core)
    for number in range(6):
        remember(core, ada, f"tomato plant {number} needs water")
    list(core.indexer.finish(ada.tenant))
    return ada


def rows(core: Core, ada: Principal) -> list[tuple[str, int]]:
    return [(row.memory_id, row.change) for row in core.store.read(ada.tenant, lambda tx: tx.index.load("ada", "", 10))]


def test_everything_is_embedded_anew_by_another_model_of_the_same_name(
    open_with: OpenCore, ada: Principal, other: OtherEmbedder
) -> None:
    core = open_with(other)
    before = rows(core, ada)
    ask(core, ada, "tomato")  # Nothing is written: whoever asks finds out.
    eventually(lambda: not core.indexer.has_changed(ada.tenant) and is_done(core, ada.tenant))
    assert not set(rows(core, ada)) & set(before)
    eventually(lambda: not ask(core, ada, "tomato").degraded)
    assert len(ask(core, ada, "tomato").hits) == 5


def test_who_only_asks_for_a_moment_sends_nothing_but_the_question(open_with: OpenCore, ada: Principal) -> None:
    same = WordEmbedder(is_local=False)
    core = open_with(same, is_brief=True)
    assert len(ask(core, ada, "tomato").hits) == 5
    core.close()
    assert same.embedded == ["tomato"]


def test_who_embeds_for_a_moment_mixes_no_vectors(open_with: OpenCore, ada: Principal, other: OtherEmbedder) -> None:
    core = open_with(other, is_brief=True)
    before = rows(core, ada)
    remember(core, ada, "basil needs water")
    eventually(lambda: not core.indexer.has_changed(ada.tenant) and is_done(core, ada.tenant))
    assert not set(rows(core, ada)) & set(before)


def test_another_model_of_the_same_name_is_told_and_resuming_embeds_anew(
    open_with: OpenCore, ada: Principal, other: OtherEmbedder
) -> None:
    core = open_with(other, background=False)
    assert core.indexer.has_changed(ada.tenant)
    list(core.indexer.finish(ada.tenant, tokens=True))
    assert not core.indexer.has_changed(ada.tenant)
    assert is_done(core, ada.tenant)
    assert not ask(core, ada, "tomato").degraded


def test_same_model_keeps_its_vectors(open_with: OpenCore, ada: Principal) -> None:
    core = open_with(WordEmbedder(is_local=False), background=False)
    before = rows(core, ada)
    assert not core.indexer.has_changed(ada.tenant)
    list(core.indexer.finish(ada.tenant, tokens=True))
    assert rows(core, ada) == before


def test_local_model_is_what_its_name_says(open_with: OpenCore, ada: Principal, other: OtherEmbedder) -> None:
    other.is_local = True
    core = open_with(other)
    assert not core.indexer.has_changed(ada.tenant)
    assert other.embedded == []


def test_nothing_is_compared_where_there_are_no_vectors(open_with: OpenCore, other: OtherEmbedder) -> None:
    core = open_with(other, background=False)
    ada = user_of(core)
    remember(core, ada, "tomato plants need water")
    assert not core.indexer.has_changed(ada.tenant)
    assert other.embedded == []


def test_who_is_interrupted_while_vectors_are_thrown_away_goes_on(
    open_with: OpenCore, ada: Principal, other: OtherEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted = open_with(other, background=False)
    with monkeypatch.context() as patch:
        patch.setattr(interrupted.indexer, "_unindex", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            list(interrupted.indexer.finish(ada.tenant, tokens=True))
    core = open_with(other, background=False)
    before = rows(core, ada)
    list(core.indexer.finish(ada.tenant))
    assert not set(rows(core, ada)) & set(before)
    assert not core.indexer.has_changed(ada.tenant)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_model_that_does_not_answer_changes_nothing(open_with: OpenCore, ada: Principal) -> None:
    broken = BrokenEmbedder(is_local=False)
    core = open_with(broken)
    before = rows(core, ada)
    assert len(ask(core, ada, "tomato").hits) == 5
    eventually(lambda: core.indexer.failure is not None)
    assert rows(core, ada) == before
    broken.is_broken = False
    eventually(lambda: core.indexer.failure is None)
    assert rows(core, ada) == before

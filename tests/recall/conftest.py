"""Cores with cheap models or with the real ones, on fresh tenants."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from typing import Any

import pytest

from memorist.bootstrap import _local_embedder, _local_reranker, open_store
from memorist.core import Core
from memorist.ingestion.service import Message
from memorist.memories import writing
from memorist.memories.hashes import with_hashes
from memorist.memories.values import Draft, Memory
from memorist.models import remote
from memorist.models.port import Embedder, Reranker
from memorist.options import Options
from memorist.platform.values import Principal, Role
from memorist.ports import Writer
from memorist.recall.values import Question, Recalled
from memorist.testing import StepClock, new_tenant
from memorist.testing.clocks import START
from memorist.times import Clock
from tests.recall.remote_models import embed_all, score_all
from tests.support.models import WordEmbedder, WordReranker
from tests.support.scripted_http import ScriptedServer, scripted_server
from tests.support.stores import bare

OpenCore = Callable[..., Core]


@pytest.fixture
def open_with(database_url: str, clock: StepClock) -> Iterator[OpenCore]:
    """Open cores on one database, each with the models and options that it is given."""
    yield from _opener(database_url, clock)


@pytest.fixture
def open_alone(own_database_url: str, clock: StepClock) -> Iterator[OpenCore]:
    """The same on a database of the test's own: a server looks after all tenants that there are."""
    yield from _opener(own_database_url, clock)


def _opener(database_url: str, clock: StepClock) -> Iterator[OpenCore]:
    opened: list[Core] = []

    def call(
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        *,
        url: str = database_url,
        clock: Clock = clock,
        background: bool = True,
        **options: Any,
    ) -> Core:
        store = open_store(bare(url))
        store.migrator.migrate(START)
        told = Options(embedder=lambda: embedder, reranker=lambda: reranker, **options)
        core = Core(store, clock, told, background=background)
        opened.append(core)
        return core

    yield call
    for core in opened:
        core.close()


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def reranker() -> WordReranker:
    return WordReranker()


@pytest.fixture
def core(open_with: OpenCore, embedder: WordEmbedder) -> Core:
    """Both arms, the vectors cheap, without a reranker; what has nothing to do with a question does not come back."""
    return open_with(embedder, min_score=0.02)


@lru_cache(maxsize=1)
def _models() -> tuple[Embedder, Reranker]:
    return _local_embedder(None), _local_reranker(None)


@pytest.fixture
def models() -> tuple[Embedder, Reranker]:
    """The real local models, loaded once for the whole run."""
    return _models()


def make_tenant(core: Core) -> str:
    """A tenant that nobody has used."""
    return core.identity.create_tenant(new_tenant())[0].id


def remember(core: Core, who: Principal, content: str, **fields: Any) -> Memory:
    return core.memories.remember(who, [Draft(content, **fields)])[0].memory


def say(core: Core, who: Principal, *messages: str | tuple[str, str], session: str = "s1") -> list[Memory]:
    """Messages of one session, each a text or a role and a text."""
    spoken = [Message("user", one) if isinstance(one, str) else Message(*one) for one in messages]
    return [result.memory for result in core.ingestion.add_messages(who, session, spoken)]


def ask(core: Core, who: Principal, query: str, **fields: Any) -> Recalled:
    return core.recall.recall(who, Question(query, **fields))


def found(core: Core, who: Principal, query: str, **fields: Any) -> list[str]:
    """The ids that a question brings back, best first."""
    return [hit.memory.id for hit in ask(core, who, query, **fields).hits]


def texts(recalled: Recalled) -> list[str]:
    return [hit.memory.content for hit in recalled.hits]


def is_done(core: Core, tenant: str) -> bool:
    return core.indexer.progress(tenant).waiting == 0


def user_of(core: Core) -> Principal:
    return Principal(make_tenant(core), Role.USER, "ada")


def reword(core: Core, memory: Memory, content: str) -> Memory:
    """Write another text over a message, as older versions let it be edited: the index follows whatever a row says."""

    def work(tx: Writer) -> Memory:
        before = tx.memories.get(memory.id)
        assert before is not None
        later = before.updated_at + timedelta(microseconds=1)
        after = with_hashes(replace(before, content=content, updated_at=later))
        assert writing.replace(tx, after, before.updated_at)
        return after

    after = core.store.write(memory.tenant, work)
    core.memories.index(memory.tenant, [after])
    return after


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client would have waited before each new attempt; it does not really wait."""
    slept: list[float] = []
    monkeypatch.setattr(remote.time, "sleep", slept.append)
    return slept


@pytest.fixture
def embeddings() -> Iterator[ScriptedServer]:
    with scripted_server(embed_all) as server:
        yield server


@pytest.fixture
def rerank() -> Iterator[ScriptedServer]:
    with scripted_server(score_all) as server:
        yield server

"""Recall with models behind an address, and without them where they fail."""

import pytest

from memorist.core import Core
from memorist.models import breaker
from memorist.platform.values import Principal, Role
from memorist.recall.index import indexer
from memorist.recall.values import Shortfall
from tests.recall.conftest import OpenCore, ask, make_tenant, remember
from tests.recall.remote_models import cut, embed_all, embedder_at, hang_up, refusing, reranker_at, says, status
from tests.support.scripted_http import Body, Reply, Script, ScriptedServer
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("waits")


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """The database has no part in this."""
    return sqlite_url


@pytest.fixture
def both(open_with: OpenCore, embeddings: ScriptedServer, rerank: ScriptedServer, monkeypatch) -> Core:
    monkeypatch.setattr(indexer, "_POLL_SECONDS", 0.01)
    monkeypatch.setattr(breaker, "_OPEN_S", 0.01)
    return open_with(embedder_at(embeddings, timeout_s=1), reranker_at(rerank, timeout_s=1))


def until_indexed(core: Core, tenant: str) -> None:
    eventually(lambda: core.indexer.progress(tenant).waiting == 0)


def test_recall_uses_both(both: Core) -> None:
    ada = Principal(make_tenant(both), Role.USER, "ada")
    memory = remember(both, ada, "a brass teapot")
    remember(both, ada, "the train was late")
    until_indexed(both, ada.tenant)
    recalled = ask(both, ada, "teapot")
    assert (recalled.degraded, recalled.rerank_used) == (False, True)
    assert memory.id in [hit.memory.id for hit in recalled.hits]
    assert not ask(both, ada, "teapot", enable_rerank=False).rerank_used


@pytest.mark.parametrize("fault", [status(500), status(401), cut, hang_up, says({"results": []})])
def test_recall_does_without_a_reranker_that_fails(both: Core, rerank: ScriptedServer, fault: Script) -> None:
    ada = Principal(make_tenant(both), Role.USER, "ada")
    memory = remember(both, ada, "a brass teapot")
    until_indexed(both, ada.tenant)
    rerank.always = fault
    recalled = ask(both, ada, "teapot")
    assert (recalled.degraded, recalled.rerank_used) == (False, False)
    assert [hit.memory.id for hit in recalled.hits] == [memory.id]


@pytest.mark.parametrize("fault", [status(500), status(401), cut, hang_up, says({"data": []})])
def test_recall_goes_on_by_keyword_without_its_embedder(both: Core, embeddings: ScriptedServer, fault: Script) -> None:
    ada = Principal(make_tenant(both), Role.USER, "ada")
    memory = remember(both, ada, "a brass teapot")
    until_indexed(both, ada.tenant)
    embeddings.always = fault
    recalled = ask(both, ada, "teapot")
    assert recalled.degraded
    assert [hit.memory.id for hit in recalled.hits] == [memory.id]
    other = remember(both, ada, "a copper kettle")
    assert [hit.memory.id for hit in ask(both, ada, "kettle").hits][:1] == [other.id]
    embeddings.always = embed_all
    until_indexed(both, ada.tenant)
    assert not ask(both, ada, "teapot").degraded


def test_vectors_of_another_size_do_not_end_recall(both: Core, embeddings: ScriptedServer) -> None:
    """A server that has another model under the same name."""
    ada = Principal(make_tenant(both), Role.USER, "ada")
    memory = remember(both, ada, "a brass teapot")
    until_indexed(both, ada.tenant)
    assert not ask(both, ada, "teapot").degraded

    def smaller(reply: Reply, body: Body) -> None:
        reply.json({"data": [{"index": n, "embedding": [0.6, 0.8]} for n in range(len(body["input"]))]})

    embeddings.always = smaller
    assert memory.id in [hit.memory.id for hit in ask(both, ada, "teapot").hits]
    other = remember(both, ada, "a copper kettle")
    until_indexed(both, ada.tenant)
    assert other.id in [hit.memory.id for hit in ask(both, ada, "kettle").hits]
    assert memory.id in [hit.memory.id for hit in ask(both, ada, "teapot").hits]
    eventually(lambda: not ask(both, ada, "teapot").degraded)


@pytest.mark.parametrize("code", [400, 500])
def test_memory_that_is_refused_is_found_by_keyword_and_keeps_nobody_waiting(
    both: Core, embeddings: ScriptedServer, code: int
) -> None:
    embeddings.always = refusing(code)
    ada, bob = (Principal(make_tenant(both), Role.USER, name) for name in ("ada", "bob"))
    refused = remember(both, ada, "a blob of letters")
    others = [remember(both, who, "a brass teapot") for who in (ada, bob)]
    for who in (ada, bob):
        until_indexed(both, who.tenant)
    assert [both.indexer.progress(who.tenant).refused for who in (ada, bob)] == [1, 0]
    assert both.indexer.failure is None
    assert refused.id in [hit.memory.id for hit in ask(both, ada, "letters").hits]
    for who, memory in zip((ada, bob), others, strict=True):
        found = ask(both, who, "teapot")
        assert memory.id in [hit.memory.id for hit in found.hits]
        assert Shortfall.MEANING not in found.degraded_by
    assert not ask(both, bob, "teapot").degraded
    embeddings.always = embed_all
    list(both.indexer.rebuild(ada.tenant))
    assert both.indexer.progress(ada.tenant).refused == 0
    assert not ask(both, ada, "letters").degraded


def test_long_text_of_which_a_part_is_refused_is_found_by_the_rest(both: Core, embeddings: ScriptedServer) -> None:
    embeddings.always = refusing(500)
    ada = Principal(make_tenant(both), Role.USER, "ada")
    remember(both, ada, " ".join(["blob"] * 120 + ["teapot"] * 120))
    until_indexed(both, ada.tenant)
    assert both.indexer.progress(ada.tenant).refused == 0
    found = ask(both, ada, "teapot", explain=True)
    assert not found.degraded
    assert len(found.hits) == 1

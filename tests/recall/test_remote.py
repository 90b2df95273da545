"""Models behind an address, over real sockets: no wrong answer becomes a wrong vector or a failed recall."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from memorist.core import Core
from memorist.errors import ModelUnavailable
from memorist.models import breaker, remote
from memorist.models.remote import RemoteEmbedder, RemoteReranker
from memorist.platform.values import Principal, Role
from memorist.recall.index import indexer
from tests.recall.conftest import OpenCore, ask, make_tenant, remember
from tests.support.models import word_vector
from tests.support.scripted_http import Body, Reply, Script, ScriptedServer, scripted_server
from tests.support.waiting import eventually


def embed_all(reply: Reply, body: Body) -> None:
    rows = [
        {"object": "embedding", "index": index, "embedding": (3 * word_vector(text)).tolist()}
        for index, text in enumerate(body["input"])
    ]
    reply.json({"object": "list", "data": rows, "model": body["model"]})


def score_all(reply: Reply, body: Body) -> None:
    rows = [{"index": index, "relevance_score": float(len(one))} for index, one in enumerate(body["documents"])]
    reply.json({"results": sorted(rows, key=lambda row: -row["relevance_score"])})


@pytest.fixture(autouse=True)
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


def embedder_at(server: ScriptedServer, **others: Any) -> RemoteEmbedder:
    return RemoteEmbedder(**({"address": server.url, "model": "small", "api_key": "", "timeout_s": 2} | others))


def reranker_at(server: ScriptedServer, **others: Any) -> RemoteReranker:
    return RemoteReranker(**({"address": server.url, "model": "small", "api_key": "", "timeout_s": 2} | others))


def status(code: int, **headers: str) -> Script:
    return lambda reply, _: reply.json({"error": "no"}, code, **headers)


def says(value: Any) -> Script:
    """An answer of 200, which is JSON but not what was asked for."""
    return lambda reply, _: reply.raw(value if isinstance(value, bytes) else json.dumps(value).encode())


def cut(reply: Reply, _: Body) -> None:
    reply.raw(b'{"data": [{"index": 0, "embedding": [0.1, 0.', length=10_000)


def hang_up(reply: Reply, _: Body) -> None:
    reply.hang_up()


# The embedder


def test_vectors_come_back_in_order_and_of_length_one(embeddings: ScriptedServer) -> None:
    found = embedder_at(embeddings).embed(["tea", "train", "tea"])
    assert np.allclose(found, [word_vector("tea"), word_vector("train"), word_vector("tea")], atol=1e-5)
    assert found.dtype == np.float32
    (request,) = embeddings.requests
    assert (request.path, request.body) == ("/v1/embeddings", {"model": "small", "input": ["tea", "train", "tea"]})
    assert "authorization" not in request.headers


def test_key_is_sent_as_a_bearer(embeddings: ScriptedServer, rerank: ScriptedServer) -> None:
    embedder_at(embeddings, api_key="hunter2").embed(["tea"])
    reranker_at(rerank, api_key="hunter2").score("tea", ["tea"])
    for server in (embeddings, rerank):
        assert server.requests[0].headers["authorization"] == "Bearer hunter2"


@pytest.mark.parametrize("ending", ["", "/", "/embeddings", "/embeddings/"])
def test_address_may_name_the_endpoint_or_not(embeddings: ScriptedServer, ending: str) -> None:
    embedder_at(embeddings, address=embeddings.url + ending).embed(["tea"])
    assert embeddings.requests[0].path == "/v1/embeddings"


def test_many_texts_are_asked_for_in_batches(embeddings: ScriptedServer) -> None:
    texts = [f"text {number}" for number in range(150)]
    found = embedder_at(embeddings).embed(texts)
    assert len(found) == 150
    assert [text for request in embeddings.requests for text in request.body["input"]] == texts
    assert max(len(request.body["input"]) for request in embeddings.requests) <= 64


def test_no_texts_are_not_asked_for(embeddings: ScriptedServer) -> None:
    assert len(embedder_at(embeddings).embed([])) == 0
    assert embeddings.requests == []


def test_rows_out_of_order_are_put_in_order(embeddings: ScriptedServer) -> None:
    def backwards(reply: Reply, body: Body) -> None:
        rows = [{"index": n, "embedding": word_vector(text).tolist()} for n, text in enumerate(body["input"])]
        reply.json({"data": rows[::-1]})

    embeddings.scripts = [backwards]
    found = embedder_at(embeddings).embed(["tea", "train"])
    assert np.allclose(found, [word_vector("tea"), word_vector("train")], atol=1e-5)


ROW = [0.6, 0.8]
STRANGE = {
    "no object": [1, 2],
    "nothing": None,
    "a number": 7,
    "no data": {"object": "list"},
    "data that is no list": {"data": 7},
    "too few": {"data": [{"index": 0, "embedding": ROW}]},
    "too many": {"data": [{"index": n, "embedding": ROW} for n in range(3)]},
    "one twice": {"data": [{"index": 0, "embedding": ROW}, {"index": 0, "embedding": ROW}]},
    "counted from one": {"data": [{"index": 1, "embedding": ROW}, {"index": 2, "embedding": ROW}]},
    "no index": {"data": [{"embedding": ROW}, {"embedding": ROW}]},
    "no embedding": {"data": [{"index": 0}, {"index": 1}]},
    "texts": {"data": [{"index": 0, "embedding": "AAAA"}, {"index": 1, "embedding": "AAAA"}]},
    "ragged": {"data": [{"index": 0, "embedding": ROW}, {"index": 1, "embedding": [1.0]}]},
    "scalars": {"data": [{"index": 0, "embedding": 1.0}, {"index": 1, "embedding": 1.0}]},
    "empty": {"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}]},
    "zeros": {"data": [{"index": 0, "embedding": [0, 0]}, {"index": 1, "embedding": ROW}]},
    "nulls": {"data": [{"index": 0, "embedding": [None, 1]}, {"index": 1, "embedding": ROW}]},
    "NaN": b'{"data": [{"index": 0, "embedding": [NaN, 1]}, {"index": 1, "embedding": [1, 1]}]}',
    "infinity": b'{"data": [{"index": 0, "embedding": [Infinity, 1]}, {"index": 1, "embedding": [1, 1]}]}',
    "huge": {"data": [{"index": 0, "embedding": [1e38, 3e38]}, {"index": 1, "embedding": ROW}]},
    "nested": {"data": [{"index": 0, "embedding": [ROW]}, {"index": 1, "embedding": [ROW]}]},
}


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("answer", STRANGE.values(), ids=STRANGE)
def test_strange_vectors_are_refused(embeddings: ScriptedServer, answer: Any) -> None:
    embeddings.always = says(answer)
    with pytest.raises(ModelUnavailable):
        embedder_at(embeddings).embed(["tea", "train"])


PASSING = {
    "too many requests": status(429),
    "server error": status(500),
    "bad gateway": status(502),
    "unavailable": status(503),
    "hang up": hang_up,
    "cut": cut,
    "no JSON": says(b"<html>busy</html>"),
    "cut JSON": says(b'{"data": [{"ind'),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_fault_that_passes_is_tried_again(embeddings: ScriptedServer, fault: Script) -> None:
    embeddings.scripts = [fault, fault]
    assert np.allclose(embedder_at(embeddings).embed(["tea"]), [word_vector("tea")], atol=1e-5)
    assert len(embeddings.requests) == 3


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_fault_that_stays_is_told_after_three_attempts(embeddings: ScriptedServer, fault: Script) -> None:
    embeddings.always = fault
    with pytest.raises(ModelUnavailable, match=embeddings.url):
        embedder_at(embeddings).embed(["tea"])
    assert len(embeddings.requests) == 3


@pytest.mark.parametrize("code", [400, 401, 403, 404, 413, 422])
def test_refusal_is_told_at_once(embeddings: ScriptedServer, code: int) -> None:
    embeddings.always = status(code)
    with pytest.raises(ModelUnavailable, match=f"answered {code}"):
        embedder_at(embeddings, api_key="hunter2").embed(["tea"])
    assert len(embeddings.requests) == 1


@pytest.mark.parametrize(("said", "at_least", "at_most"), [("2", 1.4, 2), ("600", 3.7, 5), ("soon", 0, 1), ("²", 0, 1)])
def test_retry_after_is_honoured_up_to_a_limit(
    embeddings: ScriptedServer, waits: list[float], said: str, at_least: float, at_most: float
) -> None:
    embeddings.scripts = [status(429, Retry_After=said)]
    embedder_at(embeddings, timeout_s=20).embed(["tea"])
    assert at_least <= waits[0] <= at_most


def silent(server: ScriptedServer) -> Script:
    return lambda _, __: server.released.wait(30)


def test_silence_costs_one_timeout(embeddings: ScriptedServer) -> None:
    embeddings.always = silent(embeddings)
    before = time.monotonic()
    with pytest.raises(ModelUnavailable, match=r"silent for 0\.5 s"):
        embedder_at(embeddings, timeout_s=0.5).embed(["tea"])
    assert len(embeddings.requests) == 1
    assert time.monotonic() - before < 1.4


def test_waiting_for_another_attempt_is_part_of_the_timeout(embeddings: ScriptedServer, waits: list[float]) -> None:
    embeddings.always = status(429, Retry_After="3")
    with pytest.raises(ModelUnavailable, match="answered 429"):
        embedder_at(embeddings, timeout_s=2).embed(["tea"])
    assert (len(embeddings.requests), waits) == (1, [])


@pytest.mark.parametrize("fault", [silent, lambda _: status(503), lambda _: hang_up], ids=["silent", "503", "hang up"])
def test_model_that_failed_is_not_asked_again_for_a_while(
    rerank: ScriptedServer, fault: Callable[[ScriptedServer], Script], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(breaker, "monotonic", lambda: now[0])
    rerank.always = fault(rerank)
    model = reranker_at(rerank, timeout_s=0.5)
    with pytest.raises(ModelUnavailable):
        model.score("tea", ["a"])
    asked = len(rerank.requests)
    rerank.always = score_all
    with pytest.raises(ModelUnavailable, match="not asked again yet"):
        model.score("tea", ["a"])
    assert len(rerank.requests) == asked
    now[0] += 31
    assert model.score("tea", ["a"]) == [1.0]
    assert model.score("tea", ["ab"]) == [2.0]


def test_only_one_caller_tries_a_model_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(breaker, "monotonic", lambda: now[0])
    one = breaker.Breaker()
    assert one.lets_through()
    one.failed()
    now[0] += 31
    assert [one.lets_through() for _ in range(3)] == [True, False, False]
    one.worked()
    assert [one.lets_through() for _ in range(3)] == [True, True, True]


def test_refusal_does_not_keep_others_from_asking(embeddings: ScriptedServer) -> None:
    embeddings.scripts = [status(401)]
    model = embedder_at(embeddings)
    with pytest.raises(ModelUnavailable):
        model.embed(["tea"])
    assert len(model.embed(["tea"])) == 1


# Answers without an end


def dripping(server: ScriptedServer) -> Script:
    def answer(reply: Reply, _: Body) -> None:
        reply.raw(b"{", length=10_000)
        while not server.released.wait(0.02):
            reply.handler.wfile.write(b" ")
            reply.handler.wfile.flush()

    return answer


def test_answer_that_drips_costs_one_timeout(embeddings: ScriptedServer, rerank: ScriptedServer) -> None:
    embeddings.always, rerank.always = dripping(embeddings), dripping(rerank)
    before = time.monotonic()
    with pytest.raises(ModelUnavailable, match=r"did not end its answer within 0\.3 s"):
        embedder_at(embeddings, timeout_s=0.3).embed(["tea"])
    with pytest.raises(ModelUnavailable, match=r"did not end its answer within 0\.3 s"):
        reranker_at(rerank, timeout_s=0.3).score("tea", ["a"])
    assert (len(embeddings.requests), len(rerank.requests)) == (1, 1)
    assert time.monotonic() - before < 3


def test_answer_of_any_size_is_not_read(embeddings: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_LARGEST_ANSWER", 10_000)
    embeddings.always = says(b" " * 20_000)
    with pytest.raises(ModelUnavailable, match="not what was asked for"):
        embedder_at(embeddings).embed(["tea"])
    assert len(embeddings.requests) == 1


def test_address_where_nobody_listens_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    for model in (
        RemoteEmbedder(f"http://127.0.0.1:{port}/v1", "", "hunter2", 1),
        RemoteEmbedder("http://nowhere.invalid/v1", "", "hunter2", 1),
        RemoteEmbedder("http://[::1/v1", "", "hunter2", 1),
    ):
        with pytest.raises(ModelUnavailable) as caught:
            model.embed(["tea"])
        assert "hunter2" not in str(caught.value)


def test_models_of_different_names_never_share_vectors() -> None:
    assert RemoteEmbedder("http://h", "small", "", 1).model_id != RemoteEmbedder("http://h", "large", "", 1).model_id


# The reranker


def test_scores_come_back_in_the_order_of_the_passages(rerank: ScriptedServer) -> None:
    assert reranker_at(rerank).score("tea", ["a", "abc", "ab"]) == [1.0, 3.0, 2.0]
    (request,) = rerank.requests
    assert request.path == "/v1/rerank"
    assert request.body == {"model": "small", "query": "tea", "documents": ["a", "abc", "ab"], "top_n": 3}


def test_no_passages_are_not_asked_for(rerank: ScriptedServer) -> None:
    assert reranker_at(rerank).score("tea", []) == []
    assert rerank.requests == []


STRANGE_SCORES = {
    "no object": [1],
    "no results": {"data": []},
    "too few": {"results": [{"index": 0, "relevance_score": 1}]},
    "no index": {"results": [{"relevance_score": 1}, {"relevance_score": 1}]},
    "no score": {"results": [{"index": 0}, {"index": 1}]},
    "texts": {"results": [{"index": 0, "relevance_score": "high"}, {"index": 1, "relevance_score": "low"}]},
    "null": {"results": [{"index": 0, "relevance_score": None}, {"index": 1, "relevance_score": 1}]},
    "NaN": b'{"results": [{"index": 0, "relevance_score": NaN}, {"index": 1, "relevance_score": 1}]}',
    "endless index": b'{"results": [{"index": Infinity, "relevance_score": 1}]}',
    "others": {"results": [{"index": 5, "relevance_score": 1}, {"index": 6, "relevance_score": 1}]},
}


@pytest.mark.parametrize("answer", STRANGE_SCORES.values(), ids=STRANGE_SCORES)
def test_strange_scores_are_refused(rerank: ScriptedServer, answer: Any) -> None:
    rerank.always = says(answer)
    with pytest.raises(ModelUnavailable):
        reranker_at(rerank).score("tea", ["a", "b"])


# Recall with them


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

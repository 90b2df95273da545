"""Models behind an address, over real sockets: no wrong answer becomes a wrong vector or a failed recall."""

import socket
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from memorist.errors import ModelUnavailable
from memorist.models import breaker, remote
from memorist.models.remote import RemoteEmbedder
from memorist.platform.loop import Loop
from tests.recall.remote_models import (
    cut,
    embed_all,
    embedder_at,
    hang_up,
    refusing,
    reranker_at,
    says,
    score_all,
    status,
)
from tests.support.models import word_vector
from tests.support.scripted_http import Body, Reply, Script, ScriptedServer

pytestmark = pytest.mark.usefixtures("waits")


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
    "endless": {"data": [{"index": 0, "embedding": [10**400, 1]}, {"index": 1, "embedding": ROW}]},
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


# What is refused of what is stored


@pytest.mark.parametrize("code", [400, 413, 422, 500])
def test_text_that_is_refused_keeps_no_other_from_its_vector(embeddings: ScriptedServer, code: int) -> None:
    embeddings.always = refusing(code)
    texts = [f"text {number}" for number in range(70)]
    texts[33] = texts[69] = "a blob"
    made = embedder_at(embeddings).embed_tokens(texts).vectors
    assert [number for number, row in enumerate(made) if not row.any()] == [33, 69]
    expected = [word_vector(text) for text in texts]
    expected[33] = expected[69] = np.zeros_like(expected[0])
    assert np.allclose(made, expected, atol=1e-5)


@pytest.mark.parametrize("made", [None, [], [0.0] * 64, [float("nan")] * 64, "left out"])
def test_text_that_gets_no_vector_keeps_no_other_from_its(embeddings: ScriptedServer, made: Any) -> None:
    def answer(reply: Reply, body: Body) -> None:
        rows = [
            {"index": n, "embedding": made if "blob" in text else word_vector(text).tolist()}
            for n, text in enumerate(body["input"])
        ]
        reply.json({"data": [row for row in rows if row["embedding"] != "left out"]})

    embeddings.always = answer
    rows = embedder_at(embeddings).embed_tokens(["tea", "a blob", "train"]).vectors
    expected = [word_vector("tea"), np.zeros_like(rows[0]), word_vector("train")]
    assert np.allclose(rows, expected, atol=1e-5)
    with pytest.raises(ModelUnavailable, match="not what was asked for"):
        embedder_at(embeddings).embed_question("a blob")


def test_texts_that_are_refused_one_by_one_are_not_waited_for(embeddings: ScriptedServer, waits: list[float]) -> None:
    embeddings.always = refusing(500)
    assert not embedder_at(embeddings, timeout_s=20).embed_tokens(["a blob"] * 16).vectors.any()
    # For the batch, and once before a text is set aside: the server may only have been away.
    assert len([wait for wait in waits if wait]) == 3


@pytest.mark.parametrize("fault", [status(500), says({"error": "overloaded"})])
def test_text_that_is_taken_after_a_pause_is_not_set_aside(
    embeddings: ScriptedServer, waits: list[float], fault: Script
) -> None:
    def busy(reply: Reply, body: Body) -> None:
        is_over = remote._PAUSE_S in waits or body["input"] == [remote._SAMPLE]
        (embed_all if is_over else fault)(reply, body)

    embeddings.always = busy
    made = embedder_at(embeddings).embed_tokens(["tea", "train"]).vectors
    assert np.allclose(made, [word_vector("tea"), word_vector("train")], atol=1e-5)


def test_who_is_told_to_end_does_not_go_on_with_texts_that_are_refused(embeddings: ScriptedServer) -> None:
    embeddings.always = refusing(500)
    loop = Loop("embedding", lambda: None, 1.0)

    def work() -> None:
        loop.stop()
        embedder_at(embeddings).embed_tokens(["a blob"] * 64)

    loop.start(first=work)
    loop.close()
    assert len(embeddings.requests) == 3  # The attempts at the batch.


def test_batch_of_more_texts_than_are_taken_is_halved_and_the_next_is_not(embeddings: ScriptedServer) -> None:
    def at_most_20(reply: Reply, body: Body) -> None:
        (embed_all if len(body["input"]) <= 20 else status(413))(reply, body)

    embeddings.always = at_most_20
    model = embedder_at(embeddings)
    texts = [f"text {number}" for number in range(150)]
    for _ in range(2):
        assert np.allclose(model.embed_tokens(texts).vectors, [word_vector(text) for text in texts], atol=1e-5)
    sizes = [len(request.body["input"]) for request in embeddings.requests]
    assert [size for size in sizes if size > 20] == [64, 32, 32]


def test_strange_answer_that_passes_makes_no_later_batch_smaller(embeddings: ScriptedServer) -> None:
    embeddings.scripts = [says({"error": "overloaded"})]
    model = embedder_at(embeddings)
    texts = [f"text {number}" for number in range(64)]
    for _ in range(2):
        assert np.allclose(model.embed_tokens(texts).vectors, [word_vector(text) for text in texts], atol=1e-5)
    assert len(embeddings.requests[-1].body["input"]) == 64


@pytest.mark.parametrize("code", [400, 401, 422, 500, 503])
def test_no_text_is_to_blame_where_nothing_is_taken(embeddings: ScriptedServer, code: int) -> None:
    embeddings.always = status(code)
    with pytest.raises(ModelUnavailable, match=f"answered {code}"):
        embedder_at(embeddings).embed_tokens([f"text {number}" for number in range(64)])
    assert len(embeddings.requests) <= 6


@pytest.mark.parametrize("code", [400, 500])
def test_text_that_is_taken_after_all_is_not_set_aside(embeddings: ScriptedServer, code: int) -> None:
    embeddings.scripts = [status(code)] * (3 if code == 500 else 1)
    assert np.allclose(embedder_at(embeddings).embed_tokens(["tea"]).vectors, [word_vector("tea")], atol=1e-5)


@pytest.mark.parametrize("code", [400, 500])
def test_question_that_is_refused_keeps_no_other_from_its_meaning(embeddings: ScriptedServer, code: int) -> None:
    embeddings.always = refusing(code)
    model = embedder_at(embeddings)
    with pytest.raises(ModelUnavailable, match=f"answered {code}"):
        model.embed_question("a blob")
    assert np.allclose(model.embed_question("tea").vectors, [word_vector("tea")], atol=1e-5)


@pytest.mark.parametrize(("code", "requests"), [(400, 1), (500, 4)])
def test_question_that_is_refused_takes_one_timeout(
    embeddings: ScriptedServer, monkeypatch: pytest.MonkeyPatch, code: int, requests: int
) -> None:
    deadlines: list[float] = []
    post = remote._Service._post

    def noting(service: Any, body: Any, deadline: float) -> Any:
        deadlines.append(deadline)
        return post(service, body, deadline)

    monkeypatch.setattr(remote._Service, "_post", noting)
    embeddings.always = refusing(code)
    with pytest.raises(ModelUnavailable, match=f"answered {code}"):
        embedder_at(embeddings, timeout_s=20).embed_question("a blob")
    assert len(deadlines) == requests
    assert len(set(deadlines)) == 1


def test_what_is_stored_in_vain_keeps_no_question_from_its_meaning(embeddings: ScriptedServer) -> None:
    embeddings.always = refusing(503)
    model = embedder_at(embeddings)
    with pytest.raises(ModelUnavailable, match="answered 503"):
        model.embed_tokens(["a blob"])
    with pytest.raises(ModelUnavailable, match="not asked again yet"):
        model.embed_tokens(["tea"])
    assert len(model.embed_question("tea").vectors) == 1


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
        embedder_at(embeddings, timeout_s=0.3).embed_question("tea")
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

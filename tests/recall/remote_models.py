"""Servers of models, with their faults, and what asks them."""

import json
from typing import Any

from memorist.models.remote import RemoteEmbedder, RemoteReranker
from tests.support.models import word_vector
from tests.support.scripted_http import Body, Reply, Script, ScriptedServer


def embed_all(reply: Reply, body: Body) -> None:
    rows = [
        {"object": "embedding", "index": index, "embedding": (3 * word_vector(text)).tolist()}
        for index, text in enumerate(body["input"])
    ]
    reply.json({"object": "list", "data": rows, "model": body["model"]})


def score_all(reply: Reply, body: Body) -> None:
    rows = [{"index": index, "relevance_score": float(len(one))} for index, one in enumerate(body["documents"])]
    reply.json({"results": sorted(rows, key=lambda row: -row["relevance_score"])})


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


def refusing(code: int, word: str = "blob") -> Script:
    """A server that cannot take one word, and says so of everything that is sent with it."""

    def answer(reply: Reply, body: Body) -> None:
        (status(code) if any(word in text for text in body["input"]) else embed_all)(reply, body)

    return answer

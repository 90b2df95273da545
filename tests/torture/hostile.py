"""Hostile calls over every door: two tenants, all roles, every operation of the OpenAPI document, and ids and names of
others. Nothing of anybody is shown to somebody who may not see it, and nothing of theirs is changed.
"""

import json
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from memorist.surfaces.http.app import create_api
from tests.http.conftest import Served, serving
from tests.http.test_isolation import World
from tests.support.isolation import AGENTS, MARK, USERS, Owned, Who, mark
from tests.support.scripted_http import scripted_server
from tests.support.talking import says
from tests.torture.outcome import Outcome

# They take everything of somebody by right, never end, or work for seconds.
LEFT_OUT = re.compile(r"/purge|/reset|/admin/users|/admin/tenant|/admin/policy|/events/stream|/records/index|/sweep")
QUESTION = {"query": "who likes tea", "top_k": 20, "min_score": 0}
BODIES: dict[str, Any] = {
    "/v1/records/recall": {**QUESTION, "explain": True},
    "/memory/query": QUESTION,
    "/v1/tools/{name}": QUESTION,
    "/v1/context": {"question": "who likes tea", "budget_tokens": 2000},
    "/v1/turns": {"messages": [{"role": "user", "content": "Who likes tea?"}]},
    "/v1/records/{memory_id}": {"importance": 7},
    "/v1/memories/{memory_id}": {"importance": 7},
    "/v1/tokens": {"user": "ada"},
}


@dataclass
class Hostility(World):
    """What everybody has, each thing marked with whose it is, and calls for what is not theirs."""

    ids: dict[str, Owned] = field(default_factory=dict)
    names: list[str] = field(default_factory=lambda: ["s0", "d-ada", "d-bob", "recall", "remember_fact", *USERS])

    def plant(self, client: httpx2.Client) -> None:
        for tenant in (0, 1):
            for user in USERS:
                for agent in (None, AGENTS[0]):
                    self._plant(client, Who(tenant, Role.USER, user, agent, None, None))

    def _plant(self, client: httpx2.Client, who: Who) -> None:
        text = f"{mark(self.tenants[who.tenant], who.user, who.agent)} likes tea"
        # What is told of the user is for all of their agents.
        told = f"{mark(self.tenants[who.tenant], who.user, None)} likes tea"
        said = {"messages": [{"role": "user", "content": text}]}
        output = {"tool_call_id": "c", "tool_name": "t", "content": text + " x" * 4000}
        shown = {"title": text, "content": text, "document_id": f"d-{who.user}", "shared": False}
        for path, body in (
            ("/v1/records", {"content": text, "meta": {"said": text}}),
            ("/v1/memories", {"type": "user", "name": "tea", "description": text, "body": text}),
            ("/v1/memory", {"text": told, "category": "goal"}),
            ("/v1/turns", {"messages": [{"role": "user", "content": told}], "context": {"session_id": "s0"}}),
            ("/v1/sessions/s0/messages", said),
            ("/v1/sessions/s0/tool-outputs", output),
            ("/v1/documents", shown),
            ("/v1/facts", {"content": told}),
            ("/api/memory/store", {"content": text, "chunkType": "fact"}),
            ("/memory/add", {"content": text}),
        ):
            answer = client.post(path, json=body, headers=self._headers(who))
            assert answer.is_success, answer.text
            for found in re.findall(r'"((?:mem|turn|job|rcpt|dbt|tout)_[0-9A-Z]{26})"', answer.text):
                self.ids[found] = (who.tenant, who.user or "", who.agent or "")

    def attack(self, client: httpx2.Client, rng: random.Random, operations: list[tuple[str, str]]) -> str | None:
        """One call; what is wrong with its answer, or None."""
        who = _anybody(rng)
        method, template = rng.choice(operations)
        target = rng.choice([*self.ids, *self.names])
        path = re.sub(r"\{\w+\}", target, template)
        body = BODIES.get(template) if method in ("POST", "PATCH", "PUT") else None
        if template == "/mcp":
            body = _mcp(rng, target)
        query = {"limit": 100} if method == "GET" else {}
        headers = self._headers(who) | {"X-Memorist-Session": "s0", "Accept": "application/json, text/event-stream"}
        if method == "GET" or template != "/mcp":
            headers["Accept"] = rng.choice(("application/json", "application/vnd.memorist+json", "text/plain"))
        answer = client.request(method, path, json=body, params=query, headers=headers)
        return self._fault(who, method, path, answer, target)

    def _fault(self, who: Who, method: str, path: str, answer: httpx2.Response, target: str) -> str | None:
        if answer.status_code >= 500:
            return f"{method} {path}: {answer.status_code} {answer.text[:200]}"
        for found in MARK.finditer(answer.text):
            owner = (self.tenants.index(found["tenant"]), found["user"], found["agent"])
            # An admin looks after what anybody in its tenant deleted.
            if not (who.may_see(*owner) or (who.role is Role.ADMIN and owner[0] == who.tenant)):
                return f"{who} was shown a row of {owner} by {method} {path}"
        owned = self.ids.get(target)
        if method != "GET" and answer.is_success and owned is not None and target in path and owned[0] != who.tenant:
            return f"{who} changed what is another tenant's: {method} {path}"
        return None


def run(folder: Path, databases: dict[str, str], *, seed: int, rounds: int) -> Outcome:
    """`rounds` calls on each database (a name and its address; empty for a file)."""
    outcome = Outcome("hostile calls")
    for name, url in databases.items():
        with _served(folder / name, url) as server, httpx2.Client(base_url=server.url, timeout=60) as client:
            rng = random.Random(f"{seed} {name}")
            world = Hostility(server)
            world.plant(client)
            before = {tenant: _everything(server, tenant) for tenant in world.tenants}
            operations = [*_operations(), ("POST", "/mcp")]
            for _ in range(rounds):
                if fault := world.attack(client, rng, operations):
                    outcome.fail(fault)
            outcome.counts["calls"] += rounds
            outcome.counts["planted"] += len(world.ids)
            for tenant, rows in before.items():
                lost = rows - _everything(server, tenant)
                outcome.check(len(lost) < len(rows), f"everything of {tenant} is gone")
    return outcome


@contextmanager
def _served(folder: Path, url: str) -> Iterator[Served]:
    with scripted_server(says("Noted.")) as model:
        settings = Settings(
            data=folder, database=url, port=0, embedder="off", reranker="off", failed_key_delay_s=0, key_rate=0,
            user_rate=0, llm="openai:gpt-4o", llm_url=model.url, llm_api_key="not-a-key", judge_model="local",
            extractor="local",
        )  # fmt: skip
        with serving(settings) as server:
            yield server


def _operations() -> Iterator[tuple[str, str]]:
    document = create_api(None).openapi()  # type: ignore[arg-type]
    for path, methods in document["paths"].items():
        if not LEFT_OUT.search(path):
            yield from ((method.upper(), path) for method in methods)


def _anybody(rng: random.Random) -> Who:
    role = rng.choice(list(Role))
    user = rng.choice(USERS if role is Role.USER else [None, *USERS])
    agents = [None, *AGENTS]
    named = rng.choice([None, None, *USERS])
    return Who(rng.randrange(2), role, user, rng.choice(agents), named, rng.choice(agents))


def _mcp(rng: random.Random, target: str) -> dict[str, Any]:
    name, arguments = rng.choice(
        [
            ("recall", QUESTION),
            ("memory_list", {}),
            ("memory_read", {"name": "tea"}),
            ("read_tool_output", {"tool_output_key": target.replace("mem_", "tout_")}),
        ]
    )
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def _everything(server: Served, tenant: str) -> set[str]:
    lines = list(server.core.transfer.export(Principal(tenant, Role.ADMIN)))
    return {json.loads(line)["memory"]["id"] for line in lines[1:] if "memory" in json.loads(line)}

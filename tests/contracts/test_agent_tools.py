"""What the agent tools' document says and no other test pins."""

import dataclasses
from collections.abc import Iterator

import httpx2
import pytest

from memorist.bootstrap import open_store
from memorist.core import Core
from memorist.ingestion.service import Message
from memorist.memories.policy import Policy
from memorist.options import Options
from memorist.platform.values import Principal, Role
from memorist.recall.values import Question, Weights
from memorist.settings import Settings
from memorist.settings_sources import load_settings
from memorist.testing import StepClock
from memorist.testing.clocks import START
from tests.http.conftest import Served
from tests.http.test_agent_tools import contents, recall, say, state, store_output
from tests.support.models import WordEmbedder, WordReranker
from tests.support.stores import bare

VARIABLES = {
    "recall_weight_session": 1.3,
    "recall_weight_user": 1.1,
    "recall_weight_agent": 1.0,
    "recall_weight_tenant": 1.0,
    "judge_topk": 5,
    "judge_threshold": 0.7,
    "anonymize_after_days": 30,
}


def test_variables_have_the_defaults_of_the_document() -> None:
    settings = Settings()
    assert {name: getattr(settings, name) for name in VARIABLES} == VARIABLES
    assert settings.judge_model == "auto", "the small model, or a language model where there is one"
    assert (Weights().session, Weights().user, Weights().agent, Weights().tenant) == (1.3, 1.1, 1.0, 1.0)
    assert Policy().anonymize_after_days == 30


def test_every_variable_is_set_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.setenv(f"MEMORIST_{name.upper()}", "0.5" if "weight" in name or "threshold" in name else "7")
    monkeypatch.setenv("MEMORIST_RERANKER_URL", "http://127.0.0.1:9/rerank")
    monkeypatch.setenv("MEMORIST_JUDGE_MODEL", "")
    settings = dataclasses.asdict(load_settings({}).settings)
    assert {float(settings[name]) for name in VARIABLES} == {0.5, 7.0}
    assert (settings["reranker_url"], settings["judge_model"]) == ("http://127.0.0.1:9/rerank", "")


def test_message_output_and_fact_are_found_by_keyword_at_once(ada: httpx2.Client) -> None:
    said, returned, stated = "The zebra is late.", "zebra: 3 rows", "Ada keeps a zebra."
    say(ada, "s1", said, {"role": "assistant", "content": "Which zebra?"})
    assert set(contents(recall(ada, "zebra"))) == {said, "Which zebra?"}
    store_output(ada, returned)
    assert returned in contents(recall(ada, "zebra"))
    state(ada, stated)
    assert stated in contents(recall(ada, "zebra"))


def test_every_part_of_a_conversation_is_kept_with_its_kind(ada: httpx2.Client) -> None:
    say(ada, "s1", "A zebra?", {"role": "assistant", "content": "A zebra."})
    store_output(ada, "zebra rows")
    state(ada, "Ada keeps a zebra.")
    ada.post("/v1/documents", json={"title": "Zebras", "content": "All about the zebra."})
    items = recall(ada, "zebra", top_k=20, min_score=0)["items"]
    kinds = sorted(item["source_kind"] for item in items)
    assert kinds == ["chat_message", "chat_message", "document_chunk", "fact", "tool_output"]


def test_tenant_scope_is_of_all_users_and_of_no_other_tenant(by_keyword: Served, tenant: str) -> None:
    with (
        by_keyword.client(tenant, Role.SERVICE, None) as service,
        by_keyword.client(tenant, user="bob") as bob,
        by_keyword.client(f"{tenant}-other", user="bob") as stranger,
    ):
        service.post("/v1/documents", json={"title": "Zebras", "content": "All about the zebra."})
        assert contents(recall(bob, "zebra", scope="tenant")) == ["All about the zebra."]
        assert recall(stranger, "zebra", scope="tenant")["items"] == []


def test_document_of_a_user_is_in_the_tenant_scope_of_that_user_alone(by_keyword: Served, tenant: str) -> None:
    with by_keyword.client(tenant) as ada, by_keyword.client(tenant, user="bob") as bob:
        sent = {"title": "Zebras", "content": "All about the zebra."}
        assert ada.post("/v1/documents", json=sent).json()["shared"] is False
        assert contents(recall(ada, "zebra", scope="tenant")) == ["All about the zebra."]
        assert recall(bob, "zebra", scope="tenant")["items"] == []
        assert ada.post("/v1/documents", json=sent | {"shared": True}).json()["shared"] is True
        assert contents(recall(bob, "zebra", scope="tenant")) == ["All about the zebra."]


@pytest.fixture
def reranking(database_url: str) -> Iterator[tuple[Core, WordReranker]]:
    store = open_store(bare(database_url))
    store.migrator.migrate(START)
    reranker = WordReranker()
    core = Core(store, StepClock(), Options(embedder=WordEmbedder, reranker=lambda: reranker))
    yield core, reranker
    core.close()


def test_twenty_candidates_are_read_again_and_put_in_order(reranking: tuple[Core, WordReranker], tenant: str) -> None:
    core, reranker = reranking
    reranker.is_local = False
    core.identity.create_tenant(tenant)
    ada = Principal(tenant, Role.USER, "ada")
    said = [Message("user", f"zebra {'stripes ' * (number % 3)}number {number}") for number in range(40)]
    core.ingestion.add_messages(ada, "s1", said, extract=False)
    found = core.recall.recall(ada, Question("zebra stripes", top_k=3))
    assert (found.rerank_used, len(found.hits), len(reranker.read[-1])) == (True, 3, 20)
    reranker.is_broken = True
    without = core.recall.recall(ada, Question("zebra stripes", top_k=3))
    assert (without.rerank_used, len(without.hits)) == (False, 3)

"""The agent tools API, on both databases, over real HTTP: the tools, messages and tool outputs."""

import re
from typing import Any
from uuid import UUID

import httpx2
import pytest

from memorist.ids import parse_id
from memorist.platform import validation
from memorist.platform.values import Role
from memorist.testing import new_tenant
from tests.http.conftest import Served
from tests.http.test_refusals import assert_problem

ITEM_FIELDS = ["id", "source_kind", "source_ref", "content", "event_time", "score"]
VALID_KEY = "tout_01J9Z3K4M5N6P7Q8R9S0T1V2W3"


def recall(client: httpx2.Client, query: str, headers: dict[str, str] | None = None, **arguments: Any) -> Any:
    response = client.post("/v1/tools/recall", json={"query": query, **arguments}, headers=headers)
    assert response.status_code == 200, response.text
    return response.json()


def contents(answer: Any) -> list[str]:
    return [item["content"] for item in answer["items"]]


def say(client: httpx2.Client, session: str, *messages: str | dict[str, Any], **headers: str) -> httpx2.Response:
    said = [{"role": "user", "content": one} if isinstance(one, str) else one for one in messages]
    # What is learned from them comes later, and is not what is asked for here.
    body = {"messages": said, "extract": False}
    return client.post(f"/v1/sessions/{session}/messages", json=body, headers=headers)


def state(client: httpx2.Client, content: str, headers: dict[str, str] | None = None, **arguments: Any) -> Any:
    response = client.post("/v1/tools/remember_fact", json={"content": content, **arguments}, headers=headers)
    assert response.status_code == 200, response.text
    return response.json()


def store_output(client: httpx2.Client, content: str, session: str = "s1", **headers: str) -> httpx2.Response:
    body = {"tool_call_id": "tool_call_id_xyz", "tool_name": "metabase", "content": content}
    return client.post(f"/v1/sessions/{session}/tool-outputs", json=body, headers=headers)


# The tools as a model takes them


def test_tools_come_in_the_format_that_is_asked_for(ada: httpx2.Client) -> None:
    openai = ada.get("/v1/tools").json()
    assert openai == ada.get("/v1/tools?format=openai").json()
    names = [tool["function"]["name"] for tool in openai["tools"]]
    assert names[:3] == ["recall", "remember_fact", "read_tool_output"]
    assert names[3:] == ["memory_list", "memory_read", "memory_write", "memory_delete"]
    anthropic = ada.get("/v1/tools?format=anthropic").json()["tools"]
    mcp = ada.get("/v1/tools?format=mcp").json()["tools"]
    assert [tool["name"] for tool in anthropic] == [tool["name"] for tool in mcp] == names
    for one, other, third in zip(openai["tools"], anthropic, mcp, strict=True):
        assert one["function"]["parameters"] == other["input_schema"] == third["inputSchema"]


@pytest.mark.parametrize("format", ["", "OpenAI", "gemini"])
def test_unknown_format_is_refused(ada: httpx2.Client, format: str) -> None:
    assert assert_problem(ada.get(f"/v1/tools?format={format}"), 422, "invalid_field")["field"] == "format"


def test_unknown_tool_is_not_found(ada: httpx2.Client) -> None:
    assert "recall" in str(assert_problem(ada.post("/v1/tools/forget", json={}), 404, "not_found")["detail"])
    assert_problem(ada.post("/v1/tools/%00", json={}), 404, "not_found")
    assert ada.get("/v1/tools/recall").headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/tools", None),
        ("POST", "/v1/tools/recall", {"query": "x"}),
        ("POST", "/v1/tools/nothing", {}),
        ("POST", "/v1/sessions/s1/messages", {"messages": [{"role": "user", "content": "x"}]}),
        ("POST", "/v1/sessions/s1/tool-outputs", {"tool_call_id": "c", "tool_name": "t", "content": "x"}),
        ("POST", "/v1/documents", {"title": "t", "content": "x"}),
        ("GET", "/v1/documents", None),
        ("GET", "/v1/documents/d1", None),
        ("DELETE", "/v1/documents/d1", None),
    ],
)
def test_every_call_needs_a_key(served: Served, method: str, path: str, body: Any) -> None:
    assert_problem(httpx2.request(method, f"{served.url}{path}", json=body), 401, "unauthenticated")


# recall


def test_recall_answers_with_exactly_the_fields_of_the_document(ada: httpx2.Client) -> None:
    stored = store_output(ada, "SELECT count(*) FROM orders: 4711 orders in April").json()

    answer = recall(ada, "the metabase query about order count", top_k=5, source_kinds=["tool_output"])

    assert list(answer) == ["items", "total", "degraded", "rerank_used"]
    assert (answer["total"], answer["degraded"], answer["rerank_used"]) == (1, False, True)
    (item,) = answer["items"]
    assert list(item) == [*ITEM_FIELDS, "tool_output_key"]
    assert parse_id("mem", str(UUID(item["id"]))) == stored["id"]
    assert (item["source_kind"], item["source_ref"]) == ("tool_output", "tool_call_id_xyz")
    assert item["content"] == stored["preview"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", item["event_time"])
    assert 0 < item["score"] <= 1


def test_meaning_finds_what_shares_no_word(ada: httpx2.Client) -> None:
    for fact in ("Ada's manager is Grace Hopper.", "The deployment runs every Tuesday.", "Ada prefers metric units."):
        state(ada, fact)
    assert contents(recall(ada, "who is her boss", min_score=0))[0] == "Ada's manager is Grace Hopper."


def test_recall_without_rerank_says_so(ada: httpx2.Client) -> None:
    state(ada, "Ada likes tea.")
    answer = recall(ada, "tea", enable_rerank=False)
    assert (answer["rerank_used"], contents(answer)) == (False, ["Ada likes tea."])


def test_recall_in_an_empty_memory_finds_nothing(ada: httpx2.Client) -> None:
    assert recall(ada, "anything") == {"items": [], "total": 0, "degraded": False, "rerank_used": False}


def test_recall_returns_five_unless_told_otherwise(by_keyword: Served, tenant: str) -> None:
    with by_keyword.client(tenant) as ada:
        for number in range(25):
            state(ada, f"Tea number {number} is green.")
        assert recall(ada, "green tea")["total"] == 5
        for top_k in (1, 20):
            answer = recall(ada, "green tea", top_k=top_k)
            assert answer["total"] == len(answer["items"]) == top_k
        scores = [item["score"] for item in recall(ada, "green tea number 7", top_k=20)["items"]]
        assert scores == sorted(scores, reverse=True)
        assert recall(ada, "green tea", budget_tokens=200)["total"] > 5
        assert recall(ada, "green tea", budget_tokens=1)["total"] == 1


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": "   "}, "query"),
        ({"query": "x" * 10_001}, "query"),
        ({"query": "x", "top_k": 0}, "top_k"),
        ({"query": "x", "top_k": 21}, "top_k"),
        ({"query": "x", "top_k": "5"}, "top_k"),
        ({"query": "x", "source_kinds": ["email"]}, "source_kinds.0"),
        ({"query": "x", "scope": "everything"}, "scope"),
        ({"query": "x", "scope": "agent"}, "scope"),
        ({"query": "x", "enable_rerank": 1}, "enable_rerank"),
        ({"query": "x", "after": "yesterday"}, "after"),
        ({"query": "x", "budget_tokens": 0}, "budget_tokens"),
        ({"query": "x", "min_score": 2}, "min_score"),
        ({"query": "x", "user_id": "other"}, "user_id"),
    ],
)
def test_bad_argument_is_refused_by_its_name(ada: httpx2.Client, arguments: dict[str, Any], field: str) -> None:
    problem = assert_problem(ada.post("/v1/tools/recall", json=arguments), 422, "invalid_field")
    assert problem["field"] == field
    assert field in str(problem["detail"])


@pytest.mark.parametrize(
    "query",
    [
        '"', "'; DROP TABLE memories; --", "a AND", "NEAR(", "tea*", "col:tea", "- - -", "(((", "%", "\\", "💩" * 50,
        "the of and a", "x " * 5_000, "お茶が好きです", "שלום", "\u202e\u0301", "^tea$", "?",
    ],
)  # fmt: skip
def test_any_query_is_safe(by_keyword: Served, tenant: str, query: str) -> None:
    with by_keyword.client(tenant) as ada:
        state(ada, "Ada likes tea.")
        assert recall(ada, query)["total"] <= 1
        assert contents(recall(ada, "tea")) == ["Ada likes tea."]


@pytest.fixture
def everything(by_keyword: Served, tenant: str) -> Any:
    """One memory of every class about tea; recalled by the service on ada's behalf, as the agent coder, in s1."""
    acting = {"X-Memorist-User": "ada", "X-Memorist-Agent": "coder", "X-Memorist-Session": "s1"}
    with (
        by_keyword.client(tenant, Role.ADMIN, "ada") as admin,
        by_keyword.client(tenant, Role.SERVICE, None) as service,
    ):
        say(service, "s1", "message of this session about tea", **acting)
        say(service, "s0", "message of another session about tea", **acting)
        store_output(service, "output of this session about tea", **acting)
        state(service, "fact about the user and tea", acting)
        state(service, "fact of the agent about tea", acting, scope="agent")
        document = {"title": "Tea", "content": "document about tea", "shared": True}
        assert admin.post("/v1/documents", json=document).status_code == 201
        yield service, acting


CLASSES = {
    "session": {"message of this session about tea", "output of this session about tea"},
    "user": {"fact about the user and tea"},
    "agent": {"fact of the agent about tea"},
    "tenant": {"document about tea"},
}


@pytest.mark.parametrize("scope", CLASSES)
def test_scope_searches_its_slice_alone(everything: Any, scope: str) -> None:
    service, acting = everything
    assert set(contents(recall(service, "tea", acting, scope=scope, min_score=0))) == CLASSES[scope]


def test_any_scope_searches_all_and_is_the_default(everything: Any) -> None:
    service, acting = everything
    found = set(contents(recall(service, "tea", acting, top_k=20, min_score=0)))
    assert found == set().union(*CLASSES.values(), {"message of another session about tea"})
    assert found == set(contents(recall(service, "tea", acting, top_k=20, min_score=0, scope="any")))


@pytest.mark.parametrize(
    ("kind", "count"), [("chat_message", 2), ("tool_output", 1), ("document_chunk", 1), ("fact", 2)]
)
def test_source_kinds_filter(everything: Any, kind: str, count: int) -> None:
    service, acting = everything
    found = recall(service, "tea", acting, top_k=20, min_score=0, source_kinds=[kind])
    assert [item["source_kind"] for item in found["items"]] == [kind] * count
    assert recall(service, "tea", acting, top_k=20, min_score=0, source_kinds=[])["total"] == 6


def test_scope_needs_what_the_document_says(everything: Any) -> None:
    service, acting = everything
    for scope, header in (("user", "X-Memorist-User"), ("agent", "X-Memorist-Agent")):
        without = {name: value for name, value in acting.items() if name != header}
        response = service.post("/v1/tools/recall", json={"query": "tea", "scope": scope}, headers=without)
        problem = assert_problem(response, 422, "invalid_field")
        assert problem["field"] == "scope"
        assert header in str(problem["detail"])
    # These are always available, and so is `any`.
    nobody: dict[str, str] = {}
    assert recall(service, "tea", nobody, scope="session")["items"] == []
    assert contents(recall(service, "tea", nobody, scope="tenant")) == ["document about tea"]
    assert contents(recall(service, "tea", nobody)) == ["document about tea"]


def test_explanation_comes_only_when_asked_for(ada: httpx2.Client) -> None:
    state(ada, "Ada likes tea.")
    (item,) = recall(ada, "tea", explain=True)["items"]
    assert list(item) == [*ITEM_FIELDS, "explanation"]
    assert item["explanation"]["text"]["rank"] == 1
    assert {"vector", "first_stage", "weight", "reranker"} <= set(item["explanation"])


def test_why_not_tells_what_kept_a_memory_away(served: Served, tenant: str, ada: httpx2.Client) -> None:
    tea, dogs = state(ada, "Ada likes tea."), state(ada, "Ada owns two dogs.")

    found = recall(ada, "tea", why_not=tea["id"])
    assert list(found) == ["items", "total", "degraded", "rerank_used", "why_not"]
    assert found["why_not"]["recalled"] is True
    missed = recall(ada, "tea", top_k=1, why_not=dogs["id"])["why_not"]
    assert (missed["id"], missed["recalled"]) == (dogs["id"], False)
    assert missed["reason"]
    assert_problem(ada.post("/v1/tools/recall", json={"query": "x", "why_not": "x"}), 422, "invalid_id")
    with served.client(tenant, user="bob") as bob:
        response = bob.post("/v1/tools/recall", json={"query": "tea", "why_not": tea["id"]})
        assert_problem(response, 404, "not_found")


def test_time_bounds_what_is_recalled(ada: httpx2.Client) -> None:
    for year in (2021, 2022, 2023):
        say(ada, "s1", {"role": "user", "content": f"Tea of {year}", "event_time": f"{year}-05-01T12:00:00+02:00"})

    def found(**bounds: str) -> set[str]:
        return set(contents(recall(ada, "tea", min_score=0, **bounds)))

    assert found() == {"Tea of 2021", "Tea of 2022", "Tea of 2023"}
    assert found(after="2022-05-01T10:00:00Z") == {"Tea of 2022", "Tea of 2023"}
    assert found(before="2022-05-01T10:00:00Z") == {"Tea of 2021"}
    assert found(after="2022-01-01", before="2023-01-01") == {"Tea of 2022"}
    assert found(known_at="2024-01-01T00:00:00Z") == set()
    (item,) = recall(ada, "tea", after="2023-01-01", min_score=0)["items"]
    assert item["event_time"] == "2023-05-01T10:00:00.000000Z"


def test_score_below_the_least_is_left_out(ada: httpx2.Client) -> None:
    state(ada, "Ada likes tea.")
    assert recall(ada, "volcanic rock formations on Mars", min_score=0.9)["items"] == []
    assert recall(ada, "volcanic rock formations on Mars", min_score=0)["total"] == 1


def test_long_message_comes_back_as_one_memory_with_the_part_that_fits(ada: httpx2.Client) -> None:
    filler = " ".join(f"The weather on day {number} was mild and rather cloudy." for number in range(80))
    say(ada, "s1", f"{filler} The launch code is Cormorant. {filler}")
    (item,) = recall(ada, "what is the launch code?", min_score=0)["items"]
    assert "Cormorant" in item["content"]
    assert len(item["content"]) < 2000


# remember_fact


def test_fact_is_written_once(ada: httpx2.Client) -> None:
    first = state(ada, "User prefers metric units and dark mode.", scope="user")
    assert list(first) == ["id", "was_new"]
    assert first["was_new"] is True
    assert state(ada, "User prefers metric units and dark mode.", {"X-Memorist-Session": "later"}) == {
        "id": str(UUID(first["id"])),
        "was_new": False,
    }
    assert recall(ada, "metric units", scope="user")["total"] == 1


def test_fact_about_the_user_comes_back_with_any_agent_and_in_any_session(ada: httpx2.Client) -> None:
    state(ada, "Ada likes tea.", {"X-Memorist-Agent": "coder", "X-Memorist-Session": "s1"})
    for agent in ("coder", "finance"):
        headers = {"X-Memorist-Agent": agent, "X-Memorist-Session": f"of {agent}".replace(" ", "_")}
        assert contents(recall(ada, "tea", headers)) == ["Ada likes tea."]


def test_fact_of_the_agent_comes_back_with_any_user_of_that_agent_alone(served: Served, tenant: str) -> None:
    with served.client(tenant, Role.SERVICE, None) as service, served.client(tenant) as ada:
        state(service, "Deploys need two approvals.", {"X-Memorist-Agent": "coder"}, scope="agent")
        for user in ("ada", "bob"):
            coder = {"X-Memorist-User": user, "X-Memorist-Agent": "coder"}
            assert contents(recall(service, "approvals", coder, scope="agent")) == ["Deploys need two approvals."]
            finance = {"X-Memorist-User": user, "X-Memorist-Agent": "finance"}
            assert recall(service, "approvals", finance)["items"] == []
        # A user who merely names the agent does not speak for it.
        assert recall(ada, "approvals", {"X-Memorist-Agent": "coder"})["items"] == []
        body = {"content": "No approvals needed.", "scope": "agent"}
        response = ada.post("/v1/tools/remember_fact", json=body, headers={"X-Memorist-Agent": "coder"})
        told = assert_problem(response, 403, "forbidden")["detail"]
        assert "does not stand for the agent 'coder'" in told
        body = {"query": "approvals", "scope": "agent"}
        response = ada.post("/v1/tools/recall", json=body, headers={"X-Memorist-Agent": "coder"})
        assert assert_problem(response, 403, "forbidden")["detail"] == told


def test_whole_call_is_taken_for_its_arguments(ada: httpx2.Client) -> None:
    call = {"name": "remember_fact", "arguments": {"content": "Ada likes tea.", "scope": "user"}}
    stored = ada.post("/v1/tools/remember_fact", json=call, headers={"Idempotency-Key": "one"})
    assert stored.json()["was_new"] is True
    again = ada.post("/v1/tools/remember_fact", json=call["arguments"], headers={"Idempotency-Key": "one"})
    assert (again.json(), again.headers["Idempotency-Replayed"]) == (stored.json(), "true")
    for arguments in ({"query": "tea"}, '{"query": "tea"}'):
        found = ada.post("/v1/tools/recall", json={"name": "recall", "arguments": arguments}).json()
        assert contents(found) == ["Ada likes tea."]


def test_tenant_in_the_arguments_is_ignored(served: Served, tenant: str, ada: httpx2.Client) -> None:
    state(ada, "Ada likes tea.", tenant="other", tenant_id="other")
    other = new_tenant()
    with served.client(other) as stranger:
        for name in ("tenant", "tenant_id"):
            assert recall(stranger, "tea", **{name: tenant})["items"] == []
            assert contents(recall(ada, "tea", **{name: other})) == ["Ada likes tea."]


def test_retry_of_a_fact_is_replayed(ada: httpx2.Client) -> None:
    def send(content: str) -> httpx2.Response:
        return ada.post("/v1/tools/remember_fact", json={"content": content}, headers={"Idempotency-Key": "k1"})

    first, again = send("Ada likes tea."), send("Ada likes tea.")
    assert first.json() == again.json()
    assert again.json()["was_new"] is True
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert_problem(send("Ada likes coffee."), 422, "idempotency_mismatch")
    in_body = {"content": "Ada likes tea.", "idempotency_key": "k1"}
    assert ada.post("/v1/tools/remember_fact", json=in_body).headers["idempotency-replayed"] == "true"


@pytest.mark.parametrize("left_out", [{}, {"idempotency_key": None}])
def test_retry_of_a_deletion_is_replayed(ada: httpx2.Client, left_out: dict[str, None]) -> None:
    note = {"name": "user_tea", "type": "user", "description": "Tea", "body": "Green."}
    ada.post("/v1/tools/memory_write", json=note)
    body, key = {"name": "user_tea", **left_out}, {"Idempotency-Key": "k1"}
    first, again = (ada.post("/v1/tools/memory_delete", json=body, headers=key) for _ in range(2))
    assert (first.status_code, first.json()) == (again.status_code, again.json())
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert_problem(ada.post("/v1/tools/memory_delete", json=body), 404, "not_found")


def test_idempotency_key_of_a_reading_tool_means_nothing(ada: httpx2.Client) -> None:
    for query in ("tea", "coffee"):
        body = {"query": query}
        assert ada.post("/v1/tools/recall", json=body, headers={"Idempotency-Key": "k"}).status_code == 200


# Who may


def test_reader_reads_and_never_writes(served: Served, tenant: str, ada: httpx2.Client) -> None:
    state(ada, "Ada likes tea.")
    key = store_output(ada, "rows").json()["tool_output_key"]
    document = ada.post("/v1/documents", json={"title": "Tea", "content": "All about it."}).json()["document_id"]
    with served.client(tenant, Role.READER, "ada") as reader:
        assert contents(recall(reader, "tea", scope="user")) == ["Ada likes tea."]
        assert reader.post("/v1/tools/read_tool_output", json={"tool_output_key": key}).status_code == 200
        assert reader.get("/v1/tools").status_code == 200
        assert reader.get(f"/v1/documents/{document}").status_code == 200
        refused = [
            reader.post("/v1/tools/remember_fact", json={"content": "x"}),
            say(reader, "s1", "x"),
            store_output(reader, "x"),
            reader.post("/v1/documents", json={"title": "t", "content": "x"}),
            reader.delete(f"/v1/documents/{document}"),
        ]
        for response in refused:
            assert_problem(response, 403, "forbidden")
    assert (
        ada.get("/v1/documents", params={"limit": validation.MAX_DOCUMENT_PAGE}).json()["data"][0]["document_id"]
        == document
    )


def test_service_that_acts_for_nobody_writes_nothing(served: Served, tenant: str) -> None:
    with served.client(tenant, Role.SERVICE, None) as service:
        assert_problem(say(service, "s1", "x"), 403, "forbidden")
        assert_problem(store_output(service, "x"), 403, "forbidden")
        response = service.post("/v1/tools/remember_fact", json={"content": "x"})
        assert assert_problem(response, 422, "invalid_field")["field"] == "scope"


def test_users_and_tenants_recall_their_own(served: Served, tenant: str) -> None:
    other = f"{tenant}-other"
    with (
        served.client(tenant) as ada,
        served.client(tenant, user="bob") as bob,
        served.client(other) as namesake,
    ):
        state(ada, "Ada likes tea.")
        say(ada, "s1", "tea in the session")
        key = store_output(ada, "tea rows").json()["tool_output_key"]
        ada.post("/v1/documents", json={"title": "Tea", "content": "All about tea.", "document_id": "d1"})
        assert recall(ada, "tea")["total"] == 4
        for stranger in (bob, namesake):
            for scope in ("any", "session", "user", "tenant"):
                assert recall(stranger, "tea", {"X-Memorist-Session": "s1"}, scope=scope, min_score=0)["items"] == []
            assert stranger.post("/v1/tools/read_tool_output", json={"tool_output_key": key}).status_code == 404
            assert stranger.get("/v1/documents/d1").status_code == 404
            assert stranger.delete("/v1/documents/d1").status_code == 404
            assert stranger.get("/v1/documents").json()["data"] == []

"""LangGraph's own semantics, held against its own store in memory, and a real graph."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict

import hypothesis
import pytest
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from memorist.adapters.langgraph import MemoristStore, _document_id
from memorist.client import Client
from memorist.errors import Forbidden, NotFound
from memorist.platform.values import Role
from memorist.surfaces.library import Handle, Memorist
from memorist.testing import new_tenant
from memorist.verbs import Verbs
from tests.http.conftest import Served

START_TIME = datetime(2026, 11, 1, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.time = START_TIME

    def __call__(self) -> datetime:
        return self.time

    def pass_minutes(self, minutes: float) -> None:
        self.time += timedelta(minutes=minutes)


@pytest.fixture
def store(memories: Verbs) -> MemoristStore:
    return MemoristStore(memories)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def keys(found: Any) -> list[str]:
    return sorted(item.key for item in found)


def test_item_comes_back_as_it_was_put(store: MemoristStore) -> None:
    value = {"text": "Ünïcode\n猫", "n": 1.5, "deep": {"list": [1, None, True]}}
    store.put(("users", "ada"), "a key with spaces/and ünïcode", value)
    item = store.get(("users", "ada"), "a key with spaces/and ünïcode")
    assert item is not None
    assert item.value == value
    assert item.namespace == ("users", "ada")
    assert store.get(("users",), "a key with spaces/and ünïcode") is None
    assert store.get(("users", "ada"), "other") is None


def test_put_replaces_and_keeps_when_it_was_made(store: MemoristStore) -> None:
    store.put(("a",), "k", {"v": 1})
    first = store.get(("a",), "k")
    store.put(("a",), "k", {"v": 2})
    second = store.get(("a",), "k")
    assert first is not None
    assert second is not None
    assert second.value == {"v": 2}
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at


def test_none_deletes_and_so_does_delete(store: MemoristStore) -> None:
    store.put(("a",), "k", {"v": 1})
    store.put(("a",), "l", {"v": 1})
    store.batch([PutOp(("a",), "k", None)])
    store.delete(("a",), "l")
    store.delete(("a",), "never there")
    assert store.get(("a",), "k") is None
    assert store.search(("a",)) == []


@pytest.mark.parametrize("namespace", [(), ("",), ("a.b",), ("langgraph",)])
def test_namespaces_that_langgraph_refuses_are_refused(store: MemoristStore, namespace: tuple[str, ...]) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "k", {})


def test_batch_cannot_smuggle_a_namespace_in(store: MemoristStore) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a.b",), "k", {})])


@pytest.mark.parametrize(
    ("namespace", "key"), [(("chats",), "4111111111111111"), (("chats", "4111111111111111", "notes"), "k")]
)
def test_place_that_holds_a_secret_is_refused_and_nothing_is_stored(
    store: MemoristStore, namespace: tuple[str, ...], key: str
) -> None:
    store.put(("chats",), "4111", {"v": 1})
    with pytest.raises(ValueError, match=r"holds a secret.*\[REDACTED:card-number\]") as refused:
        store.put(namespace, key, {"v": 2})
    assert "4111111111111111" not in str(refused.value)
    assert store.get(namespace, key) is None
    assert keys(store.search(("chats",))) == ["4111"]
    assert store.list_namespaces() == [("chats",)]


def test_item_whose_place_lost_a_secret_long_ago_can_still_be_read_and_removed(memories: Verbs, clock: Clock) -> None:
    store = MemoristStore(memories, now=clock)
    [one_id, other] = [_document_id(("chats",), key) for key in ("4111111111111111", "5500005555555559")]
    ends = (START_TIME + timedelta(minutes=10)).isoformat()
    text = json.dumps({"value": {"v": 1}, "ttl": 10, "expires_at": ends})
    for one in (one_id, other):
        memories.add_document('["chats", "[REDACTED:card-number]"]', text, document_id=one, shared=False)
    clock.pass_minutes(5)
    item = store.get(("chats",), "4111111111111111")
    assert item is not None
    assert (item.key, item.value) == ("4111111111111111", {"v": 1})
    assert len(store.search(("chats",), refresh_ttl=False)) == 2
    clock.pass_minutes(7)
    assert store.sweep() == 1
    store.delete(("chats",), "4111111111111111")
    assert store.search(()) == []


def test_place_that_is_too_long_is_refused(store: MemoristStore) -> None:
    with pytest.raises(ValueError, match="500"):
        store.put(("a",), "k" * 600, {})


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"color": "red"}, ["1", "3"]),
        ({"size": {"$gt": 2}}, ["2", "3"]),
        ({"size": {"$gte": 2, "$lt": 3}}, ["2"]),
        ({"size": {"$lte": 1}}, ["1"]),
        ({"color": {"$ne": "red"}}, ["2", "4"]),
        ({"color": {"$eq": "red"}, "size": 3}, ["3"]),
        ({"deep": {"x": 1}}, ["3"]),
        ({"deep": {"x": {"$gt": 0}}}, ["3"]),
        ({"tags": ["a", "b"]}, ["2"]),
        ({"missing": None}, ["1", "2", "3", "4"]),
    ],
)
def test_filters(store: MemoristStore, wanted: dict[str, Any], found: list[str]) -> None:
    for key, value in {
        "1": {"color": "red", "size": 1},
        "2": {"color": "blue", "size": 2.5, "tags": ["a", "b"]},
        "3": {"color": "red", "size": 3, "deep": {"x": 1, "y": 2}},
        "4": {"size": "large"},
    }.items():
        store.put(("things",), key, value)
    assert keys(store.search(("things",), filter=wanted)) == found


def test_unknown_operator_is_refused(store: MemoristStore) -> None:
    store.put(("a",), "k", {"v": 1})
    with pytest.raises(ValueError, match=r"\$like"):
        store.search(("a",), filter={"v": {"$like": "x"}})


def test_search_pages_through_everything_below_a_prefix(store: MemoristStore) -> None:
    for number in range(5):
        store.put(("a", "b") if number % 2 else ("a",), str(number), {"n": number})
    store.put(("ab",), "other", {})
    pages = [store.search(("a",), limit=2, offset=offset) for offset in (0, 2, 4)]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert keys(item for page in pages for item in page) == ["0", "1", "2", "3", "4"]
    assert keys(store.search(("a", "b"))) == ["1", "3"]
    assert len(store.search((), limit=100)) == 6


def test_query_ranks_and_what_is_not_indexed_comes_last(store: MemoristStore) -> None:
    store.put(("m",), "tea", {"text": "Ada drinks green tea every morning"})
    store.put(("m",), "car", {"text": "The car is a blue wagon"})
    store.put(("m",), "secret", {"text": "green tea is hidden"}, index=False)
    store.put(("n",), "tea", {"text": "green tea elsewhere"})
    store.put(("m",), "field", {"note": "ignored", "title": "tea for two"}, index=["title"])
    found = store.search(("m",), query="green tea", limit=10)
    assert found[0].key == "tea"
    assert found[0].score is not None
    assert keys(found) == ["car", "field", "secret", "tea"]
    assert next(item for item in found if item.key == "secret").score is None
    assert keys(store.search(("m",), query="green tea", limit=1)) == ["tea"]
    assert keys(store.search(("m",), query="green tea", filter={"text": {"$ne": 0}}, limit=1, offset=3)) == ["secret"]


def test_pages_of_what_is_not_indexed_have_the_size_that_was_asked_for(store: MemoristStore) -> None:
    for key in "abcd":
        store.put(("m",), key, {"text": f"green tea, cup {key}"}, index=False)
    pages = [store.search(("m",), query="green tea", limit=2, offset=offset) for offset in (0, 1, 2, 3, 4)]
    assert [len(page) for page in pages] == [2, 2, 2, 1, 0]
    assert keys([*pages[0], *pages[2]]) == [*"abcd"]


def test_namespaces_by_prefix_suffix_wildcard_and_depth(store: MemoristStore) -> None:
    for namespace in [("a", "b", "c"), ("a", "b", "d"), ("a", "x"), ("z", "c")]:
        store.put(namespace, "k", {})
    assert store.list_namespaces() == [("a", "b", "c"), ("a", "b", "d"), ("a", "x"), ("z", "c")]
    assert store.list_namespaces(prefix=("a", "*")) == [("a", "b", "c"), ("a", "b", "d"), ("a", "x")]
    assert store.list_namespaces(suffix=("c",)) == [("a", "b", "c"), ("z", "c")]
    assert store.list_namespaces(prefix=("a",), suffix=("*", "d")) == [("a", "b", "d")]
    assert store.list_namespaces(prefix=("a",), max_depth=2) == [("a", "b"), ("a", "x")]
    assert store.list_namespaces(limit=1, offset=1) == [("a", "b", "d")]


def test_item_ends_with_its_time_to_live(memories: Verbs, clock: Clock) -> None:
    store = MemoristStore(memories, now=clock)
    store.put(("a",), "short", {"v": 1}, ttl=10)
    store.put(("a",), "long", {"v": 1})
    clock.pass_minutes(9)
    assert keys(store.search(("a",), refresh_ttl=False)) == ["long", "short"]
    clock.pass_minutes(1)
    assert keys(store.search(("a",))) == ["long"]
    assert store.get(("a",), "short") is None


def test_reading_starts_the_time_anew(memories: Verbs, clock: Clock) -> None:
    store = MemoristStore(memories, now=clock, ttl={"default_ttl": 10, "refresh_on_read": True})
    store.put(("a",), "read", {"v": 1})
    store.put(("a",), "left", {"v": 1})
    clock.pass_minutes(6)
    assert store.get(("a",), "read") is not None
    clock.pass_minutes(6)
    assert store.get(("a",), "read", refresh_ttl=False) is not None
    assert store.get(("a",), "left") is None
    clock.pass_minutes(6)
    assert store.get(("a",), "read") is None


def test_sweep_removes_what_is_over(memories: Verbs, clock: Clock) -> None:
    store = MemoristStore(memories, now=clock)
    store.put(("a",), "short", {"v": 1}, ttl=1)
    store.put(("a",), "long", {"v": 1}, ttl=100)
    clock.pass_minutes(2)
    assert store.sweep() == 1
    assert store.list_namespaces() == [("a",)]
    assert [document.title for document in memories.list_documents().items] == ['["a", "long"]']


def test_awaited_calls_do_the_same(store: MemoristStore) -> None:
    async def main() -> None:
        await asyncio.gather(*(store.aput(("a",), str(n), {"n": n}) for n in range(5)))
        assert keys(await store.asearch(("a",), filter={"n": {"$gte": 3}})) == ["3", "4"]
        results = await store.abatch(
            [GetOp(("a",), "0"), PutOp(("a",), "0", {"n": 9}), SearchOp(("a",), limit=1), ListNamespacesOp()]
        )
        assert results[0].value == {"n": 0}  # type: ignore[union-attr]
        assert results[1] is None
        assert results[3] == [("a",)]
        await store.adelete(("a",), "0")
        assert await store.aget(("a",), "0") is None

    asyncio.run(main())


def test_items_of_one_user_are_not_seen_by_another(by_keyword: Served, tenant: str) -> None:
    memorist = Memorist(by_keyword.core)
    ada, bob = (MemoristStore(memorist.user(name, tenant=tenant)) for name in ("ada", "bob"))
    ada.put(("a",), "k", {"v": "secret plan"})
    assert bob.get(("a",), "k") is None
    assert bob.search((), query="secret plan") == []


@pytest.fixture
def planted(by_keyword: Served, tenant: str, memories: Verbs) -> Handle:
    """Somebody who shares documents that look like items of everybody's stores, with ada among those who see them."""
    bob = Memorist(by_keyword.core).user("bob", tenant=tenant)
    text = json.dumps({"value": {"v": "planted green tea"}, "ttl": 1, "expires_at": START_TIME.isoformat()})
    bob.add_document('["a", "k"]', text, document_id=_document_id(("a",), "k"), shared=True)
    lasting = json.dumps({"value": {"v": "more planted green tea"}})
    bob.add_document('["a", "other"]', lasting, document_id=_document_id(("a",), "other"), shared=True)
    bob.add_document("no place", "no item", document_id="langgraph/none", shared=True)
    assert len(list(memories.iterate_documents())) == 3
    return bob


def test_what_somebody_else_shares_is_no_item(planted: Handle, store: MemoristStore) -> None:
    assert store.get(("a",), "k") is None
    assert store.get(("a",), "other") is None
    assert store.search(()) == store.search((), query="green tea") == []
    assert store.list_namespaces() == []
    assert store.sweep() == 0
    store.put(("a",), "k", {"v": "mine"})
    (found,) = store.search((), query="green tea")
    assert found.value == {"v": "mine"}
    assert (found.score or 0) < 0.1, "that of the planted text"
    for key in ("k", "other"):
        store.delete(("a",), key)
    assert store.get(("a",), "k") is None
    assert len(list(planted.iterate_documents())) == 3


def test_service_deletes_items_of_its_user_alone(by_keyword: Served, tenant: str, planted: Handle) -> None:
    key = by_keyword.key(tenant, Role.SERVICE, None)
    with Client(by_keyword.url, api_key=key, user="ada") as client:
        store = MemoristStore(client)
        store.put(("a",), "own", {"v": 1})
        for name in ("k", "other", "own"):
            store.delete(("a",), name)
        assert store.search(()) == []
        assert store.sweep() == 0
    assert len(list(planted.iterate_documents())) == 3


def test_store_of_nobody_is_refused(by_keyword: Served, tenant: str) -> None:
    with Client(by_keyword.url, api_key=by_keyword.key(tenant, Role.ADMIN, None)) as client:
        store = MemoristStore(client)
        with pytest.raises(Forbidden, match="acts for nobody"):
            store.put(("a",), "k", {"v": 1})
        with pytest.raises(Forbidden, match="acts for nobody"):
            store.search(())
        assert list(client.iterate_documents()) == []


@pytest.mark.parametrize("title", ["Notes", "{}", "[]", '["k"]', '["a", 1]', "[[], 2]"])
def test_title_that_is_no_place_is_skipped(store: MemoristStore, memories: Verbs, title: str) -> None:
    store.put(("a",), "k", {"v": 1})
    memories.add_document(title, json.dumps({"value": {}}), document_id="langgraph/odd", shared=False)
    assert keys(store.search(())) == ["k"]
    assert store.list_namespaces() == [("a",)]
    assert store.sweep() == 0


def test_item_that_goes_during_a_sweep_is_nothing_to_sweep(memories: Verbs) -> None:
    for_writing = MemoristStore(memories, now=Clock())
    for key in ("one", "other"):
        for_writing.put(("a",), key, {"v": 1}, ttl=1)

    def now() -> datetime:
        """Whoever looks at the time sees all but the first item go."""
        for document in list(memories.iterate_documents())[1:]:
            memories.forget_document(document.id)
        return START_TIME + timedelta(minutes=2)

    assert MemoristStore(memories, now=now).sweep() == 1
    assert list(memories.iterate_documents()) == []


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_number_that_json_does_not_have_is_refused(store: MemoristStore, number: float) -> None:
    with pytest.raises(ValueError, match="NaN or infinity"):
        store.put(("a",), "k", {"deep": [{"v": number}]})
    assert store.get(("a",), "k") is None


def test_question_of_any_length_is_asked(store: MemoristStore) -> None:
    store.put(("a",), "tea", {"text": "green tea"})
    store.put(("a",), "car", {"text": "a blue wagon"})
    for query in ("green tea" + " and more" * 2_000, "green\x00 tea \ud800"):
        assert [item.key for item in store.search(("a",), query=query)] == ["tea", "car"]
    assert [item.score for item in store.search(("a",), query="\x00")] == [None, None]


def test_graph_remembers_between_its_runs(store: MemoristStore) -> None:
    class State(TypedDict):
        said: str

    def remember(state: State, *, store: BaseStore) -> State:
        before = store.search(("facts",), query="what does she drink?")
        store.put(("facts",), str(len(before)), {"text": state["said"]})
        return {"said": before[0].value["text"] if before else "nothing yet"}

    builder = StateGraph(State)
    builder.add_node("remember", remember)
    builder.add_edge(START, "remember")
    builder.add_edge("remember", END)
    graph = builder.compile(store=store)
    assert graph.invoke({"said": "She drinks tea."})["said"] == "nothing yet"
    assert graph.invoke({"said": "She has a cat."})["said"] == "She drinks tea."


LABELS = st.sampled_from(["a", "b", "c"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
VALUES = st.fixed_dictionaries({}, optional={"n": st.integers(0, 3), "s": st.sampled_from(["x", "y"])})
FILTERS = st.sampled_from([None, {"n": 1}, {"n": {"$ne": 1}}, {"s": "x", "n": 0}])
CONDITIONS = st.tuples(
    st.sampled_from(["prefix", "suffix"]),
    st.lists(st.one_of(LABELS, st.just("*")), min_size=1, max_size=2).map(tuple),
).map(lambda parts: MatchCondition(*parts))
OPS = st.one_of(
    st.tuples(NAMESPACES, LABELS, st.one_of(st.none(), VALUES)).map(lambda parts: PutOp(*parts)),
    st.tuples(NAMESPACES, LABELS).map(lambda parts: GetOp(*parts)),
    st.tuples(st.one_of(st.just(()), NAMESPACES), FILTERS, st.just(50)).map(lambda parts: SearchOp(*parts)),
    st.tuples(st.lists(CONDITIONS, max_size=2).map(tuple), st.one_of(st.none(), st.integers(1, 3))).map(
        lambda parts: ListNamespacesOp(*parts)
    ),
)


@hypothesis.settings(max_examples=12)
@hypothesis.given(batches=st.lists(st.lists(OPS, min_size=1, max_size=4), max_size=6))
def test_same_answers_as_the_store_in_memory(by_keyword: Served, batches: list[list[Any]]) -> None:
    ours = MemoristStore(Memorist(by_keyword.core).user("ada", tenant=new_tenant()))
    theirs = InMemoryStore()
    for batch in batches:
        for op, mine, other in zip(batch, ours.batch(batch), theirs.batch(batch), strict=True):
            assert _plain(op, mine) == _plain(op, other), op


def _plain(op: Any, result: Any) -> Any:
    if isinstance(op, GetOp):
        return None if result is None else result.value
    if isinstance(op, SearchOp):
        return sorted((item.namespace, item.key, sorted(item.value.items())) for item in result)
    if isinstance(op, ListNamespacesOp):
        # The store in memory also lists namespaces in which nothing is left, or was only looked for.
        return None
    return result


def test_document_that_is_no_item_is_left_alone(store: MemoristStore, memories: Verbs) -> None:
    memories.add_document("Notes", "green tea", document_id="notes", shared=False)
    assert store.search((), query="green tea") == []
    assert store.list_namespaces() == []
    with pytest.raises(NotFound):
        memories.get_document("langgraph/none")

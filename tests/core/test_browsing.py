"""Browsing: every state, searched literally, narrowed and sorted, in pages that neither skip nor repeat a row."""

import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.bootstrap import open_store
from memorist.core import Core
from memorist.errors import Forbidden, InvalidCursor, InvalidField, NotFound
from memorist.memories import writing
from memorist.memories.bulk import MOST, Bulk, BulkAction
from memorist.memories.values import Draft, Kind, Memory, Status, Trust
from memorist.platform import access
from memorist.platform.values import Owner, Principal, Role
from memorist.store.drivers import Connection
from memorist.store.statements import SqlStatement, load_statements
from memorist.testing import StepClock, new_tenant
from memorist.testing.clocks import START
from memorist.views import browsing, facet_counts
from memorist.views.browsing import LASTING, Browsing
from memorist.views.values import Browse, BrowseOrder, Facets
from tests.support.stores import bare

Remember = Callable[..., Memory]


def found(core: Core, principal: Principal, text: str = "", **filters: Any) -> list[str]:
    return [memory.content for memory in all_pages(core.browsing, principal, Browse(text, **filters))]


def all_pages(over: Browsing, principal: Principal, browse: Browse, limit: int = 100) -> list[Memory]:
    memories: list[Memory] = []
    cursor = None
    while True:
        page = over.page(principal, browse, limit=limit, cursor=cursor)
        assert len(page.items) <= limit
        memories += page.items
        cursor = page.next_cursor
        if cursor is None:
            return memories


@pytest.fixture
def hasty(core: Core, monkeypatch: pytest.MonkeyPatch) -> Browsing:
    """One that looks at two rows and then answers with what it has."""
    monkeypatch.setattr(browsing, "_SPAN", 2)
    monkeypatch.setattr(browsing, "_LONGEST_SPAN", 2)
    return Browsing(core.store, core.clock, core.accesses, core.policies.of, budget_s=0)


# Days, sessions and spelling


@pytest.mark.parametrize("order", BrowseOrder)
def test_days_bound_a_list(core: Core, ada: Principal, clock: StepClock, hasty: Browsing, order: BrowseOrder) -> None:
    for day in range(5):
        core.memories.remember(ada, [Draft(f"day {day}, {part}", importance=1) for part in "ab"])
        clock.advance(timedelta(days=1))
    since, before = START + timedelta(days=1), START + timedelta(days=3)
    listed = all_pages(hasty, ada, Browse(since=since, before=before, order=order), 3)
    assert sorted(one.content for one in listed) == ["day 1, a", "day 1, b", "day 2, a", "day 2, b"]


def test_session_is_listed_alone(core: Core, ada: Principal, bob: Principal, remember: Remember) -> None:
    for principal, session in ((ada, "s1"), (ada, "s2"), (bob, "s1")):
        remember(principal, f"{principal.user} in {session}", kind=Kind.CHAT_MESSAGE, session=session)
    assert found(core, ada, session="s1") == ["ada in s1"]


@pytest.mark.parametrize(
    ("typed", "is_near"),
    [
        ("workshop", True),
        ("workshpo", True),
        ("worshop", True),
        ("worrkshop", True),
        ("workshap", True),
        ("warkshap", False),
    ],
)
def test_fuzzy_search_forgives_one_letter(
    core: Core, ada: Principal, remember: Remember, typed: str, is_near: bool
) -> None:
    remember(ada, "The Workshop opens on Straße 4.")
    remember(ada, "Something else.")
    assert found(core, ada, f"{typed} straße", fuzzy=True) == (["The Workshop opens on Straße 4."] if is_near else [])
    assert found(core, ada, "stra(.*", fuzzy=True) == []


# Searching


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("100%", True),
        ("0% _", True),
        ("_x_", True),
        ("%", True),
        ('"quoted"', True),
        ("don't", True),
        ("NEAR(", True),
        ("c:\\temp", True),
        ("!bang", True),
        ("🎉", True),
        ("strasse", True),
        ("STRASSE 100%", True),
        ("quot", True),
        ("uoted", True),
        ("1000%", False),
        ("x_x", False),
        ("don't NOT", False),
        ('"don', False),
        ("quoted*", False),
        ("🎊", False),
        ("straße strasze", False),
    ],
)
def test_what_is_typed_is_taken_literally(
    core: Core, ada: Principal, remember: Remember, text: str, fits: bool
) -> None:
    content = '100% _x_ "quoted" don\'t NEAR( c:\\temp !bang 🎉 Straße'
    remember(ada, content)
    remember(ada, "plain words")
    assert found(core, ada, text) == ([content] if fits else [])


def test_every_word_must_occur_in_text_name_or_description(core: Core, ada: Principal, remember: Remember) -> None:
    remember(ada, "never mock it", name="feedback_database", description="How to TEST the store", category="feedback")
    for text in ("mock", "back_data", "test THE", "store mock feedback", "HOW mock"):
        assert found(core, ada, text) == ["never mock it"], text
    assert found(core, ada, "mock absent") == []


def test_words_of_other_scripts_are_found_in_any_case(core: Core, ada: Principal, remember: Remember) -> None:
    remember(ada, "Σίσυφος και Ödön")
    remember(ada, "hello")
    for text in ("ΣΊΣΥΦΟΣ", "ödön", "σίσυφος ÖDÖN"):
        assert found(core, ada, text) == ["Σίσυφος και Ödön"]
    assert found(core, ada, "odon") == []


@pytest.mark.parametrize("text", ["x" * 201, "a\0b"])
def test_text_that_nobody_types_is_refused(core: Core, ada: Principal, text: str) -> None:
    with pytest.raises(InvalidField):
        core.browsing.page(ada, Browse(text))


# Pages


CATEGORIES = (None, "goal", "user")
AGENTS = (None, "coder", "writer")
WORDS = ("tea", "Tea_100%", "thé", "coffee")

drafts = st.builds(
    dict,
    content=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    kind=st.sampled_from([Kind.FACT, Kind.CHAT_MESSAGE]),
    category=st.sampled_from(CATEGORIES),
    trust=st.sampled_from([Trust.USER, Trust.TOOL]),
    project=st.sampled_from([None, "/a", "b%"]),
    importance=st.sampled_from([-1, 0, 0, 3, 7]),
    agent=st.sampled_from(AGENTS),
    user=st.sampled_from(["ada", "ada", "bob", None]),
    move=st.sampled_from([None, None, "archive", "delete"]),
)
asked = st.builds(
    Browse,
    text=st.sampled_from(["", "", "tea", "TEA", "thé", "a_1", "tea coffee", "0%"]),
    statuses=st.sampled_from([(Status.ACTIVE,), (Status.ARCHIVED,), (Status.SOFT_DELETED,), LASTING]),
    agent=st.sampled_from([None, None, "", "coder"]),
    category=st.sampled_from([None, None, "", "goal"]),
    kind=st.sampled_from([None, Kind.FACT]),
    trust=st.sampled_from([None, Trust.USER]),
    project=st.sampled_from([None, "b%"]),
    order=st.sampled_from(list(BrowseOrder)),
)


@settings(max_examples=15)
@given(written=st.lists(drafts, max_size=14), browses=st.lists(asked, min_size=4, max_size=8), limit=st.integers(1, 5))
def test_pages_join_to_what_a_plain_filter_finds(
    core: Core, hasty: Browsing, written: list[dict[str, Any]], browses: list[Browse], limit: int
) -> None:
    tenant = new_tenant()
    admin = Principal(tenant, Role.ADMIN)
    memories = [_write(core, admin, number, dict(fields)) for number, fields in enumerate(written)]
    for principal in (Principal(tenant, Role.USER, "ada"), Principal(tenant, Role.USER, "ada", "coder"), admin):
        for browse in browses:
            expected = _expected(principal, memories, browse)
            for over in (core.browsing, hasty):
                assert [memory.id for memory in all_pages(over, principal, browse, limit)] == expected
            counts = counted_facets(core, principal, replace(browse, text="", project=None))
            plain = _expected(principal, memories, replace(browse, text="", project=None, agent=None))
            by_id = {memory.id: memory for memory in memories}
            for agent in AGENTS:
                held = sum(by_id[id_].agent == agent for id_ in plain)
                assert counts.counts["profile"].get(agent or "", 0) == held


def _write(core: Core, admin: Principal, number: int, fields: dict[str, Any]) -> Memory:
    owner = Owner(fields.pop("user"), fields.pop("agent"))
    move = fields.pop("move")
    fields["content"] += f" #{number}"
    memory = core.memories.remember(admin, [Draft(**fields, owner=owner)])[0].memory
    if move is None:
        return memory
    return (core.retention.archive if move == "archive" else core.retention.delete)(admin, memory.id)


def _expected(principal: Principal, memories: list[Memory], browse: Browse) -> list[str]:
    def fits(memory: Memory) -> bool:
        slices = access.slices_of(principal, in_use=memory.status.in_use)
        return (
            memory.status in browse.statuses
            and any(part.matches(memory.owner) for part in slices)
            and browse.agent in (None, memory.agent or "")
            and browse.category in (None, memory.category or "")
            and browse.kind in (None, memory.kind)
            and browse.trust in (None, memory.trust)
            and browse.project in (None, memory.project)
            and all(word in memory.content.casefold() for word in browse.text.casefold().split())
        )

    def order_key(memory: Memory) -> tuple[Any, ...]:
        weight = max(memory.importance, 0) if browse.order is BrowseOrder.IMPORTANCE else 0
        return weight, memory.created_at, memory.id

    kept = sorted(filter(fits, memories), key=order_key, reverse=browse.order is not BrowseOrder.OLDEST)
    return [memory.id for memory in kept]


@pytest.mark.parametrize("order", list(BrowseOrder))
def test_writes_between_pages_neither_hide_nor_repeat_a_row(
    core: Core, hasty: Browsing, ada: Principal, remember: Remember, order: BrowseOrder
) -> None:
    before = [remember(ada, f"row {number}", importance=number % 3) for number in range(9)]
    seen: list[str] = []
    cursor = None
    for round_ in range(50):
        page = hasty.page(ada, Browse("row", order=order), limit=2, cursor=cursor)
        seen += [memory.id for memory in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
        remember(ada, f"new row {round_}")
        if round_ == 3 and seen:
            core.retention.archive(ada, seen[-1])
    assert len(seen) == len(set(seen))
    assert {memory.id for memory in before} <= set(seen)


@pytest.mark.parametrize("order", list(BrowseOrder))
def test_mark_at_a_row_of_another_profile_does_not_hide_that_row(
    hasty: Browsing, tenant: str, ada: Principal, remember: Remember, order: BrowseOrder
) -> None:
    for number in range(6):
        remember(ada, f"row {number}", importance=3, owner=Owner("ada", (None, "coder")[number % 2]))
    coder = Principal(tenant, Role.USER, "ada", "coder")
    assert len(all_pages(hasty, coder, Browse(order=order), limit=5)) == 6


def test_page_that_ran_out_of_time_says_how_far_it_looked(hasty: Browsing, ada: Principal, remember: Remember) -> None:
    memories = [remember(ada, f"row {number}") for number in range(5)]
    page = hasty.page(ada, Browse("row 0"))
    assert (page.items, page.reached) == ((), memories[3].created_at)
    assert page.next_cursor is not None


def test_cursor_of_another_list_or_caller_is_refused(core: Core, ada: Principal, bob: Principal) -> None:
    for number in range(3):
        core.memories.remember(ada, [Draft(f"text {number}")])
    cursor = core.browsing.page(ada, limit=1).next_cursor
    assert cursor is not None
    for principal, browse in ((ada, Browse("text")), (ada, Browse(order=BrowseOrder.OLDEST)), (bob, Browse())):
        with pytest.raises(InvalidCursor):
            core.browsing.page(principal, browse, cursor=cursor)
    with pytest.raises(InvalidCursor):
        core.browsing.page(ada, cursor="bm9uc2Vuc2U")


# Who sees what


def test_deleted_memories_are_shown_to_those_who_may_restore_them(
    core: Core, tenant: str, ada: Principal, bob: Principal, admin: Principal, remember: Remember
) -> None:
    own = remember(ada, "ada's own")
    shared = remember(admin, "everybody's", owner=Owner())
    for memory in (own, shared):
        core.retention.delete(admin, memory.id)
    deleted = {"statuses": (Status.SOFT_DELETED,)}
    assert found(core, ada, **deleted) == ["ada's own"]
    assert found(core, bob, **deleted) == []
    assert found(core, Principal(tenant, Role.READER, "ada"), **deleted) == []
    assert found(core, Principal(tenant, Role.ADMIN, "bob"), **deleted) == ["everybody's"]
    assert found(core, admin, **deleted) == ["everybody's", "ada's own"]
    assert found(core, Principal(new_tenant(), Role.ADMIN), **deleted) == []
    assert counted_facets(core, Principal(tenant, Role.READER, "ada")).counts["state"] == {}
    assert counted_facets(core, bob).counts["state"] == {}


def test_expired_memory_is_shown_as_deleted_and_an_erased_one_nowhere(
    core: Core, ada: Principal, remember: Remember
) -> None:
    remember(ada, "short-lived", ttl=timedelta(microseconds=1))
    kept = remember(ada, "kept")
    gone = remember(ada, "erased")
    core.store.write(ada.tenant, lambda tx: tx.erasure.erase_rows([gone.id]))
    assert found(core, ada, statuses=LASTING) == ["kept", "short-lived"]
    assert found(core, ada, statuses=(Status.ACTIVE,)) == ["kept"]
    (shown,) = core.browsing.page(ada, Browse(statuses=(Status.SOFT_DELETED,))).items
    assert (shown.content, shown.status) == ("short-lived", Status.SOFT_DELETED)
    assert counted_facets(core, ada, Browse(statuses=LASTING)).counts["kind"] == {Kind.FACT: 1}
    assert found(core, ada, statuses=(Status.PURGED,)) == []
    assert kept.content == "kept"


# Counting


def counted_facets(core: Core, principal: Principal, browse: Browse | None = None) -> Facets:
    """All that there is to count, however slow the machine is."""
    while not (facets := core.browsing.facets(principal, browse)).is_complete:
        pass
    return facets


def test_each_facet_is_counted_while_the_others_stay(core: Core, ada: Principal, remember: Remember) -> None:
    for number in range(3):
        remember(ada, f"goal {number}", category="goal", owner=Owner("ada", "coder"), project="/work")
    remember(ada, "said", kind=Kind.CHAT_MESSAGE, trust=Trust.AGENT, project="/home")
    core.retention.archive(ada, remember(ada, "old goal", category="goal").id)
    facets = counted_facets(core, ada, Browse(category="goal"))
    assert facets.counts == {
        "state": {Status.ACTIVE: 3, Status.ARCHIVED: 1},
        "profile": {"coder": 3},
        "category": {"goal": 3, "": 1},
        "kind": {Kind.FACT: 3},
        "trust": {Trust.USER: 3},
    }
    assert facets.projects == ("/home", "/work")


def test_projects_are_shown_by_the_same_policy_as_the_memories(core: Core, ada: Principal, remember: Remember) -> None:
    remember(ada, "plans", owner=Owner("ada", "coder"), project="/secret/merger")
    remember(ada, "poems", owner=Owner("ada", "writer"), project="/poems")
    remember(ada, "tea", project="/home")
    core.memories.forget(ada, remember(ada, "gone", owner=Owner("ada", "writer"), project="/gone").id)
    writer = replace(ada, agent="writer")
    assert counted_facets(core, writer).projects == ("/gone", "/home", "/poems")
    assert counted_facets(core, replace(writer, role=Role.READER)).projects == ("/home", "/poems")
    assert counted_facets(core, ada).projects == ("/gone", "/home", "/poems", "/secret/merger")
    assert counted_facets(core, replace(ada, user="bob")).projects == ()


def test_counting_stops_when_its_time_is_over_and_goes_on_the_next_time(
    core: Core, ada: Principal, remember: Remember, monkeypatch: Any
) -> None:
    monkeypatch.setattr(facet_counts, "_GROUPS", 1)
    for category in ("a", "b", "c"):
        remember(ada, category, category=category)
    hasty = Browsing(core.store, core.clock, core.accesses, core.policies.of, budget_s=0)
    for counted in ("a", "ab", "abc"):
        facets = hasty.facets(ada)
        assert (facets.is_complete, facets.counts["category"]) == (False, dict.fromkeys(counted, 1))
    while not facets.is_complete:
        facets = hasty.facets(ada)
    assert facets.counts["category"] == counted_facets(core, ada).counts["category"] == dict.fromkeys("abc", 1)
    remember(ada, "d", category="d")
    assert hasty.facets(ada).counts["category"] == {"a": 1}


def test_projects_are_read_on_where_time_was_over(core: Core, ada: Principal, remember: Remember) -> None:
    for project in ("/a", "/b", "/c"):
        remember(ada, project, project=project)
    hasty = Browsing(core.store, core.clock, core.accesses, core.policies.of, budget_s=0)
    assert (hasty.facets(ada).projects, hasty.facets(ada).is_complete) == (("/a",), False)
    while not (facets := hasty.facets(ada)).is_complete:
        pass
    assert facets.projects == ("/a", "/b", "/c")


def test_counts_follow_every_write_at_once(core: Core, ada: Principal, bob: Principal, remember: Remember) -> None:
    for number in range(3):
        memory = remember(ada, f"text {number}")
        assert counted_facets(core, ada).counts["state"] == {Status.ACTIVE: number + 1}
        assert counted_facets(core, bob).counts["state"] == {}
    core.retention.archive(ada, memory.id)
    assert counted_facets(core, ada).counts["state"] == {Status.ACTIVE: 2, Status.ARCHIVED: 1}


def test_counts_of_another_process_follow_its_writes_and_are_kept_without(
    core: Core, ada: Principal, remember: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Elsewhere(facet_counts.FacetCounts):
        """Is not told what is written here, as another process is not."""

        def _written(self, tenant: str) -> None:
            pass

    now = [0.0]
    clocks = SimpleNamespace(monotonic=lambda: now[0], perf_counter=time.perf_counter)
    monkeypatch.setattr(facet_counts, "time", clocks)
    remember(ada, "one")
    elsewhere = Elsewhere(core.store, core.clock, budget_s=1)
    assert elsewhere.of(ada, Browse()).counts["state"] == {Status.ACTIVE: 1}
    counted = list(elsewhere._kept.values())
    now[0] += 6
    elsewhere.of(ada, Browse())
    assert list(elsewhere._kept.values()) == counted
    remember(ada, "two")
    assert elsewhere.of(ada, Browse()).counts["state"] == {Status.ACTIVE: 2}


def test_project_with_the_longest_name_can_be_written_and_browsed(
    core: Core, ada: Principal, remember: Remember
) -> None:
    longest = "".join(chr(0x1F300 + number) for number in range(500))
    owner = Owner("ada", "\U0001f600" * 128)
    remember(ada, "long", project=longest, owner=owner)
    assert found(core, ada, project=longest) == ["long"]
    assert counted_facets(core, ada).projects == ()


# Many at a time


def test_bulk_changes_what_it_can_and_puts_back_exactly_that(
    core: Core, ada: Principal, admin: Principal, remember: Remember
) -> None:
    active, archived, shared = remember(ada, "one"), remember(ada, "two"), remember(admin, "all's", owner=Owner())
    core.retention.archive(ada, archived.id)
    result = core.bulk.apply(ada, BulkAction.DELETE, [active.id, archived.id, shared.id, active.id, "mem_nonsense"])
    assert [one.after.id for one in result.changed] == [active.id, archived.id]
    assert [(one.memory_id, type(one.error).__name__) for one in result.refused] == [
        (shared.id, "Forbidden"),
        ("mem_nonsense", "InvalidId"),
    ]
    back = core.bulk.put_back(ada, {one.after.id: one.undo_to for one in result.changed if one.undo_to})
    assert [(one.after.id, one.after.status) for one in back.changed] == [
        (active.id, Status.ACTIVE),
        (archived.id, Status.ARCHIVED),
    ]


def test_bulk_restore_and_archive_are_undone(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada, "one")
    core.retention.delete(ada, memory.id)
    for action, before in ((BulkAction.RESTORE, Status.SOFT_DELETED), (BulkAction.ARCHIVE, Status.ACTIVE)):
        (changed,) = core.bulk.apply(ada, action, [memory.id]).changed
        assert changed.undo_to is before
        core.bulk.put_back(ada, {memory.id: before})
        assert core.bulk._find(ada, memory.id).status is before
        core.bulk.put_back(ada, {memory.id: Status.ACTIVE})


def test_undo_leaves_out_what_a_state_does_not_bring_back(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada, "one")
    newer = remember(ada, "two")
    retired = replace(memory, status=Status.ARCHIVED, superseded_by=newer.id, updated_at=newer.updated_at)
    core.store.write(ada.tenant, lambda tx: writing.replace(tx, retired, memory.updated_at))
    (changed,) = core.bulk.apply(ada, BulkAction.DELETE, [memory.id]).changed
    assert changed.undo_to is None


def test_bulk_refuses_readers_and_strangers_and_too_many(core: Core, tenant: str, ada: Principal) -> None:
    memory = core.memories.remember(ada, [Draft("one")])[0].memory
    with pytest.raises(Forbidden):
        core.bulk.apply(Principal(tenant, Role.READER, "ada"), BulkAction.DELETE, [memory.id])
    stranger = core.bulk.apply(Principal(new_tenant(), Role.ADMIN), BulkAction.DELETE, [memory.id])
    assert [type(one.error) for one in stranger.refused] == [NotFound]
    with pytest.raises(InvalidField):
        core.bulk.apply(ada, BulkAction.DELETE, ["x"] * (MOST + 1))
    assert isinstance(core.bulk, Bulk)


# Indexes


WALKS = {
    f"{verb}_{order}_of_{breadth}": f"memories_{'weighty' if order == 'importance' else 'newest'}_of_{breadth}"
    for verb in ("edge", "browse")
    for order in BrowseOrder
    for breadth in ("owner", "user", "tenant")
    if (order, breadth) != (BrowseOrder.IMPORTANCE, "owner")
} | {
    "count_facets_of_user": "memories_facets",
    "count_facets_of_tenant": "memories_facets",
    "next_project_of_user": "memories_projects",
    "next_project_of_tenant": "memories_projects",
}


@pytest.mark.parametrize("analyzed", [False, True])
def test_browsing_walks_its_indexes_without_sorting(tmp_path: Path, analyzed: bool) -> None:
    statements = load_statements("sqlite")
    store = open_store(bare(str(tmp_path / "memorist.db")))
    store.migrator.migrate(START)

    def work(connection: Connection) -> dict[str, list[str]]:
        if analyzed:
            connection.script("ANALYZE")
        plans = {}
        for name in WALKS:
            statement = statements[name]
            explain = SqlStatement("explain", "", f"EXPLAIN QUERY PLAN {statement.sql}", statement.parameters)
            plans[name] = [row[3] for row in connection.rows(explain, dict.fromkeys(statement.parameters, "x"))]
        return plans

    plans = store.driver.write(None, work)
    store.close()
    for name, index in WALKS.items():
        assert len(plans[name]) == 1, plans[name]
        assert re.search(rf"USING (COVERING )?INDEX {index} ", plans[name][0]), plans[name]

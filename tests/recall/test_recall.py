"""What comes back, in which order, with which score; and why."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memorist.core import Core
from memorist.errors import Forbidden, InvalidField, InvalidId, NotFound
from memorist.facts.service import FactScope
from memorist.ids import new_id
from memorist.ingestion.service import Message
from memorist.memories import writing
from memorist.memories.values import Draft, Kind, Memory, Status
from memorist.platform import access
from memorist.platform.tokens import count_tokens
from memorist.platform.values import Owner, Principal, Role
from memorist.recall.values import Question, Weights
from memorist.testing.clocks import START
from memorist.watching import Facts, Watch, Watched
from tests.recall.conftest import OpenCore, ask, found, make_tenant, remember, say, texts
from tests.support.models import BrokenEmbedder, WordEmbedder, WordReranker


def change(core: Core, memory: Memory, **fields: Any) -> Memory:
    after = replace(memory, updated_at=core.clock.now(), **fields)
    assert core.store.write(memory.tenant, lambda tx: writing.replace(tx, after, memory.updated_at))
    return after


@pytest.fixture
def teapots(core: Core, ada: Principal) -> list[Memory]:
    """Thirty memories, all of which fit."""
    drafts = [Draft(f"teapot number {number} stands on shelf {number % 7}") for number in range(30)]
    return [
        result.memory for start in (0, 8, 16, 24) for result in core.memories.remember(ada, drafts[start : start + 8])
    ]


# How many


def test_five_come_back_unless_asked_otherwise(core: Core, ada: Principal, teapots: list[Memory]) -> None:
    assert len(ask(core, ada, "teapot").hits) == 5
    for top_k in (1, 7, 20):
        assert len(ask(core, ada, "teapot", top_k=top_k).hits) == top_k
    assert found(core, ada, "teapot", top_k=7) == found(core, ada, "teapot", top_k=20)[:7]
    assert set(found(core, ada, "teapot", top_k=20)) <= {memory.id for memory in teapots}


@pytest.mark.parametrize("top_k", [0, -1, 21, 1.5, "5", True, None])
def test_bad_number_is_refused(core: Core, ada: Principal, top_k: Any) -> None:
    with pytest.raises(InvalidField) as caught:
        ask(core, ada, "teapot", top_k=top_k)
    assert caught.value.field == "top_k"


@pytest.mark.usefixtures("teapots")
@pytest.mark.parametrize("budget", [1, 20, 100, 100_000])
def test_budget_of_tokens_is_filled_and_not_exceeded(core: Core, ada: Principal, budget: int) -> None:
    hits = ask(core, ada, "teapot", budget_tokens=budget).hits
    spent = [count_tokens(hit.excerpt) for hit in hits]
    # The best one comes back even where it alone is too long.
    assert len(hits) == 1 or sum(spent) <= budget
    assert len(hits) == 30 or sum(spent) + max(spent) >= budget
    assert [hit.memory.id for hit in hits][:20] == found(core, ada, "teapot", top_k=20)[: len(hits)]


def test_budget_of_tokens_brings_no_more_than_two_hundred(core: Core, ada: Principal) -> None:
    for start in range(0, 250, 50):
        core.memories.remember(ada, [Draft(f"note {number} of tulips") for number in range(start, start + 50)])
    assert len(ask(core, ada, "tulips", budget_tokens=20_000).hits) == 200


@pytest.mark.parametrize("budget", [0, -5, 100_001, "many", 1.5])
def test_bad_budget_is_refused(core: Core, ada: Principal, budget: Any) -> None:
    with pytest.raises(InvalidField) as caught:
        ask(core, ada, "teapot", budget_tokens=budget)
    assert caught.value.field == "budget_tokens"


def test_nothing_is_found_where_there_is_nothing(core: Core, ada: Principal) -> None:
    recalled = ask(core, ada, "teapot")
    assert (recalled.hits, recalled.degraded, recalled.rerank_used) == ((), False, False)


def test_tenant_that_does_not_exist_has_nothing(core: Core) -> None:
    assert ask(core, Principal("no-such-tenant", Role.USER, "ada"), "teapot").hits == ()


# Scores


@pytest.mark.usefixtures("teapots")
@pytest.mark.parametrize("with_reranker", [False, True])
def test_scores_are_sorted_and_from_nought_to_one(open_with: OpenCore, ada: Principal, with_reranker: bool) -> None:
    core = open_with(WordEmbedder(), WordReranker() if with_reranker else None)
    for query in ("teapot", "number 17", "shelf", "what stands on shelf 3?", "nothing of the kind"):
        scores = [hit.score for hit in ask(core, ada, query, top_k=20, min_score=0).hits]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)


@pytest.mark.usefixtures("teapots")
def test_same_question_has_the_same_answer(core: Core, open_with: OpenCore, ada: Principal) -> None:
    def answer(core: Core) -> list[tuple[str, float]]:
        return [(hit.memory.id, hit.score) for hit in ask(core, ada, "teapot on shelf 4", top_k=20).hits]

    assert answer(core) == answer(core) == answer(open_with(WordEmbedder(), min_score=0.02))


def test_question_without_relation_brings_nothing_back(core: Core, ada: Principal) -> None:
    for text in ("The cat sleeps on the sofa", "Bob plays chess on Sundays", "Rent is due in March"):
        remember(core, ada, text)
    assert ask(core, ada, "zeppelin manufacturing subsidies").hits == ()
    assert texts(ask(core, ada, "chess"))[:1] == ["Bob plays chess on Sundays"]


def test_least_score_is_set_by_the_question_or_by_the_settings(open_with: OpenCore) -> None:
    lax, strict = open_with(WordEmbedder(), min_score=0.0), open_with(WordEmbedder(), min_score=0.99)
    ada = Principal(make_tenant(lax), Role.USER, "ada")
    remember(lax, ada, "The cat sleeps on the sofa")
    assert len(ask(lax, ada, "zeppelin").hits) == 1
    assert ask(lax, ada, "zeppelin", min_score=0.5).hits == ()
    assert ask(strict, ada, "zeppelin").hits == ()
    assert len(ask(strict, ada, "zeppelin", min_score=0).hits) == 1


@pytest.mark.parametrize("least", [-0.1, 1.1, "high", float("nan"), True])
def test_bad_least_score_is_refused(core: Core, ada: Principal, least: Any) -> None:
    with pytest.raises(InvalidField) as caught:
        ask(core, ada, "teapot", min_score=least)
    assert caught.value.field == "min_score"


# Scopes, kinds and weights


@pytest.fixture
def everywhere(core: Core, tenant: str) -> dict[str, str]:
    """One memory of each class, by class, for ada with the agent coder in the session s1."""
    service = Principal(tenant, Role.SERVICE, "ada", "coder")
    admin = Principal(tenant, Role.ADMIN)
    return {
        "session": say(core, service, "teapot of the session", session="s1")[0].id,
        "history": say(core, service, "teapot of another session", session="s2")[0].id,
        "user": core.facts.remember(service, "teapot of the user", FactScope.USER).memory.id,
        "agent": core.facts.remember(service, "teapot of the agent", FactScope.AGENT).memory.id,
        "tenant": remember(core, admin, "teapot of the tenant", owner=Owner()).id,
        "document": core.store.read(
            tenant,
            lambda tx: tx.documents.chunks_of(
                core.ingestion.add_document(admin, title="Teapots", content="teapot of a document").document
            ),
        )[0].id,
    }


@pytest.fixture
def caller(tenant: str) -> Principal:
    return Principal(tenant, Role.SERVICE, "ada", "coder", session="s1")


@pytest.mark.parametrize(
    ("scope", "classes"),
    [
        ("any", {"session", "history", "user", "agent", "tenant", "document"}),
        ("session", {"session"}),
        ("user", {"user"}),
        ("agent", {"agent"}),
        ("tenant", {"document"}),
    ],
)
def test_scope_picks_its_slice(
    core: Core, caller: Principal, everywhere: dict[str, str], scope: str, classes: set[str]
) -> None:
    got = found(core, caller, "teapot", scope=scope, top_k=20)
    assert {name for name, memory_id in everywhere.items() if memory_id in got} == classes
    assert len(got) == len(classes)


@pytest.mark.parametrize("name", ["session", "history", "user", "agent", "tenant"])
def test_weight_of_nought_suppresses_a_class_and_a_large_one_lifts_it(
    open_with: OpenCore, caller: Principal, everywhere: dict[str, str], name: str
) -> None:
    ids = {everywhere[name], everywhere["document"]} if name == "tenant" else {everywhere[name]}
    suppressing = Weights(**({name: 0} | ({"history": 1} if name == "session" else {})))
    without = open_with(WordEmbedder(), weights=suppressing)
    assert set(found(without, caller, "teapot", top_k=20)) == set(everywhere.values()) - ids
    first = open_with(WordEmbedder(), weights=Weights(**{name: 50}))
    usual = open_with(WordEmbedder())
    ranks = [min(map(found(core, caller, "teapot", top_k=20).index, ids)) for core in (first, usual)]
    assert ranks[0] <= ranks[1]
    if name != "history":
        # A scope that is asked for by name is searched whatever its weight is.
        named = {everywhere["document"]} if name == "tenant" else ids
        assert set(found(without, caller, "teapot", scope=name, top_k=20)) == named


def test_session_weight_of_nought_suppresses_what_was_said_in_every_session(
    open_with: OpenCore, caller: Principal, everywhere: dict[str, str]
) -> None:
    silent = open_with(WordEmbedder(), weights=Weights(session=0))
    said = {everywhere["session"], everywhere["history"]}
    assert set(found(silent, caller, "teapot", top_k=20)) == set(everywhere.values()) - said
    loud = open_with(WordEmbedder(), weights=Weights(session=0, history=0.5))
    assert set(found(loud, caller, "teapot", top_k=20)) == set(everywhere.values()) - {everywhere["session"]}


def test_scope_of_nobody_is_refused(core: Core, tenant: str, admin: Principal) -> None:
    with pytest.raises(InvalidField, match="scope user needs a user"):
        ask(core, admin, "teapot", scope="user")
    with pytest.raises(InvalidField, match="scope agent needs an agent"):
        ask(core, Principal(tenant, Role.USER, "ada"), "teapot", scope="agent")
    with pytest.raises(InvalidField, match="scope must be one of any, session, user, agent, tenant"):
        ask(core, admin, "teapot", scope="galaxy")
    assert ask(core, admin, "teapot", scope="session").hits == ()


def test_kinds_are_filtered(core: Core, caller: Principal, everywhere: dict[str, str]) -> None:
    for kinds, classes in (
        ([Kind.FACT], {"user", "agent", "tenant"}),
        (["chat_message"], {"session", "history"}),
        (["document_chunk", "fact"], {"user", "agent", "tenant", "document"}),
        (["tool_output"], set()),
        ([], set(everywhere)),
    ):
        got = found(core, caller, "teapot", source_kinds=kinds, top_k=20)
        assert {name for name, memory_id in everywhere.items() if memory_id in got} == classes
    with pytest.raises(InvalidField) as caught:
        ask(core, caller, "teapot", source_kinds=["rumour"])
    assert caught.value.field == "source_kinds"


def test_reader_recalls_and_stranger_does_not(core: Core, tenant: str, everywhere: dict[str, str]) -> None:
    reader = Principal(tenant, Role.READER, "ada")
    assert everywhere["user"] in found(core, reader, "teapot", top_k=20)
    stranger = Principal(tenant, Role.USER, "eve", "coder", agent_vouched=False)
    got = found(core, stranger, "teapot", top_k=20)
    assert set(got) == {everywhere["tenant"], everywhere["document"]}


# Time


def test_time_range_is_by_event_and_half_open(core: Core, ada: Principal) -> None:
    days = [datetime(2024, 5, day, tzinfo=UTC) for day in (1, 2, 3)]
    ids = [remember(core, ada, f"teapot {day.day}", event_time=day).id for day in days]
    assert set(found(core, ada, "teapot", after=days[1])) == set(ids[1:])
    assert set(found(core, ada, "teapot", before=days[1])) == {ids[0]}
    assert set(found(core, ada, "teapot", after=days[0], before=days[2])) == set(ids[:2])
    naive = datetime(2024, 5, 2)
    assert set(found(core, ada, "teapot", after=naive)) == set(ids[1:])


def test_past_comes_back_when_it_is_asked_for(core: Core, ada: Principal) -> None:
    old = remember(core, ada, "Ada lives in Bergen", event_time=START - timedelta(days=900))
    new = remember(core, ada, "Ada lives in Oslo", event_time=START - timedelta(days=100))
    known_before = core.clock.now()
    change(core, old, status=Status.ARCHIVED, superseded_by=new.id, valid_to=START - timedelta(days=100))
    assert found(core, ada, "where does Ada live") == [new.id]
    assert found(core, ada, "where does Ada live", as_of=START - timedelta(days=500)) == [old.id]
    assert found(core, ada, "where does Ada live", as_of=START - timedelta(days=1000)) == []
    assert found(core, ada, "where does Ada live", as_of=core.clock.now()) == [new.id]
    assert set(found(core, ada, "where does Ada live", known_at=known_before)) == {old.id, new.id}
    assert found(core, ada, "where does Ada live", known_at=core.clock.now()) == [new.id]
    assert found(core, ada, "where does Ada live", known_at=START - timedelta(days=1)) == []


def test_past_comes_back_after_what_took_its_place_was_erased(core: Core, ada: Principal) -> None:
    old = remember(core, ada, "Ada lives in Bergen", event_time=START - timedelta(days=900))
    new = remember(core, ada, "Ada lives in Oslo", event_time=START - timedelta(days=100))
    known_before = core.clock.now()
    assert core.store.write(ada.tenant, lambda tx: core.facts.retire(tx, ada, old, new, {}))
    core.erasure.erase(ada, [new.id])
    assert found(core, ada, "where does Ada live") == []
    assert found(core, ada, "where does Ada live", as_of=START - timedelta(days=500)) == [old.id]
    assert found(core, ada, "where does Ada live", as_of=core.clock.now()) == []
    assert found(core, ada, "where does Ada live", known_at=known_before) == [old.id]
    # Restored, it holds until further notice.
    assert core.retention.restore(ada, old.id).valid_to is None
    assert found(core, ada, "where does Ada live", as_of=core.clock.now()) == [old.id]


def test_deleted_archived_and_anonymized_rows_never_come_back(core: Core, ada: Principal) -> None:
    moments = {"as_of": core.clock.now() + timedelta(days=1), "known_at": core.clock.now() + timedelta(days=1)}
    change(core, remember(core, ada, "teapot 1"), anonymized_at=START, status=Status.ARCHIVED)
    core.memories.forget(ada, remember(core, ada, "teapot 2").id)
    change(core, remember(core, ada, "teapot 3"), status=Status.PURGED)
    core.retention.archive(ada, remember(core, ada, "teapot 4").id)
    change(core, remember(core, ada, "teapot 4"), expires_at=START)
    for asked in ({}, *({name: moment} for name, moment in moments.items()), moments):
        assert found(core, ada, "teapot", **asked) == []


def test_expiry_counts_to_the_second_without_a_sweep(core: Core, ada: Principal) -> None:
    memory = remember(core, ada, "teapot")
    memory = change(core, memory, expires_at=core.clock.now() + timedelta(seconds=10))
    assert found(core, ada, "teapot") == [memory.id]
    core.clock.advance(timedelta(seconds=10))
    assert found(core, ada, "teapot") == []


@pytest.mark.parametrize("field", ["as_of", "known_at", "after", "before"])
def test_what_is_no_time_is_refused(core: Core, ada: Principal, field: str) -> None:
    with pytest.raises(InvalidField) as caught:
        ask(core, ada, "teapot", **{field: "yesterday"})
    assert caught.value.field == field


# Long texts and turns


def test_long_text_comes_back_once_with_its_best_window(core: Core, ada: Principal) -> None:
    filler = [" ".join(f"filler{part}x{number}" for number in range(90)) for part in range(8)]
    filler[5] += " the zeppelin landed in Friedrichshafen "
    memory = remember(core, ada, " ".join(filler))
    for text in ("some teapot", "some kettle"):
        remember(core, ada, text)
    recalled = ask(core, ada, "zeppelin landed Friedrichshafen", top_k=20)
    assert [hit.memory.id for hit in recalled.hits].count(memory.id) == 1
    (hit,) = [hit for hit in recalled.hits if hit.memory.id == memory.id]
    assert "zeppelin landed" in hit.excerpt
    assert hit.excerpt in memory.content
    assert len(hit.excerpt) < len(memory.content) / 3
    assert hit.memory.content == memory.content


@pytest.mark.parametrize("embedder", [None, BrokenEmbedder()], ids=["off", "broken"])
def test_excerpt_without_vectors_is_the_window_with_the_words(open_with: OpenCore, embedder: Any) -> None:
    core = open_with(embedder)
    ada = Principal(make_tenant(core), Role.USER, "ada")
    filler = " ".join(f"filler{number}" for number in range(600))
    remember(core, ada, f"{filler} the zeppelin landed {filler}")
    (hit,) = ask(core, ada, "zeppelin").hits
    assert "zeppelin" in hit.excerpt


def test_short_text_is_its_own_excerpt(core: Core, ada: Principal) -> None:
    memory = remember(core, ada, "A teapot.", name="kitchen_things", description="what is in the kitchen")
    (hit,) = ask(core, ada, "kitchen").hits
    assert (hit.memory.id, hit.excerpt) == (memory.id, "A teapot.")


def test_answer_is_found_through_its_question(core: Core, ada: Principal) -> None:
    say(core, ada, "I went for a walk by the lake.", ("assistant", "How nice, was it cold?"), "Not at all.")
    answer = say(core, ada, "Did the harpsichord parcel arrive?", ("assistant", "Yes, last Friday!"), "Good.")[1]
    for other in ("The rent is due.", "Bob plays chess.", "It rained in May."):
        remember(core, ada, other)
    assert answer.id in found(core, ada, "When did the harpsichord arrive?", top_k=3)


def test_neighbours_do_not_reach_across_sessions_or_users(core: Core, ada: Principal, bob: Principal) -> None:
    say(core, ada, "Did the harpsichord parcel arrive?", session="s1")
    after = say(core, ada, "Yes, last Friday!", session="s2")[0]
    other = say(core, bob, "Yes, last Friday!", session="s1")[0]
    hits = {hit.memory.id: hit for hit in ask(core, ada, "harpsichord", top_k=20, min_score=0, explain=True).hits}
    assert hits[after.id].explanation["text"]["with_neighbours"] == 0
    assert other.id not in hits


# The reranker


def test_reranker_reads_the_turns_around(open_with: OpenCore) -> None:
    reranker = WordReranker()
    core = open_with(WordEmbedder(), reranker)
    ada = Principal(make_tenant(core), Role.USER, "ada")
    say(core, ada, "Did the parcel arrive?", ("assistant", "Yes, last Friday!"), "Good.")
    assert ask(core, ada, "parcel").rerank_used
    assert (
        "[2 January 2026] user: Did the parcel arrive? | assistant: Yes, last Friday! | user: Good." in reranker.read[0]
    )


def test_turns_around_are_read_however_far_the_reranker_reads(open_with: OpenCore) -> None:
    reranker = WordReranker()
    core = open_with(WordEmbedder(), reranker)
    ada = Principal(make_tenant(core), Role.USER, "ada")
    for number in range(15):
        say(
            core,
            ada,
            f"Did parcel {number} arrive?",
            ("assistant", f"On the {number + 1}. of May!"),
            session=f"s{number}",
        )
    list(core.indexer.finish(ada.tenant))
    ask(core, ada, "parcel")
    read = [one for one in reranker.read[0] if "user: Did" in one]
    assert len(read) >= 15
    for one in read:
        number = int(one.split("parcel ")[1].split()[0])
        assert f"assistant: On the {number + 1}. of May!" in one


def test_reranker_decides_and_can_be_left_out(open_with: OpenCore) -> None:
    reranker = WordReranker()
    core = open_with(WordEmbedder(), reranker)
    ada = Principal(make_tenant(core), Role.USER, "ada")
    core.memories.remember(ada, [Draft(f"teapot {number}") for number in range(60)])
    list(core.indexer.finish(ada.tenant))
    recalled = ask(core, ada, "teapot 7", top_k=20, explain=True)
    assert recalled.rerank_used
    assert recalled.hits[0].memory.content == "teapot 7"
    assert len(reranker.read[-1]) <= 50
    assert not ask(core, ada, "teapot 7", enable_rerank=False).rerank_used
    reranker.is_broken = True
    fallen_back = ask(core, ada, "teapot 7", top_k=20)
    assert not fallen_back.rerank_used
    plain = ask(core, ada, "teapot 7", top_k=20, enable_rerank=False)
    assert [hit.memory.id for hit in fallen_back.hits] == [hit.memory.id for hit in plain.hits]


class _Heard(Watch):
    """Counts what it is told of."""

    def __init__(self) -> None:
        self.told: Counter[str] = Counter()

    def timed(self, what: str, part: str = "", facts: Facts | None = None) -> Watched:
        self.told[what] += 1
        return super().timed(what, part, facts)

    def count(self, what: str, part: str = "", by: float = 1) -> None:  # noqa: ARG002
        self.told[what] += 1


@pytest.mark.parametrize("settings", [{}, {"top_k": 3}, {"top_k": 20, "min_score": 0.0}, {"budget_tokens": 40}])
def test_both_ways_are_what_each_way_is(open_with: OpenCore, settings: dict[str, Any]) -> None:
    heard = _Heard()
    core = open_with(None, WordReranker(), watch=heard)
    ada = Principal(make_tenant(core), Role.USER, "ada")
    # All fit alike, so that the newest of those that are looked at comes first.
    days = [START - timedelta(days=number) for number in range(60, 0, -1)]
    core.memories.remember(ada, [Draft(f"The blue teapot, {day:%A %d %B}.", event_time=day) for day in days])
    list(core.indexer.finish(ada.tenant))
    question = Question("Where is the blue teapot?", explain=True, **settings)
    with core.recall.begin() as reading:
        both = list(core.recall.both_ways(ada, question, reading))
    assert [heard.told[what] for what in ("recall", "degraded")] == [1, 1]
    for is_reranked, answered in zip((False, True), both, strict=True):
        alone = core.recall.recall(ada, replace(question, enable_rerank=is_reranked))
        assert answered.rerank_used is is_reranked
        assert answered.reranked == alone.reranked
        assert [(hit.memory.id, hit.score, hit.explanation) for hit in answered.hits] == [
            (hit.memory.id, hit.score, hit.explanation) for hit in alone.hits
        ]
    assert [hit.explanation for hit in both[0].hits] != [hit.explanation for hit in both[1].hits]


def test_reranker_sees_no_neighbour_that_the_caller_may_not_see(open_with: OpenCore) -> None:
    """Turns of another agent, forgotten and expired ones are not read to it either."""
    reranker = WordReranker()
    core = open_with(WordEmbedder(), reranker)
    tenant = make_tenant(core)
    coder, writer = (Principal(tenant, Role.SERVICE, "ada", agent) for agent in ("coder", "writer"))
    say(core, writer, "secret of the writer")
    forgotten = say(core, coder, "secret that was forgotten", "the teapot is here", "secret that expires")
    say(core, writer, "secret of the writer again")
    core.memories.forget(coder, forgotten[0].id)
    change(core, forgotten[2], expires_at=START)
    assert ask(core, coder, "teapot", top_k=20, min_score=0).rerank_used
    assert not any("secret" in passage for read in reranker.read for passage in read)


# Why, and why not


@pytest.mark.usefixtures("teapots")
@pytest.mark.parametrize("with_reranker", [False, True])
def test_explanations_agree_with_the_order(open_with: OpenCore, ada: Principal, with_reranker: bool) -> None:
    core = open_with(WordEmbedder(), WordReranker() if with_reranker else None)
    recalled = ask(core, ada, "teapot on shelf 4", top_k=20, explain=True, min_score=0)
    hits = recalled.hits
    assert (recalled.reranked > 0) is with_reranker
    assert [hit.explanation["final_rank"] for hit in hits] == list(range(1, len(hits) + 1))
    for hit in hits:
        why = hit.explanation
        assert why["weight"] == pytest.approx(1.1)
        assert why["vector"]["windows"] == 1
        assert -1 <= why["vector"]["cosine"] <= 1
        assert (why["text"]["bm25"] > 0) is (why["text"]["rank"] is not None)
        assert why["vector"]["rank"] >= 1
        assert ("reranker" in why) is (why["final_rank"] <= recalled.reranked)
    by_bm25 = sorted(hits, key=lambda hit: -hit.explanation["text"]["bm25"])
    assert "shelf 4" in by_bm25[0].memory.content
    ranks = [hit.explanation["text"]["rank"] or 99 for hit in by_bm25]
    assert ranks == sorted(ranks)
    if not with_reranker:
        firsts = [hit.explanation["first_stage"]["rank"] for hit in hits]
        assert firsts == sorted(firsts)
        scores = [hit.explanation["first_stage"]["score"] for hit in hits]
        assert scores == sorted(scores, reverse=True)
    assert ask(core, ada, "teapot").hits[0].explanation is None


def reason(core: Core, who: Principal, query: str, memory: Memory, **asked: Any) -> str:
    answer = ask(core, who, query, why_not=memory.id, **asked).why_not
    assert answer["id"] == memory.id
    assert answer["recalled"] is answer["reason"].startswith("It is number")
    return answer["reason"]


def test_why_not_gives_the_reason(core: Core, ada: Principal, teapots: list[Memory]) -> None:
    memory = remember(core, ada, "a kettle", category="goal", project="shop", event_time=START)
    assert reason(core, ada, "kettle", memory) == "It is number 1 of the answer."
    assert "another kind" in reason(core, ada, "kettle", memory, source_kinds=["tool_output"])
    assert "another category" in reason(core, ada, "kettle", memory, category="decision")
    assert "another project" in reason(core, ada, "kettle", memory, project="home")
    assert "outside the scope" in reason(core, ada, "kettle", memory, scope="tenant")
    assert "from before `after`" in reason(core, ada, "kettle", memory, after=START + timedelta(days=1))
    assert "not from before `before`" in reason(core, ada, "kettle", memory, before=START)
    assert "not true at `as_of`" in reason(core, ada, "kettle", memory, as_of=START - timedelta(days=1))
    assert "not known at `known_at`" in reason(core, ada, "kettle", memory, known_at=START - timedelta(days=1))
    assert "below the least" in reason(core, ada, "zeppelin kettles fly", memory, min_score=1, top_k=20)
    assert "Others fit better: it is number" in reason(core, ada, "teapot number shelf", memory, min_score=0)
    assert "number 1 of the answer" in reason(core, ada, teapots[3].content, teapots[3])
    core.memories.forget(ada, memory.id)
    assert "archived, superseded or deleted" in reason(core, ada, "kettle", memory)
    assert "It is archived or deleted" in reason(core, ada, "kettle", memory, as_of=core.clock.now())
    expired = change(core, remember(core, ada, "another kettle"), expires_at=START)
    assert "past its expiry" in reason(core, ada, "kettle", expired)


def test_why_not_of_what_one_may_not_see_is_not_found(core: Core, ada: Principal, bob: Principal) -> None:
    memory = remember(core, bob, "a kettle")
    elsewhere = remember(core, Principal(make_tenant(core), Role.USER, "ada"), "a kettle")
    for hidden in (memory.id, elsewhere.id, new_id("mem")):
        with pytest.raises(NotFound):
            ask(core, ada, "kettle", why_not=hidden)
    with pytest.raises(InvalidId):
        ask(core, ada, "kettle", why_not="kettle")


def test_recalled_memories_count_as_read(core: Core, ada: Principal) -> None:
    memory = remember(core, ada, "a kettle")
    for _ in range(3):
        ask(core, ada, "kettle")
    assert core.memories.get(ada, memory.id).access_count == 4


def test_role_that_may_not_read_may_not_recall(core: Core, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(access.ALLOWED, Role.READER, frozenset())
    with pytest.raises(Forbidden):
        ask(core, Principal(tenant, Role.READER, "ada"), "teapot")


def test_tool_output_is_found_by_its_tool_and_read_whole(core: Core, ada: Principal) -> None:
    content = "\n".join(f"order {number}: {number * 7} pieces" for number in range(2000))
    output = core.ingestion.add_tool_output(ada, "s1", tool_call_id="call-1", tool_name="metabase", content=content)
    assert output.truncated
    hit = ask(core, ada, "the metabase query about orders", source_kinds=["tool_output"]).hits[0]
    assert (hit.memory.id, hit.memory.source_ref) == (output.memory.id, "call-1")
    assert core.ingestion.read_tool_output(ada, output.key)[1] == content


def test_long_text_is_found_at_once(core: Core, ada: Principal) -> None:
    """By its words, where its vectors are still being made."""
    filler = " ".join(f"word{number}" for number in range(600))
    stored = core.memories.remember(ada, [Draft(f"The zeppelin hangar is in Friedrichshafen. {filler}")])[0].memory
    assert [hit.memory.id for hit in ask(core, ada, "zeppelin hangar").hits] == [stored.id]
    assert ask(core, ada, "What is the capital of Mongolia?").hits == ()


def test_document_that_is_uploaded_again_is_found_in_its_new_words_only(core: Core, admin: Principal) -> None:
    core.ingestion.add_document(admin, title="Manual", content="The zeppelin lands at noon.")
    assert len(ask(core, admin, "zeppelin").hits) == 1
    core.ingestion.add_document(admin, title="Manual", content="The balloon lands at noon.")
    assert not any("zeppelin" in text for text in texts(ask(core, admin, "zeppelin")))
    assert texts(ask(core, admin, "balloon"))[:1] == ["The balloon lands at noon."]
    (document,) = core.ingestion.list_documents(admin).items
    core.ingestion.forget_document(admin, document.id)
    assert ask(core, admin, "balloon").hits == ()


def test_batches_of_messages_keep_their_order(core: Core, ada: Principal) -> None:
    messages = [Message("user", f"line {number}") for number in range(100)]
    ids = [result.memory.id for result in core.ingestion.add_messages(ada, "s1", messages)]
    assert ids == sorted(ids)
    assert [core.memories.get(ada, memory_id).content for memory_id in ids] == [f"line {n}" for n in range(100)]

"""With the local models themselves: meaning is found without a word in common."""

from dataclasses import replace
from datetime import timedelta

import pytest

from memorist.core import Core
from memorist.ingestion.service import Message
from memorist.models.port import Embedder, Reranker
from memorist.platform.values import Principal, Role
from memorist.recall.values import Question
from memorist.testing.clocks import START
from tests.recall.conftest import OpenCore, ask, make_tenant, remember, say, texts

FACTS = [
    "Ada is allergic to peanuts and carries an EpiPen.",
    "The quarterly report is due on the third Friday of March.",
    "Bob's daughter started kindergarten in September.",
    "The production database runs on a machine in Frankfurt.",
    "Ada prefers metric units and dark mode.",
    "The cat was taken to the veterinarian because of a limp.",
    "We moved the weekly meeting to Thursday at ten.",
    "Carol is learning to play the cello.",
    "The password rotation policy changed to ninety days.",
    "Dave's car broke down on the motorway near Lyon.",
]


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.fixture
def core(open_with: OpenCore, models: tuple[Embedder, Reranker]) -> Core:
    return open_with(*models, min_score=0.02)


@pytest.fixture
def ada(core: Core) -> Principal:
    ada = Principal(make_tenant(core), Role.USER, "ada")
    for fact in FACTS:
        remember(core, ada, fact)
    return ada


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("Who cannot eat nuts?", 0),
        ("Which musical instrument is Carol studying?", 7),
        ("Where is our server hosted?", 3),
        ("Did somebody have trouble with their vehicle?", 9),
        ("Is the pet unwell?", 5),
        ("How often do we have to choose new passwords?", 8),
    ],
)
@pytest.mark.parametrize("enable_rerank", [True, False])
def test_paraphrase_finds_the_fact(core: Core, ada: Principal, question: str, fact: int, enable_rerank: bool) -> None:
    recalled = ask(core, ada, question, top_k=3, enable_rerank=enable_rerank)
    assert FACTS[fact] in texts(recalled)[: 1 if enable_rerank else 3]
    assert (recalled.degraded, recalled.rerank_used) == (False, enable_rerank)


def test_question_without_relation_brings_nothing_back(core: Core, ada: Principal) -> None:
    recalled = ask(core, ada, "chlorophyll absorption spectrum of algae")
    assert [hit.score for hit in recalled.hits if hit.score > 0.3] == []


@pytest.mark.parametrize("enable_rerank", [True, False])
@pytest.mark.parametrize(
    "query", ["a", "x", "b", "1", "?", "...", "the", "is the of and", "what is it", "who are you", "ok"]
)
def test_question_that_asks_for_nothing_finds_nothing(
    core: Core, ada: Principal, query: str, enable_rerank: bool
) -> None:
    remember(core, ada, "Plan B is to rent a van, and x = 1 in the configuration.")
    assert ask(core, ada, query, enable_rerank=enable_rerank).hits == ()


@pytest.mark.parametrize("enable_rerank", [True, False])
@pytest.mark.parametrize(
    "query",
    ["asdfgh qwerty", "xkcd blorp fnord", "zzz", "What is the capital of Peru?", "How do I install Python?", "hello"],
)
def test_gibberish_and_unrelated_questions_score_low(
    core: Core, ada: Principal, query: str, enable_rerank: bool
) -> None:
    assert all(hit.score < 0.2 for hit in ask(core, ada, query, enable_rerank=enable_rerank).hits)


@pytest.mark.parametrize("enable_rerank", [True, False])
@pytest.mark.parametrize(
    ("query", "expected", "others"),
    [
        ("What is Ada allergic to?", FACTS[0], ["Ada's dog is allergic to chicken."]),
        ("Where does Ben live?", "Ben lives in Oslo.", ["Ben's parents live in Graz.", "Ben's sister lives in Rome."]),
        ("What is Ada's dog allergic to?", "Ada's dog is allergic to chicken.", []),
        ("what is ada allergic to?", FACTS[0], ["Ada's dog is allergic to chicken."]),
        ("where does ben live?", "Ben lives in Oslo.", ["Ben's parents live in Graz.", "Ben's sister lives in Rome."]),
        ("what is ada's dog allergic to?", "Ada's dog is allergic to chicken.", []),
    ],
)
def test_who_is_named_is_meant(
    core: Core, ada: Principal, query: str, expected: str, others: list[str], enable_rerank: bool
) -> None:
    for text in (*others, expected):
        remember(core, ada, text)
    assert texts(ask(core, ada, query, enable_rerank=enable_rerank))[0] == expected


@pytest.mark.parametrize("query", ["What is Mia allergic to?", "what is mia allergic to?"])
@pytest.mark.parametrize("between", [[], [Message("assistant", "Noted! How is Vienna?")]])
def test_who_speaks_of_another_who_is_theirs_is_not_meant(
    core: Core, ada: Principal, query: str, between: list[Message]
) -> None:
    about_herself = "I moved from Berlin to Vienna last week, and I am allergic to walnuts."
    about_another = "Great. My dog Rex is allergic to chicken though."
    said = [Message("user", text, name="Mia") for text in (about_herself, about_another)]
    core.ingestion.add_messages(ada, "s1", [said[0], *between, said[1]])
    assert texts(ask(core, ada, query))[0] == about_herself


@pytest.mark.parametrize("enable_rerank", [True, False])
def test_of_two_that_say_the_same_the_newer_comes_first(core: Core, ada: Principal, enable_rerank: bool) -> None:
    days = [START + timedelta(days=number) for number in (9, 2)]
    newer, older = (f"The workshop opens on Friday, the {day} of May." for day in ("22nd", "15th"))
    for text, day in zip((newer, older), days, strict=True):
        remember(core, ada, text, event_time=day)
    found = ask(core, ada, "When does the workshop open?", top_k=2, enable_rerank=enable_rerank)
    assert texts(found) == [newer, older]


def test_answer_is_found_through_its_question(core: Core, ada: Principal) -> None:
    say(core, ada, "By the way, has the piano tuner been here yet?", ("assistant", "Yes, last Friday!"))
    recalled = ask(core, ada, "When did the piano tuner come?", top_k=2)
    assert "Yes, last Friday!" in texts(recalled)


def test_what_the_reranker_did_not_read_scores_no_more_than_without_it(core: Core, ada: Principal) -> None:
    for text in ("Ben's parents live in Graz.", "Ben lives in Oslo.", "Ada's dog is allergic to chicken."):
        remember(core, ada, text)
    question = Question("What is Ada allergic to?", top_k=20, min_score=0.0)
    some = core.recall.weighing(budget_ms=0.001).recall(ada, question)
    none = core.recall.recall(ada, replace(question, enable_rerank=False))
    every = core.recall.recall(ada, question)
    assert (some.reranked, none.reranked, every.reranked) == (2, 0, len(FACTS) + 3)
    assert [texts(one)[0] for one in (some, none, every)] == [FACTS[0]] * 3
    without = {hit.memory.id: hit.score for hit in none.hits}
    assert all(hit.score <= without[hit.memory.id] + 0.01 for hit in some.hits)
    of_ada = [one.memory.content for one in some.hits if "Ada" in one.memory.content]
    assert texts(some)[:3] == of_ada
    assert max(hit.score for hit in some.hits[1:]) < 0.5
    assert max(hit.score for hit in some.hits[3:]) < 0.2

"""Of memories that say the same one comes back, and others instead."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from memorist.core import Core
from memorist.ingestion.service import Message
from memorist.memories.values import Draft, Governor, Memory
from memorist.platform.values import Principal, Role
from memorist.recall.values import Question
from tests.recall.conftest import OpenCore, ask, found, make_tenant, remember, say, texts
from tests.support.models import WordEmbedder, WordReranker

ASKED = "When is my dentist appointment?"
UNKNOWN = "That is not known."
ANSWER = "My dentist appointment is at nine on 3 December."


def asked_every_day(core: Core, who: Principal, days: int) -> list[str]:
    """The answer was said once, long ago; returned are the ids of the questions."""
    say(core, who, ANSWER, session="old")
    return [say(core, who, ASKED, ("assistant", UNKNOWN), session=f"s{day}")[0].id for day in range(days)]


@pytest.mark.parametrize("with_reranker", [False, True])
def test_a_question_that_was_often_asked_does_not_hide_its_answer(open_with: OpenCore, with_reranker: bool) -> None:
    core = open_with(WordEmbedder(), WordReranker() if with_reranker else None, min_score=0.02)
    ada = Principal(make_tenant(core), Role.USER, "ada")
    ids = asked_every_day(core, ada, 60)
    list(core.indexer.finish(ada.tenant))
    recalled = ask(core, ada, ASKED)
    assert sorted(texts(recalled)) == sorted([ASKED, UNKNOWN, ANSWER])
    assert ids[-1] in [hit.memory.id for hit in recalled.hits], "the one that was said last"
    context = core.composer.compose(ada, ASKED).text
    assert ANSWER in context
    assert ASKED not in context


def test_one_that_is_said_twice_makes_a_recall_read_few_more(
    core: Core, ada: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(60):
        remember(core, ada, f"The kettle number {number} is green.")
    for session in ("first", "second"):
        say(core, ada, "The kettle!", session=session)
    read: list[str] = []
    memories = core.recall._memories

    def count(tenant: str, ids: Sequence[str]) -> Sequence[Memory]:
        read.extend(ids)
        return memories(tenant, ids)

    monkeypatch.setattr(core.recall, "_memories", count)
    assert len(set(texts(ask(core, ada, "kettle")))) == 5
    assert 9 < len(read) <= 20


def test_both_ways_join_what_says_the_same(open_with: OpenCore) -> None:
    core = open_with(WordEmbedder(), WordReranker(), min_score=0.02)
    ada = Principal(make_tenant(core), Role.USER, "ada")
    asked_every_day(core, ada, 20)
    with core.recall.begin() as reading:
        for one in core.recall.both_ways(ada, Question(ASKED), reading):
            assert sorted(texts(one)) == sorted([ASKED, UNKNOWN, ANSWER])


def test_budget_of_tokens_goes_to_different_texts(core: Core, ada: Principal) -> None:
    asked_every_day(core, ada, 10)
    assert sorted(texts(ask(core, ada, ASKED, budget_tokens=100))) == sorted([ASKED, UNKNOWN, ANSWER])


def test_why_not_names_the_one_that_stands_for_it(core: Core, ada: Principal) -> None:
    first, *_, last = asked_every_day(core, ada, 3)
    why_not = ask(core, ada, ASKED, why_not=first).why_not
    assert why_not is not None
    assert (why_not["recalled"], why_not["reason"]) == (False, f"{last} says the same, and stands for it.")


def test_same_fact_of_several_doors_comes_back_once(core: Core, ada: Principal) -> None:
    doors = (Governor.NATIVE, Governor.AGENT_TOOLS, Governor.COMPANION)
    for door in doors:
        remember(core, ada, "Ada likes green tea.", governed_by=door)
    remember(core, replace(ada, agent="coder"), "Ada likes green tea.")
    assert texts(ask(core, ada, "green tea")) == ["Ada likes green tea."]


def test_what_only_reads_alike_comes_back_each(core: Core, ada: Principal, bob: Principal) -> None:
    """Of two users, speakers, projects or documents, each is told."""
    who = [remember(core, one, "The kettle is green.").id for one in (ada, bob)]
    assert set(found(core, replace(ada, role=Role.ADMIN, user=None), "kettle")) == set(who)
    spoken = [Message("user", "Yes, the zebra.", name=name) for name in ("Ada", "Mel")]
    said = [result.memory.id for result in core.ingestion.add_messages(ada, "s", spoken, extract=False)]
    assert set(found(core, ada, "zebra")) >= set(said)
    drafts = [Draft("We use the walrus.", category="decision", project=project) for project in ("shop", "home")]
    chunks = [one.memory.id for one in core.memories.remember(ada, drafts)]
    assert set(found(core, ada, "walrus")) >= set(chunks)
    admin = replace(ada, role=Role.ADMIN, user=None)
    for title in ("Manual", "Guide"):
        core.ingestion.add_document(admin, title=title, content="The zeppelin lands at noon.")
    assert texts(ask(core, admin, "zeppelin")).count("The zeppelin lands at noon.") == 2

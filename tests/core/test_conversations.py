"""Conversations: listed, read in parts with what was learned, searched, and let go, on every database."""

from datetime import UTC, datetime
from typing import Any

import pytest

from memorist.core import Core
from memorist.errors import Forbidden, InvalidCursor, NotFound
from memorist.ids import new_id
from memorist.ingestion.service import Message
from memorist.memories.values import Draft, Memory, Status
from memorist.platform.values import Owner, Principal, Role
from memorist.testing import new_tenant
from memorist.turns.values import Turn, TurnStatus

LONG_AGO = datetime(2021, 5, 8, 12, tzinfo=UTC)


def say(core: Core, who: Principal, session: str, *texts: str, name: str | None = None) -> list[Memory]:
    messages = [Message("user", text, name, LONG_AGO) for text in texts]
    return [one.memory for one in core.ingestion.add_messages(who, session, messages, extract=False)]


def learn(core: Core, who: Principal, content: str, source: Memory, *more: Memory) -> Memory:
    meta: dict[str, Any] = {"message_id": source.id, "session_id": source.session}
    if more:
        meta |= {"sources": [one.id for one in (source, *more)]}
    return core.memories.remember(who, [Draft(content, excerpt="tea", meta=meta, source_ref=source.id)])[0].memory


def titles(core: Core, who: Principal) -> list[str]:
    return [one.title for one in core.conversations.page(who).items]


def test_list_tells_of_each_session_and_begins_with_the_one_added_to_last(core: Core, ada: Principal) -> None:
    say(core, ada, "s1", "I like tea, and " + "very " * 40, "Bye.", name="Ada")
    coder = Principal(ada.tenant, Role.USER, "ada", "coder")
    core.ingestion.add_messages(coder, "s2", [Message("assistant", "Hello.", meta={"title": "Greetings"})])
    core.ingestion.add_tool_output(ada, "s1", tool_call_id="c", tool_name="clock", content="noon")
    newest, other = core.conversations.page(ada).items
    assert (newest.session, newest.people, newest.agents, newest.count) == ("s1", ("Ada",), (), 3)
    assert newest.title.startswith("I like tea, and very")
    assert newest.title.endswith(" …")
    assert newest.began_at == LONG_AGO
    assert (other.title, other.people, other.agents) == ("Greetings", (), ("coder",))


def test_pages_neither_skip_nor_repeat(core: Core, ada: Principal, bob: Principal) -> None:
    for number in range(5):
        say(core, ada, f"s{number}", f"message {number}")
    seen, cursor = [], None
    while True:
        page = core.conversations.page(ada, limit=2, cursor=cursor)
        seen += [one.session for one in page.items]
        if (cursor := page.next_cursor) is None:
            break
    assert seen == ["s4", "s3", "s2", "s1", "s0"]
    with pytest.raises(InvalidCursor):
        core.conversations.page(bob, cursor=core.conversations.page(ada, limit=2).next_cursor)


def test_only_those_who_see_the_memories_see_the_conversation(
    core: Core, ada: Principal, bob: Principal, admin: Principal
) -> None:
    say(core, ada, "s1", "mine")
    coder, planner = (Principal(ada.tenant, Role.USER, "ada", agent) for agent in ("coder", "planner"))
    said = say(core, coder, "s2", "by the coder")
    stranger = Principal(new_tenant(), Role.ADMIN)
    assert titles(core, ada) == titles(core, coder) == titles(core, admin) == ["by the coder", "mine"]
    assert titles(core, planner) == ["mine"]
    for who in (bob, stranger):
        assert titles(core, who) == []
        for user in ("ada", "bob", ""):
            with pytest.raises(NotFound):
                core.conversations.read(who, user, "s1")
            with pytest.raises(NotFound):
                core.conversations.search(who, user, "s1", "mine")
            with pytest.raises(NotFound):
                core.conversations.forget(who, user, "s1")
    with pytest.raises(NotFound):
        core.conversations.read(planner, "ada", "s2", near=said[0].id)


def test_what_is_deleted_is_in_no_conversation(core: Core, ada: Principal) -> None:
    first, second = say(core, ada, "s1", "one", "two")
    core.memories.forget(ada, first.id)
    assert [one.id for one in core.conversations.read(ada, "ada", "s1").lines] == [second.id]
    core.memories.forget(ada, second.id)
    assert titles(core, ada) == []


def test_long_conversation_is_read_in_parts_both_ways(core: Core, ada: Principal) -> None:
    said = say(core, ada, "s1", *(f"line {number}" for number in range(150)))
    ids = [one.id for one in said]
    first = core.conversations.read(ada, "ada", "s1")
    assert ([one.id for one in first.lines], first.has_earlier, first.has_later) == (ids[:60], False, True)
    second = core.conversations.read(ada, "ada", "s1", after=ids[59])
    assert ([one.id for one in second.lines], second.has_earlier, second.has_later) == (ids[60:120], True, True)
    back = core.conversations.read(ada, "ada", "s1", before=ids[60])
    assert [one.id for one in back.lines] == ids[:60]
    around = core.conversations.read(ada, "ada", "s1", near=ids[100])
    assert [one.id for one in around.lines] == ids[92:150]
    assert (around.has_earlier, around.has_later) == (True, False)
    assert core.conversations.read(ada, "ada", "s1", near=ids[3]).lines[0].id == ids[0]


def test_facts_stand_beside_what_they_were_learned_from(core: Core, ada: Principal, bob: Principal) -> None:
    tea, rain = say(core, ada, "s1", "I like tea.", "It rains.")
    fact = learn(core, ada, "Ada likes tea.", tea)
    both = learn(core, ada, "Ada drinks tea when it rains.", tea, rain)
    learn(core, bob, "Bob was told.", tea)
    learned = core.conversations.read(ada, "ada", "s1").learned
    assert {key: {one.id for one in facts} for key, facts in learned.items()} == {
        tea.id: {fact.id, both.id},
        rain.id: {both.id},
    }


def test_search_finds_every_word_in_any_case(core: Core, ada: Principal) -> None:
    one, two, _ = say(core, ada, "s1", "Grüße aus der STRASSE", "Tea and rain, 100% of it", "nothing")
    for text, found in (("straße", one), ("RAIN tea", two), ("100%", two)):
        assert [line.id for line in core.conversations.search(ada, "ada", "s1", text)] == [found.id]
    assert core.conversations.search(ada, "ada", "s1", "tea straße") == []


def test_forgetting_takes_what_was_said_and_the_facts_only_if_asked(core: Core, ada: Principal) -> None:
    said = say(core, ada, "s1", "I like tea.", "It rains.")
    (elsewhere,) = say(core, ada, "s2", "Tea it is.")
    fact = learn(core, ada, "Ada likes tea.", said[0])
    shared = learn(core, ada, "Ada likes tea a lot.", said[0], elsewhere)
    leaving = core.conversations.leaving(ada, "ada", "s1")
    assert (set(leaving.said), leaving.facts) == ({one.id for one in said}, (fact.id,))
    assert core.conversations.forget(ada, "ada", "s1") == 2
    assert titles(core, ada) == ["Tea it is."]
    assert core.memories.get(ada, fact.id).status is Status.ACTIVE
    core.retention.restore(ada, said[0].id)
    assert core.conversations.forget(ada, "ada", "s1", facts=True) == 2
    with pytest.raises(NotFound):
        core.memories.get(ada, fact.id)
    assert core.memories.get(ada, shared.id).status is Status.ACTIVE


def test_admin_who_is_in_a_session_restores_what_was_said_there_to_another_agent(core: Core, ada: Principal) -> None:
    (said,) = say(core, Principal(ada.tenant, Role.USER, "ada", "coder"), "s1", "I like tea.")
    admin = Principal(ada.tenant, Role.ADMIN, "ada", "baker", session="s1")
    core.memories.forget(Principal(ada.tenant, Role.USER, "ada", "coder"), said.id)
    assert core.retention.restore(admin, said.id).status is Status.ACTIVE


def test_erasing_takes_it_from_every_state_with_a_receipt(core: Core, ada: Principal) -> None:
    said = say(core, ada, "s1", "I like tea.", "It rains.")
    core.memories.forget(ada, said[1].id)
    (receipt,) = core.conversations.erase(ada, "ada", "s1")
    assert core.erasure.ids_of(receipt) == sorted(one.id for one in said)
    assert core.store.read(ada.tenant, lambda tx: tx.memories.get_many([one.id for one in said])) == []


def test_readers_let_nothing_go_and_shared_lines_are_an_admins(core: Core, ada: Principal, admin: Principal) -> None:
    say(core, ada, "s1", "mine")
    with pytest.raises(Forbidden):
        core.conversations.forget(Principal(ada.tenant, Role.READER, "ada"), "ada", "s1")
    say(core, admin, "all", "for everybody")
    assert core.conversations.read(ada, "", "all").lines[0].owner == Owner()
    for act in (core.conversations.forget, core.conversations.erase):
        with pytest.raises(Forbidden):
            act(ada, "", "all")
    assert core.conversations.forget(admin, "", "all") == 1


def test_facts_of_a_turn_stand_beside_its_messages(core: Core, ada: Principal) -> None:
    tea, rain = say(core, ada, "s1", "I like tea.", "It rains.")
    now = core.clock.now()
    turn = Turn(new_id("turn"), Owner("ada"), "s1", TurnStatus.RUNNING, now, lease_until=now, attended_until=now)
    core.store.write(ada.tenant, lambda tx: tx.turns.insert(turn))
    draft = Draft("Ada likes tea.", meta={"message_id": tea.id}, source_ref=turn.id)
    fact = core.memories.remember(ada, [draft])[0].memory
    learned = core.conversations.read(ada, "ada", "s1").learned
    assert {key: [one.id for one in facts] for key, facts in learned.items()} == {tea.id: [fact.id]}
    assert core.conversations.leaving(ada, "ada", "s1").facts == (fact.id,)
    assert rain.id not in learned

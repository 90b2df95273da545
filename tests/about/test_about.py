"""What is known of a person, on both databases, with the real tagger where a fact does not say what it is about."""

from datetime import UTC, datetime, timedelta

import pytest

from memorist.about.text import format_about
from memorist.about.topics import Topics
from memorist.about.values import SLOTS, About, ProfileLine
from memorist.context.companion import Category, Finding, FindingVerdict
from memorist.core import Core
from memorist.errors import Forbidden, InvalidField, NotFound
from memorist.facts.values import Ruling
from memorist.ingestion.service import Message
from memorist.memories.entries import READ_FOR_USER
from memorist.memories.values import Draft, Governor, Kind, Memory, Trust
from memorist.models.tagger import LocalTagger
from memorist.platform.values import Owner, Principal, Role
from memorist.ports import Writer
from memorist.testing import StepClock, make_doubt, new_tenant
from tests.facts.conftest import OpenCore, open_with  # noqa: F401
from tests.facts.judges import ScriptedJudge

MAY = datetime(2025, 5, 1, tzinfo=UTC)
TAGGER = LocalTagger()


@pytest.fixture
def core(open_with: OpenCore) -> Core:  # noqa: F811
    return open_with(background=False, tagger=lambda: TAGGER)


@pytest.fixture
def ada(core: Core, tenant: str) -> Principal:
    core.identity.create_tenant(tenant)
    return Principal(tenant, Role.USER, "ada")


def told(
    core: Core,
    who: Principal,
    content: str,
    topic: str | None = None,
    about: str | None = None,
    *,
    governed_by: Governor = Governor.AGENT_TOOLS,
    **fields: object,
) -> Memory:
    meta = {name: value for name, value in (("topic", topic), ("about", about)) if value}
    draft = Draft(content, meta=meta or None, governed_by=governed_by, **fields)  # type: ignore[arg-type]
    return core.facts.remember_all(who, [draft])[0].memory


def slots(about: About, person: int = 0) -> dict[str, list[str]]:
    return {slot.topic: [line.text for line in slot.lines] for slot in about.people[person].slots}


def lines(about: About) -> list[ProfileLine]:
    return [line for one in about.people for slot in one.slots for line in slot.lines]


# Slots


def test_nothing_known_is_an_empty_profile(core: Core, ada: Principal) -> None:
    about = core.profiles.about(ada)
    assert (about.people, about.mentioned, about.replaced, about.new, about.doubts) == ((), (), (), (), ())
    assert [one.facts for one in core.profiles.about(ada, "User").people] == [0]


def test_slots_are_in_their_order_and_empty_ones_left_out(core: Core, ada: Principal) -> None:
    for topic in reversed(SLOTS):
        told(core, ada, f"User said something on {topic}.", topic)
    assert list(slots(core.profiles.about(ada))) == list(SLOTS)
    told(core, Principal(ada.tenant, Role.USER, "bob"), "User lives in Rome.", "home")
    bob = core.profiles.about(Principal(ada.tenant, Role.USER, "bob"))
    assert slots(bob) == {"home": ["User lives in Rome."]}
    assert bob.people[0].slots[0].heading == "Home"


def test_line_has_its_date_sources_and_how_often_it_was_stated(core: Core, ada: Principal) -> None:
    draft = Draft(
        "User lives in Lisbon since 8 May 2024.",
        meta={
            "topic": "home", "about": "User", "message_id": "mem_1", "session_id": "s1", "stated": 3,
            "sources": ["turn_1", "mem_1"],
        },
        source_ref="turn_2", event_time=MAY, relevance=0.7, confidence=0.9, excerpt="I live in Lisbon",
        governed_by=Governor.AGENT_TOOLS,
    )  # fmt: skip
    memory = core.facts.remember_all(ada, [draft])[0].memory
    [line] = lines(core.profiles.about(ada))
    assert line == ProfileLine(
        memory.id, memory.content, "home", "User", MAY, "2024-05-08", 0.7, 3, ("turn_1", "mem_1", "turn_2"),
        "I live in Lisbon",
    )  # fmt: skip


def test_what_somebody_wrote_counts_whole_and_is_dated_by_when_it_was_written(core: Core, ada: Principal) -> None:
    memory = core.facts.remember(ada, "The user lives in Lisbon.").memory
    [line] = lines(core.profiles.about(ada))
    assert (line.importance, line.stated, line.sources, line.date) == (1.0, 1, (), memory.created_at)


def test_newest_and_most_important_come_first_up_to_the_limit(core: Core, ada: Principal) -> None:
    for number, importance in enumerate((0.2, 0.9, 0.5, 0.4, 0.95, 0.6)):
        said = MAY + timedelta(days=number)
        told(core, ada, f"User likes number {number}.", "taste", event_time=said, relevance=importance)
    [slot] = core.profiles.about(ada, limit=3).people[0].slots
    assert [line.text[-2] for line in slot.lines] == ["4", "5", "1"]
    assert slot.more == 3
    [slot] = core.profiles.about(ada, limit=100).people[0].slots
    assert (len(slot.lines), slot.more) == (6, 0)
    for limit in (0, 101):
        with pytest.raises(InvalidField):
            core.profiles.about(ada, limit=limit)


# Which facts


def test_profile_is_made_of_what_was_told_and_of_nothing_else(core: Core, ada: Principal) -> None:
    home = "User lives in Lisbon."
    told(core, ada, home, "home")
    core.companion.add(ada, "User wants to sleep more.", Category.GOAL)
    told(core, ada, "User prefers tea.", category="preference", governed_by=Governor.NATIVE)
    # Not these.
    told(core, ada, "Use PostgreSQL.", "decision", governed_by=Governor.CODING_ASSISTANT)
    told(core, ada, "User is in the lifecycle.", "other", governed_by=Governor.LIFECYCLE)
    core.memories.remember(ada, [Draft("User lives in a note.", name="home", category="user")])
    core.ingestion.add_messages(ada, "s1", [Message("user", "I live in a message.")])
    core.ingestion.add_tool_output(ada, "s1", tool_call_id="c", tool_name="t", content="User lives in a tool.")
    core.ingestion.add_document(ada, title="Homes", content="User lives in a document.")
    finding = Finding("f1", "tea", "sleep", FindingVerdict.REJECTED, "0.1", "Tea does not help.")
    core.companion.record(ada, finding)
    assert slots(core.profiles.about(ada)) == {
        "home": [home], "taste": ["User prefers tea."], "goal": ["User wants to sleep more."],
    }  # fmt: skip
    core.memories.forget(ada, core.memories.list(ada, kind=Kind.FACT, category="preference").items[0].id)
    assert "taste" not in slots(core.profiles.about(ada))


def test_facts_of_every_page_are_in_it(core: Core, ada: Principal) -> None:
    meta = {"topic": "taste"}
    for owner in (Owner("ada"), Owner("ada", "coder")):
        drafts = [Draft(f"User likes tea {number}.", meta=meta, owner=owner) for number in range(600)]
        core.memories.remember(ada, drafts)
    [user] = core.profiles.about(Principal(ada.tenant, Role.USER, "ada", "coder")).people
    assert (user.facts, user.slots[0].more) == (1200, 1195)


def test_nobody_sees_what_is_anothers(core: Core, ada: Principal) -> None:
    told(core, ada, "User lives in Lisbon with Mia.", "home")
    told(core, ada, "User codes in Rust.", "work", owner=Owner("ada", "coder"))
    told(core, ada, "User sings.", "habit", owner=Owner("ada", "singer"))
    admin = Principal(ada.tenant, Role.ADMIN)
    told(core, admin, "Everybody pays in euro.", "other", owner=Owner())
    told(core, admin, "The agent is called Amy.", "identity", owner=Owner(agent="coder"))
    told(core, ada, "User is vegetarian.", "diet", owner=Owner("ada", "default"))
    assert set(slots(core.profiles.about(ada))) == {"home", "diet"}
    coder = Principal(ada.tenant, Role.USER, "ada", "coder", agent_vouched=True)
    assert set(slots(core.profiles.about(coder))) == {"home", "work"}
    for other in (Principal(ada.tenant, Role.USER, "bob"), Principal(new_tenant(), Role.USER, "ada")):
        about = core.profiles.about(other)
        assert (about.people, about.mentioned, about.new) == ((), (), ())
        with pytest.raises(NotFound):
            core.profiles.about(other, "Mia")
    for nobody in (
        admin,
        Principal(ada.tenant, Role.READER),
        Principal(ada.tenant, Role.READER, "ada", on_behalf=True),
    ):
        with pytest.raises(Forbidden):
            core.profiles.about(nobody)
    assert core.profiles.about(Principal(ada.tenant, Role.READER, "ada")).people


def test_reading_for_a_user_is_noted_in_the_entries_of_a_companion(core: Core, ada: Principal) -> None:
    entry = core.companion.add(ada, "User wants to sleep more.", Category.GOAL).memory
    fact = told(core, ada, "User lives in Lisbon.", "home")
    service = Principal(ada.tenant, Role.SERVICE, "ada", on_behalf=True)
    core.profiles.about(ada)
    core.profiles.about(service)
    core.profiles.about(service)
    kinds = [event.event_type for event in core.memories.events(ada, entry.id)]
    assert kinds.count(READ_FOR_USER) == 1
    assert READ_FOR_USER not in [event.event_type for event in core.memories.events(ada, fact.id)]


# Topics


@pytest.mark.parametrize(
    ("category", "topic"), [("preference", "taste"), ("goal", "goal"), ("decision", "decision"), ("pet", "pet")]
)
def test_category_says_what_a_fact_is_about(core: Core, ada: Principal, category: str, topic: str) -> None:
    told(core, ada, "User did something.", category=category, governed_by=Governor.NATIVE)
    assert list(slots(core.profiles.about(ada))) == [topic]


def test_tagger_says_it_of_what_has_neither_topic_nor_category(core: Core, ada: Principal) -> None:
    facts = {
        "home": "The user lives in Lisbon.",
        "pet": "User has a dog named Rex.",
        "diet": "User is vegetarian.",
        "instruction": "Always answer in English.",
        "study": "User studies biology.",
    }
    for text in facts.values():
        core.facts.remember(ada, text)
    assert slots(core.profiles.about(ada)) == {topic: [text] for topic, text in sorted(facts.items(), key=_place)}


def _place(item: tuple[str, str]) -> int:
    return list(SLOTS).index(item[0])


def test_text_is_tagged_once(core: Core, ada: Principal, bob: Principal) -> None:
    class CountingTagger(LocalTagger):
        read = 0

        def tag(self, passages):  # type: ignore[no-untyped-def]
            self.read += len(passages)
            return super().tag(passages)

    tagger = CountingTagger()
    topics = Topics(lambda: tagger)
    found = [core.facts.remember(who, "User lives in Lisbon.").memory for who in (ada, bob)]
    assert topics.of(found) == topics.of(found[:1]) * 2 == ["home", "home"]
    assert tagger.read == 1
    assert topics.of([]) == []


@pytest.fixture
def bob(ada: Principal) -> Principal:
    return Principal(ada.tenant, Role.USER, "bob")


# People


def test_in_a_chat_of_several_each_has_a_profile(core: Core, ada: Principal) -> None:
    told(core, ada, "Mel paints.", "taste", "Mel")
    told(core, ada, "Caroline met Mel.", "event", "Caroline")
    told(core, ada, "Caroline lives in Rome.", "home", "Caroline")
    about = core.profiles.about(ada)
    assert [(one.person, one.facts) for one in about.people] == [("Caroline", 2), ("Mel", 1)]
    told(core, ada, "User sings.", "habit", "User")
    assert [one.person for one in core.profiles.about(ada).people] == ["User", "Caroline", "Mel"]
    mel = core.profiles.about(ada, "mel")
    assert (mel.person, [one.person for one in mel.people], mel.people[0].facts) == ("Mel", ["Mel"], 2)
    assert slots(mel) == {"taste": ["Mel paints."]}
    assert [line.text for line in mel.people[0].timeline] == ["Caroline met Mel."]
    assert [one.text for one in mel.new] == ["Caroline met Mel.", "Mel paints."]


def test_profile_of_a_person_who_is_mentioned(core: Core, ada: Principal) -> None:
    told(core, ada, "User's sister Mia Costa lives in Porto.", "relation")
    told(core, ada, "User calls Mia every Sunday.", "habit")
    told(core, ada, "User lives in Lisbon.", "home")
    mia = core.profiles.about(ada, "mia")
    assert slots(mia) == {
        "relation": ["User's sister Mia Costa lives in Porto."], "habit": ["User calls Mia every Sunday."],
    }  # fmt: skip
    assert [one.name for one in mia.mentioned] == ["Mia Costa", "Porto"]
    assert core.profiles.about(ada, "Costa").people[0].facts == 1
    assert set(slots(core.profiles.about(ada, "ADA"))) == {"relation", "habit", "home"}
    with pytest.raises(NotFound, match="Nothing is known of Zoe"):
        core.profiles.about(ada, "Zoe")
    with pytest.raises(InvalidField):
        core.profiles.about(ada, " ")


def test_mentions_have_their_lines_and_how_many(core: Core, ada: Principal) -> None:
    for text in ("User has a dog named Rex.", "User took Rex to Porto.", "Rex is ill."):
        told(core, ada, text, "pet")
    told(core, ada, "Reptiles scare User.", "taste")
    rex, porto = core.profiles.about(ada, limit=2).mentioned
    assert (rex.name, rex.relation, rex.facts, len(rex.lines)) == ("Rex", "dog", 3, 2)
    assert (porto.name, porto.relation, porto.facts) == ("Porto", None, 1)
    few = core.profiles.about(ada, limit=1)
    assert (len(few.mentioned), few.more_mentioned) == (2, 0)


def test_two_of_one_name_are_told_apart(core: Core, ada: Principal) -> None:
    for text in (
        "User's brother Tom is a pilot.",
        "User's colleague Tom is allergic to nuts.",
        "User's friend Tom is good at chess.",
        "User met Tom on Friday.",
        "User's wife Eva is a nurse.",
        "User's partner Eva likes tea.",
        "User dreamt of Eva.",
        "Ben's sister Eva lives in Lyon.",
    ):
        told(core, ada, text, "relation")
    found = {(one.name, one.relation): one.facts for one in core.profiles.about(ada).mentioned}
    assert found["Tom", "brother"] == 1
    assert found["Tom", "colleague"] == 2, "a colleague may be a friend"
    assert found["Tom", None] == 1
    assert found["Eva", "partner"] == 2
    assert found["Eva", "Ben's sister"] == 1
    assert core.profiles.named(ada).things["tom"].relation == "colleague or brother"


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (("pet Tom", "cat named Tom"), {"cat": 3}),
        (("pet Tom", "cat named Tom", "dog Tom"), {None: 2, "cat": 1, "dog": 1}),
        (("twin Tom", "brother Tom"), {"brother": 3}),
        (("brother Tom", "twin Tom", "twin Tom Berg"), {"brother": 4}),
        (("friend Tom", "boyfriend Tom"), {"boyfriend": 3}),
        (("friend Tom", "boyfriend Tom", "colleague Tom"), {None: 2, "boyfriend": 1, "colleague": 1}),
        (("father Tom", "parent Tom"), {"father": 3}),
        (("dad Tom", "daddy Tom"), {"daddy": 3}),
        (("Mutter Tom", "Mama Tom"), {"Mama": 3}),
        (("father Tom", "son Tom"), {None: 1, "father": 1, "son": 1}),
    ],
)
def test_one_who_is_called_by_several_words_is_one(
    core: Core, ada: Principal, said: tuple[str, ...], found: dict[str | None, int]
) -> None:
    for one in said:
        told(core, ada, f"User's {one} is often mentioned.", "relation")
    told(core, ada, "Tom sleeps a lot.", "relation")
    assert {one.relation: one.facts for one in core.profiles.about(ada).mentioned if one.name == "Tom"} == found


# Time


def test_timeline_is_of_events_and_plans_by_their_days(core: Core, ada: Principal) -> None:
    told(core, ada, "User flies to Rome on 8 May 2027.", "plan", event_time=MAY)
    told(core, ada, "User ran a marathon.", "event", event_time=MAY)
    told(core, ada, "User married in 2019.", "event", event_time=MAY)
    told(core, ada, "User lives in Lisbon since 2020.", "home", event_time=MAY)
    [one] = core.profiles.about(ada).people
    assert [line.text for line in one.timeline] == [
        "User married in 2019.", "User ran a marathon.", "User flies to Rome on 8 May 2027.",
    ]  # fmt: skip
    for number in range(3):
        told(core, ada, f"User jumped {number} times.", "event", event_time=MAY + timedelta(days=number))
    [one] = core.profiles.about(ada, limit=1).people
    assert (len(one.timeline), one.earlier) == (4, 2)
    assert one.timeline[-1].text == "User flies to Rome on 8 May 2027."


def test_what_was_replaced_and_what_is_new_lately(
    open_with: OpenCore,  # noqa: F811
    tenant: str,
    clock: StepClock,
) -> None:
    core = open_with(
        judge=lambda: ScriptedJudge(lambda *_: Ruling.CONTRADICTS), tagger=lambda: TAGGER, background=False
    )
    core.identity.create_tenant(tenant)
    ada, bob = (Principal(tenant, Role.USER, name) for name in ("ada", "bob"))
    old, new = (core.facts.remember(ada, f"The user lives in {home}.").memory for home in ("Berlin", "Lisbon"))
    about = core.profiles.about(ada)
    [one] = about.replaced
    assert (one.memory_id, one.text, one.by_id, one.by_text) == (old.id, old.content, new.id, new.content)
    assert one.reason
    assert ([line.text for line in about.new], about.more_new) == ([new.content], 0)
    assert core.profiles.about(bob).replaced == ()
    assert [one.text for one in core.profiles.about(ada, "Lisbon").replaced] == []
    clock.advance(timedelta(days=31))
    about = core.profiles.about(ada)
    assert (about.replaced, about.new, slots(about)) == ((), (), {"home": [new.content]})


def test_merged_facts_are_one_line_and_told_as_replaced(open_with: OpenCore, tenant: str) -> None:  # noqa: F811
    core = open_with(judge=lambda: ScriptedJudge(lambda *_: Ruling.SAME), background=False)
    core.identity.create_tenant(tenant)
    ada = Principal(tenant, Role.USER, "ada")
    old = told(core, ada, "User lives in Lisbon.", "home", source_ref="turn_1")
    new = told(core, ada, "User's home is in Lisbon.", "home", source_ref="turn_2")
    about = core.profiles.about(ada)
    [line] = lines(about)
    assert (line.memory_id, line.stated, line.sources) == (new.id, 2, ("turn_1", "turn_2"))
    assert [(one.memory_id, one.by_id) for one in about.replaced] == [(old.id, new.id)]


def test_open_doubts_are_told_to_their_owner(open_with: OpenCore, tenant: str) -> None:  # noqa: F811
    core = open_with(judge=lambda: ScriptedJudge(lambda *_: Ruling.UNSURE), background=False)
    core.identity.create_tenant(tenant)
    ada, bob = (Principal(tenant, Role.USER, name) for name in ("ada", "bob"))
    for home in ("Berlin", "Lisbon"):
        core.facts.remember(ada, f"The user lives in {home}.")
    [doubt] = core.profiles.about(ada).doubts
    assert (doubt.newer, doubt.older) == ("The user lives in Lisbon.", "The user lives in Berlin.")
    assert core.profiles.about(ada, "Berlin").doubts == (doubt,)
    assert core.profiles.about(bob).doubts == ()
    core.facts.dismiss(ada, doubt.id)
    assert core.profiles.about(ada).doubts == ()


def test_replaced_facts_and_doubts_are_bounded_and_the_others_counted(core: Core, ada: Principal) -> None:
    facts = [told(core, ada, f"Ada lives in town {number}.", "home") for number in range(14)]

    def work(tx: Writer) -> None:
        for older, newer in zip(facts[:6], facts[6:12], strict=True):
            assert core.facts.retire(tx, ada, older, newer, {"reason": "It changed.", "judge": "test"})
        for older in facts[6:13]:
            assert tx.facts.insert_doubt(make_doubt(facts[13], older))

    core.store.write(ada.tenant, work)
    about = core.profiles.about(ada, limit=1)
    assert (len(about.replaced), about.more_replaced) == (4, 2)
    assert (len(about.doubts), about.more_doubts) == (4, 3)
    assert [one.older for one in about.doubts] == [one.content for one in facts[12:8:-1]], "the newest come first"
    text = format_about(about)
    assert (text.count(" Or: "), "- and 3 more" in text, "- and 2 more" in text) == (4, True, True)
    whole = core.profiles.about(ada)
    assert (len(whole.replaced), whole.more_replaced, len(whole.doubts), whole.more_doubts) == (6, 0, 7, 0)


def test_what_is_read_from_a_chat_is_in_the_profile(core: Core, ada: Principal) -> None:
    said = [
        Message("user", "Hi! I'm Ada, and I live in Lisbon with my sister Mia.", event_time=MAY),
        Message("assistant", "Nice! What do you do?", event_time=MAY),
        Message("user", "I work as a nurse at the Santa Maria hospital. I am allergic to peanuts.", event_time=MAY),
    ]
    core.extraction.extract_messages(ada, "s1", said)
    about = core.profiles.about(ada)
    found = {line.topic: line for line in lines(about)}
    assert "nurse" in found["work"].text
    assert found["work"].date == MAY
    assert found["work"].sources
    assert found["work"].excerpt
    assert ("Mia", "sister") in [(one.name, one.relation) for one in about.mentioned]
    assert {line.person for line in lines(about)} == {"User"}


def test_trust_of_a_tool_changes_nothing_about_whose_fact_it_is(core: Core, ada: Principal) -> None:
    told(core, ada, "User lives in Lisbon.", "home", trust=Trust.TOOL)
    assert slots(core.profiles.about(ada)) == {"home": ["User lives in Lisbon."]}

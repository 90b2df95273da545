"""Profiles are kept in memory while they are true, and topics of very many facts are read in the background."""

import threading
from datetime import timedelta

import pytest

from memorist.about.topics import Topics
from memorist.core import Core
from memorist.memories.values import Draft, Kind
from memorist.models.tagger import LocalTagger
from memorist.platform.values import Principal, Role
from memorist.testing import StepClock
from tests.facts.conftest import OpenCore, open_with  # noqa: F401


@pytest.fixture
def core(open_with: OpenCore) -> Core:  # noqa: F811
    return open_with(background=False)


@pytest.fixture
def ada(core: Core, tenant: str) -> Principal:
    core.identity.create_tenant(tenant)
    return Principal(tenant, Role.USER, "ada")


def texts(core: Core, who: Principal) -> set[str]:
    return {line.text for one in core.profiles.about(who).people for slot in one.slots for line in slot.lines}


def test_profile_is_made_anew_when_a_fact_changes_and_only_then(core: Core, ada: Principal) -> None:
    tea = core.memories.remember(ada, [Draft("User likes tea.")])[0].memory
    cat = core.facts.remember(ada, "User has a cat.").memory
    before = core.profiles.about(ada)
    assert texts(core, ada) == {"User likes tea.", "User has a cat."}
    said = Draft("Hello.", Kind.CHAT_MESSAGE, meta={"role": "user"}, session="s1")
    core.memories.remember(ada, [said])
    core.facts.remember(Principal(ada.tenant, Role.USER, "bob"), "User likes coffee.")
    assert core.profiles.about(ada).people is before.people
    core.memories.edit(ada, tea.id, {"content": "User likes green tea."})
    assert texts(core, ada) == {"User likes green tea.", "User has a cat."}
    core.memories.forget(ada, cat.id)
    assert texts(core, ada) == {"User likes green tea."}
    core.facts.remember(ada, "User has a dog.")
    assert texts(core, ada) == {"User likes green tea.", "User has a dog."}


def test_what_is_new_is_so_for_thirty_days(core: Core, clock: StepClock, ada: Principal) -> None:
    core.facts.remember(ada, "User likes tea.")
    assert len(core.profiles.about(ada).new) == 1
    people = core.profiles.about(ada).people
    clock.advance(timedelta(days=31))
    assert core.profiles.about(ada).new == ()
    assert core.profiles.about(ada).people is people


class WaitedForTagger(LocalTagger):
    """Says when it has read a text."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []
        self.has_read = threading.Event()

    def tag(self, passages):  # type: ignore[no-untyped-def]
        found = super().tag(passages)
        self.read += [one.text for one in passages]
        if len(self.read) > 1:
            self.has_read.set()
        return found


def test_topics_that_are_not_read_now_are_read_in_the_background(core: Core, ada: Principal) -> None:
    tagger = WaitedForTagger()
    topics = Topics(lambda: tagger)
    facts = [core.facts.remember(ada, text).memory for text in ("User lives in Lisbon.", "User studies biology.")]
    assert topics.of(facts, 1, rest_later=True) == ["home", "other"]
    assert tagger.has_read.wait(60)
    topics.close()
    assert topics.version == 1
    assert topics.of(facts, 0) == ["home", "study"]
    assert len(tagger.read) == 2


def test_who_asks_reads_what_is_new_and_leaves_what_waits_to_the_background(core: Core, ada: Principal) -> None:
    begun, go_on = threading.Event(), threading.Event()
    read_now: list[str] = []

    class HeldTagger(LocalTagger):
        def tag(self, passages):  # type: ignore[no-untyped-def]
            if threading.current_thread() is threading.main_thread():
                read_now.extend(one.text for one in passages)
            else:
                begun.set()
                assert go_on.wait(60)
            return super().tag(passages)

    tagger = HeldTagger()
    topics = Topics(lambda: tagger)
    older = [core.facts.remember(ada, f"User studies biology in {year}.").memory for year in ("2019", "2020", "2021")]
    assert topics.of(older, 1, rest_later=True) == ["study", "other", "other"]
    assert begun.wait(60)
    newest = core.facts.remember(ada, "User lives in Lisbon.").memory
    assert topics.of([newest, *older], 2, rest_later=True)[:2] == ["home", "study"]
    assert read_now == ["User studies biology in 2019.", "User lives in Lisbon."]
    go_on.set()
    topics.close()
    assert topics.of(older, 0) == ["study"] * 3


def test_without_a_background_the_next_who_asks_reads_on(core: Core, ada: Principal) -> None:
    tagger = WaitedForTagger()
    topics = Topics(lambda: tagger, background=False)
    facts = [core.facts.remember(ada, text).memory for text in ("User lives in Lisbon.", "User studies biology.")]
    assert topics.of(facts, 1, rest_later=True) == ["home", "other"]
    assert topics.version == 1
    assert topics.of(facts, 1, rest_later=True) == ["home", "study"]
    assert topics.version == 1

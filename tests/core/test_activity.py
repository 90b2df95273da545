"""What happens, told as one story: read back in time, followed, and each thing to those who see it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from memorist.core import Core
from memorist.errors import InvalidCursor
from memorist.memories.values import Draft, Memory
from memorist.platform.values import FeedPosition, Owner, Principal, Role
from memorist.recall.values import Question
from memorist.testing import StepClock
from memorist.views import activity
from memorist.views.activity import ActivityFilter, ActivityPage, Happening

ALL = ActivityFilter()


def told(items: tuple[Happening, ...]) -> list[tuple[str, str]]:
    return [(one.what, one.question or getattr(one.memory, "content", "")) for one in items]


def ask(core: Core, principal: Principal, text: str) -> None:
    core.recall.recall(principal, Question(text))
    core.accesses.flush()


def pages_of(core: Core, principal: Principal, wanted: ActivityFilter, limit: int) -> Iterator[ActivityPage]:
    page = core.activity.page(principal, wanted, limit=limit)
    yield page
    while page.next_cursor is not None:
        page = core.activity.page(principal, wanted, limit=limit, cursor=page.next_cursor)
        yield page


def test_changes_and_recalls_are_one_story_newest_first(
    core: Core, ada: Principal, remember: Callable[..., Memory], clock: StepClock
) -> None:
    tea = remember(ada, "Ada drinks tea.")
    clock.advance(timedelta(minutes=1))
    ask(core, ada, "What does Ada drink?")
    clock.advance(timedelta(minutes=1))
    core.retention.delete(ada, tea.id)
    page = core.activity.page(ada, ALL)
    assert told(page.items) == [
        ("deleted", "Ada drinks tea."),
        ("recalled", "What does Ada drink?"),
        ("created", "Ada drinks tea."),
    ]
    assert (page.next_cursor, page.reached) == (None, None)
    assert (page.items[0].by, page.items[1].memories, page.items[1].owner) == ("ada", 1, Owner("ada"))


def test_each_sees_what_is_theirs_and_an_admin_all(
    core: Core, ada: Principal, bob: Principal, admin: Principal, remember: Callable[..., Memory]
) -> None:
    remember(ada, "Ada drinks tea.")
    remember(bob, "Bob drinks milk.")
    ask(core, ada, "tea")
    ask(core, bob, "milk")
    assert sorted(told(core.activity.page(bob, ALL).items)) == [("created", "Bob drinks milk."), ("recalled", "milk")]
    assert len(core.activity.page(admin, ALL).items) == 4
    acting = replace(admin, user="ada", on_behalf=True)
    assert sorted(told(core.activity.page(acting, ALL).items)) == [("created", "Ada drinks tea."), ("recalled", "tea")]
    news = core.activity.news(bob, ALL, activity.FollowPosition(FeedPosition(0, 0), core.clock.now()))
    assert sorted(told(news.items)) == [("created", "Bob drinks milk."), ("recalled", "milk")]


def test_pages_go_back_without_a_gap_or_a_repetition(
    core: Core, ada: Principal, remember: Callable[..., Memory], clock: StepClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "_EVENTS", 4)
    monkeypatch.setattr(activity, "_AT_ONCE", 2)
    monkeypatch.setattr(activity, "_RECALLS", 3)
    for number in range(12):
        remember(ada, f"Fact number {number} is kept.")
        clock.advance(timedelta(seconds=1))
        if number % 3 == 0:
            ask(core, ada, f"number {number}")
            clock.advance(timedelta(seconds=1))
    whole = [item for page in pages_of(core, ada, ALL, 5) for item in page.items]
    assert len(whole) == len({one.id for one in whole}) == 16
    assert [one.at for one in whole] == sorted((one.at for one in whole), reverse=True)


def test_filters_narrow_what_is_told(
    core: Core, ada: Principal, admin: Principal, bob: Principal, remember: Callable[..., Memory], clock: StepClock
) -> None:
    tea = remember(ada, "Ada drinks tea.")
    remember(bob, "Bob drinks milk.")
    clock.advance(timedelta(days=1))
    ask(core, replace(ada, agent="coder"), "tea")
    core.retention.delete(ada, tea.id)

    def kinds(**wanted: object) -> list[str]:
        return sorted(one.what for one in core.activity.page(admin, ActivityFilter(**wanted)).items)  # type: ignore[arg-type]

    assert kinds(what="recalled") == ["recalled"]
    assert kinds(what="changes") == ["created", "created", "deleted"]
    assert kinds(what="deleted") == ["deleted"]
    assert kinds(who="bob") == ["created"]
    assert kinds(who="coder") == ["recalled"]
    assert kinds(since=clock.now() - timedelta(hours=1)) == ["deleted", "recalled"]
    with pytest.raises(InvalidCursor):
        core.activity.page(admin, ALL, cursor="nonsense")


def test_who_follows_is_told_each_thing_once(
    core: Core, ada: Principal, remember: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(ada, "Ada drinks tea.")
    position = core.activity.page(ada, ALL).position
    assert core.activity.news(ada, ALL, position).items == ()
    remember(ada, "Ada drinks milk.")
    ask(core, ada, "milk")
    news = core.activity.news(ada, ALL, position)
    assert sorted(told(news.items)) == [("created", "Ada drinks milk."), ("recalled", "milk")]
    again = core.activity.news(ada, ALL, news.position, {one.id for one in news.items})
    assert (again.items, again.is_cut) == ((), False)
    assert core.activity.news(ada, ActivityFilter("deleted"), position).items == ()
    monkeypatch.setattr(activity, "_NEWS", 1)
    cut = core.activity.news(ada, ALL, position)
    assert (cut.items, cut.is_cut, cut.position.feed) == ((), True, news.position.feed)


def test_texts_that_are_gone_are_not_told(core: Core, ada: Principal) -> None:
    reader = replace(ada, role=Role.READER)
    (one,) = core.memories.remember(ada, [Draft("Ada smokes.")])
    core.retention.delete(ada, one.memory.id)
    assert [item.memory for item in core.activity.page(reader, ALL).items] == [None, None]
    core.erasure.erase(ada, [one.memory.id])
    (erased,) = core.activity.page(ada, ALL).items
    assert (erased.what, erased.memory) == ("erased", None)

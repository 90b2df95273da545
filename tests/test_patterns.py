"""A regular expression holds up the whole server while it runs: none takes long on any text that the code lets in."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from memorist import Draft, Memorist
from memorist.surfaces.library import Handle
from memorist.testing import new_tenant
from tests.support.patterns import HostileText, UsedPattern, hostile_texts, patterns_of_package

# What only sees texts that are short, or our own.
_BOUNDED = {
    "memorist.about.names._BEGINS": "the hundred characters before a word",
    "memorist.addresses.without_password()": "our own settings, and errors that quote them",
    "memorist.facts.plain.changes._CLAIMS": "all of a fact of 2,000 characters at most, never searched for",
    "memorist.facts.plain.changes._said()": "the same, where they are made",
    "memorist.learning.extractors.rules.work.WORK": "the beginning of a clause of a sentence, never searched for",
    "memorist.learning.extractors.statements._QUESTION_AFTER": "a sentence of 500 characters at most",
    "memorist.store.postgres._partition()": "statements of our own",
    "memorist.store.postgres._WORKER_IS_GONE": "errors of a database",
    "memorist.store.statements._TENANT_INSERT": "statements of our own",
    "memorist.surfaces.dashboard.rendering._TAGS_AND_TEXTS": "our own pages, in which what others wrote is escaped",
    "memorist.words._OTHER_ENDINGS": "a word of 64 characters at most",
}

_SIZE = 3000
_SHARE = 4
# Of what grows with the square the larger text takes 16 times as long, of others 4 times.
_TOO_MUCH = 8
# What takes less is not worth a closer look.
_QUICK_S = 0.0004
_ENDLESS_S = 5.0


class _Endless(Exception):
    pass


@contextmanager
def ended_after(seconds: float) -> Iterator[None]:
    """Stop what runs here once it took so much time of the processor; patterns look for signals as they go."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _Endless

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def growth(one: UsedPattern, text: HostileText, size: int, times: int) -> float:
    """How many times as long as a share of a text all of it takes, by the least of so many tries; 0 where that is not
    worth a look.
    """
    large = min(_seconds(one, text.of(size)) for _ in range(times))
    return 0 if large < _QUICK_S else large / min(_seconds(one, text.of(size // _SHARE)) for _ in range(times))


def _seconds(one: UsedPattern, text: str) -> float:
    began = time.thread_time()
    one.try_on(text)
    return time.thread_time() - began


def grows_too_fast(one: UsedPattern, text: HostileText) -> bool:
    try:
        with ended_after(_ENDLESS_S):
            # The longest text tells what has a limit from what has none.
            sizes = ((_SIZE, 1), (_SIZE, 3), (_SIZE * _SHARE, 2))
            return all(growth(one, text, size, times) > _TOO_MUCH for size, times in sizes)
    except _Endless:
        return True


def test_no_pattern_takes_more_than_its_share_of_a_longer_text() -> None:
    slow = []
    for one in patterns_of_package():
        if one.where not in _BOUNDED:
            found = next((text for text in hostile_texts(one.pattern) if grows_too_fast(one, text)), None)
            if found is not None:
                slow.append(f"{one.where} ({one.way}): {found!r}")
    assert slow == []


def test_exceptions_are_still_there() -> None:
    assert _BOUNDED.keys() <= {one.where for one in patterns_of_package()}


# Where texts come in

_LONG = 100_000
# Each of these took minutes or hours of the processor; what is left is storing the text.
_MOST_S = 20.0


@pytest.fixture
def ada(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Handle]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("MEMORIST_EMBEDDER", "off")
    with Memorist.open(f"sqlite:///{tmp_path / 'memorist.db'}") as opened:
        yield opened.user("ada", tenant=new_tenant())


@pytest.mark.parametrize(
    "text",
    ["#" + " " * _LONG + "#", "User: " + "." * _LONG + "a", "User: " + "thanks a " * (_LONG // 9)],
    ids=["heading", "dots", "thanks"],
)
def test_long_text_is_read_for_memories_at_once(ada: Handle, text: str) -> None:
    with ended_after(_MOST_S):
        assert ada.extract(text, session="s1").messages == 1


@pytest.mark.parametrize(
    "text",
    [
        "Ab" * (_LONG // 2),
        "we met " + "Ab Cd " * (_LONG // 6),
        " ".join(f"we met Anna{n:x}n there" for n in range(5000)),
    ],
    ids=["word", "name", "prose"],
)
def test_long_facts_are_told_of_at_once(ada: Handle, text: str) -> None:
    ada.remember_all([Draft(text), Draft(f"{text} and tea")])
    with ended_after(_MOST_S):
        assert ada.about().people[0].facts == 2

"""Facts that sound like a change, and both hold: neither the words nor the model retire the older one."""

import pytest

from memorist.facts.plain.changes import change_of
from memorist.facts.values import Ruling
from tests.facts.judges import local_judge
from tests.facts.test_choices import ENDING
from tests.facts.test_judging import fact

USED_BESIDE_WHAT_IS_PREFERRED = [
    ("User prefers tea over coffee.", "User needs coffee."),
    ("User prefers tea over coffee.", "User wants coffee."),
    ("User prefers tea over coffee.", "User uses coffee."),
    ("User prefers Python over Java.", "User uses Java."),
    ("User prefers Vim over Emacs.", "User asked for Emacs."),
    ("User prefers listening to podcasts.", "User prefers podcasts."),
    ("User prefers talking to Anna.", "User needs Anna."),
    ("User prefers flying to Berlin.", "User chose Berlin."),
    ("User would like a roof over the terrace.", "User wants the terrace."),
]

TWO_DENIALS = [
    ("User is not married.", "User is not divorced."),
    ("User is not single.", "User is not married."),
    ("User is no longer single.", "User is no longer married."),
    ("User's first language is not English.", "User's first language is not German."),
    ("User's job is not remote.", "User's job is not hybrid."),
    ("User wants replies not in English.", "User wants replies not in German."),
]

ONE_OF_SEVERAL_THINGS = [
    ("User can write German.", "User can write French."),
    ("User can write emails in English.", "User can write emails in German."),
    ("We write reports in English.", "We write reports in German."),
    ("User wants to learn to write Chinese.", "User wants to learn to write Japanese."),
    ("User wants to write a short story.", "User wants to write a long story."),
    ("User uses Slack for communication.", "User uses email for communication."),
    ("User uses Slack for notifications.", "User uses email for notifications."),
    ("User uses German documentation.", "User uses English documentation."),
    ("User needs the contract translated into German.", "User needs the contract translated into French."),
    ("User asked for a short summary.", "User asked for a detailed summary."),
    ("User wants weekly billing reports.", "User wants monthly billing reports."),
    ("User wants to run 10 km in a race.", "User wants to run 10 miles in a race."),
    ("User wants a single room with quotes.", "User wants a double room with quotes."),
    ("User is learning a language: German.", "User is learning a language: French."),
    ("Switzerland's official language is German.", "Switzerland's official language is French."),
]

SEVERAL_AT_ONCE = [
    ("User's current medications are Aspirin.", "User's current medications are Ibuprofen."),
    ("User's current medication is Aspirin.", "User's current medication is Ibuprofen."),
    ("The company's main competitors are Globex.", "The company's main competitors are Initech."),
    ("User's preferred brands are Nike.", "User's preferred brands are Adidas."),
    ("The app's current languages are English.", "The app's current languages are Polish."),
    ("The main characters are Ada.", "The main characters are Tom."),
    ("The official documents are Passport.", "The official documents are Visa."),
]

TOLD_OF_OTHER_CASES = [
    ("The rate limit is 100 on staging.", "The rate limit is 500 on production."),
    ("The timeout is 30 on staging.", "The timeout is 60 on production."),
    ("The default region is Frankfurt on staging.", "The default region is Dublin on production."),
    ("The server listens on port 8080 on staging.", "The server listens on port 9090 on production."),
    ("User's handle is @ada on GitHub.", "User's handle is @lovelace on Mastodon."),
    ("User's username is Ada99 on GitHub.", "User's username is Lovelace on Reddit."),
    ("The fee is $5 before noon.", "The fee is $10 after noon."),
    ("The price is $5, small.", "The price is $9, large."),
    ("User's provider is Aetna for health.", "User's provider is Comcast for internet."),
]

OTHER_WORDS = [
    ("User likes plans.", "User hates planes."),
    ("User likes cars.", "User does not like cares."),
    ("User likes stars.", "User hates stares."),
    ("User likes wines.", "User hates wins."),
    ("User has no glasses.", "User has a glass."),
    ("User likes Claire.", "User dislikes Clair."),
    ("User knows Anne.", "User does not know Ann."),
]

NOTHING_DENIED = [
    ("No, the user likes tea.", "The user likes tea."),
    ("User's favourite song is Never Enough.", "User's favourite song is Enough."),
    ("User's song is Never Enough.", "User's song is Enough."),
    ("User asked if it is not cold.", "User asked if it is cold."),
]

OF_SOME_ONE = [
    ("A server is on.", "A server is off."),
    ("An account is enabled.", "An account is disabled."),
    ("A user wants invoices in euros.", "A user wants invoices in dollars."),
]

BOTH_HOLD = [
    *USED_BESIDE_WHAT_IS_PREFERRED,
    *TWO_DENIALS,
    *ONE_OF_SEVERAL_THINGS,
    *SEVERAL_AT_ONCE,
    *TOLD_OF_OTHER_CASES,
    *OTHER_WORDS,
    *NOTHING_DENIED,
    *OF_SOME_ONE,
]


@pytest.mark.parametrize(("older", "newer"), BOTH_HOLD)
def test_facts_that_both_hold_are_not_retired(older: str, newer: str) -> None:
    for one, other in ((older, newer), (newer, older)):
        assert change_of(one, other) not in ENDING
        assert local_judge().judge([(fact(other), fact(one))])[0].ruling is not Ruling.CONTRADICTS


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The needs-review label is red.", "The needs-review label is blue."),
        ("The app re-uses the parser.", "The app re-uses the lexer."),
        ("Ada prefers/uses Vim.", "Ada prefers/uses Emacs."),
        ("Ada'd prefer tea.", "Ada'd prefer coffee."),
    ],
)
def test_verbs_within_other_words_choose_nothing(older: str, newer: str) -> None:
    assert change_of(older, newer) is None

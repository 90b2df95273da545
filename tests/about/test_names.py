"""Whom and what a text names."""

import pytest

from memorist.about.names import Named, names, names_in


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("User lives in Lisbon.", [("Lisbon", None)]),
        ("User met Ursula von der Leyen in Brussels.", [("Ursula", None), ("Leyen", None), ("Brussels", None)]),
        ("User's sister Mia lives in Porto.", [("Mia", "sister"), ("Porto", None)]),
        ("User has a dog named Rex.", [("Rex", "dog")]),
        ("User's cat is called Minka.", [("Minka", "cat")]),
        ("User's wife's name is Anna.", [("Anna", "wife")]),
        ("User met Tom's brother Paul.", [("Paul", "Tom's brother"), ("Tom", None)]),
        ("User works with colleague Eva Lindt, at IBM.", [("Eva Lindt", "colleague"), ("IBM", None)]),
        ("User studies at the University of Porto.", [("University of Porto", None)]),
        ("User likes Mia's cooking and Tom's jokes.", [("Mia", None), ("Tom", None)]),
        ("User saw her sister Mia Monday morning.", [("Mia", "sister")]),
        ("User visited New York, Paris and Rome.", [("New York", None), ("Paris", None), ("Rome", None)]),
        ('User plays "Xenoblade Chronicles", Rex watches.', [("Xenoblade Chronicles", None), ("Rex", None)]),
        ('User wrote "Representation of Women in Film."', [("Representation of Women in Film", None)]),
        ('User often says "Oh well, Tom".', []),
        ('To "We got this!", User said: "Hello".', []),
        # Any word is capitalised at the beginning of a sentence, or of what somebody says.
        ("Running helps. Sleep too! Why not?", []),
        ('Asked "Where to?", User said: Home again.', []),
        ("User will be away on Monday in March, I'm sure.", []),
        ("User repairs bicycles on Mondays.", []),
        ("User REALLY loves it.", []),
        ("Asked for it, User said Yeah, Here's one from last Fri.", []),
        ("Nutzer hat eine Wohnung mit Balkon und Garten.", []),
        ("Nutzer hat eine Schwester Mia, und sie ist Lehrerin.", [("Mia", "Schwester")]),
        ("User: Meine Freundin Lea hat am 3. März Geburtstag.", [("Lea", "Freundin")]),
        ("Mein Bruder Kai wohnt im Zentrum, bei der Oper.", [("Kai", "Bruder")]),
        ("", []),
    ],
)
def test_names_are_found_and_nothing_else(text: str, expected: list[tuple[str, str | None]]) -> None:
    assert names_in(text) == [Named(*one) for one in expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada likes tea.", ["Ada"]),
        ("Ada Berg really likes tea.", ["Ada Berg"]),
        ("It rained. José lives by the sea.", ["José"]),
        ("- Tom plays chess\n- Anna-Lena was born in 1990", ["Tom", "Anna-Lena"]),
        ("Ada's birthday is soon.", ["Ada"]),
        ("Mia wohnt am Hafen und mag das Meer.", ["Mia"]),
        ("User likes tea. Nobody knows. Who likes it?", []),
        ("Everyone loves it. Customers said no. Management wants more.", []),
        ("Mother likes tea. Nutzer wohnt am Hafen, und das ist nicht weit.", []),
        ("Code works in production. Running helps. Coffee keeps one awake.", []),
        ("Today's wedding was long. Likes tea, hates coffee.", []),
        ("API wants a key. NOBODY likes it.", []),
    ],
)
def test_who_does_what_people_do_may_begin_a_sentence(text: str, expected: list[str]) -> None:
    assert [one.name for one in names_in(text) if one.is_guess] == expected


def test_word_before_a_name_is_no_part_of_it() -> None:
    assert names_in("Yesterday Bob met Ann. Luckily Eva told Tom.") == [
        Named(one) for one in ("Bob", "Ann", "Eva", "Tom")
    ]


@pytest.mark.parametrize(
    "text", ["Never eats meat.", "Recently moved to it.", "Ich mag es.", "Elle aime cela.", "Everything plays well."]
)
def test_word_that_begins_a_sentence_is_nobody(text: str) -> None:
    assert names_in(text) == []


def test_blank_lines_without_end_are_read_at_once() -> None:
    # Quadratic in them, this would take minutes.
    assert names_in("tea" + "\n" * 200_000 + "Ada likes tea.") == [Named("Ada", is_guess=True)]


def test_the_one_told_of_is_not_mentioned() -> None:
    assert names_in("Last week Caroline met Mel.", "Caroline") == [Named("Mel")]


def test_each_name_is_found_once() -> None:
    assert names_in("User took Rex to the vet, and then Rex to the park.") == [Named("Rex")]


@pytest.mark.parametrize(
    ("text", "is_there"),
    [("Mia's dog", True), ("with mia", True), ("Miami", False), ("Mia-Sophie", True), ("nobody", False)],
)
def test_a_name_is_whole_words(text: str, is_there: bool) -> None:
    assert names(text, "Mia") is is_there

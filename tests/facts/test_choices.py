"""Which choices, denials and compound facts take the place of older ones, and which stand beside them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.facts.judges import HEEDS, ruling_of
from memorist.facts.plain.changes import change_of
from memorist.facts.plain.values import ValueChange
from memorist.facts.values import Ruling
from memorist.models.values import RULINGS
from tests.facts.judges import local_judge
from tests.facts.test_judging import fact

ENDING = (ValueChange.ANOTHER, ValueChange.DENIED, ValueChange.RESTATED)

CHOSEN_OTHERWISE = [
    ("User prefers metric units.", "User prefers imperial units."),
    ("User wants temperatures in Celsius.", "The user now wants temperatures in degrees Fahrenheit."),
    ("User wants dark mode.", "User wants light mode."),
    ("User prefers dark mode.", "User switched to light mode."),
    ("The customer prefers dark mode.", "The customer prefers light mode."),
    ("User prefers tabs.", "User prefers spaces."),
    ("User prefers tabs in Go.", "User prefers spaces in Go."),
    ("The user prefers a 24-hour clock.", "User would like the 12h clock."),
    ("User prefers window seats.", "User prefers aisle seats."),
    ("Notifications are on.", "Notifications are off."),
    ("The flag beta is off in prod.", "The flag beta is on in prod."),
    ("Reminders are enabled.", "Reminders are now disabled."),
    ("User wants brief answers.", "User wants detailed answers."),
    ("User wants short, formal answers.", "User wants long, casual answers."),
    ("User wants replies in English.", "User wants replies in German."),
    ("Always answer in English.", "Answer in German."),
    ("User's preferred language is English.", "User's preferred language is German."),
    ("User wants prices in euros.", "User wants prices in dollars."),
    ("User wants to be contacted by e-mail.", "User wants to be contacted by phone."),
    ("User is single.", "User is married."),
    ("The repository is private.", "The repository is public."),
    ("User prefers tea over coffee.", "User prefers coffee over tea."),
    ("User prefers tea to coffee.", "User prefers coffee to tea."),
    ("User prefers tabs over spaces.", "User prefers spaces."),
]

DENIED = [
    ("The user likes dark mode.", "The user dislikes dark mode."),
    ("User likes coriander.", "User doesn’t like coriander anymore."),
    ("User wants reminders.", "User does not want reminders."),
    ("User eats meat.", "User no longer eats meat."),
    ("User never drinks coffee.", "User drinks coffee again."),
    ("User smokes.", "User stopped smoking."),
    ("User runs.", "User gave up running."),
    ("User is vegetarian.", "User is no longer vegetarian."),
    ("User has a landline.", "User does not have a landline."),
    ("The flat has no balcony.", "The flat has a balcony."),
    ("User can drive.", "User cannot drive."),
    ("The user lives in Rome.", "The user no longer lives in Rome."),
]

OTHER_VALUES = [
    ("User uses a dark theme in the editor.", "User uses a light theme in the editor."),
    ("The project uses PostgreSQL.", "The project switched from PostgreSQL to MySQL."),
    ("User uses Java.", "User uses Python instead of Java."),
    ("The customer's plan is Pro.", "The customer's plan is Enterprise."),
    ("The customer is on the free plan.", "The customer upgraded to the Pro plan."),
    ("The team's subscription is Basic.", "The team's subscription is now Premium."),
    ("User's salary is $92,000.", "User's salary is $104,000."),
    ("User lives in Austin, Texas.", "User lives in Denver, Colorado."),
    ("User's seat is 14C.", "User's seat is 22A."),
    ("The main database is MongoDB.", "The main database is PostgreSQL."),
    ("The customer lives in Rome.", "The customer moved from Rome to Oslo."),
]

COMPOUND = [
    ("User prefers metric units and dark mode.", "User prefers imperial units and light mode."),
    ("User prefers metric units and dark mode.", "User prefers light mode and imperial units."),
    ("User prefers metric units and dark mode.", "User prefers metric units and light mode."),
    ("User prefers metric units.", "User prefers imperial units and light mode."),
    ("User wants short answers, dark mode and tabs.", "User wants long answers, light mode and spaces."),
    ("User prefers metric units and wants dark mode.", "User prefers imperial units and wants light mode."),
    ("User lives in Rome and works at Acme.", "User lives in Oslo and works at Globex."),
    ("User likes tea and dislikes coffee.", "User dislikes tea and likes coffee."),
    ("User wants replies in English and German.", "User wants replies in French."),
]

ABROAD = [
    ("El usuario vive en Madrid.", "El usuario vive en Sevilla."),
    ("La usuaria vive en Lima.", "La usuaria se mudó a Bogotá."),
    ("Der Benutzer wohnt in Hamburg.", "Der Benutzer wohnt jetzt in München."),
    ("Anna lebt in Wien.", "Anna ist nach Graz gezogen."),
    ("L'utilisateur habite à Paris.", "L'utilisateur habite à Lyon depuis mai."),
    ("Marie vit à Nantes.", "Marie a déménagé à Bordeaux."),
    ("User: Ich wohne in Köln.", "User: Ich bin letzte Woche nach Hamburg gezogen."),
    ("User: Vivo en Madrid.", "User: Me mudé a Sevilla."),
    ("User: Vivo a Bologna.", "User: Mi sono trasferita a Palermo."),
    ("User: Moro em Lisboa.", "User: Me mudei para Porto."),
    ("User: Ik woon in Amsterdam.", "User: Ik ben vorige maand naar Rotterdam verhuisd."),
]

BESIDE = [
    ("User likes tea.", "User likes coffee."),
    ("User prefers tea in the morning.", "User prefers coffee in the evening."),
    ("User prefers dark mode in the editor.", "User prefers light mode on the phone."),
    ("User prefers dark mode.", "User prefers light mode on the phone."),
    ("User prefers dark mode.", "User wants light mode for today."),
    ("User prefers dark mode at night.", "User prefers light mode during the day."),
    ("User prefers dark chocolate.", "User prefers light chocolate."),
    ("User sometimes prefers dark mode.", "User sometimes prefers light mode."),
    ("User's friend prefers dark mode.", "User's friend prefers light mode."),
    ("User likes dark mode.", "User likes light mode."),
    ("User bought metric screws.", "User bought imperial screws."),
    ("User opens tabs.", "User opens spaces."),
    ("Ada's phone is on.", "Ada's laptop is off."),
    ("User speaks English.", "User speaks German."),
    ("User is learning English.", "User is learning German."),
    ("User wants replies in English.", "User wants the newsletter in German."),
    ("The documentation is in English.", "The documentation is in German."),
    ("User wants short answers about work.", "User wants long answers about history."),
    ("User prefers formal e-mails at work.", "User prefers casual e-mails with friends."),
    ("User has a script from Celsius to Fahrenheit.", "User has a script from Fahrenheit to Celsius."),
    ("User uses HTTP over TLS.", "User uses TLS."),
    ("User wants access to GitHub.", "User wants GitHub."),
    ("User uses Vim.", "User uses Emacs."),
    ("Some users like dark mode.", "Some users dislike dark mode."),
    ("User may come.", "User may not come."),
    ("User eats meat.", "User does not eat meat this week."),
    ("User drinks coffee.", "User does not drink coffee after noon."),
    ("User worked at Acme.", "User does not work at Acme."),
    ("User does not like coffee.", "User does not like tea."),
    ("User's room is no. 5.", "User's room is 5."),
    ("Atlas's plan is Pro.", "Borealis's plan is Enterprise."),
    ("The plan of project Atlas is Pro.", "The plan of project Borealis is Enterprise."),
    ("The customer's plan is Pro.", "The customer's plan is expensive."),
    ("The plan is to move to Oslo.", "The plan is to stay in Rome."),
    ("User is on the Pro plan.", "User is on the keto plan."),
    ("A customer lives in Rome.", "A customer lives in Oslo."),
    ("User's budget is 500 euros.", "User's budget is tight."),
    ("User's height is 180 cm.", "User's height is 71 inches."),
    ("The rent is 1200 a month.", "The rent is 14400 a year."),
    ("User's main project is Atlas.", "User's main project is Borealis."),
    ("User's cat is Miso.", "User's cat is Luna."),
    ("User lives in Rome and likes tea.", "User lives in Rome and likes coffee."),
    ("User lives in Rome and Oslo.", "User lives in Rome."),
    ("Der Benutzer wohnt in München.", "Der Benutzer wohnt in Bayern."),
    ("Der Benutzer wohnt in Berlin.", "Der Benutzer wohnt in Miete."),
    ("Der Benutzer wohnt in Berlin.", "Der Benutzer wohnt auch in Rom."),
    ("El usuario vive en Sevilla.", "El usuario vive en España."),
    ("El usuario vive en Sevilla.", "El usuario vive en pareja."),
    ("La hermana del usuario vive en Madrid.", "La hermana del usuario vive en Lima."),
    ("L'utilisateur habite à Lyon.", "L'utilisateur habite en France."),
]

APART = [
    ("Der Benutzer wohnt jetzt in München.", "User prefers spaces."),
    ("User prefers spaces.", "Der Benutzer wohnt jetzt in München."),
    ("Der Benutzer mag Tee.", "El usuario vive ahora en Sevilla."),
    ("El usuario trabaja en Acme.", "L'utilisateur habite maintenant à Lyon."),
    ("User prefers metric units and dark mode.", "User works for Globex now."),
    ("The customer's plan is Pro.", "User works for Globex now."),
    ("User speaks French.", "User moved to Lisbon."),
]


@pytest.mark.parametrize(("older", "newer"), [*CHOSEN_OTHERWISE, *DENIED, *OTHER_VALUES, *COMPOUND, *ABROAD])
def test_what_holds_instead_retires_the_older_one(older: str, newer: str) -> None:
    assert local_judge().judge([(fact(newer), fact(older))])[0].ruling is Ruling.CONTRADICTS


@pytest.mark.parametrize(("older", "newer"), [*CHOSEN_OTHERWISE, *DENIED])
def test_so_it_is_the_other_way_round(older: str, newer: str) -> None:
    assert change_of(newer, older) in (ValueChange.ANOTHER, ValueChange.DENIED)


@pytest.mark.parametrize(("older", "newer"), BESIDE)
def test_what_stands_beside_each_other_is_not_retired(older: str, newer: str) -> None:
    for one, other in ((older, newer), (newer, older)):
        verdict = local_judge().judge([(fact(other), fact(one))])[0]
        assert verdict.ruling is not Ruling.CONTRADICTS, verdict
        assert change_of(one, other) not in ENDING


@pytest.mark.parametrize(("older", "newer"), APART)
def test_nobody_is_asked_about_facts_of_different_matters(older: str, newer: str) -> None:
    assert change_of(older, newer) is ValueChange.APART
    assert local_judge().judge([(fact(newer), fact(older))])[0].ruling is Ruling.UNRELATED


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User wants to leave Acme.", "User works for Globex now."),
        ("User likes living in Rome.", "User moved to Oslo."),
        ("User works at Acme.", "User joined Globex."),
        ("User likes tea.", "User prefers coffee."),
    ],
)
def test_what_may_be_of_one_matter_is_compared(older: str, newer: str) -> None:
    assert change_of(older, newer) is not ValueChange.APART


def test_somebody_is_asked_about_a_fact_of_which_a_part_changed() -> None:
    older, newer = "User prefers metric units and dark mode.", "User prefers light mode."
    assert change_of(older, newer) is ValueChange.PART
    verdict = local_judge().judge([(fact(newer), fact(older))])[0]
    assert (verdict.ruling, verdict.reason) == (Ruling.UNSURE, "A part of it may have changed.")


def test_a_denial_that_the_model_does_not_see_is_in_doubt() -> None:
    older, newer = "User can't stand jazz.", "User loves jazz."
    assert change_of(older, newer) is ValueChange.DENIED
    assert local_judge().judge([(fact(newer), fact(older))])[0].ruling is Ruling.UNSURE


@pytest.mark.parametrize(("certain", "ruling"), [(HEEDS, Ruling.CONTRADICTS), (HEEDS - 0.01, Ruling.UNSURE)])
def test_how_certain_the_model_must_be_of_a_denial(certain: float, ruling: Ruling) -> None:
    likely = {**dict.fromkeys(RULINGS, 0.0), "contradicts": certain}
    assert ruling_of(likely, ValueChange.DENIED).ruling is ruling


@pytest.mark.parametrize(
    ("change", "ruling"),
    [
        (ValueChange.RESTATED, Ruling.CONTRADICTS),
        (ValueChange.PART, Ruling.UNSURE),
        (ValueChange.APART, Ruling.UNRELATED),
    ],
)
def test_what_the_words_say_holds_whatever_the_model_says(change: ValueChange, ruling: Ruling) -> None:
    for certain in (0.0, 1.0):
        likely = {**dict.fromkeys(RULINGS, 0.0), "contradicts": certain}
        assert ruling_of(likely, change).ruling is ruling


_SOME = (
    "User user's prefers wants likes not no longer never stopped smoking dark light mode and , ; . lives in Rome plan "
    "is on Pro over to switched from tabs spaces now moved wohnt ist nach gezogen are 1,200 's main default "
    "needs-review re-uses prefers/uses user'd prefer uses.py wants: 'd like instead of No, if Never"
)


@settings(max_examples=300, deadline=None)
@given(*[st.lists(st.sampled_from(_SOME.split()), max_size=9).map(" ".join)] * 2)
def test_any_words_are_compared(older: str, newer: str) -> None:
    assert change_of(older, newer) in (None, *ValueChange)
    assert change_of(older, older) not in (*ENDING, ValueChange.APART)

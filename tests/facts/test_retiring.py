"""Which facts a newer one retires at once, and which it leaves alone or in doubt. With the real model."""

import pytest

from memorist.facts.judges import AGREES, DOUBTS, STRANGERS, ruling_of
from memorist.facts.plain.changes import change_of
from memorist.facts.plain.values import ValueChange
from memorist.facts.values import Ruling
from memorist.models.values import RULINGS
from tests.facts.judges import local_judge
from tests.facts.test_judging import fact

RETIRED = [
    ("User lives in Rome.", "User lives in Oslo."),
    ("User lives in Rome.", "User moved to Oslo last spring."),
    ("Anna lives in Leeds.", "Anna has relocated to Bergen."),
    ("Anna lives in Rome.", "Anna now lives in Varese."),
    ("User works at Acme.", "User works at International Paper."),
    ("User's time zone is CET.", "User's time zone is UTC+2."),
    ("Service A listens on port 8080.", "Service A listens on port 9090."),
    ("Anna lives in Spain.", "Anna lives in Norway."),
    ("Tom is based in Kyoto.", "Tom moved to The Hague."),
    ("User works at Acme.", "User works at Globex now."),
    ("User works for Acme.", "User works for Globex."),
    ("Ben works at Acme.", "Ben joined Globex as a data engineer."),
    ("Eva's employer is Initech.", "Eva's employer is Globex."),
    ("User's name is Sam.", "User's name is Alex."),
    ("User goes by Al.", "User goes by Bo."),
    ("User's manager is Tom.", "User's manager is Priya Raman."),
    ("Ben's boss is Eva.", "Ben's boss is Tom Keller since March."),
    ("User's landlord is Weber.", "User's landlord is Novak."),
    ("User's dentist is Kim.", "User's dentist is Okafor."),
    ("User was born in Kiel.", "User was born in Lübeck."),
    ("User was born in 1990.", "User was born in 1991."),
    ("Mia was born on May 3.", "Mia was born on May 5."),
    ("Mia's birthday is June 3.", "Mia's birthday is June 13."),
    ("Ada is married to Tom.", "Ada is married to Max."),
    ("The API listens on port 8080.", "The API listens on port 9090."),
    ("The report is due on Friday.", "The report is due on Monday."),
    ("The thesis deadline is May 30.", "The thesis deadline is September 15."),
    ("The plugin's version is 2.1.", "The plugin's version is 3.0."),
    ("User's e-mail is ada@old.example.", "User's e-mail is ada@new.example."),
    ("User weighs 84 kg.", "User weighs 79 kg."),
    ("Ada's favourite author is Ursula Le Guin.", "Ada's favourite author is Ted Chiang."),
    ("Ada's favorite color is red.", "Ada's favorite color is blue."),
]

KEPT = [
    ("User works at Acme.", "User joined a gym."),
    ("User works at Acme.", "User joined a book club last week."),
    ("User works at Acme.", "User joined Rotary."),
    ("User works at Acme.", "User works at night."),
    ("User works at Acme.", "User works for Tom."),
    ("User works for Acme.", "User works for Globex on Saturdays."),
    ("Ben works for Acme.", "Ben also works for Globex."),
    ("Ben works at Acme.", "Ben works at Globex as well."),
    ("Eva works at a bank.", "Eva works at a bakery on weekends."),
    ("Eva works as a nurse.", "Eva works as a volunteer firefighter."),
    ("Eva works as a nurse.", "Eva works as a baker at weekends."),
    ("Eva's job is a calling.", "Eva's job is stressful."),
    ("User lives in Rome.", "User moved to the sales team."),
    ("User lives in Rome.", "User moved to Marketing."),
    ("User lives in Rome.", "User moved to Vim."),
    ("User lives in Rome.", "User moved to Python 3.12."),
    ("User lives in Rome.", "User moved to Oslo in 2009."),
    ("User lives in Rome.", "User lives in Italy."),
    ("User lives in Rome.", "User lives in fear."),
    ("User lives in Rome.", "User lives in a small flat."),
    ("User lives in Rome.", "User lives in Oslo in winter."),
    ("Anna lives in Rome.", "Anna moved to first grade."),
    ("User's friend lives in Rome.", "User's friend lives in Oslo."),
    ("User would like to live in Rome.", "User would like to live in Oslo."),
    ("User's manager is Tom.", "User's manager is sick."),
    ("User's manager is Tom.", "User's manager is very strict."),
    ("User's boss is Eva.", "User's boss is great."),
    ("User's boss is Eva.", "User's boss is German."),
    ("User's boss is Eva.", "User's boss is German today."),
    ("User's boss is Eva.", "User's boss is On Vacation."),
    ("User was born in Kiel.", "User was born in Germany."),
    ("User does not work at Acme.", "User does not work at Globex."),
    ("User applied to work at Acme.", "User applied to work at Globex."),
    ("User's landlord is Weber.", "User's landlord is friendly."),
    ("User's doctor is Lee.", "User's doctor is on holiday."),
    ("User's dentist is May.", "User's dentist is near the station."),
    ("User was born in Kiel.", "User was born in 1990."),
    ("User was born in Kiel.", "User was born in May."),
    ("User was born on May 3.", "User was born in Kiel."),
    ("User was born on May 3.", "User was born in 1990."),
    ("User's first name is Ada.", "User's last name is Byron."),
    ("User goes by Al.", "User goes by bike."),
    ("Mia's birthday is June 3.", "Mia's birthday is in 3 days."),
    ("Mia's birthday is June 3.", "Mia's birthday is 3 June."),
    ("Ada is married to Tom.", "Ada is married to her job."),
    ("The deadline is May 30.", "The deadline is tight."),
    ("The plugin's version is 2.1.", "The plugin's version is outdated."),
    ("User's e-mail is ada@old.example.", "User's e-mail is full."),
    ("User's phone is an iPhone.", "User's phone is broken."),
    ("User's address is 4 Mill Lane.", "User's address is secret."),
    ("User weighs 84 kg.", "User weighs himself daily."),
    ("Ada's favorite film is Alien.", "Ada's favorite film is old."),
]


@pytest.mark.parametrize(("older", "newer"), RETIRED)
def test_another_value_of_the_same_kind_retires_the_older_one(older: str, newer: str) -> None:
    assert local_judge().judge([(fact(newer), fact(older))])[0].ruling is Ruling.CONTRADICTS


@pytest.mark.parametrize(("older", "newer"), KEPT)
def test_what_only_begins_alike_stays_or_is_in_doubt(older: str, newer: str) -> None:
    verdict = local_judge().judge([(fact(newer), fact(older))])[0]
    assert verdict.ruling in (Ruling.UNRELATED, Ruling.UNSURE), verdict


@pytest.mark.parametrize(
    ("older", "newer", "change"),
    [
        ("User works at Acme.", "User joined Globex.", ValueChange.LIKELY),
        ("User works at a bank.", "User works at a school.", ValueChange.LIKELY),
        ("User works as a nurse.", "User works as a teacher.", ValueChange.LIKELY),
        ("User's sister lives in Rome.", "User's sister moved to Oslo.", ValueChange.UNCERTAIN),
        ("User lives in Spain.", "User lives in Valencia.", ValueChange.UNCERTAIN),
    ],
)
def test_somebody_is_asked_about_what_the_words_leave_open(older: str, newer: str, change: ValueChange) -> None:
    assert change_of(older, newer) is change
    assert local_judge().judge([(fact(newer), fact(older))])[0].ruling is Ruling.UNSURE


@pytest.mark.parametrize(
    ("change", "certain", "ruling"),
    [
        (ValueChange.ANOTHER, 0.0, Ruling.CONTRADICTS),
        (ValueChange.LIKELY, 0.0, Ruling.UNSURE),
        (ValueChange.LIKELY, AGREES, Ruling.CONTRADICTS),
        (ValueChange.UNCERTAIN, 1.0, Ruling.UNSURE),
        (ValueChange.BESIDE, 1.0, Ruling.UNSURE),
        (ValueChange.BESIDE, DOUBTS - 0.01, Ruling.UNRELATED),
        (ValueChange.ONE_OF_MANY, 1.0, Ruling.UNRELATED),
    ],
)
def test_words_and_model_decide_together(change: ValueChange, certain: float, ruling: Ruling) -> None:
    likely = {**dict.fromkeys(RULINGS, 0.0), "contradicts": certain}
    assert ruling_of(likely, change).ruling is ruling


def test_what_is_said_of_something_else_is_neither_merged_nor_asked_about() -> None:
    alike = {**dict.fromkeys(RULINGS, 0.0), "refines": 1.0}
    assert ruling_of(alike, ValueChange.BESIDE).ruling is Ruling.UNRELATED
    certain = {**dict.fromkeys(RULINGS, 0.0), "contradicts": 1.0}
    assert ruling_of(certain, ValueChange.BESIDE, apart=STRANGERS + 0.01).ruling is Ruling.UNRELATED

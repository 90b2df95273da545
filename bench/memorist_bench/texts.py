"""Invented conversations and questions of any length and number, the same for the same seed."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

_START = datetime(2025, 1, 6, 9, tzinfo=UTC)


def _words(text: str) -> list[str]:
    return text.split()


_NAMES = _words(
    "Amara Bruno Celine Dario Elif Farid Greta Hiro Imani Jonas Katja Leila Mateo Nadia Oskar Priya Quentin Rosa "
    "Samir Tove Ugo Vera Wanda Xenia Yusuf Zora"
)
_PLACES = _words(
    "Aarhus Bergen Cádiz Dakar Essen Fukuoka Girona Hobart Izmir Jaipur Kampala Leipzig Medellín Nairobi Odense Porto "
    "Quito Riga Salta Tartu Ulm Valencia Wellington Yerevan Zadar"
)
_THINGS = _words(
    "kettle invoice trailer notebook camera database greenhouse violin backpack router contract bicycle telescope "
    "printer garden passport recipe boiler ladder microphone server spreadsheet tent kayak sofa dishwasher novel "
    "battery fence mortgage podcast compost generator aquarium drone lamp mattress oven piano quilt sculpture "
    "thermostat umbrella vaccine warranty xylophone yoghurt zip aerial blender curtain dashboard easel freezer"
)
_ACTIONS = _words(
    "repaired ordered cancelled returned painted measured borrowed sold cleaned forgot compared translated backed-up "
    "photographed assembled delivered insured renamed replaced scheduled shipped sketched tested upgraded washed "
    "weighed archived booked calibrated deployed"
)
_QUALITIES = _words(
    "blue broken cheap noisy heavy second-hand wooden waterproof overdue fragile spare rusty portable organic foldable "
    "expensive handmade silent leaky borrowed vintage solar shared"
)
_PEOPLE = _words("sister neighbour landlord dentist cousin colleague teacher accountant plumber flatmate doctor boss")
_TIMES = (
    "on Monday",
    "last weekend",
    "two days ago",
    "in the spring",
    "before lunch",
    "yesterday evening",
    "at the end of March",
    "next Thursday",
    "after the holidays",
    "three weeks ago",
    "this morning",
    "around noon",
)

_STATEMENTS = (
    "I {action} the {quality} {thing} {time}, and {name} from {place} helped me with it.",
    "My {person} in {place} {action} a {thing} {time}; it cost about {number} euros.",
    "The {thing} is {quality} again, so {name} wants to have it {action} {time}.",
    "Reference {code}: the {thing} for {place} was {action} {time} and still waits for the {thing2}.",
    "We agreed that {name} takes the {quality} {thing} to {place} {time}, before the {thing2} arrives.",
    "Between us, I would rather keep the {thing} than the {quality} {thing2} that {name} {action}.",
)
_REPLIES = (
    "Did {name} say anything about the {thing}?",
    "Yes, {time}, and for {number} euros less than the {thing2}.",
    "Noted: the {thing} goes to {place}. Should I remind your {person}?",
    "That sounds right. The {quality} one, not the {thing2}.",
)
_QUESTIONS = (
    "Who {action} the {quality} {thing}?",
    "What did {name} say about the {thing} in {place}?",
    "When was the {thing} for {place} {action}?",
    "How much did the {thing} of my {person} cost?",
    "Which {thing} did {name} want to have {action}?",
    "What is the reference of the {quality} {thing} and the {thing2}?",
)


@dataclass(frozen=True, slots=True)
class InventedTurn:
    role: str
    speaker: str
    text: str
    time: datetime


def conversation(seed: int, turns: int) -> list[InventedTurn]:
    """One session: two speakers in turns, some minutes apart."""
    random = Random(f"session {seed}")
    speakers = ("user", random.choice(_NAMES)), ("assistant", "Assistant")
    start = _START + timedelta(hours=7 * (seed % 1200))
    made = []
    for index in range(turns):
        role, speaker = speakers[index % 2]
        pattern = random.choice(_STATEMENTS if index % 2 == 0 else _REPLIES)
        made.append(InventedTurn(role, speaker, _filled(pattern, random), start + timedelta(minutes=2 * index)))
    return made


def questions(seed: int) -> Iterator[str]:
    """Questions without end, no two alike."""
    random = Random(f"questions {seed}")
    asked: set[str] = set()
    while True:
        question = _filled(random.choice(_QUESTIONS), random)
        if question not in asked:
            asked.add(question)
            yield question


def _filled(pattern: str, random: Random) -> str:
    return pattern.format(
        name=random.choice(_NAMES),
        place=random.choice(_PLACES),
        thing=random.choice(_THINGS),
        thing2=random.choice(_THINGS),
        action=random.choice(_ACTIONS),
        quality=random.choice(_QUALITIES),
        person=random.choice(_PEOPLE),
        time=random.choice(_TIMES),
        number=random.randrange(5, 2000),
        code=f"{random.choice('KLMNRST')}{random.randrange(10_000, 99_999)}",
    )

"""Plain pairs of facts from templates: another value of the same thing, the same thing denied, and what only looks so.

What people wrote for `pairs.json.xz` avoids the obvious; a judge must know that, too.
"""

import random
from collections.abc import Iterator

from memorist.models.comparer import RULINGS
from training.knowledge.data import Pair

_SUBJECTS = ("User", "The user", "Ada", "Tom", "Priya", "Kenji", "Olena", "Marcus", "Fatima", "I")
_CITIES = "Rome Paris Berlin Lisbon Oslo Madrid Tokyo Denver Leeds Porto Graz Lyon Osaka Quito Boston Nairobi".split()
_NAMES = "Sam Alex Mia Jonas Rex Max Biscuit Luna Milo Nina Omar Lena".split()
_COMPANIES = ("Acme", "Globex", "Initech", "Siemens", "a bakery", "the city library", "a start-up", "Umbrella Ltd")
_COLOURS = "blue green red yellow purple orange black white teal".split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_TOOLS = (
    ("Postgres", "MySQL", "SQLite", "MongoDB"),
    ("tabs", "spaces"),
    ("React", "Vue", "Svelte"),
    ("Slack", "Teams", "Discord"),
    ("pnpm", "yarn", "npm"),
    ("Python", "Go", "Rust", "Java"),
    ("dark mode", "light mode"),
    ("ruff", "flake8", "pylint"),
    ("metric units", "imperial units"),
    ("AWS", "Azure", "Hetzner"),
)
_LIKED = "tea coffee jazz techno hiking chess sushi pizza rain winter cats dogs running opera gardening poker".split()
_JOBS = "nurse teacher plumber lawyer baker pilot designer accountant librarian chemist carpenter".split()

# The first part of each line is the older fact; {a} and {b} are two values of the same thing.
_CHANGED = {
    "cities": (
        ("{s} lives in {a}.", "{s} lives in {b}."),
        ("{s} lives in {a}.", "{s} moved to {b} last month."),
        ("{s} is based in {a}.", "{s} now lives in {b}."),
        ("{s}'s office is in {a}.", "{s}'s office is in {b}."),
    ),
    "names": (
        ("{s}'s name is {a}.", "{s}'s name is {b}."),
        ("{s} wants to be called {a}.", "{s} wants to be called {b}."),
    ),
    "companies": (
        ("{s} works at {a}.", "{s} works at {b}."),
        ("{s} works at {a}.", "{s} left {a} and works at {b} now."),
        ("{s}'s employer is {a}.", "{s}'s employer is {b}."),
    ),
    "colours": (("{s}'s favourite colour is {a}.", "{s}'s favourite colour is {b}."),),
    "days": (
        ("{s}'s meeting is on {a}.", "{s}'s meeting is on {b}."),
        ("The release is on {a}.", "The release is on {b}."),
        ("{s} works out on {a}s.", "{s} works out on {b}s instead."),
    ),
    "tools": (
        ("{s} prefers {a}.", "{s} prefers {b}."),
        ("{s} prefers {a} over {b}.", "{s} prefers {b} over {a}."),
        ("The team decided to use {a}.", "The team decided to use {b} instead."),
        ("We use {a}.", "We switched from {a} to {b}."),
        ("The team decided to use {a} for the new service.", "The team decided to use {b} for the new service."),
        ("{s} uses {a} for everything.", "{s} uses {b} for everything."),
    ),
    "jobs": (("{s} is a {a}.", "{s} is a {b} now."), ("{s} works as a {a}.", "{s} works as a {b}.")),
    "numbers": (
        ("The API listens on port {a}.", "The API listens on port {b}."),
        ("{s} was born in {a}.", "{s} was born in {b}."),
        ("{s} weighs {a} kilos.", "{s} weighs {b} kilos."),
        ("The budget is {a} euros.", "The budget is {b} euros."),
        ("{s} has {a} children.", "{s} has {b} children."),
    ),
}
_BOTH = {
    "liked": (
        ("{s} likes {a}.", "{s} likes {b}."),
        ("{s} loves {a}.", "{s} also loves {b}."),
        ("{s} is fond of {a}.", "{s} has started to enjoy {b}."),
        ("{s} likes {a}.", "{s} dislikes {b}."),
        ("{s} tried {a}.", "{s} tried {b}."),
    ),
    "cities": (
        ("{s} visited {a}.", "{s} visited {b}."),
        ("{s} lives in {a}.", "{s} was born in {b}."),
        ("{s} lives in {a}.", "{s}'s brother lives in {b}."),
        ("{s} has been to {a}.", "{s} would like to see {b}."),
    ),
    "numbers": (
        ("{s} likes dish number {a}.", "{s} likes dish number {b}."),
        ("{s} read chapter {a}.", "{s} read chapter {b}."),
        ("Fact {a} of many.", "Fact {b} of many."),
        ("Ticket {a} is fixed.", "Ticket {b} is fixed."),
        ("{s} visited Rome in {a}.", "{s} visited Rome in {b}."),
        ("Note {a}: water the plants.", "Note {b}: call the bank."),
    ),
    "names": (("{s} has a sister called {a}.", "{s} has a brother called {b}."), ("{s} met {a}.", "{s} met {b}.")),
    "tools": (("{s} knows {a}.", "{s} knows {b}."), ("{s} has used {a}.", "{s} has used {b}.")),
    "days": (("{s} swims on {a}s.", "{s} plays chess on {b}s."),),
    "jobs": (("{s} is a {a}.", "{s}'s mother is a {b}."),),
}
# Each line: what is the same, and after the bar what ends it.
_OPPOSITES = """
{s} is vegetarian. = {s} does not eat meat. | {s} eats meat. | {s} had a steak for dinner and says meat is back for good.
{s} is vegan. = {s} eats nothing of animals. | {s} eats cheese and eggs. | {s} had fish and chips, the vegan years are over.
{s} likes tea. = {s} enjoys tea. | {s} hates tea. | {s} does not like tea any more.
{s} smokes. = {s} is a smoker. | {s} quit smoking. | {s} has not smoked for a year.
{s} drinks no alcohol. = {s} does not drink. | {s} has a glass of wine every evening.
{s} is single. = {s} has no partner. | {s} is married. | {s} got engaged.
{s} is married. = {s} has a spouse. | {s} is divorced. | {s} is single again.
{s} has a car. = {s} owns a car. | {s} sold the car. | {s} has no car.
{s} has a dog. = {s} owns a dog. | {s}'s dog died. | {s} has no pets.
{s} can swim. = {s} knows how to swim. | {s} cannot swim.
{s} speaks Spanish. = {s} can hold a conversation in Spanish. | {s} speaks no Spanish.
Deploying on Fridays is allowed. = We may deploy on Fridays. | Never deploy on Fridays. | Deploys on Fridays are forbidden.
Always answer in German. = Answers must be in German. | Never answer in German. | Answer in English from now on.
{s} wants short answers. = {s} asked for brief answers. | {s} wants long, detailed answers.
The feature is switched on. = The feature is enabled. | The feature is switched off.
The bug is fixed. = The bug has been resolved. | The bug is back. | The bug is still there.
{s} is allergic to nuts. = Nuts give {s} an allergic reaction. | {s} is not allergic to nuts.
{s} works from home. = {s} has a home office and works there. | {s} is back in the office five days a week.
{s} is unemployed. = {s} has no job. | {s} started a new job.
{s} rents a flat. = {s} is a tenant. | {s} bought the flat.
{s} goes to the gym every day. = {s} works out daily at the gym. | {s} never goes to the gym any more.
{s} trusts the doctor. = {s} has confidence in the doctor. | {s} no longer trusts the doctor.
The shop is open on Sundays. = On Sundays the shop is open. | The shop is closed on Sundays.
{s} is afraid of flying. = Flying scares {s}. | {s} is not afraid of flying any more.
{s} is a morning person. = {s} is at their best early in the day. | {s} is a night owl.
"""


def direct_pairs(seed: int = 3, each: int = 14) -> list[Pair]:
    """Pairs in an order of their own, the same whenever they are made."""
    order = random.Random(seed)
    found = [*_valued(order, each), *_opposed(order)]
    order.shuffle(found)
    return found


def _valued(order: random.Random, each: int) -> Iterator[Pair]:
    for label, tables in (("contradicts", _CHANGED), ("compatible", _BOTH)):
        for kind, templates in tables.items():
            for older, newer in templates:
                for _ in range(each):
                    a, b = _two(kind, order)
                    told = {"s": order.choice(_SUBJECTS), "a": a, "b": b}
                    yield _pair(older.format(**told), newer.format(**told), label)


def _two(kind: str, order: random.Random) -> tuple[object, object]:
    if kind == "numbers":
        low, high = order.choice(((1, 30), (1950, 2024), (3000, 9999)))
        first, second = order.sample(range(low, high), 2)
        return first, second
    values = {
        "cities": _CITIES,
        "names": _NAMES,
        "companies": _COMPANIES,
        "colours": _COLOURS,
        "days": _DAYS,
        "tools": order.choice(_TOOLS),
        "jobs": _JOBS,
        "liked": _LIKED,
    }[kind]
    first, second = order.sample(list(values), 2)
    return first, second


def _opposed(order: random.Random) -> Iterator[Pair]:
    for line in _OPPOSITES.strip().splitlines():
        both, *ended = line.split(" | ")
        one, other = both.split(" = ")
        for _ in range(6):
            subject = order.choice(_SUBJECTS)
            first, second = (text.format(s=subject) for text in order.sample((one, other), 2))
            yield _pair(first, second, "same")
            for end in ended:
                yield _pair(order.choice((one, other)).format(s=subject), end.format(s=subject), "contradicts")
            another = order.choice([name for name in _SUBJECTS[2:9] if name != subject])
            if "{s}" in one:
                yield _pair(one.format(s=subject), order.choice(ended).format(s=another), "compatible")


def _pair(older: str, newer: str, label: str) -> Pair:
    told = [_first_person(text) for text in (older, newer)]
    return Pair(told[0], told[1], RULINGS.index(label), source="direct")


def _first_person(text: str) -> str:
    """ "I lives" is nobody's English."""
    for wrong, right in (
        ("I's", "My"), ("I is ", "I'm "), ("I has ", "I have "), ("I does ", "I do "), ("I was born", "I was born"),
        (" I ", " me "),
    ):  # fmt: skip
        text = text.replace(wrong, right)
    words = text.split(" ")
    if words[0] == "I" and len(words) > 1 and words[1].endswith("s") and words[1] not in ("was", "is", "has"):
        words[1] = words[1].removesuffix("es") if words[1].endswith(("ches", "shes")) else words[1].removesuffix("s")
    return " ".join(words)

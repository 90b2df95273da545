"""Conversations of our own: people tell each other what happened, and questions are asked about it later.

The topics are in dialogues.txt. Much of what makes memories hard to find is made on purpose: the same thing happens to
both speakers, an answer that only makes sense after the question before it, things told in several places, and people
who mix up which of the two it was.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memorist.models.passages import spoken_date

TOPICS_FILE = Path(__file__).with_name("dialogues.txt")
SLOT = re.compile(r"{([a-zA-Z']+)(\d?)}")

NAMES = {
    "she": "Ada Mia Nora Elif Carla Joan Tess Wanda Aiko Ruth Lucy Bianca Hana Olga Petra Zoe Amara Freya Keiko Dana",
    "he": "Ben Carl Hugo Leo Nils Raj Theo Victor Emil Jonas Pablo Samir Kofi Otto Mario Henry Dmitri Ravi Noah Ali",
}
FORMS = {
    "she": {"they": "she", "them": "her", "their": "her", "has": "has", "is": "is", "does": "does", "was": "was"},
    "he": {"they": "he", "them": "him", "their": "his", "has": "has", "is": "is", "does": "does", "was": "was"},
    "I": {"they": "I", "them": "me", "their": "my", "has": "have", "is": "am", "does": "do", "was": "was"},
}
NEEDED = {
    r"^When\b": {"when", "soon", "deadline"},
    r"^(Who|Whose)\b": {"rel", "friend", "kid"},
    r"^How long\b": {"long", "count"},
    r"^How much\b": {"price"},
    r"^How many\b": {"count"},
    r"^Why\b": {"why", "rel", "bug", "illness", "because"},
    r"^(Where|Which cit|Which countr)": {"nature", "city", "country", "cause", "work", "event", "craft", "the", "in"},
}
"""What a telling must hold, to answer a question that begins so."""


@dataclass
class Exchange:
    prompt: str
    told: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)


@dataclass
class Topic:
    name: str
    exchanges: list[Exchange]
    together: list[str]


@dataclass
class Chat:
    """One conversation in the shape of the training file."""

    messages: list[list[object]] = field(default_factory=list)
    evidence: dict[str, set[int]] = field(default_factory=dict)
    tellings: dict[str, set[int]] = field(default_factory=dict)
    """What each telling would add to the questions about all tellings of its topic."""
    mistaken: dict[str, set[int]] = field(default_factory=dict)
    """Questions that ask the wrong one of the two about a thing; void where it happened to both."""

    def say(self, speaker: str, day: datetime, session: int, *parts: str) -> int:
        self.messages.append([speaker, spoken_date(day), session, " ".join(part for part in parts if part)])
        return len(self.messages) - 1

    def answers(self, place: int, questions: list[str]) -> None:
        for question in questions:
            self.evidence.setdefault(question, set()).add(place)


@dataclass
class Matter:
    """All that dialogues.txt offers to talk about, and the phrases around it."""

    topics: list[Topic] = field(default_factory=list)
    slots: dict[str, list[str]] = field(default_factory=dict)
    phrases: dict[str, list[str]] = field(default_factory=dict)


def read_matter(path: Path = TOPICS_FILE) -> Matter:
    matter = Matter()
    topics = matter.topics
    for line in path.read_text(encoding="utf-8").splitlines():
        mark, text = line[:1], line[1:].strip()
        if mark == "@":
            name, values = text.split(":", 1)
            matter.slots[name] = [value.strip() for value in values.split(", ")]
        elif mark == "%":
            name, values = text.split(":", 1)
            matter.phrases[name] = [value.strip() for value in values.split(" | ")]
        elif mark == "=":
            topics.append(Topic(text, [Exchange("")], []))
        elif mark == "+":
            topics[-1].exchanges[0].told.append(text)
        elif mark == "?":
            topics[-1].exchanges[-1].questions.append(text)
        elif mark == ">":
            prompt, reply = text.split(" | ")
            topics[-1].exchanges.append(Exchange(prompt, [reply]))
        elif mark == "*":
            topics[-1].together.append(text)
    return matter


def converse(number: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """`number` conversations, each like an item of the training file."""
    matter = read_matter()
    for place in range(number):
        chat = _Writer(matter, random.Random(f"{seed}-{place}")).write()
        together = {asked: found for asked, found in chat.tellings.items() if len(found) > 1}
        everything = chat.mistaken | chat.evidence | together
        questions = [[asked, sorted(found)] for asked, found in everything.items()]
        yield {"s": "dialogue", "m": chat.messages, "q": questions}


class _Writer:
    def __init__(self, matter: Matter, dice: random.Random) -> None:
        self.slots, self.phrases, self.dice = matter.slots, matter.phrases, dice
        self.chat = Chat()
        kinds = [dice.choice(["she", "he"]) for _ in range(2)]
        names = [dice.choice(NAMES[kind].split()) for kind in kinds]
        self.speakers = list(zip(names, kinds, strict=True))
        if dice.random() < 0.3:
            self.speakers = [("user", "I"), ("assistant", "")]
        if names[0] == names[1]:
            self.speakers[1] = ("Robin", "she")
        # Some topics come up again and again, from both sides.
        own = dice.sample(matter.topics, 24)
        self.deck = own + dice.choices(own[:10], k=22)
        dice.shuffle(self.deck)

    def write(self) -> Chat:
        day, session = datetime(2021, 1, 1) + timedelta(days=self.dice.randrange(1500)), 0
        while self.deck:
            self._session(day, session)
            day += timedelta(days=self.dice.randint(2, 40))
            session += 1
        return self.chat

    def _session(self, day: datetime, session: int) -> None:
        teller = self.dice.randrange(2)
        opener = self.dice.choice(self.phrases["openers"])
        for _ in range(min(self.dice.randint(2, 6), len(self.deck))):
            if not self.speakers[teller][1]:
                teller = 1 - teller
            self._topic(self.deck.pop(), teller, day, session, opener)
            opener = self.dice.choice([*self.phrases["reactions"], *self.phrases["small_talk"], "", ""])
            teller = 1 - teller if self.dice.random() < 0.7 else teller
        if self.dice.random() < 0.5:
            self.chat.say(self.speakers[teller][0], day, session, self.dice.choice(self.phrases["small_talk"]))

    def _topic(self, topic: Topic, teller: int, day: datetime, session: int, opener: str) -> None:
        dice, name = self.dice, self.speakers[teller][0]
        listener, listens = self.speakers[1 - teller]
        values = {slot: dice.sample(options, min(3, len(options))) for slot, options in self.slots.items()}
        first, *others = topic.exchanges
        dice.shuffle(others)
        chosen = [first, *others[: dice.choice([0, 1, 1, 2])]]
        for exchange in chosen:
            if exchange.prompt:
                reaction = (
                    dice.choice(self.phrases["reactions"]) if listens else dice.choice([*self.phrases["advice"], ""])
                )
                self.chat.say(listener, day, session, reaction, self._fill(exchange.prompt, values, teller))
                opener = ""
            template = dice.choice(exchange.told)
            tail = (
                dice.choice([*self.phrases["tails"], "", "", ""])
                if dice.random() < 0.6
                else dice.choice(self.phrases["back"])
            )
            told = self._fill(template, values, teller)
            place = self.chat.say(name, day, session, opener, told, tail if exchange is chosen[-1] else "")
            asked = [question for question in exchange.questions if fits(question, template)]
            self.chat.answers(place, [self._fill(question, values, teller) for question in asked])
            if dice.random() < 0.3:
                when = f" in {spoken_date(day).split(maxsplit=1)[1]}?"
                general = [q for q in asked if not q.startswith("When") and not SLOT.sub("", q).count("{")]
                dated = [self._fill(question, values, teller).removesuffix("?") + when for question in general[:1]]
                self.chat.answers(place, dated)
            if asked and listens in NAMES and dice.random() < 0.5:
                wrong = self._fill(dice.choice(asked), values, 1 - teller)
                self.chat.mistaken.setdefault(wrong, set()).add(place)
            if exchange is first:
                for question in topic.together:
                    self.chat.tellings.setdefault(self._fill(question, values, teller), set()).add(place)
        if dice.random() < 0.5:
            filler = (
                " ".join(dice.sample(self.phrases["advice"], dice.randint(1, 4)))
                if not listens
                else dice.choice(self.phrases["reactions"])
            )
            self.chat.say(listener, day, session, filler)

    def _fill(self, template: str, values: dict[str, list[str]], teller: int) -> str:
        name, kind = self.speakers[teller]
        forms = FORMS[kind] | {"N": "I" if kind == "I" else name, "N's": "my" if kind == "I" else f"{name}'s"}

        def value(match: re.Match[str]) -> str:
            slot, number = match.groups()
            if slot in forms:
                return forms[slot]
            if slot == "feelpast":
                return "was " + values["feel"][0] if values["feel"][0] != "overwhelmed" else "felt overwhelmed"
            drawn = values[slot.lower()][int(number or 1) - 1]
            return drawn[:1].upper() + drawn[1:] if slot[0].isupper() else drawn

        filled = SLOT.sub(value, template)
        return filled[:1].upper() + filled[1:]


def fits(question: str, told: str) -> bool:
    """Whether a telling answers a question: it names what the question names, and holds what it asks for."""
    held = {slot.lower() for slot, _ in SLOT.findall(told)} | set(re.findall(r"[a-z]+", told.lower()))
    named = {slot for slot, _ in SLOT.findall(question) if slot[0].islower()} - set(FORMS["she"])
    if not named <= held:
        return False
    return all(needed & held for start, needed in NEEDED.items() if re.match(start, question))

"""What is taken back is not kept, and what is said instead is: within a message, and from one to the next."""

from dataclasses import replace

import pytest

from memorist.core import Core
from memorist.ingestion.service import Message
from memorist.learning.extractors.corrections import takes_back
from memorist.learning.extractors.kinds import Vocabulary
from memorist.learning.extractors.local import extract_locally
from memorist.learning.extractors.transcripts import Utterance
from memorist.memories.values import Kind, Status
from memorist.models.tagger import LocalTagger
from memorist.platform.values import Principal
from tests.extraction.conftest import OpenCore

TAGGER = LocalTagger()


def told(*messages: str | Utterance) -> list[str]:
    said = [one if isinstance(one, Utterance) else Utterance("user", one) for one in messages]
    return [one.content for one in extract_locally(said, Vocabulary.COMPANION, TAGGER)]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("I have 47 cats. Just kidding, I have one cat named Miso.", ["User has one cat named Miso."]),
        ("I live in Madrid. Scratch that, I live in Barcelona now.", ["User lives in Barcelona now."]),
        ("I'm a millionaire. Not really, I'm a teacher.", ["User is a teacher."]),
        ("I'm getting divorced. Just kidding, we're very happy.", []),
        ("I live in Rome. I work as an astronaut. Just kidding.", ["User lives in Rome."]),
        ("I live in Rome. Haha, I also love cats.", ["User lives in Rome."]),
        ("I am allergic to bees. Sorry, I meant wasps.", ["User is allergic to bees. Sorry, I meant wasps."]),
        ("I was born in 1985. Correction: 1986.", ["User was born in 1985. Correction: 1986."]),
        ("I have three kids. Haha no, just one.", ["User has three kids. Haha no, just one."]),
        ("I'm a doctor. Not really.", ["User is a doctor. Not really."]),
        ("I have two dogs. Make that three.", ["User has two dogs. Make that three."]),
        (
            "I live in Bonn. I have two dogs. Wait, no, I have three dogs.",
            ["User lives in Bonn.", "User has three dogs."],
        ),
        ("I live in Rome. I work as an astronaut. Just kidding. What do you do?", ["User lives in Rome."]),
        ("I live in Rome. I work as an astronaut. Just kidding. Haha.", ["User lives in Rome."]),
    ],
)
def test_what_is_taken_back_in_the_next_sentence_is_not_kept(said: str, expected: list[str]) -> None:
    assert told(said) == expected


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("I'm allergic to peanuts. On second thought, I'd like pasta tonight.", "User is allergic to peanuts."),
        ("I moved to Rome in May. I changed my mind, I love it now.", "User moved to Rome in May."),
        ("I quit my job. Forget it, I'm free now!", "User quit their job."),
        ("I used to smoke. Never mind.", "User used to smoke."),
        ("I live in Bonn with two kids. Never mind, I found a school.", "User lives in Bonn with two kids."),
        ("I live in Bonn with two kids. Do I like it? Not really.", "User lives in Bonn with two kids."),
        ("I live in Rome. Ignore that, I need a recipe.", "User lives in Rome."),
    ],
)
def test_words_that_may_mean_something_else_take_nothing_back(said: str, kept: str) -> None:
    assert kept in told(said)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "I live in Rome. I have two dogs. No wait. Three dogs.",
            ["User lives in Rome.", "User has two dogs. No wait. Three dogs."],
        ),
        (
            "I'm a nurse. We've been married for ten years. Scratch that. Eleven years.",
            ["User is a nurse.", "User: We've been married for ten years. Scratch that. Eleven years."],
        ),
        (
            "I start in March, finally!! actually scratch that they moved it to April",
            ["User starts in March, finally!! Actually scratch that they moved it to April."],
        ),
        (
            "I'm a nurse. I'm married. Just kidding. We joke a lot. Eleven years now.",
            ["User is a nurse.", "User: We joke a lot. Eleven years now."],
        ),
    ],
)
def test_a_correction_is_kept_with_what_it_corrects_and_with_nothing_else(said: str, expected: list[str]) -> None:
    assert told(said) == expected


CORRECTED = "User is allergic to peanuts. Sorry, I meant cashews."


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["I am allergic to peanuts.", "Sorry, I meant cashews."], [CORRECTED]),
        (["I am allergic to peanuts", "Sorry, I meant cashews. I love tea."], [CORRECTED, "User loves tea."]),
        (["My birthday is May 3.", "Correction: June 3."], ["User's birthday is May 3. Correction: June 3."]),
        (
            ["I live in Rome. I have two dogs.", "Make that three."],
            ["User lives in Rome.", "User has two dogs. Make that three."],
        ),
        (
            ["My flight is on May 3.", "actually scratch that they moved it to May 5"],
            ["User's flight is on May 3. Actually scratch that they moved it to May 5."],
        ),
        (
            ["My flight is on May 3.", "Scratch that, it's May 5."],
            ["User's flight is on May 3. Scratch that, it's May 5."],
        ),
        (["What is the capital of Peru?", "Sorry, I meant Chile."], []),
        (["I have a puppy named Rex.", "No, just one."], ["User has a puppy named Rex."]),
    ],
)
@pytest.mark.parametrize("answer", [[], [Utterance("assistant", "Noted.")]])
def test_a_correction_in_the_next_message_is_kept_with_what_it_corrects(
    said: list[str], answer: list[Utterance], expected: list[str]
) -> None:
    assert told(said[0], *answer, said[1]) == expected


@pytest.mark.parametrize("answer", [[], [Message("assistant", "Noted.")]])
def test_a_correction_replaces_what_was_learned_of_the_message_before(
    open_with: OpenCore, ada: Principal, answer: list[Message]
) -> None:
    core = open_with()
    for said in (
        [Message("user", "I live in Rome. I am allergic to peanuts.")],
        [*answer, Message("user", "Sorry, I meant cashews.")],
    ):
        core.ingestion.add_messages(ada, "s-1", said)
        core.jobs.run_due(ada.tenant)
    assert contents(core, ada) == [CORRECTED, "User lives in Rome."]


@pytest.mark.parametrize(
    ("then", "expected"),
    [("Just kidding.", []), ("Sorry, I meant cashews.", [CORRECTED])],
    ids=["taken back", "corrected"],
)
def test_a_user_who_is_called_as_the_judge_is_takes_back_like_others(
    open_with: OpenCore, ada: Principal, then: str, expected: list[str]
) -> None:
    local = replace(ada, user="local")
    core = open_with(judge_model="local")
    core.facts.remember(local, "User is allergic to pollen.")
    for said in ("I am allergic to peanuts.", then):
        core.ingestion.add_messages(local, "s-1", [Message("user", said)])
        core.jobs.run_due(ada.tenant)
    assert contents(core, local) == sorted(["User is allergic to pollen.", *expected])


def test_nobody_corrects_what_another_said() -> None:
    ada, bob = (
        Utterance("user", "I am allergic to peanuts.", "Ada"),
        Utterance("user", "Sorry, I meant cashews.", "Bob"),
    )
    assert told(ada, bob) == ["Ada is allergic to peanuts."]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["I live in Lisbon.", "Actually I live in Porto."], ["User lives in Lisbon.", "User lives in Porto."]),
        (
            ["I prefer dark mode.", "I prefer light mode now."],
            ["User prefers dark mode.", "User prefers light mode now."],
        ),
        (["I like jazz.", "I like jazz."], ["User likes jazz."]),
        (["I moved to Oslo.", "The weather is bad here.", "lol"], ["User moved to Oslo."]),
    ],
)
def test_what_is_said_otherwise_in_the_next_message_is_kept_as_well(said: list[str], expected: list[str]) -> None:
    assert told(*said) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("I love hiking. I mean, who doesn't?", ["User loves hiking."]),
        ("I love my wife. We mean a lot to each other.", ["User loves their wife."]),
        ("I have asthma. No, it's not a big deal.", ["User has asthma."]),
        ("I moved to Oslo. Make that clear to everyone, I love it here.", ["User moved to Oslo."]),
    ],
)
def test_an_aside_corrects_nothing(said: str, expected: list[str]) -> None:
    assert told(said) == expected


@pytest.mark.parametrize(
    ("said", "answer", "then", "kept"),
    [
        (
            "I live in Bonn with my two kids.",
            "Do you like it there?",
            "Not really.",
            "User lives in Bonn with their two kids.",
        ),
        ("I have a puppy named Rex.", "Hide your shoes!", "haha", "User has a puppy named Rex."),
        (
            "I'm allergic to peanuts. Can you suggest a dinner?",
            "Pasta with tomatoes.",
            "Never mind, I found a recipe.",
            "User is allergic to peanuts.",
        ),
        (
            "I'm allergic to peanuts. Can you suggest a dinner?",
            "Pasta with tomatoes.",
            "Scratch that, I want soup.",
            "User is allergic to peanuts.",
        ),
        (
            "I work as a nurse in Leeds.",
            "How about a spa day?",
            "On second thought, I'd like a museum.",
            "User works as a nurse in Leeds.",
        ),
        ("I live in Leeds.", "Shall I look for flats?", "No wait, I have a question.", "User lives in Leeds."),
    ],
)
def test_an_ordinary_answer_takes_nothing_back(
    open_with: OpenCore, ada: Principal, said: str, answer: str, then: str, kept: str
) -> None:
    assert kept in told(said, Utterance("assistant", answer), then)
    core = open_with()
    core.ingestion.add_messages(ada, "s-1", [Message("user", said), Message("assistant", answer)])
    core.jobs.run_due(ada.tenant)
    assert kept in contents(core, ada)
    core.ingestion.add_messages(ada, "s-1", [Message("user", then)])
    core.jobs.run_due(ada.tenant)
    assert kept in contents(core, ada)


@pytest.mark.parametrize("then", ["haha", "Just kidding."])
def test_nobody_takes_back_what_another_said(then: str) -> None:
    assert told(Utterance("user", "I am allergic to peanuts.", "Ada"), Utterance("user", then, "Bob")) == [
        "Ada is allergic to peanuts."
    ]


def test_only_the_message_directly_before_is_taken_back() -> None:
    allergic, kidding = (Utterance("user", one, "Ada") for one in ("I am allergic to peanuts.", "Just kidding."))
    between = Utterance("other", "Shall we order?", "Bob")
    assert told(allergic, between, kidding) == ["Ada is allergic to peanuts."]
    assert told(allergic, kidding, between) == []


def test_what_is_taken_back_in_the_next_message_is_not_kept() -> None:
    congratulations = Utterance("assistant", "Congratulations!")
    assert told("I'm pregnant with twins.", congratulations, "lol just kidding, I'm not pregnant") == [
        "User is not pregnant."
    ]


@pytest.mark.parametrize("said", ["Just kidding.", "jk! Do you?", "no wait, scratch that!", "I take that back."])
def test_a_message_that_takes_back(said: str) -> None:
    assert takes_back(said)


@pytest.mark.parametrize(
    "said",
    [
        "Haha, I also have a dog.",
        "haha",
        "Never mind the gap",
        "Never mind, I eat fish.",
        "Forget it.",
        "I mean it.",
        "Not really sure.",
        "Not really, I prefer tea.",
        "No wait, I have a question.",
    ],
)
def test_a_message_that_takes_nothing_back(said: str) -> None:
    assert not takes_back(said)


@pytest.mark.parametrize("answer", [[], [Message("assistant", "Really?")]])
def test_what_was_learned_of_the_message_before_goes(
    open_with: OpenCore, ada: Principal, answer: list[Message]
) -> None:
    core = open_with()

    def say(*said: Message) -> list[str]:
        core.ingestion.add_messages(ada, "s-1", said)
        core.jobs.run_due(ada.tenant)
        return contents(core, ada)

    said = say(Message("user", "I live in Rome. I work as an astronaut."))
    assert said == ["User lives in Rome.", "User works as an astronaut."]
    assert say(*answer, Message("user", "Just kidding.")) == ["User lives in Rome."]
    # Whoever was misunderstood finds it where deleted memories are.
    deleted = core.memories.list(ada, kind=Kind.FACT, status=Status.SOFT_DELETED).items
    assert [one.content for one in deleted] == ["User works as an astronaut."]


def test_what_was_learned_stays_where_another_spoke_since(open_with: OpenCore, ada: Principal) -> None:
    core = open_with()
    for said in (
        [Message("user", "I work as an astronaut.", name="Ada")],
        [Message("user", "Shall we order?", name="Bob")],
        [Message("user", "Just kidding.", name="Ada")],
    ):
        core.ingestion.add_messages(ada, "s-1", said)
        core.jobs.run_due(ada.tenant)
    assert contents(core, ada) == ["Ada works as an astronaut."]


def contents(core: Core, principal: Principal) -> list[str]:
    return sorted(one.content for one in core.memories.list(principal, kind=Kind.FACT, limit=100).items)

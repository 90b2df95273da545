"""What is taken back is not kept, and what is said instead is: within a message, and from one to the next."""

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
    ],
)
def test_what_is_taken_back_in_the_next_sentence_is_not_kept(said: str, expected: list[str]) -> None:
    assert told(said) == expected


def test_what_is_taken_back_in_the_next_message_is_not_kept() -> None:
    congratulations = Utterance("assistant", "Congratulations!")
    assert told("I'm pregnant with twins.", congratulations, "lol just kidding, I'm not pregnant") == [
        "User is not pregnant."
    ]


@pytest.mark.parametrize("said", ["Just kidding.", "Never mind, I eat fish.", "no wait, scratch that!", "haha"])
def test_a_message_that_takes_back(said: str) -> None:
    assert takes_back(said)


@pytest.mark.parametrize("said", ["Haha, I also have a dog.", "Never mind the gap", "I mean it.", "Not really sure."])
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


def contents(core: Core, principal: Principal) -> list[str]:
    return sorted(one.content for one in core.memories.list(principal, kind=Kind.FACT, limit=100).items)

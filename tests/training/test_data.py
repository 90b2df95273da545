"""The training data: what may not be used is left out, and our own conversations ask what they answer."""

from pathlib import Path

import pytest

from training.dialogues import FORMS, SLOT, converse, fits, read_matter
from training.prepare import LANGUAGES_FILE, TALKS_FILE, by_session, prepare, read_items

FREE = "I keep seven hens in the garden behind the house and sell the eggs"
FOREIGN = "My plane was late and so I missed the whole first act of the play"


def item(source: str, *texts: str) -> dict[str, object]:
    messages = [["user", "8 May 2023", 0, text] for text in texts]
    return {"s": source, "m": messages, "q": [[f"question {index}?", [index]] for index in range(len(texts))]}


def test_sources_that_are_not_free_are_left_out_with_what_was_made_of_them() -> None:
    kept = prepare([item("realmem", FREE), item("tweet", FOREIGN), item("synth", FREE, FOREIGN)], dialogues=0)
    texts = [message[3] for found in kept for message in found["m"]]
    assert FOREIGN not in texts
    synth = next(found for found in kept if found["s"] == "synth")
    assert synth["q"] == [["question 0?", [0]]]


def test_a_source_that_nobody_judged_is_refused() -> None:
    with pytest.raises(ValueError, match="fresh"):
        prepare([item("fresh", FREE)], dialogues=0)


def test_a_session_becomes_one_message_of_the_users_words() -> None:
    chat = {
        "s": "realmem",
        "m": [["user", "", 0, "I like tea."], ["assistant", "", 0, "Noted."], ["user", "", 0, "And bread."]],
        "q": [["Which drink?", [0]], ["Noted?", [1]]],
    }
    assert by_session(chat) == {
        "s": "sessions",
        "m": [["user", "", 0, "I like tea. And bread."]],
        "q": [["Which drink?", [0]]],
    }


def test_conversations_repeat_for_a_seed_and_ask_about_what_was_said() -> None:
    chats = list(converse(6, seed=3))
    assert chats == list(converse(6, seed=3))
    for chat in chats:
        assert "{" not in str(chat["m"]) + str(chat["q"])
        assert all(0 <= index < len(chat["m"]) for _, evidence in chat["q"] for index in evidence)
        assert any(len(evidence) > 1 for _, evidence in chat["q"])


def test_every_topic_can_be_asked_about() -> None:
    for topic in read_matter().topics:
        first = topic.exchanges[0]
        assert any(fits(question, told) for question in first.questions for told in first.told), topic.name


def test_topics_are_named_once_and_draw_from_slots_that_exist() -> None:
    matter = read_matter()
    names = [topic.name for topic in matter.topics]
    assert len(names) == len({*names})
    known = {*matter.slots, *FORMS["she"], "N", "N's", "feelpast"}
    for topic in matter.topics:
        spoken = [text for each in topic.exchanges for text in (each.prompt, *each.told, *each.questions)]
        for text in (*spoken, *topic.together):
            slots = {slot for slot, _ in SLOT.findall(text)}
            assert {slot if slot in known else slot[0].lower() + slot[1:] for slot in slots} <= known, text
            assert not slots & {"Is", "Was", "Has", "Does", "They", "Them", "Their"}, text


def test_a_question_needs_what_it_asks_for() -> None:
    assert fits("When did {N} buy {thing}?", "I bought {thing} {when}.")
    assert not fits("When did {N} buy {thing}?", "I bought {thing}.")
    assert not fits("How much did {N} pay for {thing}?", "I bought {thing} {when}.")


@pytest.mark.parametrize(("file", "count", "sources"), [(LANGUAGES_FILE, 520, 12), (TALKS_FILE, 241, 2)])
def test_conversations_that_were_written_out_are_whole(file: Path, count: int, sources: int) -> None:
    items = read_items(file)
    assert len(items) == count
    assert len({one["s"] for one in items}) == sources
    for one in items:
        assert all(len(message) == 4 and message[3].strip() for message in one["m"])
        assert one["q"]
        assert all(question.strip() and evidence for question, evidence in one["q"])
        assert all(0 <= place < len(one["m"]) for _, evidence in one["q"] for place in evidence)

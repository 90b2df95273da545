"""Invented texts: the same for the same seed, and varied."""

from itertools import islice

from memorist_bench.texts import conversation, questions


def test_conversations_are_the_same_for_the_same_seed_and_differ_otherwise() -> None:
    assert conversation(7, 20) == conversation(7, 20)
    assert conversation(7, 20)[:5] == conversation(7, 5)
    texts = [turn.text for seed in range(50) for turn in conversation(seed, 20)]
    assert len(set(texts)) > 0.98 * len(texts)
    times = [turn.time for turn in conversation(1199, 20)]
    assert times == sorted(times)


def test_no_question_is_asked_twice() -> None:
    asked = list(islice(questions(0), 2000))
    assert len(set(asked)) == 2000
    assert asked == list(islice(questions(0), 2000))

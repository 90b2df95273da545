"""Where sentences end, and where a full stop ends none."""

import pytest

from memorist.learning.extractors.sentences import sentence_spans


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Lea hat am 3. März Geburtstag. Denk dran!", ["Lea hat am 3. März Geburtstag.", "Denk dran!"]),
        ("Zu meinem 30. Geburtstag kommen alle.", ["Zu meinem 30. Geburtstag kommen alle."]),
        ("Der Umzug ist vom 1. bis 3. Juli.", ["Der Umzug ist vom 1. bis 3. Juli."]),
        ("Ich bin 30. Im Mai ziehe ich um.", ["Ich bin 30.", "Im Mai ziehe ich um."]),
        ("I am 30. May I ask?", ["I am 30.", "May I ask?"]),
        ("im 30. I live in Boston with my dog.", ["im 30.", "I live in Boston with my dog."]),
        ("I turned 30. August was hot this year.", ["I turned 30.", "August was hot this year."]),
        ("It costs 12. Dr. Meyer pays.", ["It costs 12.", "Dr. Meyer pays."]),
    ],
)
def test_a_number_with_a_full_stop_ends_a_sentence_unless_it_counts_days(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in sentence_spans(text)] == sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("my doctor is dr. lee and my gp is prof. smith", ["my doctor is dr. lee and my gp is prof. smith"]),
        ("we live on st. james road. it is loud", ["we live on st. james road.", "it is loud"]),
        ("I saw the dr. She was nice.", ["I saw the dr.", "She was nice."]),
        ("it took 10 hrs. we slept", ["it took 10 hrs.", "we slept"]),
    ],
)
def test_a_title_in_small_letters_ends_no_sentence_before_a_name(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in sentence_spans(text)] == sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("मैं पुणे में रहता हूँ। मौसम कैसा है?", ["मैं पुणे में रहता हूँ।", "मौसम कैसा है?"]),
        ("أنا طبيبة؟ نعم.", ["أنا طبيبة؟", "نعم."]),
        ("加油!我住在成都。猫叫豆豆", ["加油!", "我住在成都。", "猫叫豆豆"]),
        ("좋아요!저는 부산에 살아요", ["좋아요!", "저는 부산에 살아요"]),
        ("Das ist a!b und c?d.", ["Das ist a!b und c?d."]),
    ],
)
def test_sentences_of_other_scripts_end_at_their_own_stops(text: str, expected: list[str]) -> None:
    assert [text[first:last] for first, last in sentence_spans(text)] == expected

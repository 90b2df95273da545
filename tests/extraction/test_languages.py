"""What is learned of what people say in other languages than English, and what is left alone."""

import pytest

from memorist.learning.extractors.kinds import Vocabulary
from memorist.learning.extractors.local import extract_locally
from memorist.learning.extractors.transcripts import Utterance
from memorist.models.other_tags import OUTPUTS
from memorist.models.tagger import LocalTagger
from memorist.models.values import NEEDS, TOPICS, Passage

TAGGER = LocalTagger()


def learned(*said: str) -> list[str]:
    messages = [Utterance("user", one) for one in said]
    return [one.content for one in extract_locally(messages, Vocabulary.COMPANION, TAGGER)]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Ich wohne in Kiel und arbeite als Tischlerin.", "User: Ich wohne in Kiel und arbeite als Tischlerin."),
        ("Soy alérgica a los cacahuetes.", "User: Soy alérgica a los cacahuetes."),
        ("Ma sœur Claire est infirmière à Nantes.", "User: Ma sœur Claire est infirmière à Nantes."),
        ("Desde abril trabalho numa padaria.", "User: Desde abril trabalho numa padaria."),
        ("Ho due gatti, Pepe e Nina.", "User: Ho due gatti, Pepe e Nina."),
        ("Я больше не ем мясо.", "User: Я больше не ем мясо."),
        ("Mijn vrouw is verpleegster.", "User: Mijn vrouw is verpleegster."),
        ("我在成都当老师。", "User: 我在成都当老师。"),
        ("妻は看護師です。", "User: 妻は看護師です。"),
        ("저는 부산에 살아요.", "User: 저는 부산에 살아요."),
        ("أنا أعمل مهندسة في عمّان.", "User: أنا أعمل مهندسة في عمّان."),
        ("मुझे मूंगफली से एलर्जी है।", "User: मुझे मूंगफली से एलर्जी है।"),
    ],
)
def test_facts_are_learned_in_their_own_words(said: str, expected: str) -> None:
    assert [one.rstrip(".") for one in learned(said)] == [expected.rstrip(".")]


@pytest.mark.parametrize(
    "said",
    [
        "Wie wird das Wetter morgen?", "Danke, das hilft mir sehr!", "¿Me puedes ayudar con esto?",
        "Hace mucho frío hoy.", "Peux-tu traduire ce texte ?", "Merci beaucoup !", "Obrigado, ficou ótimo!",
        "Che ore sono a Tokyo?", "Спасибо большое!", "Какая сегодня погода?", "今天天气怎么样？", "谢谢你！",
        "ありがとうございます！", "감사합니다!", "شكرا جزيلا!", "धन्यवाद!", "Bedankt hoor!",
    ],
)  # fmt: skip
def test_what_is_worth_nothing_is_left_alone(said: str) -> None:
    assert learned(said) == []


def test_nobody_answers_what_they_asked_themselves() -> None:
    said = ("Was schlägst du zum Essen vor?", "Meine Katze heißt Minka.")
    assert learned(*said) == ["User: Meine Katze heißt Minka."]
    assert learned("What do you suggest for dinner?", "My cat is called Minka.") == ["User's cat is called Minka."]


def test_sentence_has_a_topic_by_its_meaning() -> None:
    said = {
        "home": "Ich wohne in einer kleinen Wohnung in Kiel.",
        "pet": "我有两只猫。",
        "health": "Soy alérgica al polen.",
    }
    passages = [Passage(text, [(0, len(text))], "User") for text in said.values()]
    assert [tags[0].topic for tags in TAGGER.tag(passages)] == list(said)


def test_company_in_other_languages_changes_nothing() -> None:
    texts = ["I live in Oslo.", "Ich wohne in Kiel.", "", "我在成都当老师。"]
    passages = [Passage(text, [(0, len(text))] if text else [], "User") for text in texts]
    together = TAGGER.tag(passages)
    assert [len(one) for one in together] == [1, 1, 0, 1]
    for passage, tags in zip(passages, together, strict=True):
        alone = TAGGER.tag([passage])[0]
        assert [one.topic for one in alone] == [one.topic for one in tags]
        assert [one.keep for one in alone] == pytest.approx([one.keep for one in tags], abs=0.01)


def test_outputs_are_those_of_the_tagger_but_whom_it_is_about() -> None:
    assert 3 + len(TOPICS) + len(NEEDS) == OUTPUTS

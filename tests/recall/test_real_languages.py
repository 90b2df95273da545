"""With the local models themselves, in other languages than English: meaning is found without a word in common."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest

from memorist.bootstrap import open_store
from memorist.core import Core
from memorist.languages import is_english
from memorist.options import Options
from memorist.platform.values import Principal, Role
from memorist.recall.values import Recalled
from memorist.testing import StepClock
from memorist.testing.clocks import START
from memorist.words import question_terms
from tests.recall.conftest import _models, ask, make_tenant, remember, say, texts
from tests.support.stores import bare


class Spoken(NamedTuple):
    """The same facts in one language, and questions about some of them: of a pet, an instrument, a car."""

    facts: Sequence[str]
    pet: str
    instrument: str
    car: str


LANGUAGES = {
    "de": Spoken(
        [
            "Die Katze musste wegen eines verstauchten Beins zum Tierarzt.",
            "Carola lernt seit dem Sommer Cello.",
            "Davids Auto blieb auf der Autobahn bei Lyon liegen.",
            "Der Quartalsbericht ist am dritten Freitag im März fällig.",
            "Unser Server steht in einem Rechenzentrum in Frankfurt.",
            "Ada verträgt keine Erdnüsse.",
        ],
        "Geht es dem Haustier schlecht?",
        "Welches Musikinstrument übt sie?",
        "Hatte jemand eine Panne mit dem Fahrzeug?",
    ),
    "fr": Spoken(
        [
            "Le chat a dû aller chez le vétérinaire à cause d'une patte foulée.",
            "Carole apprend le violoncelle depuis cet été.",
            "La voiture de David est tombée en panne sur l'autoroute près de Lyon.",
            "Le rapport trimestriel est à rendre le troisième vendredi de mars.",
            "Notre serveur se trouve dans un centre de données à Francfort.",
            "Ada ne supporte pas les cacahuètes.",
        ],
        "Est-ce que l'animal de compagnie est malade ?",
        "De quel instrument de musique joue-t-elle ?",
        "Quelqu'un a-t-il eu des ennuis avec son véhicule ?",
    ),
    "es": Spoken(
        [
            "Tuvimos que llevar el gato al veterinario por una pata torcida.",
            "Carolina aprende a tocar el violonchelo desde el verano.",
            "El coche de David se averió en la autopista cerca de Lyon.",
            "El informe trimestral se entrega el tercer viernes de marzo.",
            "Nuestro servidor está en un centro de datos de Fráncfort.",
            "Ada no tolera los cacahuetes.",
        ],
        "¿Está enferma la mascota?",
        "¿Qué instrumento musical estudia ella?",
        "¿Alguien tuvo problemas con su vehículo?",
    ),
    "zh": Spoken(
        [
            "小猫的腿扭伤了，我们带它去看了兽医。",
            "卡罗尔从夏天开始学拉大提琴。",
            "大卫的汽车在里昂附近的高速公路上抛锚了。",
            "季度报告要在三月的第三个星期五交。",
            "我们的服务器放在法兰克福的数据中心。",
            "艾达一吃花生就过敏。",
        ],
        "宠物生病了吗？",
        "她在练习哪种乐器？",
        "谁的车子出了故障？",
    ),
    "ja": Spoken(
        [
            "猫が足をくじいたので、獣医に連れて行った。",
            "キャロルは夏からチェロを習っている。",
            "デイブの自動車がリヨン近くの高速道路で故障した。",
            "四半期報告書の締め切りは三月の第三金曜日だ。",
            "うちのサーバーはフランクフルトのデータセンターにある。",
            "エイダはピーナッツを食べられない。",
        ],
        "ペットの具合は悪いですか？",
        "彼女が練習する楽器は何ですか？",
        "乗り物のトラブルに遭ったのは誰ですか？",
    ),
    "ru": Spoken(
        [
            "Кошку пришлось отвезти к ветеринару из-за вывихнутой лапы.",
            "Карина с лета учится играть на виолончели.",
            "Машина Давида сломалась на шоссе недалеко от Лиона.",
            "Квартальный отчёт нужно сдать в третью пятницу марта.",
            "Наш сервер стоит в дата-центре во Франкфурте.",
            "Ада не переносит арахис.",
        ],
        "Что случилось с домашним животным?",
        "Какой музыкальный инструмент она осваивает?",
        "Чей автомобиль вышел из строя?",
    ),
}
PET, INSTRUMENT, CAR = range(3)


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Core]:
    """One for all, with both local models."""
    store = open_store(bare(str(tmp_path_factory.mktemp("languages") / "memorist.db")))
    store.migrator.migrate(START)
    embedder, reranker = _models()
    with_models = Options(embedder=lambda: embedder, reranker=lambda: reranker, min_score=0.02)
    core = Core(store, StepClock(), with_models, background=True)
    yield core
    core.close()


@pytest.fixture(scope="module")
def speakers(core: Core) -> dict[str, Principal]:
    """Who remembers the facts, each in one language."""
    tenant = make_tenant(core)
    found = {code: Principal(tenant, Role.USER, code) for code in LANGUAGES}
    for code, who in found.items():
        for fact in LANGUAGES[code].facts:
            remember(core, who, fact)
    return found


def first(recalled: Recalled) -> str:
    assert not recalled.degraded
    return texts(recalled)[0]


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("number", [PET, INSTRUMENT, CAR])
def test_paraphrase_finds_the_fact_in_its_language(
    core: Core, speakers: dict[str, Principal], code: str, number: int
) -> None:
    spoken = LANGUAGES[code]
    question = (spoken.pet, spoken.instrument, spoken.car)[number]
    assert not set(question_terms(question)) & set(question_terms(spoken.facts[number])), "no word in common"
    assert not is_english(question)
    recalled = ask(core, speakers[code], question)
    assert first(recalled) == spoken.facts[number]
    assert not recalled.rerank_used, "the local reranker reads English alone"


@pytest.mark.parametrize(
    ("asked_in", "answered_in"),
    [("de", "zh"), ("fr", "ru"), ("es", "ja"), ("zh", "de"), ("ja", "fr"), ("ru", "es")],
)
def test_question_finds_the_fact_in_another_language(
    core: Core, speakers: dict[str, Principal], asked_in: str, answered_in: str
) -> None:
    questions, facts = LANGUAGES[asked_in], LANGUAGES[answered_in].facts
    for number, question in enumerate((questions.pet, questions.instrument, questions.car)):
        # An allergy may come before the animal that is unwell.
        assert facts[number] in texts(ask(core, speakers[answered_in], question))[:2]


@pytest.mark.parametrize("code", LANGUAGES)
def test_english_question_finds_the_fact_in_another_language(
    core: Core, speakers: dict[str, Principal], code: str
) -> None:
    for number, question in enumerate(
        ["Is the pet unwell?", "Which musical instrument is she studying?", "Did a vehicle break down?"]
    ):
        assert first(ask(core, speakers[code], question)) == LANGUAGES[code].facts[number]


def test_chat_of_mixed_languages_is_searched_as_one(core: Core) -> None:
    who = Principal(make_tenant(core), Role.USER, "ada")
    said = [
        "Wir haben am Samstag einen Welpen aus dem Tierheim geholt.",
        "Ma sœur se marie à Lisbonne l'été prochain.",
        "我下周一开始在医院上班。",
        "El médico me dijo que dejara de tomar café.",
        "Я наконец продал свою старую машину.",
        "来週、新しいアパートに引っ越します。",
        "The heating engineer comes on Thursday at nine.",
    ]
    say(core, who, *said)
    for question, number in {
        "Which pet did I adopt?": 0,
        "Wo findet die Hochzeit statt?": 1,
        "¿En qué hospital empiezo a trabajar?": 2,
        "Quelle boisson dois-je éviter ?": 3,
        "我卖掉了什么？": 4,
        "Когда я переезжаю?": 5,
        "Wann kommt der Techniker für die Heizung?": 6,
    }.items():
        assert first(ask(core, who, question, min_score=0)) == said[number], question


@pytest.mark.parametrize(
    "question",
    [
        *("der", "was ist das?", "Guten Tag!", "où ?", "Bonjour !", "¿qué es?", "hola", "这是什么？", "你好"),
        *("これは何ですか？", "こんにちは", "я", "что это", "где?", "Привет"),
    ],
)
def test_question_that_asks_for_nothing_finds_nothing_in_any_language(
    core: Core, speakers: dict[str, Principal], question: str
) -> None:
    for who in speakers.values():
        assert ask(core, who, question).hits == ()

"""Any question is safe, and every language is searched."""

import sys
import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.core import Core
from memorist.errors import InvalidField
from memorist.ingestion.service import Message
from memorist.memories.values import Draft
from memorist.platform.values import Principal, Role
from tests.recall.conftest import OpenCore, ask, found, make_tenant, remember, say, texts


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """Terms are made before a database sees them: one of the two is enough here."""
    return sqlite_url


@pytest.fixture
def by_keyword(open_with: OpenCore) -> Core:
    """Without an embedder."""
    return open_with(None, min_score=0.02)


HOSTILE = [
    'NEAR("a b", 3) AND NOT col:x* OR ^y " (',
    "' OR 1=1; DROP TABLE memories; --",
    '"',
    "'",
    '""""',
    "* ^ : - + ( ) { } [ ] ~ \\ /",
    "content:fox",
    "fox*",
    "NOT fox",
    "a AND",
    ":* & | ! <->",
    "%s %(tenant)s :tenant ?1 $1 {memory_columns}",
    "🧠🚀👩‍👩‍👧‍👦🏳️‍🌈",
    "🇩🇪",
    "the of and to a in is",
    "Who are you and what is it?",
    "?!…—",
    "\t\n fox \r\n",
    "\u202eright to left\u202c",
    "\u200b\ufeff\u00a0fox",
    "x" * 10_000,
    "fox " * 2500,
    "的" * 10_000,
    "é" * 10_000,
    "'" * 10_000,
    "\x01\x1f\x7f",
    "İıßŉǰΐ",
    "1.5e300 -0 NaN inf 0x10",
]


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_any_question_is_answered(core: Core, ada: Principal, query: str) -> None:
    remember(core, ada, "the quick brown fox")
    recalled = ask(core, ada, query, top_k=20, explain=True)
    assert all(0 <= hit.score <= 1 for hit in recalled.hits)


@pytest.mark.parametrize("query", ["", " ", "\n\t\u3000", "a\x00b", "\ud800", "x" * 10_001, None, 7])
def test_what_is_no_question_is_refused_by_name(core: Core, ada: Principal, query: str) -> None:
    with pytest.raises(InvalidField) as caught:
        ask(core, ada, query)
    assert caught.value.field == "query"


def test_any_text_is_remembered_and_can_be_searched_beside(core: Core, ada: Principal) -> None:
    for text in HOSTILE:
        remember(core, ada, text)
    fox = remember(core, ada, "the quick brown fox jumps over a zebra")
    assert found(core, ada, "zebra")[0] == fox.id


@settings(max_examples=60)
@given(st.text(min_size=1, max_size=200))
def test_random_questions_are_answered_or_refused(core: Core, tenant: str, query: str) -> None:
    ada = Principal(tenant, Role.USER, "ada")
    try:
        recalled = ask(core, ada, query)
    except InvalidField:
        assert not query.strip() or "\x00" in query
    else:
        assert len(recalled.hits) <= 5


def test_every_block_of_unicode_is_remembered_and_asked(by_keyword: Core) -> None:
    core, ada = by_keyword, Principal(make_tenant(by_keyword), Role.USER, "ada")
    for start in range(0, sys.maxunicode, 0x2000):
        points = [
            point for point in range(start, min(start + 0x2000, sys.maxunicode + 1)) if not 0xD800 <= point < 0xE000
        ]
        text = "".join(map(chr, points)).replace("\x00", "")
        if text.strip():
            remember(core, ada, text)
            ask(core, ada, text[:10_000])


SENTENCES = {
    "Chinese": ("我昨天在图书馆借了三本关于园艺的书", ["图书馆", "园艺", "昨天"]),
    "Japanese": ("来週の火曜日に歯医者の予約があります", ["歯医者", "予約", "火曜日", "来週の予約"]),
    "Korean": ("나는 서울에서 김치찌개를 자주 먹는다", ["서울", "김치찌개", unicodedata.normalize("NFD", "김치찌개")]),
    "Thai": ("ฉันชอบดื่มกาแฟเย็นตอนเช้า", ["กาแฟ", "กาแฟเย็น", "ตอนเช้า"]),
    "Arabic": ("اجتماعنا القادم يوم الخميس في المكتبة", ["الخميس", "المكتبة", "المَكتبة"]),
    "Hebrew": ("הפגישה שלנו ביום חמישי בספרייה", ["בספרייה", "חמישי", "הַפְּגִישָׁה"]),
    "Russian": ("Завтра я лечу в Новосибирск на конференцию", ["новосибирск", "КОНФЕРЕНЦИЮ"]),
    "Ukrainian": ("Їжачок живе у нашому саду", ["їжачок", "саду"]),
    "Greek": ("Η συνάντηση είναι την Τετάρτη στην Αθήνα", ["ΣΥΝΑΝΤΗΣΗ", "αθηνα", "τεταρτη"]),
    "Hindi": ("मेरी बेटी का जन्मदिन अगले शुक्रवार को है", ["जन्मदिन", "शुक्रवार"]),
    "Tamil": ("நாளை மாலை கூட்டம் உள்ளது", ["கூட்டம்", "மாலை"]),
    "German": (
        "Der Schlüssel für die Straßenbahn hängt über der Tür",
        ["schlussel", "STRASSENBAHN", "tur", "Schlüssel"],
    ),
    "French": ("L'été dernier, nous avons mangé des crêpes à Orléans", ["ete", "crepes", "ORLEANS", "orléans"]),
    "Turkish": ("Işıklar söndü, çağrı merkezini İstanbul'dan aradım", ["isiklar", "cagri", "ISTANBUL", "ışıklar"]),
    "Vietnamese": ("Hẹn gặp ở Đà Nẵng để ăn phở bò", ["da nang", "Đà Nẵng", "pho bo"]),
    "Polish": ("Źdźbło trawy rośnie w Łodzi", ["zdzblo", "lodzi"]),
    "Danish": ("Søren bor på Ærø", ["soren", "aero"]),
    "Spanish": ("El niño comió piñones en Málaga", ["nino", "pinones", "malaga"]),
    "Cyrillic yo": ("Всё ещё лежит снег у ёлки", ["елки", "все"]),
    "wide": ("Ｔｈｅ ＦＵＬＬ width 東京", ["full", "the full", "東京"]),
}


@pytest.mark.parametrize("language", SENTENCES)
def test_language_is_found_by_its_words(by_keyword: Core, language: str) -> None:
    """By keyword alone, with and without accents, in either case, among sentences of all the others."""
    core, ada = by_keyword, Principal(make_tenant(by_keyword), Role.USER, "ada")
    core.memories.remember(ada, [Draft(sentence) for sentence, _ in SENTENCES.values()])
    sentence, queries = SENTENCES[language]
    for query in queries:
        assert texts(ask(core, ada, query))[:1] == [sentence], query


@pytest.mark.parametrize("query", ["C++", "c++?", "C#"])
def test_name_that_is_a_letter_and_signs_is_found(core: Core, ada: Principal, query: str) -> None:
    for name in ("C++", "C#", "R"):
        remember(core, ada, f"The user writes {name} at work.")
    assert query.strip("?").upper() in texts(ask(core, ada, query))[0]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("We hiked up the mountain", "hiking"),
        ("She is painting a barn", "Did she paint it?"),
        ("Two parties were held", "party"),
        ("Ada's bicycle was stolen", "bicycles of Ada"),
        ("He stopped smoking", "when did he stop to smoke"),
        ("I don’t like olives", "olive"),
        ("Meet at 10:30, room B-12", "B-12"),
        ("mail ada@example.org about snake_case names", "example.org"),
        ("the function parse_header() fails", "parse header"),
    ],
)
def test_english_is_found_in_another_form(core: Core, ada: Principal, text: str, query: str) -> None:
    for other in ("Nothing of the kind", "The weather was fine", "Bob likes tea and trains"):
        remember(core, ada, other)
    memory = remember(core, ada, text)
    assert found(core, ada, query)[0] == memory.id


def test_who_said_it_and_when_are_part_of_it(by_keyword: Core) -> None:
    core, ada = by_keyword, Principal(make_tenant(by_keyword), Role.USER, "ada")
    messages = [
        Message("user", "I am off to the lake", name="Melanie", event_time=datetime(2023, 5, 8, tzinfo=UTC)),
        Message("user", "I am off to the hills", name="Caroline", event_time=datetime(2023, 7, 9, tzinfo=UTC)),
    ]
    by_melanie, by_caroline = (r.memory.id for r in core.ingestion.add_messages(ada, "s1", messages))
    assert found(core, ada, "What did Melanie do?")[0] == by_melanie
    assert found(core, ada, "July 2023")[0] == by_caroline


def test_keyword_in_a_long_text_among_short_ones_is_found(by_keyword: Core) -> None:
    core, ada = by_keyword, Principal(make_tenant(by_keyword), Role.USER, "ada")
    core.memories.remember(ada, [Draft(f"short note {number}") for number in range(30)])
    filler = " ".join(f"word{number}" for number in range(3000))
    memory = remember(core, ada, f"{filler} zeppelin {filler}")
    assert found(core, ada, "zeppelin")[0] == memory.id
    assert say(core, ada, "hello")[0].id not in found(core, ada, "zeppelin")

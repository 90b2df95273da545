"""The local tokenizers cut text exactly as the library does that the models were trained with."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from memorist.models.files import FOLDER
from memorist.models.tokens import read_tokenizer
from memorist_bench.datasets import LANGUAGES, of_language

FILES = ("tokenizer.json", "many_tokenizer.json")
LONGEST = 256

ODD = [
    "", "  ", " lead", "trail  ", "a\tb\nc\x01d\x7fe", "a\u200bb\ufffdc\u00adf", "x" * 300, "\u00a0a\u3000b",
    "İstanbul ΣΑΣ ŒÆ ß ẞ", "naïve café\u0301 … “q” 👩‍👩‍👧 ½ ﬁ \u037e", "中文hello世界，", "한국어 텍스트",
    "ａｂｃ　全角", "ทดสอบ ภาษาไทย", "नमस्ते दुनिया", "السلام عليكم", "▁mark ▁▁ marks",
    "a\U0002f800b \uf900", "don't e-mail me@x.org!",
]  # fmt: skip


def theirs(file: str) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(FOLDER / file))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST, strategy="longest_first")
    return tokenizer


@pytest.fixture(scope="module", params=FILES)
def both(request: pytest.FixtureRequest) -> tuple[Tokenizer, object]:
    return theirs(request.param), read_tokenizer(Path(FOLDER / request.param).read_bytes(), LONGEST)


def assert_alike(both: tuple, inputs: list) -> None:
    library, own = both
    for one, wanted, found in zip(inputs, library.encode_batch(inputs), own.encode_all(inputs), strict=True):
        assert (found.ids, found.type_ids) == (wanted.ids, wanted.type_ids), one


def conversations() -> list[str]:
    return [message.text for code in LANGUAGES for case in of_language(code).cases[:4] for message in case.messages]


def test_conversations_of_seven_languages_are_cut_alike(both: tuple) -> None:
    texts = [*conversations(), *ODD]
    assert_alike(both, texts)
    assert_alike(both, list(zip(texts, reversed(texts), strict=True)))


def test_long_texts_are_cut_off_alike(both: tuple) -> None:
    short, medium, long = ("tea and coffee " * count for count in (3, 50, 400))
    texts = [short, medium, long, "…" * 500, "日本語" * 200]
    assert_alike(both, texts)
    assert_alike(both, [(one, other) for one in texts for other in texts])


def is_settled(character: str) -> bool:
    """Whether it is what it was in the Unicode of 2002: Python knows newer ones before the library does."""
    return unicodedata.category(character) == unicodedata.ucd_3_2_0.category(character)


def test_every_character_is_cut_alike(both: tuple) -> None:
    settled = [chr(code) for code in range(0x30000) if not 0xD800 <= code < 0xE000 and is_settled(chr(code))]
    assert len(settled) > 150_000
    assert_alike(both, [f"a{character}b" for character in settled[::5]])


TEXTS = st.text(st.characters(exclude_categories=["Cs"]).filter(is_settled), max_size=60)


@settings(max_examples=300)
@given(one=TEXTS, other=TEXTS)
def test_any_text_is_cut_alike(both: tuple, one: str, other: str) -> None:
    assert_alike(both, [one, (one, other)])


def test_tokens_lie_where_their_words_do() -> None:
    library, own = theirs(FILES[0]), read_tokenizer((FOLDER / FILES[0]).read_bytes(), LONGEST)
    texts = [*conversations()[:500], *ODD]
    for wanted, found in zip(library.encode_batch(texts), own.encode_all(texts), strict=True):
        # A part of a word is said to lie where the whole word does.
        pairs = list(zip(wanted.offsets, found.offsets, strict=True))
        assert all(start <= first and last <= end for (first, last), (start, end) in pairs)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("text", ["[SEP]", "[CLS] tea [MASK]", "<s>", "tea</s>tea", "<unk>"])
def test_name_of_a_special_piece_is_plain_text(file: str, text: str) -> None:
    own = read_tokenizer((FOLDER / file).read_bytes(), LONGEST)
    first, *inner, last = own.encode(text).ids
    assert not {first, last} & {*inner}
    assert len(inner) > 2

"""An answer is told as it comes, and nothing of a secret, however many words it has. Every secret here is made up."""

import re
from collections.abc import Callable, Sequence

import pytest

from memorist.platform.redaction import Redaction
from memorist.turns.telling import Telling
from memorist_bench.ordinary_texts import ordinary_texts
from memorist_bench.secrets import Sample, secret_texts
from memorist_bench.spoken_secrets import HALVES, statements

PASSWORD = "hunter" + "2Xy!9"
CARD = " ".join(["4111", *["1111"] * 3])
LINE = "MIIEowIBAAKCAQEA7bq9vJ2k3l4m5n6o7p8q9r0s1t2u3v4w5x6y7z8A9B0C1D2E"
KEY = "\n".join(["-----BEGIN RSA " + "PRIVATE KEY-----", *[LINE] * 60, "-----END RSA " + "PRIVATE KEY-----"])
PUTTY = "\n".join(["Private-Lines: 60", *[LINE] * 60, "Private-MAC: 1"])


def told(pieces: Sequence[str]) -> list[str]:
    """What is told after each piece, and at the end."""
    telling = Telling(Redaction())
    found = []
    for piece in pieces:
        telling.add(piece)
        found.append(telling.next())
    found.append(telling.next(is_whole=True))
    assert telling.answer == Redaction().text("".join(pieces))
    return found


def words(text: str) -> list[str]:
    return re.findall(r"\S*\s|\S+$", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Sure, the wifi password is {PASSWORD} now.", "Sure, the wifi password is [REDACTED:spoken-password] now."),
        (f"Your card is {CARD} as stored.", "Your card is [REDACTED:card-number] as stored."),
        ("The door code is 4711 at home.", "The door code is [REDACTED:spoken-pin] at home."),
        (f"Use {PASSWORD} as the new wifi password.", "Use [REDACTED:spoken-password] as the new wifi password."),
        (f"Here:\n\n{KEY}\n\nThat is it.", "Here:\n\n[REDACTED:private-key]\n\nThat is it."),
        (PUTTY, "Private-Lines: 60[REDACTED:putty-key]\nPrivate-MAC: 1"),
    ],
)
@pytest.mark.parametrize("cut", [list, words])
def test_secret_of_several_words_is_not_told(text: str, expected: str, cut: Callable[[str], list[str]]) -> None:
    assert "".join(told(cut(text))) == expected


def test_no_secret_that_the_rules_know_is_told_in_pieces() -> None:
    stated = [Sample(one.language, one.text, (one.secret,)) for half in HALVES for one in statements(half)]
    for sample in [*secret_texts(7, 2), *stated]:
        for text in (sample.text, f"{sample.text}\n\nThat is all that I know."):
            assert "".join(told(words(text))) == Redaction().text(text)


def test_ordinary_answers_are_told_word_for_word() -> None:
    for text in ordinary_texts(3, 500):
        assert "".join(told(words(text))) == text


def test_plain_words_are_told_at_once_and_others_some_words_later() -> None:
    pieces = words("That is fine: take 250 grams of flour with you, and some butter.")
    later = "250 grams of flour with you, and "
    assert told(pieces) == [*pieces[:4], *[""] * 6, later, "some ", "", "butter."]
    assert told(words("In 2019\nit was")) == ["In ", "2019\n", "it ", "", "was"]


@pytest.mark.parametrize("text", ["我记得你喜欢喝茶也喜欢爬山", "お茶が好きですね", "คุณชอบดื่มชา"])
def test_scripts_without_spaces_are_told_as_they_come(text: str) -> None:
    assert told(list(text)) == [*text, ""]


def test_secret_in_a_script_without_spaces_is_not_told() -> None:
    text = f"你的密码是{PASSWORD}，你上周说过的。用{PASSWORD}作为密码。"
    assert "".join(told(list(text))) == Redaction().text(text)
    assert PASSWORD not in Redaction().text(text)


def test_what_was_not_told_is_forgotten_when_it_is_asked_for_anew() -> None:
    telling = Telling(Redaction())
    telling.add("Hello and")
    assert telling.next() == "Hello "
    telling.drop_untold()
    telling.add("there.")
    assert telling.next(is_whole=True) == "there."
    assert telling.answer == "Hello there."

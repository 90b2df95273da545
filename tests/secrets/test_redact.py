"""What is taken out of a text, and what stays. Every secret here is made up when the test runs."""

import json
import random
import re
import time
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.ids import new_id
from memorist.secrets import names_a_secret, redact, redact_value
from memorist.secrets.rules import NAMES
from memorist_bench.ordinary_texts import ordinary_texts
from memorist_bench.secret_samples import card_number, filled
from memorist_bench.secrets import Sample, is_caught, secret_texts
from memorist_bench.spoken_secrets import HALVES, StatedSecret, statements

SAMPLES = list(secret_texts(7, 4))
PASSWORD = "hunter" + str(4221)
TOKEN = filled("ghp_{any:36}", Random("token"))[0]
WIDE_TOKEN = "".join(chr(ord(character) + 0xFEE0) for character in TOKEN)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_rule_catches_what_it_is_for(name: str) -> None:
    own = [sample for sample in SAMPLES if sample.kind == name]
    assert own
    assert sum(map(is_caught, own)) >= len(own) - 1, [redact(sample.text).text for sample in own]
    # Another rule may know it as well, and the more specific one names it.
    assert name in {finding.rule for sample in own for finding in redact(sample.text).findings}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"postgresql://app:{PASSWORD}@db:5432/x", "postgresql://app:[REDACTED:connection-password]@db:5432/x"),
        (f"redis://:{PASSWORD}@cache/0 is slow", "redis://:[REDACTED:connection-password]@cache/0 is slow"),
        (f"the token is {TOKEN}.", "the token is [REDACTED:github-token]."),
        (f"password = {PASSWORD}", "password = [REDACTED:secret-assignment]"),
        (f'{{"password": "{PASSWORD}"}}', '{"password": "[REDACTED:secret-assignment]"}'),
        (f"Authorization: Bearer {TOKEN}", "Authorization: Bearer [REDACTED:github-token]"),
        (f"Grüße, {TOKEN} ←", "Grüße, [REDACTED:github-token] ←"),
        (f"DB_PASSWORD={'sword' + 'fish'}", "DB_PASSWORD=[REDACTED:secret-assignment]"),
        (f"my password is {PASSWORD}, ok?", "my password is [REDACTED:spoken-password], ok?"),
        (f"pw for the box is {PASSWORD}, user ada", "pw for the box is [REDACTED:spoken-password], user ada"),
        (f"Das Kennwort lautet „{PASSWORD}“.", "Das Kennwort lautet „[REDACTED:spoken-password]“."),
        (f"le mdp est « {PASSWORD} », merci", "le mdp est « [REDACTED:spoken-password] », merci"),
        (f"密码是“{PASSWORD}”，谢谢", "密码是“[REDACTED:spoken-password]”，谢谢"),
        (f"パスワードは「{PASSWORD}」です", "パスワードは「[REDACTED:spoken-password]」です"),
        ("my PIN is 2957, ok?", "my PIN is [REDACTED:spoken-pin], ok?"),
        (f"a {TOKEN[:9]}\u200b{TOKEN[9:]}\u200b b", "a [REDACTED:github-token]\u200b b"),
        (f"a {WIDE_TOKEN}。", "a [REDACTED:github-token]。"),
        (f"word\u200b{TOKEN}", "word\u200b[REDACTED:github-token]"),
    ],
)
def test_only_the_secret_goes(text: str, expected: str) -> None:
    assert redact(text).text == expected


@pytest.mark.parametrize(
    "text",
    [
        "3f786850e387550fdab836ed7e6dc881de23001b",
        "550e8400-e29b-41d4-a716-446655440000",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        pytest.param(new_id("mem"), id="id"),
        pytest.param(f"tool_output_key: {new_id('tout')}, api_key: {new_id('key')}", id="ids"),
        "password = os.environ['PASSWORD']",
        "password: str | None = None",
        "token = await fetch_token(user_id=12345678)",
        "api_key = config.providers.openai.api_key",
        "Authorization: Bearer <token>",
        "postgresql://user:password@localhost/db",
        "postgres://$USER:$PASSWORD@$HOST/db",
        "next_page_token: CAUQAA1234567890abcdef",
        "The password is required, and the token is missing.",
        "4111111111111112 is no card, since its last digit is wrong",
        "0.4111111111111111",
        "sk-learn-compatible-estimators-are-nice",
        "[REDACTED:github-token] was here",
    ],
)
def test_ordinary_text_survives(text: str) -> None:
    assert redact(text) == (text, ())


@pytest.mark.parametrize("half", HALVES)
def test_what_stands_around_a_stated_secret_stays(half: str) -> None:
    def is_kept(one: StatedSecret) -> bool:
        before, _, after = one.text.partition(one.secret)
        left = redact(one.text).text
        assert redact(left) == (left, ())
        return left.startswith(before) and left.endswith(after)

    every = statements(half)
    assert sum(map(is_kept, every)) >= 0.98 * len(every)


@given(
    st.lists(st.one_of(st.sampled_from("\u200b\u00ad\u2060\ufeff「」«»“：　Ａ"), st.sampled_from(TOKEN)), max_size=30)
)
def test_unseen_characters_anywhere_keep_positions(between: list[str]) -> None:
    text = f"{''.join(between)}\u200b {TOKEN[:20]}\u200b{TOKEN[20:]} {''.join(between)}"
    redacted = redact(text)
    assert is_caught(Sample("", text, (TOKEN[:20], TOKEN[20:])))
    assert [redacted.text[one.at : one.after] for one in redacted.findings] == [
        f"[REDACTED:{one.rule}]" for one in redacted.findings
    ]
    assert redact(redacted.text) == (redacted.text, ())


def test_findings_say_where_and_never_what() -> None:
    text = f"ä {TOKEN} and password={PASSWORD} ö"
    redacted = redact(text)
    assert [finding.rule for finding in redacted.findings] == ["github-token", "secret-assignment"]
    assert text[redacted.findings[0].start : redacted.findings[0].end] == TOKEN
    assert text[redacted.findings[1].start : redacted.findings[1].end] == PASSWORD
    assert TOKEN not in repr(redacted)
    assert PASSWORD not in repr(redacted)


words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)


@settings(max_examples=300)
@given(words, words, st.sampled_from(SAMPLES))
def test_whatever_stands_around_it(before: str, after: str, sample: Sample) -> None:
    text = f"{before}\n{sample.text}\n{after}"
    redacted = redact(text)
    if is_caught(sample):
        assert is_caught(Sample(sample.kind, text, sample.secrets))
    assert redact(redacted.text) == (redacted.text, ())


@settings(max_examples=300)
@given(st.lists(st.one_of(words, st.sampled_from([sample.text for sample in SAMPLES])), max_size=6), words)
def test_positions_hold_and_twice_is_once(parts: list[str], between: str) -> None:
    text = between.join(parts)
    redacted = redact(text)
    rebuilt, end = "", 0
    for finding in redacted.findings:
        marker = f"[REDACTED:{finding.rule}]"
        rebuilt += text[end : finding.start] + marker
        end = finding.end
        assert redacted.text[finding.at : finding.after] == marker
    assert rebuilt + text[end:] == redacted.text
    assert redact(redacted.text) == (redacted.text, ())


@settings(max_examples=200)
@given(st.text(alphabet="password=:'\" \\\n{}[]sk-ghp_AKIA019eyJ.@/tokenREDACTED", max_size=200))
def test_twice_is_once_for_what_looks_like_secrets(text: str) -> None:
    redacted = redact(text).text
    assert redact(redacted).text == redacted


@settings(max_examples=200)
@given(st.lists(st.sampled_from([sample.text for sample in SAMPLES]), min_size=1, max_size=3))
def test_json_stays_json(texts: list[str]) -> None:
    """Log lines and arguments of tools are often JSON, and are still read as such."""
    json.loads(redact(json.dumps({"texts": texts, "after": "it"})).text)


def test_lone_surrogates_and_empty_texts_are_texts() -> None:
    assert redact("") == ("", ())
    assert redact("\ud800 nothing") == ("\ud800 nothing", ())
    assert redact(f"\ud800 {TOKEN}").text == "\ud800 [REDACTED:github-token]"


def test_only_markers_of_rules_protect_what_is_inside() -> None:
    inside = filled("dop_v1_{hex:64}", Random("inside"))[0]
    assert inside not in redact(f"[REDACTED:{inside}]").text


def test_value_is_judged_by_its_name() -> None:
    assert redact_value("password", PASSWORD).text == "[REDACTED:secret-assignment]"
    assert redact_value("clientSecret", PASSWORD + 'with "quotes"'.replace(" ", "")).findings
    assert redact_value("note", PASSWORD).text == PASSWORD
    assert redact_value("password", "required").text == "required"
    assert names_a_secret("DB_PASSWORD")
    assert not names_a_secret("password_hint")


@pytest.mark.parametrize(("form", "is_one"), [("", True), ("1", False)])
def test_card_numbers_are_checked_digit_by_digit(form: str, is_one: bool) -> None:
    number = card_number(Random("card"))[0] + form
    assert bool(redact(f"pay with {number} please").findings) is is_one


ADVERSARIAL = {
    "nothing": "a",
    "names": "password ",
    "assignments": "password=",
    "key blocks without end": "-----BEGIN RSA PRIVATE KEY-----",
    "addresses": "a://b:",
    "digits": "4",
    "hexadecimal": "0123456789abcdef",
    "tokens": "eyJ",
    "dots": "eyJaaaaaaaa.",
    "flags": "curl -u a ",
    "headers": "authorization: bearer ",
    "quotes": "password='",
    "escapes": 'token="\\',
    "brackets": "<password>",
    "markers": "[REDACTED:jwt]",
    "talk": "password is a, b, c ",
    "short names": "pw for a ",
    "codes": "door code a pin is ",
    "pairs": "login a / ",
    "seeds": "otpauth://a/b?c&",
    "hashes": "$6$",
    "signs": "密码是",
    "stated signs": "密码：a1b2c3d4x ",
    "stated codes": "my PIN is 4711. ",
    "unseen": "a\u200b",
    "wide": "密码：ａ",
    "last": "use aaaaaa1 as password ",
}


@pytest.mark.parametrize("piece", ADVERSARIAL.values(), ids=ADVERSARIAL.keys())
def test_time_grows_with_the_length_and_no_faster(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        started = time.process_time()
        redact(text)
        return time.process_time() - started

    seconds(10_000)
    short, long = (min(seconds(size) for _ in range(2)) for size in (30_000, 240_000))
    # Eight times the text: quadratic time would be 64 times as long.
    assert long < 24 * short + 0.05
    assert long < 3


def test_million_ordinary_characters_take_a_fraction_of_a_second() -> None:
    text = " ".join(ordinary_texts(3, 9000))[:1_000_000]
    redact(text[:10_000])
    started = time.process_time()
    redact(text)
    assert time.process_time() - started < 0.9


def test_random_noise_is_no_secret(rng: random.Random) -> None:
    for _ in range(300):
        noise = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz0123456789ABCDEF .,-_/\n", k=200))
        found = [finding for finding in redact(noise).findings if not re.fullmatch("card-number", finding.rule)]
        assert found == []

"""How many secrets are caught, how often an ordinary text loses something, and how fast it goes."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from memorist.secrets import redact
from memorist.secrets.rules import PROVIDERS
from memorist_bench.datasets import Benchmark
from memorist_bench.ordinary_texts import ordinary_texts, own_source
from memorist_bench.secret_samples import MADE, PROVIDER_FORMATS, SHAPE_FORMATS, UNLISTED_FORMATS, filled
from memorist_bench.spoken_secrets import HALVES, look_alikes, statements

_PIECE = 8
"""Characters of a secret that must not be left."""

# Where secrets stand. Those with a name of their own would also be caught without a format, so that most have none.
_SURROUNDINGS: tuple[Callable[[str], str], ...] = (
    lambda secret: secret,
    lambda secret: f"here it is: {secret}",
    lambda secret: f"please use {secret}, and tell nobody",
    lambda secret: f"({secret})",
    lambda secret: f"> I pasted `{secret}` into the form, was that right?",
    lambda secret: f"2026-11-15T10:00:00Z INFO  calling with {secret} failed: 401",
    lambda secret: f"# production\nDEBUG=false\nVALUE={secret}\nPORT=8080\n",
    lambda secret: f'client = Client("{secret}")',
    lambda secret: f"client = Client('{secret}', timeout=3)",
    lambda secret: f"steps:\n  - run: ./deploy {secret}\n",
    lambda secret: f"-value: old\n+value: {secret}\n",
    lambda secret: json.dumps({"ok": True, "value": secret, "next": None}),
    lambda secret: f"| name | value |\n|---|---|\n| prod | {secret} |\n",
    lambda secret: f"Grüße! Schlüssel → {secret} ←",
    lambda secret: f'Traceback (most recent call last):\n  File "app.py", line 3\nValueError: bad value {secret}\n',
)


class Sample(NamedTuple):
    """A text with a secret in it, and the parts of it that must go."""

    kind: str
    text: str
    secrets: tuple[str, ...]


def secret_texts(seed: int, each: int) -> Iterator[Sample]:
    """So many texts of every rule, in changing surroundings."""
    random = Random(f"secrets {seed}")
    for kind, formats in (PROVIDER_FORMATS | SHAPE_FORMATS).items():
        for number in range(each):
            yield _surrounded(kind, *filled(formats[number % len(formats)], random), random)
    for kind, make in MADE.items():
        for _ in range(each):
            yield _surrounded(kind, *make(random), random)


def unlisted_texts(seed: int, each: int) -> Iterator[Sample]:
    """Secrets that no rule knows. What has no random part is secret as a whole."""
    random = Random(f"unlisted {seed}")
    for kind, formats in UNLISTED_FORMATS.items():
        for number in range(each):
            text, parts = filled(formats[number % len(formats)], random)
            yield Sample(kind, text, parts or (text.rpartition(": ")[2].rpartition(" is ")[2],))


def measure_secrets(
    *, seed: int = 1, each: int = 60, ordinary: int = 20_000, benchmarks: Sequence[Benchmark] = ()
) -> dict[str, Any]:
    """The share of secrets that are caught; the share of ordinary texts that are changed; and the speed."""
    samples = list(secret_texts(seed, each))
    missed = Counter(sample.kind for sample in samples if not is_caught(sample))
    unlisted = list(unlisted_texts(seed, each))
    chat = list(ordinary_texts(seed, ordinary))
    others = {"source of memorist": list(own_source())} | {one.name: _messages(one) for one in benchmarks}
    return {
        "rules": len({sample.kind for sample in samples}),
        "provider_formats": len({rule.name for rule in PROVIDERS}),
        "secrets": len(samples),
        "caught": _share(len(samples) - missed.total(), len(samples)),
        "missed_by_rule": dict(missed),
        "ordinary_texts": len(chat),
        "false_positives": _share(len(changed(chat)), len(chat)),
        "false_positives_in": {name: _share(len(changed(texts)), len(texts)) for name, texts in others.items()},
        "unlisted_secrets": len(unlisted),
        "unlisted_caught": _by_kind(unlisted),
        "stated": {half: measure_stated(half) for half in HALVES},
        "ordinary_us_per_text": round(_seconds(chat) / len(chat) * 1_000_000, 1),
        "ordinary_mb_per_s": _megabytes_per_second(chat),
        "secrets_mb_per_s": _megabytes_per_second([sample.text for sample in samples]),
        "one_text_mb_per_s": _megabytes_per_second(["\n".join(chat)]),
    }


def measure_stated(half: str) -> dict[str, dict[str, float]]:
    """By language and in all: the share of stated secrets that are caught, and of look-alikes that are changed."""
    samples = [Sample(one.language, one.text, (one.secret,)) for one in statements(half)]
    others = [(one.language, bool(redact(one.text).findings)) for one in look_alikes(half)]
    result = {}
    for language in [*dict.fromkeys(sample.kind for sample in samples), "all"]:
        own = [is_caught(sample) for sample in samples if language in (sample.kind, "all")]
        wrong = [is_changed for spoken, is_changed in others if language in (spoken, "all")]
        result[language] = {
            "statements": len(own),
            "caught": _share(sum(own), len(own)),
            "look_alikes": len(wrong),
            "false_positives": _share(sum(wrong), len(wrong)),
        }
    return result


def is_caught(sample: Sample) -> bool:
    """Whether nothing that would help to guess the secret is left."""
    left = redact(sample.text).text
    return not any(piece in left for secret in sample.secrets for piece in _pieces(secret))


def changed(texts: Iterable[str]) -> list[str]:
    return [text for text in texts if redact(text).findings]


def _messages(benchmark: Benchmark) -> list[str]:
    return [message.text for case in benchmark.cases for message in case.messages]


def _pieces(secret: str) -> list[str]:
    return [secret[at : at + _PIECE] for at in range(max(1, len(secret) - _PIECE + 1))]


def _surrounded(kind: str, text: str, secrets: tuple[str, ...], random: Random) -> Sample:
    whole = random.choice(_SURROUNDINGS)(text)
    # JSON writes some characters in another way; what is secret is then another text.
    return Sample(kind, whole, secrets) if all(secret in whole for secret in secrets) else Sample(kind, text, secrets)


def _by_kind(samples: Sequence[Sample]) -> Mapping[str, float]:
    total = Counter(sample.kind for sample in samples)
    caught = Counter(sample.kind for sample in samples if is_caught(sample))
    return {kind: _share(caught[kind], total[kind]) for kind in total}


def _megabytes_per_second(texts: Sequence[str]) -> float:
    return round(sum(len(text.encode()) for text in texts) / 1_000_000 / _seconds(texts), 1)


def _seconds(texts: Sequence[str]) -> float:
    """Of the processor, so that others who use it do not count."""
    started = time.process_time()
    for text in texts:
        redact(text)
    return time.process_time() - started


def _share(part: int, whole: int) -> float:
    return round(part / whole, 5)

"""The table of rules, and what it is measured to be worth."""

from pathlib import Path

import pytest

from memorist.secrets.rules import NAMES, PROVIDERS, RULES
from memorist_bench.secret_samples import MADE, PROVIDER_FORMATS, SHAPE_FORMATS
from memorist_bench.secrets import changed, measure_secrets, measure_stated
from memorist_bench.spoken_secrets import HALVES, look_alikes, statements

ROOT = Path(__file__).parents[2]
# Pages that show secrets, invented ones, on purpose.
_ABOUT_SECRETS = {"secrets.md"}


def test_there_are_at_least_sixty_provider_formats() -> None:
    assert len({rule.name for rule in PROVIDERS}) >= 60


def test_every_rule_is_measured() -> None:
    assert set(PROVIDER_FORMATS) | set(SHAPE_FORMATS) | set(MADE) == NAMES


def test_names_fit_into_a_marker() -> None:
    for rule in RULES:
        assert rule.name == rule.name.lower()
        assert rule.name.replace("-", "").isalnum()


def test_every_rule_is_documented() -> None:
    page = (ROOT / "docs" / "explanation" / "secrets.md").read_text("utf-8")
    missing = sorted(name for name in NAMES if f"`{name}`" not in page)
    assert missing == []


@pytest.mark.parametrize("seed", [1, 2])
def test_targets_are_met(seed: int) -> None:
    found = measure_secrets(seed=seed, each=12, ordinary=4000)
    assert found["caught"] >= 0.99
    assert found["false_positives"] <= 0.005
    assert all(share <= 0.005 for share in found["false_positives_in"].values())
    assert found["provider_formats"] >= 60


@pytest.mark.parametrize("half", HALVES)
def test_stated_secrets_are_caught_and_look_alikes_stay(half: str) -> None:
    found = measure_stated(half)
    assert found["all"]["caught"] >= 0.95
    assert found["all"]["false_positives"] <= 0.005
    assert all(one["caught"] >= 0.8 for one in found.values())
    assert set(found) == {"en", "de", "es", "fr", "pt", "it", "zh", "ja", "ru", "all"}


def test_there_are_300_statements_and_2000_look_alikes_and_no_text_is_in_both_parts() -> None:
    stated, others = ({half: {one.text for one in make(half)} for half in HALVES} for make in (statements, look_alikes))
    assert [len(stated[half]) for half in ("develop", "report")] == [200, 100]
    assert [len(others[half]) for half in ("develop", "report")] == [1400, 600]
    assert not stated["develop"] & stated["report"]
    assert not others["develop"] & others["report"]


def test_no_rule_is_much_worse_than_the_others() -> None:
    found = measure_secrets(seed=3, each=20, ordinary=10)
    assert all(missed <= 2 for missed in found["missed_by_rule"].values())


def test_own_documentation_holds_no_secrets() -> None:
    for path in sorted((ROOT / "docs").rglob("*.md")):
        if path.name not in _ABOUT_SECRETS:
            assert changed(path.read_text("utf-8").split("\n\n")) == [], path

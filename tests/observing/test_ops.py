"""What is in `ops/` and on the page names metrics that exist, with the labels that they have."""

import json
import re
from collections.abc import Iterator

import pytest
import yaml

from memorist.observing.families import ALL, Family, MetricForm
from tests.docs.pages import ROOT, page

DASHBOARD = json.loads((ROOT / "ops/grafana-dashboard.json").read_text("utf-8"))
RULES = yaml.safe_load((ROOT / "ops/prometheus-alerts.yml").read_text("utf-8"))["groups"][0]["rules"]

OF_PROMETHEUS = {"instance", "job", "le"}
_NAME = re.compile(r"\b((?:memorist|process)_[a-z_]+)(?:\{([^}]*)\})?")
_GROUPED = re.compile(r"\b(?:by|without) \(([^)]*)\)")


def series(family: Family) -> list[str]:
    """Under which names its values come."""
    ends = ("_bucket", "_count", "_sum") if family.form is MetricForm.HISTOGRAM else ("",)
    return [family.name + end for end in ends]


KNOWN = {name: family for family in ALL for name in series(family)}


def queries() -> Iterator[tuple[str, str]]:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]
    for rule in RULES:
        yield rule["alert"], rule["expr"]


@pytest.mark.parametrize(("where", "query"), list(queries()))
def test_query_names_metrics_that_exist_and_their_labels(where: str, query: str) -> None:
    named = _NAME.findall(query)
    assert named or where == "MemoristDown"
    families = [KNOWN[name] for name, _ in named if not name.startswith("process_")]
    for name, selected in named:
        labels = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selected)) - OF_PROMETHEUS
        assert labels <= set(KNOWN[name].labels if name in KNOWN else ()), name
    grouped = {label.strip() for group in _GROUPED.findall(query) for label in group.split(",")} - OF_PROMETHEUS
    assert grouped <= {label for family in families for label in family.labels}
    assert query.count("(") == query.count(")")


def test_dashboard_shows_every_metric() -> None:
    shown = {name for _, query in queries() for name, _ in _NAME.findall(query)}
    assert [family.name for family in ALL if shown.isdisjoint(series(family))] == []


def test_panels_have_places_and_numbers_of_their_own() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len(places)
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in panels)


def test_every_alert_says_what_is_wrong_and_what_to_do() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES) > 10
    for rule in RULES:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert {"summary", "description"} == set(rule["annotations"])


def test_every_metric_is_on_the_page_and_named_as_prometheus_wants_it() -> None:
    text = page("docs/howto/watch-a-server.md").text
    for family in ALL:
        assert f"| `{family.name}` | {family.form} |" in text
        assert family.help in text
        assert family.name.endswith("_total") == (family.form is MetricForm.COUNTER)
    assert len({family.name for family in ALL}) == len(ALL)

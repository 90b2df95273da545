"""What people look for first in a repository is there, is well-formed, and says what is true."""

from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[2]


def test_workflow_runs_the_two_commands_of_the_readme() -> None:
    steps = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["test"]["steps"]
    said = " ".join(step.get("run", "") for step in steps)
    assert "make run" in said
    assert "make test" in said


@pytest.mark.parametrize("form", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.name)
def test_issue_form_has_what_it_needs(form: Path) -> None:
    found = yaml.safe_load(form.read_text())
    if form.name != "config.yml":
        assert {"name", "description", "body"} <= found.keys()
        assert all(part["attributes"]["label"] for part in found["body"])


def test_citation_names_the_licence_of_the_package() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["cff-version"] == "1.2.0"
    assert f'license = "{cited["license"]}"' in (ROOT / "pyproject.toml").read_text()


def test_security_page_says_how_to_report_and_points_to_pages_that_exist() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    assert "Report a vulnerability" in text
    for part in text.split("](")[1:]:
        assert (ROOT / part.split(")")[0]).exists(), part

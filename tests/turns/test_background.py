"""Whoever waits for a first word does not wait for what is learned from other turns."""

from collections.abc import Callable
from typing import Any

import pytest

from memorist.composing.service import Composer
from memorist.learning.finding import Finder
from memorist.models.fair_share import BACKGROUND, WHOSE, Whose
from tests.http.conftest import Served


@pytest.mark.usefixtures("model")
def test_a_turn_composes_for_its_user_and_learns_in_the_background(
    served: Served, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for: dict[str, Whose] = {}

    def noting(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            asked_for[name] = WHOSE.get()
            return work(*arguments, **more)

        return call

    monkeypatch.setattr(Composer, "for_turn", noting("composing", Composer.for_turn))
    monkeypatch.setattr(Finder, "drafts", noting("learning", Finder.drafts))
    with served.client(tenant) as ada:
        body = {"messages": [{"role": "user", "content": "I prefer tea over coffee."}]}
        assert ada.post("/v1/turns", json=body).status_code == 201
    assert asked_for == {"composing": (tenant, "ada"), "learning": BACKGROUND}

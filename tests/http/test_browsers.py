"""Pages of other origins call the server only where a setting names them."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from memorist.errors import InvalidSetting
from memorist.settings import Settings
from memorist.settings_sources import load_settings
from tests.http.conftest import Served, serving

ORIGIN = "https://app.example.org"
PREFLIGHT = {
    "Origin": ORIGIN,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,content-type",
}


@pytest.fixture
def open_served(tmp_path: Path) -> Iterator[Served]:
    allowed = f"{ORIGIN}, http://localhost:5173"
    with serving(Settings(data=tmp_path, port=0, embedder="off", reranker="off", allowed_origins=allowed)) as server:
        yield server


def test_named_origin_may_call_with_a_key(open_served: Served) -> None:
    preflight = httpx2.options(f"{open_served.url}/v1/memory", headers=PREFLIGHT)
    assert preflight.status_code == 200
    assert preflight.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert "DELETE" in preflight.headers["Access-Control-Allow-Methods"]
    refused = httpx2.get(f"{open_served.url}/v1/memory", headers={"Origin": ORIGIN})
    assert refused.status_code == 401
    assert refused.headers["Access-Control-Allow-Origin"] == ORIGIN, "a page reads what went wrong, too"
    assert "Access-Control-Allow-Credentials" not in refused.headers, "never with the cookie of the dashboard"
    other = httpx2.get(f"{open_served.url}/v1/memory", headers={"Origin": "https://evil.example.org"})
    assert "Access-Control-Allow-Origin" not in other.headers


def test_no_origin_may_unless_it_is_named(served: Served) -> None:
    preflight = httpx2.options(f"{served.url}/v1/memory", headers=PREFLIGHT)
    assert "Access-Control-Allow-Origin" not in preflight.headers
    answer = httpx2.get(f"{served.url}/v1/memory", headers={"Origin": ORIGIN})
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_address_that_is_no_origin_is_refused() -> None:
    with pytest.raises(InvalidSetting):
        load_settings(environment={"MEMORIST_ALLOWED_ORIGINS": "https://app.example.org/settings"})

"""The reference that the server shows of itself."""

import inspect
import re
from typing import Any, cast

import httpx2
import pytest
from fastapi.routing import APIRoute

from memorist.errors import all_errors
from memorist.surfaces.http.app import create_api
from memorist.surfaces.http.boundary import OPEN
from memorist.surfaces.http.problems import STATUS, status_of
from memorist.surfaces.http.whole_answers import ANSWERS
from tests.http.conftest import Served


def test_openapi_describes_every_route_with_its_key(served: Served) -> None:
    schema = httpx2.get(f"{served.url}/openapi.json").json()

    assert schema["openapi"].startswith("3.")
    assert set(schema["paths"]) >= {
        "/v1/memories",
        "/v1/memories/{memory_id}",
        "/v1/memories/section",
        "/healthz",
        "/readyz",
    }
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            assert operation["summary"]
            assert ("security" in operation) is (path not in OPEN)
    assert schema["paths"]["/metrics"]["get"]["security"] == [{}, {"apiKey": []}]  # This machine needs none.
    assert "apiKey" in schema["components"]["securitySchemes"]
    parameters = schema["paths"]["/v1/memories/{memory_id}"]["get"]["parameters"]
    assert [parameter["name"] for parameter in parameters][:2] == ["memory_id", "X-Memorist-User"]


def test_openapi_tells_the_shape_of_refusals_as_they_are(served: Served) -> None:
    schema = httpx2.get(f"{served.url}/openapi.json").json()
    refused = httpx2.get(f"{served.url}/v1/memories").json()

    assert "HTTPValidationError" not in str(schema)
    assert set(refused) <= set(schema["components"]["schemas"]["Problem"]["properties"])
    for operations in schema["paths"].values():
        for operation in operations.values():
            assert "422" not in operation["responses"]
            assert "5XX" in operation["responses"]


def test_human_page_lists_every_operation(served: Served) -> None:
    page = httpx2.get(f"{served.url}/docs").text
    schema = httpx2.get(f"{served.url}/openapi.json").json()
    for path, operations in schema["paths"].items():
        assert path in page
        for operation in operations.values():
            assert operation["summary"] in page


def test_errors_page_explains_every_code(served: Served) -> None:
    page = httpx2.get(f"{served.url}/docs/errors").text
    for kind in all_errors():
        assert f'id="{kind.code}"' in page


@pytest.mark.parametrize("path", ["/docs", "/docs/errors", "/docs/post-v1-memories"])
def test_pages_load_nothing_from_elsewhere(served: Served, path: str) -> None:
    response = httpx2.get(f"{served.url}{path}")

    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert re.findall(r"<script(?! src=\"/dashboard/static/)", response.text) == []
    assert not re.search(r"""(?:src|href)=["']https?://""", response.text)


def test_start_page_leads_to_the_dashboard_whatever_the_host_header_says(served: Served) -> None:
    for headers in ({}, {"Host": 'x"><script>alert(1)</script>'}, {"Host": "example.com"}):
        answer = httpx2.get(f"{served.url}/", headers=headers)
        assert (answer.status_code, answer.headers["location"]) == (303, "/dashboard")


def test_every_error_has_a_status() -> None:
    for kind in all_errors():
        assert 400 <= status_of(kind()) < 600
    assert all(issubclass(kind, Exception) for kind in STATUS)


def test_health_needs_no_key(served: Served) -> None:
    assert httpx2.get(f"{served.url}/healthz").json()["status"] == "ok"
    assert httpx2.get(f"{served.url}/readyz").json() == {"status": "ready"}


def test_openapi_tells_every_whole_answer() -> None:
    routes = [route for route in create_api(cast(Any, None)).routes if isinstance(route, APIRoute)]
    asked = [
        route.path_format
        for route in routes
        if re.search(r"(whole|told|begun)\(request", inspect.getsource(route.endpoint))
    ]
    assert sorted(asked) == sorted(path for _, path in ANSWERS)


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/docs", "/docs/errors", "/openapi.json"])
def test_head_answers_as_get_does_without_a_body(served: Served, path: str) -> None:
    got, head = (httpx2.request(method, f"{served.url}{path}") for method in ("GET", "HEAD"))
    assert (head.status_code, head.content) == (got.status_code, b"")
    for name in ("content-type", "content-length", "location", "cache-control"):
        assert head.headers.get(name) == got.headers.get(name)
    with httpx2.Client(base_url=served.url) as client:  # The connection is still good for the next request.
        assert client.head(path).status_code == client.get(path).status_code == got.status_code


def test_head_elsewhere_takes_a_key(served: Served) -> None:
    assert httpx2.head(f"{served.url}/v1/memories").status_code == 401

"""The OpenAPI document is as strict as the server: what it allows is taken, what it forbids is refused, and an answer
is one that it tells of. MEMORIST_TEST_SCHEMA_EXAMPLES asks for more requests of each operation.
"""

import os
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
import requests  # noqa: TID251 - schemathesis sends with it.
import schemathesis
from schemathesis import Case, CheckContext, Response
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from memorist.platform.values import Role
from memorist.settings import Settings
from memorist.surfaces.http.app import create_api
from tests.http.conftest import Served, serving
from tests.support.scripted_http import scripted_server
from tests.support.talking import says

EXAMPLES = int(os.environ.get("MEMORIST_TEST_SCHEMA_EXAMPLES", "2"))

NOT_CALLED = {"GET /v1/events/stream": "never ends; tests/http/test_events.py follows it"}

LEFT_OUT = {
    positive_data_acceptance: "`accepted` asks it, after a look into the table below",
    ignored_auth: "it sends every request thrice; tests/http/test_admission.py asks each operation without a key once",
}

BY_MEANING = {
    ("", "invalid_cursor", ""): "which list a cursor is of, and where it stands, only that list knows",
    ("", "idempotency_mismatch", ""): "a key that was used for another request is refused, whatever the request",
    ("", "stale_version", ""): "an ETag is that of the current version, or it is not",
    ("", "payload_too_large", ""): "the largest body is a setting",
    ("", "invalid_field", "If-Match"): "the generator sends `0` in any header that has a pattern",
    ("GET /v1/memory", "invalid_field", "category"): "parameters cannot depend on each other in OpenAPI",
    ("GET /v1/records", "invalid_field", "order"): "parameters cannot depend on each other in OpenAPI",
    ("POST /v1/tools/{name}", "invalid_field", "*"): "each tool has its own schema: GET /v1/tools",
    ("POST /v1/documents", "invalid_field", "content"): "whether markup holds any text is known once it is read",
    ("POST /v1/documents", "invalid_field", "content_base64"): "whether bytes are a PDF or text is known once read",
    ("POST /v1/turns", "invalid_field", "*role"): "that the last message is the user's cannot be said of an array",
    ("POST /v1/records/import", "invalid_field", "*"): "the lines are an export, each JSON in a text",
    ("POST /v1/records/import", "invalid_json", ""): "the lines are an export, each JSON in a text",
    ("POST /v1/facts", "invalid_field", "scope"): "the agent of the scope is that of the key, or of a header",
    ("POST /v1/records/recall", "invalid_field", "scope"): "the agent of the scope is that of the key, or of a header",
    ("POST /api/memory/extract", "invalid_field", "transcriptPath"): "which files may be read is a setting",
    ("DELETE /api/memory", "invalid_id", ""): "it is there to say that the id is missing",
    ("DELETE /v1/admin/tenant", "invalid_field", "confirm"): "it takes the name of the caller's own tenant",
    ("DELETE /v1/admin/users/{user}", "invalid_field", "confirm"): "it takes the caller's own name",
}
"""What is refused though its schema allows it, by operation, code and field, and why no schema can say so."""


def document() -> dict[str, Any]:
    """What the server publishes, without lengths that nobody makes texts of at random."""
    return _shortened(create_api(None).openapi())  # type: ignore[arg-type, no-any-return]


def _shortened(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_shortened(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    is_long = isinstance(schema.get("maxLength"), int) and schema["maxLength"] > 10_000
    return {name: _shortened(value) for name, value in schema.items() if not (is_long and name == "maxLength")}


def accepted(ctx: CheckContext, response: Response, case: Case) -> bool | None:
    """What the schema allows is accepted, or refused for a reason in the table."""
    if response.status_code < 500 and "problem+json" in response.headers.get("content-type", [""])[0]:
        said = response.json()
        code, field = said["code"], said.get("field", "")
        for label, known, pattern in BY_MEANING:
            is_same = field.endswith(pattern[1:]) if pattern.startswith("*") else pattern in ("", field)
            if label in ("", case.operation.label) and code == known and is_same:
                return None
    return positive_data_acceptance(ctx, response, case)


CONFIG = schemathesis.Config.from_dict(
    {
        "generation": {"deterministic": True, "max-examples": EXAMPLES, "with-security-parameters": False},
        "phases": {"examples": {"enabled": False}},
        # Its records are those of POST /v1/records, which has the many.
        "operations": [{"include-path": "/v1/records/batch", "phases": {"coverage": {"enabled": False}}}],
    }
)
DOCUMENT = document()
LABELS = [f"{method.upper()} {path}" for path, methods in DOCUMENT["paths"].items() for method in methods]
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT, config=CONFIG)


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with scripted_server(says("Noted.")) as model:
        settings = Settings(
            data=tmp_path_factory.mktemp("strict"), port=0, embedder="off", reranker="off", failed_key_delay_s=0,
            llm="openai:gpt-4o", llm_url=model.url, llm_api_key="not-a-key", judge_model="local", extractor="local",
            user_rate=100_000, key_rate=100_000,
        )  # fmt: skip
        with serving(settings) as server:
            yield server


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False  # It would look for proxies in the whole environment at every request.
        yield session


@pytest.mark.parametrize("label", [label for label in LABELS if label not in NOT_CALLED])
def test_server_is_as_strict_as_its_document(
    label: str, strict: Served, session: requests.Session, tenant: str
) -> None:
    def call(case: Case) -> None:
        check(case, strict, session, key_of(strict, tenant))

    # Schemathesis would make up what is sent while tests are collected, in every process, which takes ten seconds.
    build_operation_test(
        config=SCHEMA.config,
        operation=SCHEMA.find_operation_by_label(label),
        test_func=call,
        given_kwargs={},
        feedback=FeedbackSources(),
    )()


def check(case: Case, server: Served, session: requests.Session, key: str) -> None:
    case.call_and_validate(
        base_url=server.url,
        session=session,
        headers={"Authorization": f"Bearer {key}"},
        timeout=60,
        additional_checks=[accepted],
        excluded_checks=list(LEFT_OUT),
    )


_keys: dict[str, str] = {}


def key_of(server: Served, tenant: str) -> str:
    """One admin key a tenant, who is also a user: it may ask for everything."""
    if tenant not in _keys:
        _keys[tenant] = server.key(tenant, Role.ADMIN, "ada")
    return _keys[tenant]


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/v1/memories/section", "GET"),
        ("/v1/records/export", "GET"),
        ("/v1/records/recall", "POST"),
        ("/v1/records", "GET, POST"),
        ("/v1/records/mem_00000000000000000000000000", "DELETE, GET, PATCH"),
        ("/api/memory/search", "GET"),
        ("/memory/query", "POST"),
        ("/memory/user/purge", "DELETE"),
        ("/mcp", "POST"),
    ],
)
def test_allow_names_the_methods_that_are_there(strict: Served, tenant: str, path: str, allowed: str) -> None:
    headers = {"Authorization": f"Bearer {key_of(strict, tenant)}"}
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - set(allowed.split(", ")):
        answer = httpx2.request(method, strict.url + path, headers=headers, timeout=30)
        assert (answer.status_code, answer.headers["allow"]) == (405, allowed), method


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/records/recall", {"query": "tea", "top_k": 5.0}, 200),
        ("/memory/query", {"query": "tea", "top_k": 5.0}, 200),
        ("/memory/query", {"query": "tea", "top_k": 5.5}, 422),
        ("/memory/add", {"content": "soon gone", "ttl_minutes": 5e-324}, 201),
        ("/v1/records", {"content": "soon gone", "ttl": 5e-324}, 201),
        ("/v1/records/extract", {"transcript": "User: I like\0 tea."}, 422),
        ("/api/memory/extract", {"transcript": "User: I like\0 tea."}, 400),
        ("/v1/records/extract", {"transcript": "User: I like tea.", "project": "a\nb"}, 422),
        ("/api/memory/extract", {"transcript": "User: I like tea.", "projectPath": "a\nb"}, 400),
        ("/api/memory/extract", {"transcript": "User: I like tea.", "projectPath": ""}, 200),
        ("/v1/records/import?after=217100452834638553369609764864", {"lines": []}, 422),
    ],
)
def test_what_the_document_says_of_a_value_holds(
    strict: Served, tenant: str, path: str, body: dict[str, object], status: int
) -> None:
    headers = {"Authorization": f"Bearer {key_of(strict, tenant)}"}
    answer = httpx2.post(strict.url + path, json=body, headers=headers, timeout=30)
    assert answer.status_code == status, answer.text


def test_every_exception_is_of_an_operation_that_is_there() -> None:
    assert {label for label, _, _ in BY_MEANING if label} | set(NOT_CALLED) <= set(LABELS)

"""The reference at /docs: every call has a page, and what its examples say is what the server takes."""

import json
import os
import shutil
import subprocess
import sys
from typing import Any, cast

import httpx2
import pytest

from memorist.platform.values import Role
from memorist.surfaces.http.app import create_api
from memorist.surfaces.http.examples import examples
from memorist.surfaces.http.operations import Operation, operations
from tests.http.conftest import Served

EVERY = [one for group in operations(create_api(cast(Any, None)).openapi()).values() for one in group]
NODE = ["node", "--input-type=module", "--eval"]
# What these name is not there, and a turn needs a language model.
FOUND_NOWHERE = ("/v1/turns", "{memory_id}", "/v1/records/erase")


def find(method: str, path: str) -> Operation:
    return next(one for one in EVERY if (one.method, one.path) == (method, path))


def test_every_call_has_an_address_of_its_own() -> None:
    assert len({one.slug for one in EVERY}) == len(EVERY)
    assert all(one.slug != "errors" for one in EVERY)


def test_every_call_has_a_page_with_its_inputs_and_the_readers_own_address(by_keyword: Served) -> None:
    with httpx2.Client(base_url=by_keyword.url) as client:
        for one in EVERY:
            page = client.get(f"/docs/{one.slug}")
            assert page.status_code == 200, one.slug
            for inside in (one.path, "curl ", "httpx2.request", "await fetch"):
                assert inside in page.text
            assert page.text.count(by_keyword.url) >= 3
            answered = [field for answer in one.answers for field in answer.fields]
            assert all(f"<code>{field.name}</code>" in page.text for field in (*one.parameters, *one.fields, *answered))
        assert client.get("/docs/nothing").status_code == 404


def test_objects_in_a_body_and_in_an_answer_are_described_too() -> None:
    messages = find("POST", "/v1/sessions/{session_id}/messages")
    assert {"messages", "messages[].role", "messages[].content"} <= {field.name for field in messages.fields}
    (answer,) = find("GET", "/v1/memories").answers
    assert (answer.status, answer.media_types) == ("200", ("application/json",))
    assert {"data[].name", "next_cursor"} <= {field.name for field in answer.fields}


def test_address_in_an_example_is_never_markup(by_keyword: Served) -> None:
    for host in ('x"><script>alert(1)</script>', "memory.example.org", "$(touch x)"):
        page = httpx2.get(f"{by_keyword.url}/docs/post-v1-memories", headers={"Host": host}).text
        assert "<script>" not in page
        assert "$(touch" not in page
    assert "https" not in httpx2.get(f"{by_keyword.url}/docs/get-healthz").text


def test_no_input_of_a_form_could_end_in_an_address(by_keyword: Served) -> None:
    for one in EVERY:
        page = httpx2.get(f"{by_keyword.url}/docs/{one.slug}").text
        form = page.partition("<form")[2].partition("</form>")[0]
        assert "data-try" in form
        assert " name=" not in form


def test_bodies_of_the_examples_are_taken(by_keyword: Served, tenant: str) -> None:
    refused = []
    with by_keyword.client(tenant, Role.ADMIN, "ada") as client:
        for one in EVERY:
            if one.body is None:
                continue
            path = one.path
            for parameter in one.own:
                path = path.replace(f"{{{parameter.name}}}", parameter.sample)
            answer = client.request(one.method, path, json=one.body)
            if not answer.is_success and not any(piece in one.path for piece in FOUND_NOWHERE):
                refused.append((one.method, one.path, answer.status_code, answer.text))
    assert [f"{one}" for one in refused] == []


@pytest.mark.parametrize(
    ("language", "program"), [("curl", ["sh", "-c"]), ("Python", [sys.executable, "-c"]), ("TypeScript", NODE)]
)
def test_example_does_what_it_says(by_keyword: Served, tenant: str, language: str, program: list[str]) -> None:
    if shutil.which(language if language == "curl" else program[0]) is None:
        pytest.skip(f"nothing here runs {language}")
    key = by_keyword.key(tenant, Role.USER, "ada")
    for operation in (find("POST", "/v1/memories"), find("GET", "/v1/memories"), find("GET", "/healthz")):
        text = dict(examples(operation, by_keyword.url))[language]
        environment = os.environ | {"MEMORIST_API_KEY": key}
        done = subprocess.run([*program, text], capture_output=True, text=True, timeout=60, env=environment, check=True)
        said = done.stdout
        answer = json.loads(said[said.index("{") :])
        if operation.path == "/v1/memories":
            assert "deploy_day" in json.dumps(answer)


def test_examples_hold_quotes_and_lines_of_their_own() -> None:
    body = {"text": 'It\'s "so"\nand so', "on": True, "none": None}
    operation = Operation("PUT", "/x/{id}", "S", "", "g", (), (), body, needs_key=True)
    curl, python, typescript = (one.text for one in examples(operation, "http://h"))
    assert json.loads(subprocess.run(["sh", "-c", curl.replace("curl", "printf '%s\\n'")], capture_output=True,
                                     text=True, check=True).stdout.splitlines()[-1]) == body  # fmt: skip
    compile(python, "example", "exec")
    assert repr(body["on"]) in python
    assert json.dumps(body["text"]) in typescript

"""The table of the Python clients, taken by the TypeScript client: same answers, same rows, same errors."""

import base64
import inspect
import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import pytest

from docs.typescript import camel, files, verb_names
from memorist.client import Client
from memorist.codec import from_record, to_record
from memorist.errors import all_errors
from memorist.ids import parse_id
from memorist.ingestion.values import Document
from memorist.memories.values import Memory
from memorist.platform.values import Change, Role
from memorist.surfaces.library import Memorist
from memorist.testing import new_tenant
from memorist.times import from_iso
from tests.client.test_parity import CASES, ERRORS, Doing
from tests.http.conftest import Served
from tests.typescript.conftest import PACKAGE, Bridge

_BY_CODE = {kind.code: kind for kind in all_errors()}
# JSON.stringify makes a text of a date, wherever it stands: JavaScript has no other way.
_ONLY_IN_PYTHON = {"meta that is no text"}
_STREAMED: dict[str, Any] = {"export": str, "iterate": Memory, "iterate_documents": Document}


def test_generated_files_are_up_to_date() -> None:
    for path, text in files().items():
        assert path.read_text() == text, f"{path.name}: run `make docs`"


def test_every_verb_is_in_the_typescript_client() -> None:
    source = (PACKAGE / "src/verbs.ts").read_text()
    methods = set(re.findall(r"^  (?:async \*?|\*|readonly )?(\w+)[(:]", source, re.MULTILINE))
    assert {camel(name) for name in verb_names()} - methods == set()


@pytest.mark.parametrize("by_keyword", ["sqlite"], indirect=True)
@pytest.mark.parametrize("verb", sorted(CASES))
def test_verb_does_the_same_in_typescript(by_keyword: Served, bridge: Bridge, verb: str) -> None:
    doings = _by_library(by_keyword, Role.ADMIN), _by_typescript(by_keyword, bridge, Role.ADMIN)
    found = [(doing.answer(CASES[verb]), doing.database()) for doing in doings]
    assert found[1] == found[0]
    assert not isinstance(found[0][0], tuple), "it is to succeed"


@pytest.mark.parametrize("by_keyword", ["sqlite"], indirect=True)
@pytest.mark.parametrize("name", sorted(ERRORS.keys() - _ONLY_IN_PYTHON))
def test_error_is_the_same_in_typescript(by_keyword: Served, bridge: Bridge, name: str) -> None:
    doings = _by_library(by_keyword, Role.USER), _by_typescript(by_keyword, bridge, Role.USER)
    # Which field it is, TypeScript tells in the words of the server.
    kinds = [doing.answer(ERRORS[name])[:2] for doing in doings]
    assert kinds[1] == kinds[0]


def _by_library(served: Served, role: Role) -> Doing:
    tenant = new_tenant()
    handle = Memorist(served.core).with_key(served.key(tenant, role, "ada"))
    return Doing(served, lambda verb, args, kwargs: getattr(handle, verb)(*args, **kwargs), tenant)


def _by_typescript(served: Served, bridge: Bridge, role: Role) -> Doing:
    tenant = new_tenant()
    key = served.key(tenant, role, "ada")

    def call(verb: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        told = bridge.ask(url=served.url, api_key=key, verb=camel(verb), given=_given(verb, args, kwargs))
        if "code" in told:
            kind = _BY_CODE[told["code"]]
            assert kind.__name__ == told["name"]
            raise kind("as told")
        return _answer(verb, told["answer"])

    return Doing(served, call, tenant)


def _given(verb: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Positions as they are, an absent one as null, and what is named as the last one."""
    if verb == "erase":
        return [[*args]]
    parameters = inspect.signature(getattr(Client, verb)).parameters.values()
    places = [one for one in parameters if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD and one.name != "self"]
    defaults = [to_record(one.default) for one in places[len(args) :]]
    named = {name: _seconds(verb, name, _wrapped(value)) for name, value in kwargs.items()}
    return [*map(_wrapped, args), *defaults, named]


def _seconds(verb: str, name: str, value: Any) -> Any:
    # In milliseconds, and ten times as long: the machine may be busy.
    return value * 10_000 if (verb, name) == ("changes", "wait") else value


def _wrapped(value: Any) -> Any:
    """As JSON, with what it has no word for wrapped."""
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, float) and not isfinite(value):
        return {"$number": str(value)}
    if isinstance(value, set):
        return {"$set": True}
    if isinstance(value, Mapping):
        return {name: _wrapped(one) for name, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_wrapped(one) for one in value]
    record = to_record(value)
    return {name: one for name, one in record.items() if one is not None} if isinstance(record, dict) else record


def _answer(verb: str, told: Any) -> Any:
    if verb == "changes":
        return [
            Change(one["position"], one["action"], parse_id("mem", one["memory_id"]), from_iso(one["at"]))
            for one in told
        ]
    if verb in _STREAMED:
        return [from_record(_STREAMED[verb], one) for one in told]
    return from_record(inspect.signature(getattr(Client, verb)).return_annotation, told)

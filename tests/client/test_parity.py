"""The library's handle and both clients have the same verbs, with the same arguments."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from memorist.client import AsyncClient, Client, calls, doors
from memorist.surfaces.library import Handle

# Verbs that need the database itself, that no API of the server offers, or that are an operator's.
ONLY_OF_THE_LIBRARY = {
    "drop_job",
    "erase",
    "export",
    "get_job",
    "import_",
    "jobs",
    "policy",
    "principal",
    "remember_all",
    "reset",
    "retry_job",
    "set_policy",
    "sweep",
    "verify",
    "wait_until_indexed",
}
# What only makes sense over a connection.
ONLY_OF_THE_CLIENTS = {"close", "iterate", "iterate_documents", "stream"}
# Streams, which each client reads in its own way.
STREAMS = {"changes", "turn", "turn_events"}


def verbs(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


def arguments(function: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    found = inspect.signature(function).parameters.values()
    return [(one.name, one.kind, one.default) for one in found if one.name != "self"]


def test_clients_have_the_verbs_of_the_library() -> None:
    assert verbs(Handle) - verbs(Client) == ONLY_OF_THE_LIBRARY
    assert verbs(Client) - verbs(Handle) == ONLY_OF_THE_CLIENTS
    assert verbs(Client) == verbs(AsyncClient)


@pytest.mark.parametrize("name", sorted(verbs(Handle) & verbs(Client)))
def test_verb_takes_the_same_arguments_everywhere(name: str) -> None:
    expected = arguments(getattr(Handle, name))
    assert arguments(getattr(Client, name)) == expected
    assert arguments(getattr(AsyncClient, name)) == expected


@pytest.mark.parametrize("name", sorted(ONLY_OF_THE_CLIENTS))
def test_what_the_library_has_not_is_the_same_in_both_clients(name: str) -> None:
    assert arguments(getattr(Client, name)) == arguments(getattr(AsyncClient, name))


def test_every_call_is_a_verb_of_both_clients() -> None:
    functions = [*vars(calls).items(), *vars(doors).items()]
    homes = (calls.__name__, doors.__name__)
    described = {name for name, value in functions if inspect.isfunction(value) and value.__module__ in homes}
    described.discard("from_tool")
    public = {name for name in described if not name.startswith("_")}
    assert public == verbs(Client) - ONLY_OF_THE_CLIENTS - STREAMS


def test_every_verb_says_what_it_does() -> None:
    for kind in (Client, AsyncClient):
        assert [name for name in verbs(kind) if not getattr(kind, name).__doc__] == []

"""What the code has, the reference has: a setting, command, option, endpoint, error or method without it fails."""

import importlib.util
import inspect
from dataclasses import fields
from types import ModuleType
from typing import Any, cast

import pytest
import typer

import memorist
from memorist import client as client_package
from memorist.client import Client
from memorist.errors import all_errors
from memorist.memories.values import Kind, Memory, Status, Trust
from memorist.platform.values import Owner, Role
from memorist.settings import ENVIRONMENT_PREFIX, Settings
from memorist.surfaces.cli.failures import EXIT_CODES
from memorist.surfaces.cli.runner import full_app
from memorist.surfaces.http.app import create_api
from memorist.surfaces.library import AsyncHandle, AsyncMemorist, Handle, Memorist
from tests.docs.pages import ROOT, page


def _load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate = _load_generator()


@pytest.mark.parametrize("path", generate.pages(), ids=lambda path: path.name)
def test_generated_parts_are_up_to_date(path: Any) -> None:
    text = path.read_text("utf-8")
    assert generate.render(text) == text, "run `make docs`"


def test_every_generator_is_used() -> None:
    text = "".join(path.read_text("utf-8") for path in generate.pages())
    unused = [name for name in generate.PARTS if f"<!-- generated: {name} -->" not in text]
    assert unused == []


@pytest.mark.parametrize("setting", fields(Settings), ids=lambda setting: setting.name)
def test_every_setting_has_a_heading(setting: Any) -> None:
    section = page("docs/reference/settings.md").section(f"`{setting.name}`")
    assert setting.metadata["help"] in section
    assert f"`{ENVIRONMENT_PREFIX}{setting.name.upper()}`" in section


def _commands(command: Any, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any]]:
    children = getattr(command, "commands", None)
    if children is None:
        return [(path, command)]
    return [leaf for name, child in children.items() for leaf in _commands(child, (*path, name))]


COMMANDS = _commands(typer.main.get_command(full_app()), ("memorist",))


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[" ".join(path) for path, _ in COMMANDS])
def test_every_command_is_described_with_every_option(path: tuple[str, ...], command: Any) -> None:
    section = page("docs/reference/cli.md").section(f"`{' '.join(path)}`")
    assert " ".join(command.help.split("\n\n")[0].split()) in section
    for parameter in command.params:
        if not parameter.hidden and parameter.param_type_name == "option":
            for option in parameter.opts:
                assert option in section, option
        if not parameter.hidden and parameter.param_type_name == "argument":
            name = (parameter.metavar or parameter.name.upper()).strip("[]")
            (usage,) = [line for line in section.splitlines() if line.startswith("Usage: ")]
            assert name in usage, name
            assert f"\n- `{name}" in section or f"\n- `[{name}" in section, name


def test_every_exit_code_is_listed() -> None:
    section = page("docs/reference/cli.md").section("Exit codes")
    for code in {0, 1, 130, 141} | {code for _, code in EXIT_CODES}:
        assert f"| {code} |" in section


ROUTES = [
    (method, cast(Any, route).path_format)
    for route in create_api(cast(Any, None)).routes
    for method in sorted(getattr(route, "methods", None) or ())
    if method != "HEAD"
]


@pytest.mark.parametrize(("method", "path"), ROUTES, ids=[f"{method} {path}" for method, path in ROUTES])
def test_every_endpoint_is_named(method: str, path: str) -> None:
    assert f"`{method} {path}`" in page("docs/reference/http.md").text


@pytest.mark.parametrize("kind", list(all_errors()), ids=lambda kind: kind.code)
def test_every_error_is_listed_with_what_to_do(kind: Any) -> None:
    text = page("docs/reference/errors.md").text
    assert f"| `{kind.code}` |" in text
    assert kind().message in text


def _public(kind: type) -> list[str]:
    return [name for name in dir(kind) if not name.startswith("_")]


def test_every_method_of_the_library_is_described() -> None:
    library = page("docs/reference/library.md")
    for kind in (Memorist, Handle):
        for name in _public(kind):
            section = library.section(f"`{kind.__name__}.{name}`")
            member = getattr(kind, name)
            for parameter in inspect.signature(member).parameters if callable(member) else ():
                assert parameter in (*section.split(), "self") or f"{parameter}:" in section, (name, parameter)
    for kind in (AsyncMemorist, AsyncHandle):
        for name in _public(kind):
            assert f"`{name}`" in library.section("asyncio")


def test_every_method_of_the_client_is_described() -> None:
    client = page("docs/reference/client.md")
    for name in vars(Client):
        if not name.startswith("_"):
            section = client.section(f"`Client.{name}`")
            for parameter in inspect.signature(getattr(Client, name)).parameters:
                assert parameter == "self" or f"{parameter}:" in section, (name, parameter)
    # The others are the library's, and described there.
    assert [name for name in _public(Client) if name not in vars(Client) and f"`{name}`" not in client.text] == []
    assert [name for name in client_package.__all__ if f"`{name}`" not in client.text] == []


def test_every_name_of_the_package_is_mentioned() -> None:
    text = page("docs/reference/library.md").text
    assert [name for name in memorist.__all__ if f"`{name}`" not in text] == []


def test_every_field_kind_state_and_role_is_in_the_data_model() -> None:
    data_model = page("docs/reference/data-model.md")
    row = data_model.section("A memory")
    # An owner is a user and an agent.
    names = {field.name for field in fields(Memory)} - {"owner"} | {field.name for field in fields(Owner)}
    assert [name for name in sorted(names) if f"`{name}`" not in row] == []
    assert [value for value in (*Kind, *Trust) if f"`{value}`" not in row] == []
    assert [state for state in Status if f"| `{state}` |" not in data_model.section("States")] == []
    roles = page("docs/explanation/identity.md").section("Roles")
    assert [role for role in Role if f"| `{role}` |" not in roles] == []
    keys = page("docs/howto/keys-and-roles.md").text
    assert [role for role in Role if f"| `{role}` |" not in keys] == []

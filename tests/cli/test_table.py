"""The table of commands: it is complete, cheap to read, and the whole command line is built from it."""

import os
import re
import subprocess
import sys

import pytest
import typer

from memorist.surfaces.cli.commands import COMMANDS, GROUPS, help_text
from memorist.surfaces.cli.runner import full_app
from tests.cli.conftest import Cli, execute

HEAVY = (
    "numpy",
    "onnxruntime",
    "typer",
    "rich",
    "pydantic",
    "psycopg",
    "fastapi",
    "apsw",
    "dataclasses",
    "memorist.settings",
)


def leaves(command: typer.core.TyperCommand | object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The path of every command that does something."""
    children = getattr(command, "commands", None)
    if children is None:
        return [path]
    return [leaf for name, child in children.items() for leaf in leaves(child, (*path, name))]


ALL_COMMANDS = leaves(typer.main.get_command(full_app()))


def test_help_and_the_full_application_list_the_same_commands() -> None:
    root = typer.main.get_command(full_app())
    built = {name: command.get_short_help_str(limit=200) for name, command in root.commands.items()}  # type: ignore[attr-defined]
    assert built == {name: summary for name, _, summary in COMMANDS}
    listed = [tuple(line.split(maxsplit=1)) for line in help_text().splitlines() if re.match("  [a-z]", line)]
    assert sorted(listed) == sorted((name, summary) for name, _, summary in COMMANDS)


def test_help_has_every_command_under_a_heading() -> None:
    named = [name for _, names in GROUPS for name in names.split()]
    assert sorted(named) == sorted(name for name, _, _ in COMMANDS)
    assert [f"{title}:" for title, _ in GROUPS] == re.findall(r"^[A-Z][a-z ]+:$", help_text(), re.MULTILINE)


def test_every_group_has_its_commands() -> None:
    nested = {" ".join(path) for path in ALL_COMMANDS if len(path) > 1}
    assert nested == {
        "audit tail",
        "audit verify",
        "audit export",
        "keys create", "keys list", "keys revoke", "tokens create", "tokens revoke",
        "tenants create", "tenants list", "tenants delete",
        "db migrate", "db status", "db check", "config show", "index status", "index rebuild",
        "jobs list", "jobs show", "jobs run", "jobs retry", "jobs drop",
        "doubts list", "doubts confirm", "doubts refute", "doubts dismiss",
        "policy show", "policy set", "erase verify", "erase list", "erase resume", "erase ledger", "erase apply",
        "backup create", "backup restore", "backup verify",
        "encryption status", "encryption enable", "encryption rotate",
        "bench recall", "bench speed", "bench judge", "bench extraction", "bench secrets", "bench dashboard",
            "bench load",
    }  # fmt: skip


@pytest.mark.parametrize("path", ALL_COMMANDS, ids=" ".join)
def test_every_command_explains_itself_and_takes_the_shared_options(cli: Cli, path: tuple[str, ...]) -> None:
    shown = cli.ok(*path, "--help").out
    assert f"Usage: memorist {' '.join(path)}" in shown
    # What a hook prints is for its host, in the host's own form.
    for option in ("--data", "--database") if path == ("hook",) else ("--data", "--database", "--json"):
        assert option in shown


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["--version"]])
def test_help_and_version_import_nothing_heavy(arguments: list[str]) -> None:
    probe = (
        "import sys; from memorist.__main__ import main; sys.argv[1:] = sys.argv[1:]; code = main();"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", probe, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stderr.strip() == "[]"
    assert "memorist" in done.stdout.lower()


def test_help_imports_hardly_more_than_a_program_that_does_nothing() -> None:
    probe = (
        "import sys; before = set(sys.modules); from memorist.__main__ import main; main();"
        "print(len(set(sys.modules) - before), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", probe, "--help"], capture_output=True, text=True, timeout=60)
    assert int(done.stderr) < 45


def test_a_command_on_a_server_imports_no_database() -> None:
    probe = (
        "import sys; from memorist.__main__ import main; code = main();"
        "print([n for n in ('apsw', 'psycopg', 'memorist.bootstrap', 'pydantic') if n in sys.modules], file=sys.stderr)"
    )
    command = ["list", "--url", "http://127.0.0.1:9", "--key", "x"]
    done = subprocess.run([sys.executable, "-c", probe, *command], capture_output=True, text=True, timeout=60)
    assert done.stderr.strip().splitlines()[-1] == "[]"


def test_a_command_on_sqlite_imports_no_server_no_postgres_and_no_pydantic(cli: Cli) -> None:
    cli.ok("remember", "x")
    probe = (
        "import sys; from memorist.__main__ import main; code = main();"
        "print([n for n in ('pydantic', 'psycopg', 'fastapi', 'uvicorn') if n in sys.modules], file=sys.stderr)"
    )
    for command in (["list"], ["keys", "list"], ["list", "--kind", "fact", "--limit", "3", "--json"]):
        done = subprocess.run([sys.executable, "-c", probe, *command], capture_output=True, text=True, timeout=60)
        assert done.stderr.strip().splitlines()[-1] == "[]", command


def test_the_whole_command_line_is_built_without_models_and_arrays() -> None:
    probe = (
        "import sys; from memorist.surfaces.cli.runner import full_app; full_app();"
        "print([n for n in ('numpy', 'onnxruntime', 'tokenizers', 'pydantic', 'rich.console') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_version_of_the_executable() -> None:
    from memorist import __version__

    assert execute("--version").out == f"memorist {__version__}\n"


def test_no_arguments_print_the_help() -> None:
    assert execute() == execute("--help")


def complete(shell: str, **question: str) -> str:
    return execute(environment={"_MEMORIST_COMPLETE": f"complete_{shell}", **question}).out


def test_the_shells_complete_commands_options_and_values() -> None:
    assert complete("bash", COMP_WORDS="memorist ke", COMP_CWORD="1").split() == ["keys"]
    assert complete("bash", COMP_WORDS="memorist keys re", COMP_CWORD="2").split() == ["revoke"]
    assert "--idempotency-key" in complete("zsh", _TYPER_COMPLETE_ARGS="memorist remember --i")
    values = complete("fish", _TYPER_COMPLETE_ARGS="memorist list --kind ", _TYPER_COMPLETE_FISH_ACTION="get-args")
    assert values.split() == ["fact", "chat_message", "tool_output", "document_chunk"]


def test_bash_runs_the_completion_script() -> None:
    script = execute("completion", "bash").out + "\nCOMP_WORDS=(memorist tenants cr); COMP_CWORD=2; "
    script += '_memorist_completion memorist; echo "${COMPREPLY[@]}"'
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env={**os.environ, "PATH": path}, timeout=60
    )
    assert done.stdout.strip() == "create"

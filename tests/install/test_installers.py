"""`memorist install` and `uninstall` on settings that exist, are commented, malformed or missing."""

import json
import os
import stat
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memorist.errors import Conflict, Invalid
from memorist.installing import jsonc
from memorist.installing.files import TextFile
from memorist.installing.hosts import HOOK_EVENTS, Host, Launcher
from memorist.installing.plan import Installer
from tests.cli.conftest import Cli, clean_environment, cli, data  # noqa: F401
from tests.install.test_jsonc import DOCUMENTS, comments_of

LAUNCHER = Launcher(["/opt/bin/memorist"], ["--data", "/data"])

FILES = {
    Host.CLAUDE_CODE: [".claude.json", ".claude/settings.json"],
    Host.CURSOR: [".cursor/mcp.json"],
    Host.CODEX: [".codex/config.toml"],
    Host.VSCODE: [".config/Code/User/mcp.json"],
}
PROJECT_FILES = {
    Host.CLAUDE_CODE: [".mcp.json", ".claude/settings.json"],
    Host.CURSOR: [".cursor/mcp.json"],
    Host.CODEX: [".codex/config.toml"],
    Host.VSCODE: [".vscode/mcp.json"],
}


class Home:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.installer = Installer(folder / "notes/installed.json", {"HOME": str(folder)})

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def install(self, host: Host, launcher: Launcher = LAUNCHER, project: Path | None = None) -> list[bool]:
        return [one.is_needed for one in self.installer.install(host, launcher, project, dry_run=False)]

    def uninstall(self, host: Host, project: Path | None = None) -> list[bool]:
        return [one.is_needed for one in self.installer.uninstall(host, project, dry_run=False)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def parsed(path: Path) -> Any:
    text = path.read_text("utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else jsonc.parse(text).value


@pytest.mark.parametrize("host", list(Host))
@pytest.mark.parametrize("in_project", [False, True])
def test_missing_files_are_made_and_removed_again(home: Home, tmp_path: Path, host: Host, in_project: bool) -> None:
    project = tmp_path / "work" if in_project else None
    paths = [(project or home.folder) / name for name in (PROJECT_FILES if in_project else FILES)[host]]
    assert all(home.install(host, project=project))
    assert not any(home.install(host, project=project))
    entry = parsed(paths[0])[{Host.CODEX: "mcp_servers", Host.VSCODE: "servers"}.get(host, "mcpServers")]["memorist"]
    assert (entry["command"], entry["args"]) == ("/opt/bin/memorist", ["mcp", "--data", "/data"])
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in paths)
    assert all(home.uninstall(host, project))
    assert not any(path.exists() for path in paths)
    assert not any(home.uninstall(host, project))


def test_hooks_of_claude_code(home: Home) -> None:
    home.install(Host.CLAUDE_CODE)
    hooks = parsed(home.folder / ".claude/settings.json")["hooks"]
    assert list(hooks) == list(HOOK_EVENTS)
    for event, groups in hooks.items():
        command = f"/opt/bin/memorist hook claude-code {event} --data /data"
        assert groups == [{"hooks": [{"type": "command", "command": command, "timeout": 10}]}]


SETTINGS = """\
{
\t// Mine, do not touch.
\t"model": "opus", /* fast */
\t"hooks": {
\t\t"Stop": [
\t\t\t{ "hooks": [ { "type": "command", "command": "say done" } ] } // ding
\t\t],
\t},
\t"permissions": { "allow": ["Bash(ls:*)"] }, // last
}
"""


def test_commented_settings_come_back_to_the_character(home: Home) -> None:
    path = home.write(".claude/settings.json", SETTINGS)
    home.install(Host.CLAUDE_CODE)
    changed = path.read_text()
    kept = changed.replace(",", "").splitlines()
    assert all(line.replace(",", "") in kept for line in SETTINGS.splitlines())
    assert len(parsed(path)["hooks"]["Stop"]) == 2
    assert Path(f"{path}.memorist-backup").read_text() == SETTINGS
    home.uninstall(Host.CLAUDE_CODE)
    assert path.read_text() == SETTINGS


def test_reinstalling_moves_the_program_and_keeps_what_others_added(home: Home) -> None:
    home.install(Host.CLAUDE_CODE)
    path = home.folder / ".claude.json"
    path.write_text(jsonc.put(path.read_text(), ("mcpServers", "memorist", "env"), {"MEMORIST_LOG_LEVEL": "debug"}))
    home.install(Host.CLAUDE_CODE, Launcher(["/usr/bin/memorist"]))
    assert parsed(path)["mcpServers"]["memorist"] == {
        "type": "stdio",
        "command": "/usr/bin/memorist",
        "args": ["mcp"],
        "env": {"MEMORIST_LOG_LEVEL": "debug"},
    }
    hooks = parsed(home.folder / ".claude/settings.json")["hooks"]
    assert hooks["Stop"] == [
        {"hooks": [{"type": "command", "command": "/usr/bin/memorist hook claude-code Stop", "timeout": 10}]}
    ]


def test_empty_containers_of_the_user_stay_and_ours_go(home: Home) -> None:
    text = '{"mcpServers": {}, "x": {}}'
    path = home.write(".claude.json", text)
    settings = home.write(".claude/settings.json", '{\n  "hooks": {\n    "Stop": []\n  }\n}\n')
    before = settings.read_text()
    home.install(Host.CLAUDE_CODE)
    home.uninstall(Host.CLAUDE_CODE)
    assert (parsed(path), parsed(settings)) == (json.loads(text), json.loads(before))


def test_hook_in_a_group_of_others_goes_alone(home: Home) -> None:
    ours = {"type": "command", "command": "'/a b/memorist' hook claude-code Stop"}
    theirs = {"type": "command", "command": "say done"}
    path = home.write(".claude/settings.json", json.dumps({"hooks": {"Stop": [{"hooks": [ours, theirs]}]}}))
    home.uninstall(Host.CLAUDE_CODE)
    assert parsed(path) == {"hooks": {"Stop": [{"hooks": [theirs]}]}}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"mcpServers": []}',
        '{"mcpServers": null}',
        '["mcpServers"]',
        "not json",
        '{"a": 1} trailing',
        '<<<<<<< HEAD\n{"a": 1}\n=======\n{"a": 2}\n>>>>>>> branch\n',
    ],
)
def test_what_cannot_be_changed_safely_is_left_alone(home: Home, text: str) -> None:
    path = home.write(".cursor/mcp.json", text)
    with pytest.raises(Invalid, match="left as it is") as refused:
        home.install(Host.CURSOR)
    assert '"command": "/opt/bin/memorist"' in refused.value.message
    assert path.read_text() == text
    assert sorted(one.name for one in path.parent.iterdir()) == ["mcp.json"]


def test_no_file_is_changed_where_one_cannot_be(home: Home) -> None:
    good = home.write(".claude.json", "{}\n")
    home.write(".claude/settings.json", '{"hooks": {"Stop": "never"}}')
    with pytest.raises(Invalid, match=r"settings\.json"):
        home.install(Host.CLAUDE_CODE)
    assert good.read_text() == "{}\n"


def test_bytes_that_are_no_text_are_left_alone(home: Home) -> None:
    path = home.write(".cursor/mcp.json", "{}")
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(Invalid, match="UTF-8"):
        home.install(Host.CURSOR)
    assert path.read_bytes() == b'{"a": "\xff"}'


@pytest.mark.parametrize("text", ["", "\n", "  \n\n"])
def test_empty_file_is_like_a_missing_one(home: Home, text: str) -> None:
    path = home.write(".cursor/mcp.json", text)
    home.install(Host.CURSOR)
    assert "memorist" in parsed(path)["mcpServers"]


def test_mark_mode_link_and_line_ends_stay(home: Home, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles/cursor.json"
    real.parent.mkdir()
    real.write_bytes('\ufeff{\r\n    "a": 1\r\n}\r\n'.encode())
    real.chmod(0o640)
    link = home.folder / ".cursor/mcp.json"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    before = real.read_bytes()
    home.install(Host.CURSOR)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert real.read_bytes().startswith('\ufeff{\r\n    "a": 1,\r\n    "mcpServers": {\r\n'.encode())
    assert b"\n" not in real.read_bytes().replace(b"\r\n", b"")
    home.uninstall(Host.CURSOR)
    assert real.read_bytes() == before


def test_file_that_somebody_changes_meanwhile_is_not_overwritten(home: Home) -> None:
    path = home.write(".cursor/mcp.json", "{}")
    file = TextFile(path, b"{}")
    path.write_text('{"new": 1}')
    assert file.write('{"old": 1}') is False
    assert path.read_text() == '{"new": 1}'
    assert [one.name for one in path.parent.iterdir()] == ["mcp.json"]


def test_file_that_keeps_changing_is_given_up(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write(".cursor/mcp.json", "{}")
    monkeypatch.setattr(TextFile, "write", lambda *_, **__: False)
    with pytest.raises(Conflict, match="another program"):
        home.install(Host.CURSOR)


CONFIG = """\
# Mine.
model = "gpt"   # the good one

[mcp_servers.docs]
command = "docs"
args = [
  "a",
  "b",
]

# The rest.
[profiles.x]
y = 1
"""


def test_toml_comes_back_to_the_character(home: Home) -> None:
    path = home.write(".codex/config.toml", CONFIG)
    home.install(Host.CODEX)
    assert path.read_text().startswith(CONFIG)
    assert parsed(path)["mcp_servers"]["memorist"] == LAUNCHER.server()
    with open(path, "a") as file:
        file.write('\n[mcp_servers.memorist.env]\nA = "1"\n\n# Mine, after it.\n[z]\nk = [\n  1\n]\n')
    home.uninstall(Host.CODEX)
    assert path.read_text() == f"{CONFIG}\n# Mine, after it.\n[z]\nk = [\n  1\n]\n"


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "a = ",
        'mcp_servers = { docs = { command = "x" } }\n',
        '[mcp_servers.memorist]\ncommand = "other"\n',
        "a = 1\na = 2\n",
    ],
)
def test_toml_that_cannot_be_changed_safely_is_left_alone(home: Home, text: str) -> None:
    path = home.write(".codex/config.toml", text)
    with pytest.raises(Invalid, match=r"\[mcp_servers.memorist\]"):
        home.install(Host.CODEX)
    assert path.read_text() == text


HTTP = {"type": "http", "url": "http://127.0.0.1:8377/mcp", "headers": {"Authorization": "Bearer x"}}
FOREIGN = [
    HTTP,
    {"url": "http://127.0.0.1:8377/mcp", "command": "memorist", "args": ["mcp"]},
    {"command": "my-own", "env": {"KEY": "x"}},
    {"command": "/usr/bin/not-memorist", "args": ["mcp"]},
    {"command": "memorist", "args": ["serve"]},
    {"command": "uvx", "args": ["memorist", "mcp"]},
    "a text",
    None,
]


@pytest.mark.parametrize("entry", FOREIGN)
@pytest.mark.parametrize("host", [Host.CURSOR, Host.CLAUDE_CODE])
def test_entry_of_the_user_is_neither_changed_nor_taken_out(home: Home, host: Host, entry: Any) -> None:
    text = json.dumps({"mcpServers": {"memorist": entry}})
    path = home.write(FILES[host][0], text)
    with pytest.raises(Invalid, match="is not one that `memorist install` writes") as refused:
        home.install(host)
    assert '"command": "/opt/bin/memorist"' in refused.value.message
    [change, *_] = home.installer.uninstall(host, None, dry_run=False)
    assert not change.is_needed
    assert change.kept == "the entry memorist in mcpServers"
    assert path.read_text() == text


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "memorist", "args": ["mcp", "--user", "ada"], "env": {"A": "1"}},
        {"command": "C:\\Tools\\memorist.exe", "args": ["mcp"]},
        {"type": "stdio", "command": "/usr/bin/python3", "args": ["-m", "memorist", "mcp"]},
    ],
)
def test_entry_that_starts_our_server_is_ours(home: Home, entry: Any) -> None:
    path = home.write(".cursor/mcp.json", json.dumps({"mcpServers": {"memorist": entry}}))
    assert home.install(Host.CURSOR) == [True]
    assert parsed(path)["mcpServers"]["memorist"] == {**entry, **LAUNCHER.server()}
    home.uninstall(Host.CURSOR)
    assert parsed(path) == {"mcpServers": {}}


def test_hooks_go_where_the_entry_stays(home: Home) -> None:
    home.install(Host.CLAUDE_CODE)
    path = home.write(".claude.json", json.dumps({"mcpServers": {"memorist": HTTP}}))
    assert home.uninstall(Host.CLAUDE_CODE) == [False, True]
    assert parsed(path)["mcpServers"]["memorist"] == HTTP


def test_copy_of_the_original_outlives_later_changes(home: Home) -> None:
    original = '{"mine": 1}'
    path = home.write(".claude.json", original)
    settings = home.write(".claude/settings.json", SETTINGS)
    copies = [Path(f"{one}.memorist-backup") for one in (path, settings)]
    home.install(Host.CLAUDE_CODE)
    home.install(Host.CLAUDE_CODE, Launcher(["/usr/bin/memorist"], ["--data", "/x"]))
    assert [one.read_text() for one in copies] == [original, SETTINGS]
    home.uninstall(Host.CLAUDE_CODE)
    assert [one.read_text() for one in copies] == [original, SETTINGS]
    # From then on the file is the user's alone, and so is the next copy of it.
    path.write_text('{"mine": 2}')
    home.install(Host.CLAUDE_CODE)
    assert copies[0].read_text() == '{"mine": 2}'


@pytest.mark.parametrize(
    ("host", "text", "what"),
    [
        (Host.CURSOR, "{", "the entry memorist in mcpServers"),
        (Host.CODEX, "a = ", "the entry memorist in mcp_servers"),
        (Host.CODEX, '[mcp_servers]\nmemorist = {command="memorist", args=["mcp"]}\n', "the entry memorist"),
    ],
)
def test_refused_uninstall_says_what_to_take_out(home: Home, host: Host, text: str, what: str) -> None:
    path = home.write(FILES[host][0], text)
    with pytest.raises(Invalid, match=f"or take out yourself {what}") as refused:
        home.uninstall(host)
    assert "add this" not in refused.value.message
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[mcp_servers]\nmemorist = {command="mine"}\n', "is not one that `memorist install` writes"),
        ("[mcp_servers]\nmemorist = 1\n", "is not one that `memorist install` writes"),
        ('[mcp_servers.memorist]\nurl = "http://x/mcp"\n', "is not one that `memorist install` writes"),
        ('[mcp_servers]\nmemorist = {command="memorist", args=["mcp"]}\n', "is no table of its own"),
    ],
)
def test_refused_install_into_toml_leads_somewhere(home: Home, text: str, says: str) -> None:
    path = home.write(".codex/config.toml", text)
    with pytest.raises(Invalid, match=says) as refused:
        home.install(Host.CODEX)
    assert "memorist uninstall" not in refused.value.message
    assert path.read_text() == text


def test_entry_that_is_right_needs_no_change_in_whatever_form(home: Home) -> None:
    text = '[mcp_servers]\nmemorist = {command="/opt/bin/memorist", args=["mcp", "--data", "/data"]}\n'
    path = home.write(".codex/config.toml", text)
    assert home.install(Host.CODEX) == [False]
    assert path.read_text() == text


def test_toml_that_uninstall_can_take_out_is_named_as_such(home: Home) -> None:
    path = home.write(".codex/config.toml", '[mcp_servers.memorist]\ncommand = "memorist"\nargs = ["mcp"]\n')
    with pytest.raises(Invalid, match="`memorist uninstall codex` takes it out"):
        home.install(Host.CODEX)
    assert home.uninstall(Host.CODEX) == [True]
    assert path.read_text() == ""
    assert home.install(Host.CODEX) == [True]


@hypothesis_settings(max_examples=100)
@given(document=DOCUMENTS, host=st.sampled_from([Host.CURSOR, Host.CLAUDE_CODE]))
def test_random_settings_survive(
    tmp_path_factory: pytest.TempPathFactory, document: tuple[dict[str, Any], str], host: Host
) -> None:
    value, text = document
    home = Home(tmp_path_factory.mktemp("home"))
    paths = [home.write(name, text) for name in FILES[host]]
    try:
        home.install(host)
    except Invalid:
        assert all(path.read_bytes() == text.encode() for path in paths)
        return
    for path in paths:
        assert comments_of(path.read_bytes().decode()) == comments_of(text)
    home.install(host)
    home.uninstall(host)
    for path in paths:
        assert parsed(path) == value
        assert comments_of(path.read_bytes().decode()) == comments_of(text)


LINES = st.lists(
    st.sampled_from(["# note", "", "  ", "[a]", "[b.c]", "[[d]]", "x = 1", 'y = "[mcp_servers.memorist]"', "z = [",
                     "1,", "]", "[mcp_servers.other]", '[mcp_servers."memorist-2"]', "e = '''", "'''"]),
    max_size=9,
)  # fmt: skip


@hypothesis_settings(max_examples=100)
@given(lines=LINES, end=st.sampled_from(["", "\n", "\r\n"]))
def test_random_toml_survives(tmp_path_factory: pytest.TempPathFactory, lines: list[str], end: str) -> None:
    text = (end or "\n").join(lines) + end
    home = Home(tmp_path_factory.mktemp("home"))
    path = home.write(".codex/config.toml", text)
    try:
        home.install(Host.CODEX)
    except Invalid:
        assert path.read_bytes() == text.encode()
        return
    if text.strip():
        assert path.read_bytes().decode().startswith(text)
    home.uninstall(Host.CODEX)
    if path.exists():
        assert path.read_bytes().decode().rstrip() == text.rstrip()


# The commands


def test_commands_tell_what_they_did(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    home = tmp_path / "home"
    shown = cli("install", "cursor", "--dry-run", "--user", "ada")
    assert '+      "args": [' in shown.out
    assert not (home / ".cursor").exists()
    done = cli("install", "cursor", "--user", "ada")
    assert done.out == f"{home}/.cursor/mcp.json: changed\n"
    entry = parsed(home / ".cursor/mcp.json")["mcpServers"]["memorist"]
    assert entry["args"][-3:] == ["mcp", "--user", "ada"]
    assert os.path.isabs(entry["command"])
    again = cli("install", "cursor", "--user", "ada", "--json").json
    assert again == {
        "dry_run": False,
        "files": [{"path": f"{home}/.cursor/mcp.json", "changed": False, "diff": ""}],
    }
    assert cli("uninstall", "cursor").out == f"{home}/.cursor/mcp.json: removed\n"
    (home / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": {"memorist": HTTP}}))
    kept = cli("uninstall", "cursor")
    assert kept.out == f"{home}/.cursor/mcp.json: nothing to change\n"
    assert "is not one that `memorist install` writes, and stays" in kept.err


@pytest.mark.parametrize("host", Host)
@pytest.mark.parametrize("text", ["", "{}\n"])
def test_what_was_installed_for_one_folder_is_taken_out_without_naming_it(
    cli: Cli,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    host: Host,
    text: str,
) -> None:
    files = [tmp_path / "home" / name for name in FILES[host]]
    before = None if host is Host.CODEX or not text else text
    for file in files:
        if before is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(before)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home/.config"))
    cli("install", host, "--data", str(tmp_path / "elsewhere"))
    (tmp_path / "project/.memorist").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    cli("install", host, "--name", "other")
    assert all(file.exists() for file in files)
    monkeypatch.chdir(tmp_path / "home")
    cli("uninstall", host, "--name", "other")
    cli("uninstall", host)
    assert [file.read_text() if file.exists() else None for file in files] == [before] * len(files)


def test_project_is_for_other_machines_too(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    cli("install", "vscode", "--project", str(tmp_path / "work"))
    assert parsed(tmp_path / "work/.vscode/mcp.json")["servers"]["memorist"]["command"] == "memorist"


def test_file_of_the_database_is_found_from_anywhere(
    cli: Cli,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for named, kept in {
        "own.db": str(tmp_path / "own.db"),
        "sqlite:///elsewhere/own.db": "/elsewhere/own.db",
        "postgresql://db/memorist": "postgresql://db/memorist",
    }.items():
        cli("install", "cursor", "--database", named)
        args = parsed(tmp_path / "home/.cursor/mcp.json")["mcpServers"]["memorist"]["args"]
        assert args[args.index("--database") + 1] == kept


def test_password_is_written_nowhere(cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    refused = cli("install", "cursor", "--database", "postgresql://ada:hunter2@db/memorist")
    assert refused.code == 2
    assert "hunter2" not in refused.err
    assert not (tmp_path / "home/.cursor").exists()


def test_unknown_host_is_refused(cli: Cli) -> None:  # noqa: F811
    assert cli("install", "emacs").code == 2


@pytest.mark.parametrize("host", list(Host))
def test_server_has_the_name_that_it_is_given(home: Home, host: Host) -> None:
    launcher = Launcher(LAUNCHER.program, LAUNCHER.flags, "memory")
    assert all(home.install(host, launcher))
    assert not any(home.install(host, launcher))
    text = (home.folder / FILES[host][0]).read_text()
    assert "memory" in text
    assert "mcp_servers.memory]" in text or '"memory": {' in text
    assert not home.uninstall(host)[0], "under its usual name there is nothing"
    [change, *_] = home.installer.uninstall(host, None, dry_run=False, name="memory")
    assert change.is_needed
    assert not (home.folder / FILES[host][0]).exists()


def test_hooks_belong_to_the_name_that_they_were_installed_under(home: Home) -> None:
    folders = {"memorist": "/data", "work": "/w", "home": "/h"}

    def hooked() -> set[tuple[str, ...]]:
        """To which folders each event goes."""
        groups = parsed(home.folder / ".claude/settings.json")["hooks"]
        commands = [[one["hooks"][0]["command"] for one in groups[event]] for event in HOOK_EVENTS]
        return {tuple(command.split("--data ")[1].split()[0] for command in of_event) for of_event in commands}

    for name, folder in folders.items():
        home.install(Host.CLAUDE_CODE, Launcher(LAUNCHER.program, ["--data", folder], name))
    assert hooked() == {("/data", "/w", "/h")}
    assert all(home.install(Host.CLAUDE_CODE, Launcher(LAUNCHER.program, ["--data", "/new"], "work")))
    assert hooked() == {("/data", "/new", "/h")}, "that of this name alone"
    for name, left in (("work", {("/data", "/h")}), ("memorist", {("/h",)})):
        changes = home.installer.uninstall(Host.CLAUDE_CODE, None, dry_run=False, name=name)
        assert all(change.is_needed for change in changes)
        assert hooked() == left


@pytest.mark.parametrize("host", list(Host))
def test_two_names_leave_nothing_behind_and_one_copy_of_the_original(home: Home, host: Host) -> None:
    names = {"memorist": "/data", "work": "/w"}
    launchers = [Launcher(LAUNCHER.program, ["--data", folder], name) for name, folder in names.items()]
    paths = [home.folder / name for name in FILES[host]]
    original = "" if host is Host.CODEX else '{"a": 1}'
    for text in (None, original):
        for path in paths if text is not None else ():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text or "")
        for launcher in launchers:
            home.install(host, launcher)
        if text:
            assert [Path(f"{path}.memorist-backup").read_text() for path in paths] == [text] * len(paths)
        for name in names:
            home.installer.uninstall(host, None, dry_run=False, name=name)
        left = [path.read_text() if path.exists() else None for path in paths]
        assert left == [text] * len(paths)


def test_hooks_that_would_do_the_same_as_those_of_another_name_take_their_place(home: Home) -> None:
    path = home.folder / ".claude/settings.json"
    elsewhere = Launcher(LAUNCHER.program, ["--data", "/elsewhere"], "memory")
    for launcher in (elsewhere, LAUNCHER, replace(LAUNCHER, name="memory")):
        home.install(Host.CLAUDE_CODE, launcher)
    for event, groups in parsed(path)["hooks"].items():
        command = f"/opt/bin/memorist hook claude-code {event} --data /data --name memory"
        assert groups == [{"hooks": [{"type": "command", "command": command, "timeout": 10}]}]
    assert not any(home.install(Host.CLAUDE_CODE, replace(LAUNCHER, name="memory")))
    assert set(parsed(home.folder / ".claude.json")["mcpServers"]) == {"memorist", "memory"}


def test_name_that_no_tool_can_have_is_refused(cli: Cli) -> None:  # noqa: F811
    assert cli("install", "cursor", "--name", "two words", "--dry-run").code != 0
    assert '"memory"' in cli("install", "cursor", "--name", "memory", "--dry-run").out

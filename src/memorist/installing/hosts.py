"""What each host's settings need: the MCP server's entry everywhere, and for Claude Code its hooks."""

import json
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from memorist.installing import jsonc, toml_text

NAME = "memorist"
HOOK_EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")
_HOOK_TIMEOUT_S = 10
_TAKEN = "{} is not one that `memorist install` writes, and is kept: rename it, or take it out"
_OUR_HOOK = re.compile(r"memorist['\"]? hook claude-code \w+")
_HOOK_NAME = re.compile(r" --name ([A-Za-z0-9_-]+)")

Paths = set[tuple[str, ...]]


class Host(StrEnum):
    CLAUDE_CODE = "claude-code"
    CURSOR = "cursor"
    CODEX = "codex"
    VSCODE = "vscode"


@dataclass(frozen=True, slots=True)
class Launcher:
    """How a host starts Memorist: the program, the flags that say where the memories are and whose, and the name by
    which the host knows the server: that of its tools begins with it.
    """

    program: Sequence[str]
    flags: Sequence[str] = ()
    name: str = NAME

    def server(self) -> dict[str, Any]:
        command, *first = self.program
        return {"command": command, "args": [*first, "mcp", *self.flags]}

    def hook(self, event: str) -> str:
        named = () if self.name == NAME else ("--name", self.name)
        return shlex.join([*self.program, "hook", str(Host.CLAUDE_CODE), event, *self.flags, *named])


class FileRefused(ValueError):
    """The file cannot be changed without risking what stands in it."""


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a host: how an entry is added to its text, taken out again, and shown to be added by hand.

    Adding returns which containers it made; taking out is told which it may remove once they are empty, and leaves an
    entry alone that is not ours. `others` is what the file says without our entry and what that leaves empty, however
    often we change it. `has_ours` is whether it has an entry of ours, under whatever name. `what` is our entry in a
    sentence, `has_foreign` whether somebody else's has its name.
    """

    path: Path
    add: Callable[[str], tuple[str, Paths]]
    take_out: Callable[[str, Paths], str]
    others: Callable[[str], Any]
    has_ours: Callable[[str], bool]
    by_hand: str
    what: str
    has_foreign: Callable[[str], bool] = lambda _: False
    empty: str = "{}\n"


def parts_of(host: Host, launcher: Launcher, project: Path | None, environment: Mapping[str, str]) -> list[Part]:
    """The files that a host reads for its user or, where one is named, for a project."""
    home = Path(environment.get("HOME") or "~").expanduser()
    server, name = launcher.server(), launcher.name
    if host is Host.CODEX:
        folder = Path(environment.get("CODEX_HOME") or home / ".codex") if project is None else project / ".codex"
        return [_toml_server(folder / "config.toml", name, server)]
    if host is Host.CURSOR:
        return [_json_server((project or home) / ".cursor/mcp.json", "mcpServers", name, server)]
    if host is Host.VSCODE:
        folder = _vscode_folder(home, environment) if project is None else project / ".vscode"
        return [_json_server(folder / "mcp.json", "servers", name, {"type": "stdio", **server})]
    server = {"type": "stdio", **server}
    if project is not None:
        return [
            _json_server(project / ".mcp.json", "mcpServers", name, server),
            _json_hooks(project / ".claude/settings.json", launcher),
        ]
    own = environment.get("CLAUDE_CONFIG_DIR")
    return [
        _json_server(Path(own or home) / ".claude.json", "mcpServers", name, server),
        _json_hooks((Path(own) if own else home / ".claude") / "settings.json", launcher),
    ]


def _vscode_folder(home: Path, environment: Mapping[str, str]) -> Path:
    if sys.platform == "darwin":
        return home / "Library/Application Support/Code/User"
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "Code/User"


# JSON


def _json_server(path: Path, group: str, name: str, server: dict[str, Any]) -> Part:
    def add(text: str) -> tuple[str, Paths]:
        made = _missing(text, (group, name))
        entry = jsonc.find(jsonc.parse(text), (group, name))
        if entry is None:
            return _put(text, (group, name), server), made
        if not _is_our_server(entry.value):
            raise FileRefused(_TAKEN.format(what))
        for key, value in server.items():  # Whatever else somebody wrote into the entry stays.
            if entry.value.get(key) != value:
                text = _put(text, (group, name, key), value)
        return text, made

    def take_out(text: str, made: Paths) -> str:
        entry = jsonc.find(jsonc.parse(text), (group, name))
        if entry is None or not _is_our_server(entry.value):
            return text
        return _without_empty(jsonc.remove(text, (group, name)), made)

    def others(text: str) -> Any:
        return _without_server(jsonc.parse(text).value, group, name)

    def has_foreign(text: str) -> bool:
        entry = jsonc.find(jsonc.parse(text), (group, name))
        return entry is not None and not _is_our_server(entry.value)

    def has_ours(text: str) -> bool:
        return _has_our_server(jsonc.parse(text).value, group)

    what = f"the entry {name} in {group}"
    return Part(path, add, take_out, others, has_ours, _shown({group: {name: server}}), what, has_foreign)


def _json_hooks(path: Path, launcher: Launcher) -> Part:
    def is_ours(hook: Any) -> bool:
        return _name_of_our_hook(hook) == launcher.name

    def is_twin(hook: Any) -> bool:
        """Whether it is another name's and does the same: each session would be told what is remembered twice."""
        other = _name_of_our_hook(hook)
        if other in (None, launcher.name):
            return False
        return any(hook["command"] == replace(launcher, name=other).hook(event) for event in HOOK_EVENTS)

    def entry(event: str) -> dict[str, Any]:
        hook = {"type": "command", "command": launcher.hook(event), "timeout": _HOOK_TIMEOUT_S}
        return {"hooks": [hook]}

    def add(text: str) -> tuple[str, Paths]:
        made: Paths = set()
        text = _hooks_taken_out(text, is_twin)
        for event in HOOK_EVENTS:
            ours = _hooks_of(text, event, is_ours)
            if ours:
                for found in ours:
                    node = jsonc.find(jsonc.parse(text), (*found, "command"))
                    if node is not None and node.value != launcher.hook(event):
                        text = _put(text, (*found, "command"), launcher.hook(event))
                continue
            made |= _missing(text, ("hooks", event, ""))
            if jsonc.find(jsonc.parse(text), ("hooks", event)) is None:
                text = _put(text, ("hooks", event), [entry(event)])
            else:
                text = jsonc.append(text, ("hooks", event), entry(event))
        return text, made

    def take_out(text: str, made: Paths) -> str:
        return _without_empty(_hooks_taken_out(text, is_ours), made)

    by_hand = _shown({"hooks": {event: [entry(event)] for event in HOOK_EVENTS}})
    named = "" if launcher.name == NAME else f" with --name {launcher.name}"
    what = f"the hooks that run `memorist hook {Host.CLAUDE_CODE}`{named}"

    def others(text: str) -> Any:
        return _without_hooks(jsonc.parse(text).value, lambda hook: is_ours(hook) or is_twin(hook))

    def has_ours(text: str) -> bool:
        return any(_hooks_of(text, event, lambda hook: _name_of_our_hook(hook) is not None) for event in HOOK_EVENTS)

    return Part(path, add, take_out, others, has_ours, by_hand, what)


def _hooks_taken_out(text: str, which: Callable[[Any], bool]) -> str:
    events = jsonc.find(jsonc.parse(text), ("hooks",))
    for event in list(events.value) if events is not None and isinstance(events.value, dict) else ():
        for found in reversed(_hooks_of(text, event, which)):
            group = jsonc.find(jsonc.parse(text), found[:-1])
            assert group is not None
            # Our group goes as a whole; from one that others share, only our hook.
            text = jsonc.remove(text, found[:-2] if len(group.items) == 1 else found)
    return text


def _hooks_of(text: str, event: str, which: Callable[[Any], bool]) -> list[tuple[str | int, ...]]:
    """Where those hooks of an event stand."""
    groups = jsonc.find(jsonc.parse(text), ("hooks", event))
    found: list[tuple[str | int, ...]] = []
    for number, group in enumerate(groups.value if groups is not None and isinstance(groups.value, list) else ()):
        hooks = group.get("hooks") if isinstance(group, dict) else None
        for index, hook in enumerate(hooks if isinstance(hooks, list) else ()):
            if which(hook):
                found.append(("hooks", event, number, "hooks", index))
    return found


def _put(text: str, path: Sequence[str | int], value: Any) -> str:
    """Put a value into an object or, on its way, into a list."""
    try:
        return jsonc.put(text, path, value)
    except TypeError as error:
        raise FileRefused(str(error)) from error


def _missing(text: str, path: tuple[str, ...]) -> Paths:
    root = jsonc.parse(text)
    return {path[:depth] for depth in range(1, len(path)) if jsonc.find(root, path[:depth]) is None}


def _without_empty(text: str, made: Paths) -> str:
    for path in sorted(made, key=len, reverse=True):
        node = jsonc.find(jsonc.parse(text), path)
        # A comment in it is somebody's, and keeps it.
        if node is not None and node.value in ({}, []) and not text[node.start + 1 : node.end - 1].strip():
            text = jsonc.remove(text, path)
    return text


def _shown(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


# TOML


def _toml_server(path: Path, name: str, server: dict[str, Any]) -> Part:
    group = "mcp_servers"
    what = f"the entry {name} in {group}"
    option = "" if name == NAME else f" --name {name}"

    def found(text: str) -> Any:
        servers = toml_text.parse(text).get(group)
        return servers.get(name) if isinstance(servers, dict) else None

    def add(text: str) -> tuple[str, Paths]:
        entry = found(text)
        if entry is None:
            return toml_text.put_table(text, group, name, server), set()
        if has_foreign(text):
            raise FileRefused(_TAKEN.format(what))
        if any(entry.get(key) != value for key, value in server.items()):
            take_out(text, set())  # Refuses where the advice would lead nowhere.
            raise FileRefused(
                f"{what} says something else already; `memorist uninstall {Host.CODEX}{option}` takes it out"
            )
        return text, set()

    def take_out(text: str, _: Paths) -> str:
        if found(text) is None or has_foreign(text):
            return text
        left = toml_text.remove_table(text, group, name)
        if found(left) is not None:
            raise FileRefused(f"{what} is no table of its own, with the header [{group}.{name}]")
        return left

    def others(text: str) -> Any:
        return _without_server(toml_text.parse(text), group, name)

    def has_foreign(text: str) -> bool:
        entry = found(text)
        return entry is not None and not _is_our_server(entry)

    def has_ours(text: str) -> bool:
        return _has_our_server(toml_text.parse(text), group)

    by_hand = toml_text.put_table("", group, name, server).rstrip("\n")
    return Part(path, add, take_out, others, has_ours, by_hand, what, has_foreign, empty="")


# What is ours


def _is_our_server(entry: Any) -> bool:
    """Whether it starts this program's MCP server here, as what we write does, whatever else somebody added to it."""
    if not isinstance(entry, dict) or "url" in entry or entry.get("type", "stdio") != "stdio":
        return False
    command, arguments = entry.get("command"), entry.get("args")
    if not isinstance(command, str) or not isinstance(arguments, list):
        return False
    if arguments[:3] == ["-m", NAME, "mcp"]:
        return True
    return re.split(r"[/\\]", command)[-1] in (NAME, f"{NAME}.exe") and arguments[:1] == ["mcp"]


def _has_our_server(settings: Any, group: str) -> bool:
    servers = settings.get(group) if isinstance(settings, dict) else None
    return isinstance(servers, dict) and any(map(_is_our_server, servers.values()))


def _name_of_our_hook(hook: Any) -> str | None:
    """What a hook was installed under, where it runs us."""
    command = hook.get("command") if isinstance(hook, dict) else None
    if not isinstance(command, str) or _OUR_HOOK.search(command) is None:
        return None
    named: list[str] = _HOOK_NAME.findall(command)
    return named[-1] if named else NAME


# What is not ours, to check that it stays


def _without_server(value: Any, group: str, ours: str) -> Any:
    servers = value.get(group) if isinstance(value, dict) else None
    if not isinstance(servers, dict):
        return value
    left = {name: server for name, server in servers.items() if name != ours}
    return {key: left if key == group else other for key, other in value.items() if key != group or left}


def _without_hooks(value: Any, which: Callable[[Any], bool]) -> Any:
    events = value.get("hooks") if isinstance(value, dict) else None
    if not isinstance(events, dict):
        return value
    left = {event: _without_hooks_of(groups, which) for event, groups in events.items()}
    left = {event: groups for event, groups in left.items() if groups != []}
    return {key: left if key == "hooks" else other for key, other in value.items() if key != "hooks" or left}


def _without_hooks_of(groups: Any, which: Callable[[Any], bool]) -> Any:
    if not isinstance(groups, list):
        return groups
    left = []
    for group in groups:
        hooks = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(hooks, list) or not any(which(hook) for hook in hooks):
            left.append(group)
        elif not all(which(hook) for hook in hooks):
            left.append({**group, "hooks": [hook for hook in hooks if not which(hook)]})
    return left

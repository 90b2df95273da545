"""Where settings come from: a flag, else `MEMORIST_*`, else the TOML file, else the default.

`load_settings` also says where each value came from, which `memorist config show` prints.
"""

import difflib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from memorist.addresses import MASK, without_password
from memorist.errors import InvalidSetting
from memorist.known_servers import FILE as CONNECTIONS
from memorist.known_servers import KnownServers, read_known_servers
from memorist.settings import ENVIRONMENT_PREFIX, LOCAL_DATA, Settings

# Read by the loader itself and by the test suite; not fields of Settings.
_OTHER_VARIABLES = {"MEMORIST_CONFIG", "MEMORIST_LABELLED", "MEMORIST_TRAINING_TESTS", "MEMORIST_URL"}
_OF_TESTS = "MEMORIST_TEST_"

_FIELDS = {setting.name: setting for setting in fields(Settings)}


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings, where each value came from, and what looked like a setting but is none."""

    settings: Settings
    origins: Mapping[str, str]
    warnings: tuple[str, ...] = ()


def shown_settings(settings: Settings) -> dict[str, str | int]:
    """Every setting as it may be shown: secrets and passwords are masked."""
    return {setting.name: _shown_value(setting, getattr(settings, setting.name)) for setting in fields(Settings)}


def _shown_value(setting: Any, value: Any) -> str | int:
    if setting.metadata["secret"]:
        return MASK if value else ""
    if value is None:
        return ""
    return value if isinstance(value, int) else without_password(str(value))


def load_settings(
    flags: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
) -> LoadedSettings:
    """Resolve every setting. Raises InvalidSetting, naming the origin of the bad value."""
    environment = os.environ if environment is None else environment
    path = _config_path(environment)
    file_values = _read_toml(path, required=bool(environment.get("MEMORIST_CONFIG")))
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for setting in fields(Settings):
        variable = ENVIRONMENT_PREFIX + setting.name.upper()
        if flags is not None and flags.get(setting.name) is not None:
            raw, origin = flags[setting.name], "flag"
        elif variable in environment:
            raw, origin = environment[variable], variable
        elif setting.name in file_values:
            raw, origin = file_values[setting.name], str(path)
        elif setting.name == "data" and (near := _nearest_data()) is not None:
            raw, origin = near, "folder"
        else:
            raw, origin = setting.default, "default"
        values[setting.name] = _convert(setting, raw, origin)
        origins[setting.name] = origin
    _refuse_two_stores(values, origins)
    _refuse_two_keys(values)
    _use_connection(values, origins, path.with_name(CONNECTIONS))
    return LoadedSettings(Settings(**values), origins, _unknown_variables(environment))


def _nearest_data() -> Path | None:
    """The nearest `.memorist` in the working folder or above it, if it is the user's own."""
    try:
        here = Path.cwd()
    except OSError:
        return None  # The working folder was removed.
    for folder in (here, *here.parents):
        try:
            found = (folder / LOCAL_DATA).stat()
        except OSError:
            continue
        # What somebody else left in a folder that everybody may write to is not one's store.
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
            return folder / LOCAL_DATA
    return None


def _refuse_two_stores(values: Mapping[str, Any], origins: Mapping[str, str]) -> None:
    database = values["database"]
    if origins["data"] == "flag" and database and origins["database"] not in ("flag", "default"):
        raise InvalidSetting(
            f"--data names the folder {values['data']}, and {origins['database']} the database "
            f"{without_password(database)}. Leave one of them out, or choose with --database."
        )
    servers = [name for name in ("url", "connection") if origins[name] == "flag" and values[name]]
    stores = [name for name in ("data", "database") if origins[name] == "flag" and values[name]]
    if servers and (stores or len(servers) > 1):
        first, second, *_ = [*stores, *servers]
        raise InvalidSetting(f"--{first} and --{second} name two places for memories. Leave one of them out.")


def _refuse_two_keys(values: Mapping[str, Any]) -> None:
    given = [name for name in ("encryption_key_file", "encryption_key", "encryption_key_command") if values[name]]
    if len(given) > 1:
        raise InvalidSetting(f"{' and '.join(given)} are set; set one of them.", field=given[1])


def known_servers() -> KnownServers:
    """What `memorist connect` keeps beside the settings file. Raises InvalidSetting."""
    return read_known_servers(_config_path(os.environ).with_name(CONNECTIONS))


def _use_connection(values: dict[str, Any], origins: dict[str, str], path: Path) -> None:
    """Take address and key from the connection that is named; from the default one where no place is named at all."""
    if any(origins[name] == "flag" and values[name] for name in ("data", "database")):
        return
    name, origin = values["connection"], origins["connection"]
    if name and values["url"]:
        if _rank(origins["url"]) == _rank(origin):
            raise InvalidSetting(
                f"{origins['url']} names the server {without_password(values['url'])}, and {origin} the connection "
                f"{name}. Leave one of them out.",
                field="connection",
            )
        if _rank(origins["url"]) > _rank(origin):
            return
    if not name and (values["url"] or values["database"] or _rank(origins["data"])):
        return
    known = read_known_servers(path)
    name = name or known.default
    if not name:
        return
    server = known.get(name)
    values["url"], origins["url"] = _convert(_FIELDS["url"], server.url, str(path)), f"connection {name}"
    if origins["api_key"] != "flag":
        # Never the key of another server, which the environment may hold.
        values["api_key"], origins["api_key"] = server.api_key, f"connection {name}"


def _rank(origin: str) -> int:
    """Flags count before the environment, that before the settings file, and any of them before a default."""
    if origin in ("default", "folder"):
        return 0
    return 3 if origin == "flag" else 2 if origin.startswith(ENVIRONMENT_PREFIX) else 1


def _config_path(environment: Mapping[str, str]) -> Path:
    if named := environment.get("MEMORIST_CONFIG"):
        return Path(named).expanduser()
    base = environment.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "memorist" / "config.toml"


def _read_toml(path: Path, *, required: bool) -> dict[str, Any]:
    try:
        content = path.read_bytes()
    except OSError as error:
        if not required and isinstance(error, FileNotFoundError | NotADirectoryError):
            return {}
        raise InvalidSetting(f"The settings file {path} cannot be read: {error.strerror}.") from error
    import tomllib  # Only those who have a file pay for its parser.

    try:
        values = tomllib.loads(content.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"The settings file {path} is not valid TOML: {error}.") from error
    names = [setting.name for setting in fields(Settings)]
    for name in values:
        if name not in names:
            raise InvalidSetting(f"{path} sets {name!r}, which is no setting.{_suggestion(name, names)}")
    return values


def _convert(setting: Any, raw: Any, origin: str) -> Any:
    try:
        value = _coerce(setting.type, raw)
    except (ValueError, TypeError, RuntimeError) as error:  # RuntimeError: the home of an unknown user.
        raise InvalidSetting(
            f"{setting.name} (from {origin}) must be {_type_name(setting.type)}, not {_shown(setting, raw)}.",
            field=setting.name,
        ) from error
    if setting.metadata["secret"]:
        value = value.strip()  # The end of the line of a file that it was read from is no part of it.
    check = setting.metadata["check"]
    complaint = check(value) if check and value is not None else None
    if complaint:
        raise InvalidSetting(
            f"{setting.name} (from {origin}) {complaint}, not {_shown(setting, raw)}.", field=setting.name
        )
    return value


def _shown(setting: Any, raw: Any) -> str:
    return MASK if setting.metadata["secret"] else without_password(repr(raw))


def _coerce(kind: Any, raw: Any) -> Any:
    if kind == float | None:
        return None if raw in (None, "") else _coerce(float, raw)
    if kind in (int, float):
        if isinstance(raw, bool) or (kind is int and isinstance(raw, float)):
            raise TypeError
        return kind(raw)
    if kind is Path and isinstance(raw, Path):
        return raw.expanduser()
    if not isinstance(raw, str):
        raise TypeError
    if "\x00" in raw or (kind is Path and not raw):
        raise ValueError
    return Path(raw).expanduser() if kind is Path else raw


def _type_name(kind: Any) -> str:
    return {int: "a whole number", float: "a number", float | None: "a number", Path: "a path"}.get(kind, "a text")


def _unknown_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    known = {ENVIRONMENT_PREFIX + setting.name.upper() for setting in fields(Settings)} | _OTHER_VARIABLES
    ours = [name for name in environment if name.startswith(ENVIRONMENT_PREFIX) and not name.startswith(_OF_TESTS)]
    unknown = sorted(name for name in ours if name not in known)
    return tuple(f"{name} is no setting of Memorist.{_suggestion(name, sorted(known))}" for name in unknown)


def _suggestion(name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1)
    return f" Did you mean {close[0]}?" if close else ""

"""`memorist support-bundle`: what somebody needs who is asked for help, without contents and without identities."""

import json
import os
import platform
import re
import tarfile
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

import typer

from memorist.errors import Conflict, Invalid, MemoristError
from memorist.settings import Settings
from memorist.settings_sources import LoadedSettings, load_settings
from memorist.surfaces.cli.answers import answer
from memorist.surfaces.cli.checks import examine
from memorist.surfaces.cli.db import existing_store
from memorist.surfaces.cli.door import operator_settings
from memorist.surfaces.cli.flags import REFUSED_KEY, STORE, Flags, with_flags
from memorist.surfaces.cli.outputs import named, written
from memorist.times import SystemClock, to_iso
from memorist.version import __version__
from memorist.views.condition import condition_of

_README = """A bundle for support, made by `memorist support-bundle`. It holds no memories, names, keys or addresses:
about.json     versions of Memorist, Python and the system
settings.json  settings; texts that may name somebody or a place are only said to be set
doctor.json    what `memorist doctor` finds; names of tenants, hosts and folders are replaced
store.json     the database: its engine, size, migrations, and counts over all tenants
log.jsonl      with --log: times, levels, routes and statuses of the last lines; no messages
"""
# Texts that are names of models or one of a few words: all others are only said to be set.
_SHOWN = re.compile("(embedder|reranker)(_model)?|(extraction_)?llm|extractor|judge_model|redact|log_level|log_format")
_LOG_FIELDS = ("time", "level", "logger", "method", "route", "path", "status", "ms", "duration_ms", "code")
_LOG_LINES = 2000
_FRAME = re.compile(r'File "[^"\n]*?(memorist[\w/.-]{0,200}\.py)", line (\d+)')
_ROUTE_PART = re.compile(
    r"|\{\w+\}|about|add|admin|api|archive|audit|batch|confirm|context|dashboard|dismiss|docs|documents|erase|errors|events|"
    r"export|extract|facts|findings|healthz|history|import|in-doubt|index|jobs|mcp|memories|memory|messages|metrics|openapi\.json|"
    r"policy|principal|purge|query|readyz|recall|receipts|records|refute|report|reset|restore|retention|retry|search|"
    r"section|sessions|store|stream|summary|sweep|tenant|tokens|tool-outputs|tools|turns|user|users|v1|verification|verify"
)


@with_flags(*STORE, *REFUSED_KEY)
def support_bundle(
    flags: Flags,
    file: Annotated[str, typer.Argument(metavar="[FILE]", help="Where to write it.")] = "memorist-support.tar.gz",
    log: Annotated[
        str | None, typer.Option(metavar="FILE", help="A log of the server in JSON, of which the last lines go in.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write what helps somebody to help you: versions, settings, findings of doctor, counts. No contents, no names.

    It is a .tar.gz of a few small files that you can read before you send it.
    """
    path = named(file)
    operator_settings(flags)
    if path.exists() and not force:
        raise Conflict(f"{file} exists. Choose another name, or replace it with --force.")
    loaded = load_settings(flags.as_settings())
    members = _members(flags, loaded, log)
    _write(path, members)
    remark = f"Written to {file}: {', '.join(members)}. Read it before you send it."
    answer(flags, {"file": file, "members": list(members)}, remark=remark)


def _members(flags: Flags, loaded: LoadedSettings, log: str | None) -> dict[str, str]:
    store, tenants = _store(loaded.settings)
    hidden = _Hidden(loaded.settings, tenants)
    about = {
        "memorist": __version__,
        "python": platform.python_version(),
        "system": platform.platform(terse=True),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "made_at": to_iso(SystemClock().now()),
    }
    findings = [asdict(one) for one in examine(flags)]
    found = {"settings": _settings(loaded), "doctor": hidden.everywhere(findings), "store": hidden.everywhere(store)}
    members = {"README.txt": _README}
    members |= {f"{name}.json": json.dumps(value, indent=2) + "\n" for name, value in {"about": about, **found}.items()}
    if log is not None:
        members["log.jsonl"] = "".join(f"{line}\n" for line in _log_lines(Path(log)))
    return members


def _settings(loaded: LoadedSettings) -> dict[str, Any]:
    found = {}
    for setting in fields(Settings):
        value, origin = getattr(loaded.settings, setting.name), loaded.origins[setting.name]
        if origin == "default":
            shown = str(setting.default)  # As it is written: once it is resolved it names the user's home.
        elif isinstance(value, int | float | None) or _SHOWN.fullmatch(setting.name):
            shown = str(value)
        else:
            shown = "(set)" if value else ""
        source = origin if origin in ("default", "flag", "folder") else "environment" if origin.isupper() else "file"
        found[setting.name] = {"value": shown, "from": source}
    return {"settings": found, "unknown_variables": len(loaded.warnings)}


def _store(settings: Settings) -> tuple[dict[str, Any], list[str]]:
    """What the database is, and the names of its tenants, which are to be hidden."""
    try:
        with existing_store(settings) as store:
            facts = {name: store.describe()[name] for name in ("engine", "version", "size_bytes")}
            applied = [
                {"version": one.version, "name": one.name, "applied_at": to_iso(one.applied_at)}
                for one in store.migrator.applied()
            ]
            pending = [one.version for one in store.migrator.pending()]
            found = {**facts, "applied": applied, "pending": pending}
            if pending:
                return found, []
            return {**found, **_counts(store)}, [tenant.id for tenant in store.list_tenants()]
    except MemoristError as error:
        return {"error": error.code}, []


def _counts(store: Any) -> dict[str, Any]:
    condition = condition_of(store, SystemClock().now())
    return {
        "tenants": condition.tenants,
        "rows": dict(condition.rows),
        "jobs": dict(condition.jobs),
        "dated_ahead": condition.dated_ahead,
        "index_models": dict(condition.index_models),
    }


class _Hidden:
    """Replaces what names a person, a tenant, a machine or a folder of it."""

    def __init__(self, settings: Settings, tenants: Iterable[str]) -> None:
        names = {tenant: "<tenant>" for tenant in tenants}
        for name in ("tenant", "user", "agent", "url", "allowed_hosts", "allowed_origins", "host", "api_key"):
            names[str(getattr(settings, name))] = f"<{name}>"
        address = urlsplit(settings.database_url())
        if settings.sqlite_path() is None:
            parts = (address.hostname, address.username, address.path.strip("/"), *address.query.split("&"))
            names |= {unquote(part): "<database>" for part in parts if part}
        names |= {str(settings.data): "<data>", str(settings.backups_path()): "<backups>", str(Path.home()): "~"}
        names |= {
            settings.database_url(): "<database>",
            str(Path.cwd()): "<here>",
            str(settings.sqlite_path()): "<file>",
        }
        known = sorted(filter(None, names), key=len, reverse=True)
        self._names = names
        self._known = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in known))

    def __call__(self, text: str) -> str:
        return self._known.sub(lambda match: self._names[match[0]], text)

    def everywhere(self, value: Any) -> Any:
        """The same in every text of a JSON value."""
        if isinstance(value, dict):
            return {self(str(name)): self.everywhere(one) for name, one in value.items()}
        if isinstance(value, str):
            return self(value)
        return [self.everywhere(one) for one in value] if isinstance(value, list) else value


def _log_lines(path: Path) -> Iterator[str]:
    """What is said of the last lines: a message may quote anything, so that none is taken along."""
    try:
        with path.open(encoding="utf-8", errors="replace") as source:
            lines = deque(source, maxlen=_LOG_LINES)
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.", field="log") from error
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield json.dumps(_line(record))


def _line(record: dict[str, Any]) -> dict[str, Any]:
    kept = {name: record[name] for name in _LOG_FIELDS if isinstance(record.get(name), str | int | float)}
    for name in ("route", "path"):
        if name in kept:
            kept[name] = route_of(str(kept[name]))
    if frames := _FRAME.findall(str(record.get("exception", ""))):
        kept["raised_in"] = [f"{file}:{number}" for file, number in frames]
    return kept


def route_of(path: str) -> str:
    """A path of ours, with whatever else stands in it left out."""
    parts = path.partition("?")[0].split("/")
    return "/".join(part if _ROUTE_PART.fullmatch(part) else "…" for part in parts)


def _write(path: Path, members: dict[str, str]) -> None:
    with written(path, "wb") as target, tarfile.open(fileobj=target, mode="w:gz") as archive:
        for name, text in members.items():
            content = text.encode()
            member = tarfile.TarInfo(f"memorist-support/{name}")
            member.size, member.mode = len(content), 0o600
            archive.addfile(member, BytesIO(content))

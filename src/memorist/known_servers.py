"""Servers that `memorist connect` keeps by name: their addresses and API keys, in a file that its owner alone reads."""

import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memorist.errors import InvalidSetting

FILE = "connections.json"
_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class KnownServer:
    """An address, and the key that belongs to it and is sent nowhere else."""

    url: str
    api_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class KnownServers:
    """Those of a file, by name; `default` is the one for commands that name neither a store nor a server."""

    path: Path
    servers: Mapping[str, KnownServer] = field(default_factory=dict)
    default: str = ""

    def get(self, name: str) -> KnownServer:
        """Raises InvalidSetting where nobody connected under that name."""
        if name not in self.servers:
            known = ", ".join(self.servers) or "none"
            raise InvalidSetting(
                f"There is no connection {name[:60]!r}; known: {known}. `memorist connect URL --name NAME` makes one.",
                field="connection",
            )
        return self.servers[name]

    def save(self) -> None:
        """Write the file anew, readable by its owner only. Raises InvalidSetting."""
        import json

        servers = {name: {"url": one.url, "api_key": one.api_key} for name, one in self.servers.items()}
        text = json.dumps({"default": self.default, "servers": servers}, indent=2, ensure_ascii=False)
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Made with 0600 from the start, and moved into place when it is complete.
            with tempfile.NamedTemporaryFile("w", dir=self.path.parent, prefix=".connections-", delete=False) as new:
                try:
                    new.write(text + "\n")
                    new.flush()
                    os.replace(new.name, self.path)
                except OSError:
                    os.unlink(new.name)  # It may have keys in it.
                    raise
        except OSError as error:
            raise InvalidSetting(f"{self.path} cannot be written: {error.strerror}.") from error


def read_known_servers(path: Path) -> KnownServers:
    """What the file holds; nothing where there is none. Raises InvalidSetting, also where others may read the keys."""
    try:
        with path.open(encoding="utf-8") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & _OTHERS:
                raise InvalidSetting(f"Others may read {path}, which holds API keys. Run `chmod 600` on it.")
            text = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return KnownServers(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'no UTF-8'}.") from error
    import json  # Only those who have a file pay for its parser.

    try:
        record: dict[str, Any] = json.loads(text)
        servers = {
            str(name): KnownServer(str(one["url"]), str(one["api_key"])) for name, one in record["servers"].items()
        }
        return KnownServers(path, servers, str(record.get("default") or ""))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise InvalidSetting(f"{path} holds no connections. `memorist connect` writes it; remove it.") from error

"""Servers in processes of their own, as users run them."""

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

MEMORIST = [sys.executable, "-m", "memorist"]


@dataclass
class Machine:
    """A server that can be killed and started again, always at the same address."""

    data: Path
    model: str
    port: int = 0
    database: str = ""
    """The address of a server; empty for a file in the folder."""
    others: dict[str, str] = field(default_factory=dict)
    """More of its environment."""
    process: subprocess.Popen[str] | None = None
    kills: int = 0
    is_up: threading.Event = field(default_factory=threading.Event)

    @property
    def log(self) -> Path:
        return self.data.parent / "server.log"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def where(self) -> list[str]:
        return ["--database", self.database] if self.database else ["--data", str(self.data)]

    def key(self, role: str, *flags: str) -> str:
        """A new key, made by the command."""
        command = [*MEMORIST, "keys", "create", "--role", role, *flags, *self.where, "--json"]
        found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return str(json.loads(found)["key"])

    def start(self) -> None:
        environment = os.environ | {
            "MEMORIST_LLM": "openai:gpt-4o",
            "MEMORIST_LLM_URL": self.model,
            "MEMORIST_LLM_API_KEY": "not-a-key",
            "MEMORIST_EMBEDDER": "off",
            "MEMORIST_RERANKER": "off",
            "MEMORIST_EXTRACTOR": "local",
            **self.others,
        }
        command = [*MEMORIST, "serve", "--port", str(self.port), *self.where, "--json"]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        assert self.process.stdout is not None
        self.greeting = json.loads(self.process.stdout.readline())
        self.port = int(self.greeting["url"].rsplit(":", 1)[1])
        self.is_up.set()

    def kill(self) -> None:
        assert self.process is not None
        self.is_up.clear()
        self.process.send_signal(signal.SIGKILL)
        self._gone()
        self.kills += 1

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self._gone()

    def _gone(self) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.wait(30)
        self.process.stdout.close()

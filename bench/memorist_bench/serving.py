"""A server in a process of its own, over a database that is filled."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from memorist.errors import MemoristError
from memorist.settings import Settings


@contextmanager
def serving(settings: Settings, **environment: str) -> Iterator[str]:
    """The address of a server over the same database, which ends with the block. Raises MemoristError."""
    flags = ["--data", str(settings.data), "--database", settings.database_url()]
    with subprocess.Popen(
        [sys.executable, "-m", "memorist", "serve", "--host", "127.0.0.1", "--port", "0", "--json", *flags],
        stdout=subprocess.PIPE,
        env=os.environ | {"MEMORIST_LOG_LEVEL": "error"} | environment,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            greeting = process.stdout.readline()
            if not greeting:
                raise MemoristError("The server did not start; its own words are above.")
            yield json.loads(greeting)["url"]
        finally:
            process.terminate()

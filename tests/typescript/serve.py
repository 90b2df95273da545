"""A server for the tests of the TypeScript client, with a scripted language model, until its input ends.

`python -m tests.typescript.serve` prints one line of JSON. pytest has one for all files of tests instead.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from memorist.platform.values import Role
from memorist.testing import new_tenant
from tests.http.conftest import serving
from tests.support.scripted_http import scripted_server
from tests.support.talking import says
from tests.turns.conftest import turn_settings

ANSWER = "You live in Lisbon, by the river."


@contextmanager
def serving_typescript() -> Iterator[str]:
    """A running server, told as JSON: its address, and a key of each role."""
    with (
        TemporaryDirectory() as folder,
        scripted_server(says(ANSWER)) as model,
        serving(turn_settings(Path(folder), model.url)) as served,
    ):
        served.core.start()
        tenant = new_tenant()
        keys = {str(role): served.key(tenant, role, "ada") for role in (Role.ADMIN, Role.USER, Role.READER)}
        keys["service"] = served.key(tenant, Role.SERVICE)
        yield json.dumps({"url": served.url, "keys": keys})


if __name__ == "__main__":
    with serving_typescript() as told:
        print(told, flush=True)
        sys.stdin.read()

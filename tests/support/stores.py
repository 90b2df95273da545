"""Settings of a store without models, which cost seconds where most tests are not about meaning; its raw bytes; and one
that fails for a tenant.
"""

import subprocess
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memorist.errors import StoreUnavailable
from memorist.ports import Store
from memorist.settings import Settings
from memorist.store.sql_store import SqlStore

MASTER_KEY = b64encode(bytes(range(32))).decode()


def bare(url: str, **others: Any) -> Settings:
    """A database by its URL, searched by keywords alone."""
    return Settings(**({"database": url, "embedder": "off", "reranker": "off"} | others))


def checked(store: Store, tenant: str) -> str:
    """What `check` finds of one tenant: looking at all takes long in the database that the tests share."""
    assert isinstance(store, SqlStore)
    assert set(store.driver.health(True).values()) == {"ok"}
    return store.driver.read(tenant, partial(store._check_tenant, tenant))


@contextmanager
def unwritable(store: Store, tenant: str) -> Iterator[None]:
    """Within, nothing of one tenant is written, as where its node of a cluster is down; others are as they were."""
    write = store.write

    def refuse(whose: str, work: Any, **options: Any) -> Any:
        if whose == tenant:
            raise StoreUnavailable
        return write(whose, work, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "write", refuse)
        yield


def bytes_in(folder: Path) -> bytes:
    """The bytes of all files of a folder, read by another process.

    Closing a file drops every lock that a process has on it. Had this one a database open there, the next process that
    opens it would believe to be alone, cut the shared memory of the log short, and this one would die of it.
    """
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return subprocess.run(["cat", "--", *files], capture_output=True, check=True).stdout

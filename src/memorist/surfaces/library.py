"""The Python library: `Memorist.open(...)`, then a handle for each user.

with Memorist.open("./memories") as m:
    me = m.user("ada", agent="coder")
    me.remember("Deploys happen on Fridays only.", category="project")

The verbs of a handle are described in `memorist.verbs`.
"""

import asyncio
from collections.abc import AsyncIterator
from itertools import islice
from pathlib import Path
from typing import Self, TypeVar

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.platform import validation
from memorist.platform.values import Change, Principal, Role
from memorist.settings import Settings
from memorist.settings_sources import load_settings
from memorist.verbs import AsyncVerbs
from memorist.verbs.here import Handle
from memorist.verbs.kinds import Stream, Verb

__all__ = ["AsyncHandle", "AsyncMemorist", "Handle", "Memorist"]

T = TypeVar("T")

_DATABASE_ENDINGS = (".db", ".sqlite", ".sqlite3", ":memory:")


class Memorist:
    """An open store of memories. Safe to share between threads; close it, or use it in a `with`."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @classmethod
    def open(cls, url_or_path: str | Path | None = None) -> Self:
        """Open a folder, an SQLite file or a `postgresql://` URL; without one, what the settings name.

        Missing folders and files are made, and the database is brought up to this release.
        Raises InvalidSetting or StoreError.
        """
        return cls(open_core(_settings_for(url_or_path)))

    def user(
        self, user: str, *, agent: str | None = None, session: str | None = None, tenant: str = "local"
    ) -> "Handle":
        """A handle that acts as one user, optionally as one of the user's agents and in one session.

        Raises InvalidField.
        """
        return self._handle(Principal(tenant, Role.USER, user, agent, session))

    def admin(self, *, user: str | None = None, tenant: str = "local") -> "Handle":
        """A handle that administers a tenant: it sees every user's memories and writes those that all share."""
        return self._handle(Principal(tenant, Role.ADMIN, user))

    def _handle(self, principal: Principal) -> "Handle":
        for field in ("user", "agent", "session"):
            if getattr(principal, field) is not None:
                validation.identifier(field, getattr(principal, field))
        validation.tenant_name(principal.tenant)
        return Handle(self._core, lambda: principal)

    def with_key(self, api_key: str) -> "Handle":
        """A handle that acts as the holder of an API key, for as long as the key is valid. Raises Unauthenticated."""
        handle = Handle(self._core, lambda: self._core.identity.authenticate(api_key))
        handle.principal  # noqa: B018 - a key that is not valid is refused here, not at the first use
        return handle

    def close(self) -> None:
        """Write what is pending and let go of the database."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncHandle(AsyncVerbs):
    """A Handle to be awaited: the same calls, each on a thread."""

    def __init__(self, handle: Handle) -> None:
        self._wrapped = handle

    @property
    def principal(self) -> Principal:
        """Whom this handle acts as. Raises Unauthenticated once its API key is revoked."""
        return self._wrapped.principal

    async def _do(self, verb: Verb[T]) -> T:
        return await asyncio.to_thread(self._wrapped._do, verb)

    async def _stream(self, stream: Stream[T]) -> AsyncIterator[T]:
        items = await asyncio.to_thread(self._wrapped._stream, stream)
        while found := await asyncio.to_thread(lambda: list(islice(items, stream.at_once))):
            for item in found:
                yield item

    async def changes(self, *, after: str | None = None, wait: float | None = None) -> AsyncIterator[Change]:
        woken = asyncio.Event()
        loop = asyncio.get_running_loop()
        acting = self._wrapped._acting
        with acting.act(AsyncHandle.changes):
            follower = await asyncio.to_thread(
                acting.core.feed.follow, acting.who, after, wake=lambda: loop.call_soon_threadsafe(woken.set)
            )
        is_over = False
        with follower:
            follower.require_known()
            while not follower.closed:
                woken.clear()
                found = await asyncio.to_thread(follower.read, fresh=is_over)
                for change in found:
                    yield change
                if found or follower.is_behind:
                    continue
                if is_over:
                    return
                try:
                    await asyncio.wait_for(woken.wait(), wait)
                except TimeoutError:
                    is_over = True

    changes.__doc__ = AsyncVerbs.changes.__doc__


class AsyncMemorist:
    """Memorist for asyncio: `async with await AsyncMemorist.open(path) as m: me = await m.user("ada")`."""

    def __init__(self, wrapped: Memorist) -> None:
        self._wrapped = wrapped

    @classmethod
    async def open(cls, url_or_path: str | Path | None = None) -> Self:
        return cls(await asyncio.to_thread(Memorist.open, url_or_path))

    async def user(
        self, user: str, *, agent: str | None = None, session: str | None = None, tenant: str = "local"
    ) -> AsyncHandle:
        return AsyncHandle(
            await asyncio.to_thread(self._wrapped.user, user, agent=agent, session=session, tenant=tenant)
        )

    async def admin(self, *, user: str | None = None, tenant: str = "local") -> AsyncHandle:
        return AsyncHandle(await asyncio.to_thread(self._wrapped.admin, user=user, tenant=tenant))

    async def with_key(self, api_key: str) -> AsyncHandle:
        return AsyncHandle(await asyncio.to_thread(self._wrapped.with_key, api_key))

    async def close(self) -> None:
        """Write what is pending and let go of the database."""
        await asyncio.to_thread(self._wrapped.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _settings_for(url_or_path: str | Path | None) -> Settings:
    if url_or_path is None:
        return load_settings().settings
    text = str(url_or_path)
    is_database = "://" in text or text.endswith(_DATABASE_ENDINGS)
    return load_settings({"database": text} if is_database else {"database": "", "data": text}).settings

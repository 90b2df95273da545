"""When keys were last used: noted in memory, and written seldom and apart from everything else.

On a cluster a key lies on every node, so that writing it takes all of them: no request waits for that, and no count of
reads.
"""

import threading
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial

from memorist.errors import MemoristError
from memorist.platform import acts
from memorist.platform.loop import Loop, do_each
from memorist.platform.values import ApiKey
from memorist.ports import Store, Writer

_WRITE_EVERY_S = 1.0
_MOST_DOUBLINGS = 6

NOTED_EVERY = timedelta(minutes=5)
"""A key that was used no longer ago than this, as the database knows, is not written again."""


class KeyUses:
    def __init__(self, store: Store, *, background: bool = True) -> None:
        """Without `background` only `flush` writes."""
        self._store = store
        self._lock = threading.Lock()
        self._one_flush = threading.Lock()
        self._uses: dict[str, dict[str, datetime]] = defaultdict(dict)
        self._loop = Loop("key-uses", self.flush, _WRITE_EVERY_S, _MOST_DOUBLINGS, at_once=False, background=background)

    def note(self, key: ApiKey, now: datetime) -> None:
        """A key, as it was read just now, is used. Never waits and never fails."""
        if key.last_used_at is not None and now - key.last_used_at < NOTED_EVERY:
            return
        with self._lock:
            self._uses[key.tenant][key.id] = now
        self._loop.start()

    def flush(self) -> None:
        """Write what has been noted. Raises StoreError, keeping what could not be written for the next time."""
        with self._one_flush, acts.aside():
            with self._lock:
                uses, self._uses = self._uses, defaultdict(dict)
            try:
                do_each(list(uses), partial(self._write, uses))
            finally:
                with self._lock:
                    for tenant, of_tenant in uses.items():
                        self._uses[tenant] = of_tenant | self._uses[tenant]

    def close(self) -> None:
        """Write what is left, where that can be written."""
        self._loop.close()
        try:
            self.flush()
        except MemoristError:
            self._uses.clear()  # It is no more than when a key was used.

    def _write(self, uses: dict[str, dict[str, datetime]], tenant: str) -> None:
        self._store.write(tenant, partial(_touch, uses[tenant]), is_told=False)
        del uses[tenant]


def _touch(uses: Mapping[str, datetime], tx: Writer) -> None:
    tx.keys.touch(uses)

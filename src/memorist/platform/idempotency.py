"""A request with an idempotency key has one effect: its answer is stored in the transaction that has the effect."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

from memorist.errors import Conflict, IdempotencyInFlight, IdempotencyMismatch, NotFound, StaleVersion
from memorist.platform import access, validation
from memorist.platform.redaction import Redaction
from memorist.platform.values import IdempotencyRecord, Principal
from memorist.ports import Store, Writer
from memorist.times import Clock

T = TypeVar("T")

REMEMBERED_FOR = timedelta(hours=24)


class Idempotency:
    def __init__(self, store: Store, clock: Clock, redaction: Redaction) -> None:
        self._redaction = redaction
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._in_flight: set[tuple[str, ...]] = set()

    def write(
        self,
        principal: Principal,
        route: str,
        key: str | None,
        request: Any,
        work: Callable[[Writer], T],
        encode: Callable[[T], Any],
        decode: Callable[[Any], T],
    ) -> T:
        """Run `work` in a transaction, or, where this request was answered before, return that answer.

        Raises IdempotencyMismatch for another request under the key, IdempotencyInFlight while the first is running,
        and Forbidden where who asks again may only read.
        """
        if key is None:
            return self._store.write(principal.tenant, work)
        key = validation.idempotency_key(key)
        self._redaction.refuse("Idempotency-Key", key)
        # Hashed, because the names together can be longer than a database takes as a key.
        caller = _hash([principal.key_id, principal.user, principal.agent])
        request_hash = _hash(request)

        def once(tx: Writer) -> T:
            now = self._clock.now()
            record = tx.idempotency.find(caller, route, key)
            if record is not None and record.expires_at > now:
                # Of another caller with the same identity, who may read only: `work` would refuse it.
                access.require(principal, access.Action.WRITE)
                if record.request_hash != request_hash:
                    raise IdempotencyMismatch
                return decode(json.loads(record.response))
            tx.idempotency.drop_expired(now)
            result = work(tx)
            response = json.dumps(encode(result), ensure_ascii=False)
            expires_at = now + REMEMBERED_FOR
            if not tx.idempotency.insert(
                IdempotencyRecord(caller, route, key, principal.user, request_hash, response, now, expires_at)
            ):
                raise _AnsweredMeanwhile
            return result

        with self._alone((principal.tenant, caller, route, key)):
            try:
                return self._store.write(principal.tenant, once)
            except (_AnsweredMeanwhile, Conflict, StaleVersion, NotFound):
                # Another process may have been first: this effect was rolled back, and its answer is there now. Where
                # there is none, the second try is refused for the same reason as the first.
                return self._store.write(principal.tenant, once)

    @contextmanager
    def _alone(self, ticket: tuple[str, ...]) -> Iterator[None]:
        with self._lock:
            if ticket in self._in_flight:
                raise IdempotencyInFlight
            self._in_flight.add(ticket)
        try:
            yield
        finally:
            with self._lock:
                self._in_flight.discard(ticket)


class _AnsweredMeanwhile(Exception):
    """Undoes the transaction of a request that another process has just answered."""


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()

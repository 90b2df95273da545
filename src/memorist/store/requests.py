"""Remembered requests as rows."""

from datetime import datetime

from memorist.platform.values import IdempotencyRecord
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros, to_micros


class RequestStatements(TenantStatements):
    """What one tenant was asked before, inside a transaction."""

    __slots__ = ()

    def find(self, principal: str, route: str, key: str) -> IdempotencyRecord | None:
        rows = self._rows("find_idempotency", principal=principal, route=route, key=key)
        if not rows:
            return None
        principal, route, key, user, request_hash, response, created_at, expires_at = rows[0]
        return IdempotencyRecord(
            principal,
            route,
            key,
            user or None,
            request_hash,
            response,
            from_micros(created_at),
            from_micros(expires_at),
        )

    def insert(self, record: IdempotencyRecord) -> bool:
        inserted = self._run(
            "insert_idempotency",
            principal=record.principal,
            route=record.route,
            key=record.key,
            user_id=record.user or "",
            request_hash=record.request_hash,
            response=record.response,
            created_at=to_micros(record.created_at),
            expires_at=to_micros(record.expires_at),
        )
        return inserted == 1

    def drop_expired(self, now: datetime) -> int:
        return self._run("drop_expired_idempotency", now=to_micros(now))

"""API keys, and links, sessions and tokens, as rows."""

from collections.abc import Mapping
from datetime import datetime

from memorist.platform.values import ApiKey, SignIn
from memorist.store.rows import key_from_row, key_to_parameters, sign_in_from_row
from memorist.store.tenant_statements import TenantStatements
from memorist.times import to_micros


class KeyStatements(TenantStatements):
    """One tenant's API keys, inside a transaction."""

    __slots__ = ()

    def all(self) -> list[ApiKey]:
        return [key_from_row(row) for row in self._rows("list_keys")]

    def insert(self, key: ApiKey) -> None:
        self._run("insert_key", **key_to_parameters(key))

    def revoke(self, key_id: str, at: datetime) -> bool:
        return self._run("revoke_key", id=key_id, at=to_micros(at)) == 1

    def revoke_all(self, at: datetime) -> int:
        return self._run("revoke_all_keys", at=to_micros(at))

    def touch(self, uses: Mapping[str, datetime]) -> None:
        for key_id, at in sorted(uses.items()):
            self._run("touch_key", id=key_id, at=to_micros(at))


class SignInStatements(TenantStatements):
    """The sign-ins of one tenant, inside a transaction."""

    __slots__ = ()

    def sessions(self, now: datetime, limit: int) -> list[SignIn]:
        rows = self._rows("list_sessions", now=to_micros(now), limit=limit)
        return [sign_in_from_row(row) for row in rows]

    def insert(self, token_hash: str, sign_in: SignIn) -> None:
        self._run(
            "insert_sign_in",
            token_hash=token_hash,
            kind=sign_in.kind,
            key_id=sign_in.key.id,
            created_at=to_micros(sign_in.created_at),
            expires_at=to_micros(sign_in.expires_at),
            role=sign_in.role or "",
            user_id=sign_in.user or "",
            agent_id=sign_in.agent or "",
        )

    def delete(self, token_hash: str) -> bool:
        return self._run("delete_sign_in", token_hash=token_hash) == 1

    def end_tokens(self, user: str) -> int:
        return self._run("end_tokens", user_id=user)

    def drop_expired(self, now: datetime) -> int:
        return self._run("drop_expired_sign_ins", now=to_micros(now))

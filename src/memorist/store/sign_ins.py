"""Links and sessions of the dashboard as rows."""

from datetime import datetime

from memorist.platform.values import SignIn
from memorist.store.tenant_statements import TenantStatements
from memorist.times import to_micros


class SignInStatements(TenantStatements):
    """The sign-ins of one tenant, inside a transaction."""

    __slots__ = ()

    def insert_sign_in(self, token_hash: str, sign_in: SignIn) -> None:
        self._run(
            "insert_sign_in",
            token_hash=token_hash,
            kind=sign_in.kind,
            key_id=sign_in.key.id,
            created_at=to_micros(sign_in.created_at),
            expires_at=to_micros(sign_in.expires_at),
        )

    def delete_sign_in(self, token_hash: str) -> bool:
        return self._run("delete_sign_in", token_hash=token_hash) == 1

    def drop_expired_sign_ins(self, now: datetime) -> int:
        return self._run("drop_expired_sign_ins", now=to_micros(now))

"""Tenants, API keys and who a key stands for."""

import hashlib
import hmac
import secrets
import zlib
from collections.abc import Callable, Sequence
from datetime import datetime

from memorist.errors import InvalidField, NotFound, Unauthenticated
from memorist.ids import new_id, parse_id
from memorist.platform import access, acts, validation
from memorist.platform.acts import ActKind
from memorist.platform.redaction import Redaction
from memorist.platform.values import ApiKey, Principal, Role, Tenant
from memorist.ports import Store
from memorist.times import Clock

KEY_PREFIX = "mst_live_"
TOKEN_PREFIX = "mst_user_"
_SECRET_BYTES = 32
_CHECKSUM_LENGTH = 8


class Identity:
    def __init__(
        self, store: Store, clock: Clock, note_use: Callable[[ApiKey, datetime], None], redaction: Redaction
    ) -> None:
        """`note_use` is told of a key, as it was read, and of when it was used."""
        self._redaction = redaction
        self._store = store
        self._clock = clock
        self._note_use = note_use

    def authenticate(self, secret: str | None, *, source: str = "library") -> Principal:
        """Whom a key or a user's token stands for, asked of the store every time, so that a revoked one stops at once.

        Raises Unauthenticated, with the same words whether the key is unknown, revoked or expired.
        """
        if secret and secret.startswith(TOKEN_PREFIX):
            return self._holder(secret, source)
        return acts.by(principal_of(self._valid_key(secret), source))

    def find_key(self, secret: str | None) -> ApiKey:
        """The valid key with that secret, whose use is noted. Raises Unauthenticated."""
        key = self._valid_key(secret)
        acts.by(principal_of(key, "library"))
        return key

    def _valid_key(self, secret: str | None) -> ApiKey:
        if not secret or not is_key(secret):
            raise Unauthenticated
        digest = hash_secret(secret)
        key = self._store.find_key(digest)
        # The lookup goes by hash, and the hashes are compared in constant time.
        now = self._clock.now()
        if key is None or not hmac.compare_digest(key.secret_hash, digest) or not key.is_valid(now):
            if key is not None:
                # Whose it was is noted also where it is refused since it was revoked.
                acts.by(principal_of(key, "library"))
            raise Unauthenticated("This API key is not known here, was revoked, or has expired.")
        self._note_use(key, now)
        return key

    def _holder(self, token: str, source: str) -> Principal:
        found = self._store.find_sign_in(hash_secret(token)) if _is_whole(token, TOKEN_PREFIX) else None
        now = self._clock.now()
        if found is None or found.role is None or found.expires_at <= now or not found.key.is_valid(now):
            raise Unauthenticated("This token is not known here, or its time is over. Ask for a new one.")
        key = found.key
        self._note_use(key, now)
        return Principal(
            key.tenant, found.role, found.user, found.agent, key_id=key.id, source=source,
            agent_bound=found.agent is not None,
        )  # fmt: skip

    def create_tenant(self, name: str) -> tuple[Tenant, bool]:
        """The tenant, and whether it is new."""
        tenant = Tenant(validation.tenant_name(name), self._clock.now())
        known = self._tenant(name)
        if known is not None:
            return known, False
        self._redaction.refuse("tenant", name)
        is_new = self._store.create_tenant(tenant)
        return (tenant if is_new else self._tenant(name) or tenant), is_new

    def _tenant(self, name: str) -> Tenant | None:
        return self._store.find_tenant(name)

    def list_tenants(self) -> Sequence[Tenant]:
        return self._store.list_tenants()

    def has_keys(self) -> bool:
        return self._store.has_keys()

    def create_key(
        self,
        principal: Principal,
        role: Role,
        *,
        user: str | None = None,
        agent: str | None = None,
        label: str | None = None,
        expires_at: datetime | None = None,
        secret: str | None = None,
    ) -> tuple[ApiKey, str]:
        """A new key of the caller's tenant and its secret, shown this once. Raises Forbidden or InvalidField.

        A `secret` made by `new_secret` may be given by whoever has to store it before the key exists.
        """
        access.require(principal, access.Action.ADMINISTER)
        if role is Role.USER and user is None:
            raise InvalidField("A user key belongs to one user: name the user.", field="user")
        for field, name in (("user", user), ("agent", agent)):
            if name is not None:
                self._redaction.refuse(field, validation.identifier(field, name))
        if label is not None:
            validation.text("label", label, longest=validation.MAX_LINE, one_line=True)
            label = self._redaction.text(label)
        now = self._clock.now()
        if expires_at is not None and validation.moment("expires", expires_at) <= now:
            raise InvalidField.of("expires", "must lie in the future.")
        self.create_tenant(principal.tenant)
        secret = secret or new_secret()
        key = ApiKey(
            new_id("key"), principal.tenant, hash_secret(secret), role, now, user, agent, label, expires_at=expires_at
        )
        acts.mark(ActKind.KEYS)
        self._store.write(principal.tenant, lambda tx: tx.keys.insert(key))
        return key, secret

    def list_keys(self, principal: Principal) -> Sequence[ApiKey]:
        access.require(principal, access.Action.ADMINISTER)
        return self._store.read(principal.tenant, lambda tx: tx.keys.all())

    def revoke_key(self, principal: Principal, key_id: str) -> None:
        """End a key, effective with the next request in every process. Raises Forbidden, InvalidId or NotFound."""
        access.require(principal, access.Action.ADMINISTER)
        key_id = parse_id("key", key_id)
        acts.mark(ActKind.KEYS)
        if not self._store.write(principal.tenant, lambda tx: tx.keys.revoke(key_id, self._clock.now())):
            raise NotFound(f"There is no key {key_id} that is still valid.")


def principal_of(key: ApiKey, source: str) -> Principal:
    """Whom a valid key stands for."""
    return Principal(
        key.tenant, key.role, key.user, key.agent, key_id=key.id, source=source, agent_bound=key.agent is not None
    )


def new_secret(prefix: str = KEY_PREFIX) -> str:
    """256 random bits and a checksum, so that a mistyped key is recognised without asking the database."""
    body = secrets.token_hex(_SECRET_BYTES)
    return f"{prefix}{body}{_checksum(body)}"


def is_key(secret: str) -> bool:
    """Whether it is a whole key, mistyped nowhere; whether anybody knows it is another question."""
    return _is_whole(secret, KEY_PREFIX)


def hash_secret(secret: str) -> str:
    """What is kept of a key or a token."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _is_whole(secret: str, prefix: str) -> bool:
    body = secret.removeprefix(prefix)
    expected_length = 2 * _SECRET_BYTES + _CHECKSUM_LENGTH
    if body == secret or len(body) != expected_length or not body.isascii():
        return False
    return hmac.compare_digest(_checksum(body[:-_CHECKSUM_LENGTH]), body[-_CHECKSUM_LENGTH:])


def _checksum(body: str) -> str:
    return f"{zlib.crc32(body.encode()):08x}"

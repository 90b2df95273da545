"""Signing in to the dashboard: by an API key, or by a link that works once. Both end with the key they stand for."""

import hashlib
import secrets
from datetime import timedelta

from memorist.errors import Unauthenticated
from memorist.platform import access, acts
from memorist.platform.acts import ActKind
from memorist.platform.identity import Identity, principal_of
from memorist.platform.values import ApiKey, Principal, Role, SignIn, SignInKind
from memorist.ports import Store, Writer
from memorist.times import Clock

LINK_LIFETIME = timedelta(minutes=15)
_TOKEN_BYTES = 32
_LABEL = "dashboard"


class SignIns:
    def __init__(self, store: Store, clock: Clock, identity: Identity, *, session_lifetime: timedelta) -> None:
        self._store = store
        self._clock = clock
        self._identity = identity
        self._session_lifetime = session_lifetime

    def make_link(self, principal: Principal, *, lifetime: timedelta = LINK_LIFETIME) -> str:
        """The token of a link that signs in once, as an admin's own key would. Raises Forbidden.

        It stands for a key of the caller: the one it came with, else one that its user has, else a new one whose
        secret nobody knows.
        """
        access.require(principal, access.Action.ADMINISTER)
        key = (
            self._key_of(principal)
            or self._identity.create_key(
                principal, Role.ADMIN, user=principal.user, agent=principal.agent, label=_LABEL
            )[0]
        )
        return self._begin(SignInKind.LINK, key, lifetime)

    def _key_of(self, principal: Principal) -> ApiKey | None:
        now = self._clock.now()
        keys = [key for key in self._identity.list_keys(principal) if key.is_valid(now)]
        if principal.key_id is not None:
            return next((key for key in keys if key.id == principal.key_id), None)
        same = [key for key in keys if (key.role, key.user, key.agent) == (Role.ADMIN, principal.user, principal.agent)]
        return same[-1] if same else None

    def enter(self, link_token: str) -> str:
        """Use a link up: the token of a session. Raises Unauthenticated."""
        link = self._find(link_token, SignInKind.LINK)
        acts.by(principal_of(link.key, _LABEL))
        acts.mark(ActKind.SIGN_IN)
        if not self._store.write(link.key.tenant, lambda tx: tx.sign_ins.delete(_hash(link_token))):
            raise _gone()
        return self._begin(SignInKind.SESSION, link.key, self._session_lifetime)

    def sign_in(self, secret: str) -> str:
        """The token of a session that stands for an API key. Raises Unauthenticated."""
        key = self._identity.find_key(secret)
        acts.mark(ActKind.SIGN_IN)
        return self._begin(SignInKind.SESSION, key, self._session_lifetime)

    def find(self, session_token: str) -> tuple[Principal, SignIn]:
        """Whom a session stands for, asked of the store every time. Raises Unauthenticated."""
        session = self._find(session_token, SignInKind.SESSION)
        return principal_of(session.key, "dashboard"), session

    def end(self, session_token: str) -> None:
        """Sign out. A session that is over already is no error."""
        found = self._store.find_sign_in(_hash(session_token))
        if found is not None:
            self._store.write(found.key.tenant, lambda tx: tx.sign_ins.delete(_hash(session_token)))

    def _begin(self, kind: SignInKind, key: ApiKey, lifetime: timedelta) -> str:
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        now = self._clock.now()

        def work(tx: Writer) -> None:
            tx.sign_ins.drop_expired(now)
            tx.sign_ins.insert(_hash(token), SignIn(kind, key, now, now + lifetime))

        self._store.write(key.tenant, work)
        return token

    def _find(self, token: str, kind: SignInKind) -> SignIn:
        found = self._store.find_sign_in(_hash(token))
        now = self._clock.now()
        if found is None or found.kind is not kind or not found.key.is_valid(now) or found.expires_at <= now:
            raise _gone()
        return found


def csrf_token(session_token: str) -> str:
    """What a form must carry to act for a session: derived from its token, which other sites cannot read."""
    return hashlib.sha256(f"csrf {session_token}".encode()).hexdigest()


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _gone() -> Unauthenticated:
    return Unauthenticated("This link or session is over. Sign in again.")

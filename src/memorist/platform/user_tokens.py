"""Tokens for pages in a browser: short-lived, of one user, with no more rights than they were given."""

from datetime import timedelta

from memorist.errors import Forbidden, InvalidField
from memorist.platform import access, acts, validation
from memorist.platform.acts import ActKind
from memorist.platform.identity import TOKEN_PREFIX, Identity, hash_secret, new_secret
from memorist.platform.redaction import Redaction
from memorist.platform.values import ApiKey, Principal, Role, SignIn, SignInKind, TokenRights, UserToken
from memorist.ports import Store, Writer
from memorist.times import Clock

LIFETIME = timedelta(minutes=15)
_SHORTEST, _LONGEST = timedelta(minutes=1), timedelta(days=1)
_ROLES = {TokenRights.READ: Role.READER, TokenRights.WRITE: Role.USER}
_LABEL = "tokens"


class UserTokens:
    def __init__(self, store: Store, clock: Clock, identity: Identity, redaction: Redaction) -> None:
        self._store = store
        self._clock = clock
        self._identity = identity
        self._redaction = redaction

    def create(
        self,
        principal: Principal,
        user: str,
        *,
        agent: str | None = None,
        rights: TokenRights = TokenRights.WRITE,
        lifetime: timedelta = LIFETIME,
    ) -> UserToken:
        """A token of one user, and of one agent where it is named, shown this once: only its hash is kept.

        It ends with its time, with the key that gave it out, and when the user is erased. Raises Forbidden or
        InvalidField.
        """
        holder = access.handing_out(principal, user, agent)
        for field, name in (("user", user), ("agent", agent)):
            if name is not None:
                self._redaction.refuse(field, validation.identifier(field, name))
        if not _SHORTEST <= lifetime <= _LONGEST:
            raise InvalidField.of("lifetime", "must be from a minute to a day.")
        key = self._key_of(principal)
        token, now = new_secret(TOKEN_PREFIX), self._clock.now()
        role = _ROLES[TokenRights(rights)]
        sign_in = SignIn(SignInKind.TOKEN, key, now, now + lifetime, role, holder.user, holder.agent)

        def work(tx: Writer) -> None:
            tx.sign_ins.drop_expired(now)
            tx.sign_ins.insert(hash_secret(token), sign_in)

        acts.mark(ActKind.KEYS)
        self._store.write(principal.tenant, work)
        return UserToken(token, user, holder.agent, TokenRights(rights), sign_in.expires_at)

    def revoke(self, principal: Principal, user: str) -> int:
        """End all tokens of a user, with the next request in every process; how many there were. Raises Forbidden."""
        access.handing_out(principal, user)
        user = validation.identifier("user", user)
        acts.mark(ActKind.KEYS)
        return self._store.write(principal.tenant, lambda tx: tx.sign_ins.end_tokens(user))

    def _key_of(self, principal: Principal) -> ApiKey:
        """The caller's key or, of one that came with none, a key whose secret nobody knows."""
        admin = Principal(principal.tenant, Role.ADMIN)
        now = self._clock.now()
        keys = [key for key in self._identity.list_keys(admin) if key.is_valid(now)]
        if principal.key_id is not None:
            found = next((key for key in keys if key.id == principal.key_id), None)
            if found is None:
                raise Forbidden("The key that is to give out the token was revoked, or has expired.")
            return found
        own = next((key for key in keys if key.role is Role.SERVICE and key.label == _LABEL), None)
        return own or self._identity.create_key(admin, Role.SERVICE, label=_LABEL)[0]

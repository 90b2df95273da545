"""Tokens of users for pages in browsers, made and revoked by whoever may act for any user."""

from datetime import timedelta

from memorist.platform import validation
from memorist.platform.values import TokenRights, UserToken
from memorist.verbs.kinds import Call, Verb, told, told_as, without_none

_TOKENS = "/v1/tokens"
_LIFETIME = timedelta(minutes=15)


def create_token(
    user: str,
    *,
    agent: str | None = None,
    rights: TokenRights = TokenRights.WRITE,
    lifetime: timedelta = _LIFETIME,
) -> Verb[UserToken]:
    """A token of one user for a page in a browser, from a minute to a day long, shown this once.

    For service and admin keys. It ends with its time, with the key that made it, and when the user is erased. Raises
    Forbidden or InvalidField.
    """
    validation.kind_of("lifetime", lifetime, timedelta, "a timedelta")
    body = without_none(user=user, agent=agent, rights=rights, lifetime=lifetime.total_seconds())
    return Verb(
        lambda me: me.core.user_tokens.create(me.writing(), user, agent=agent, rights=rights, lifetime=lifetime),
        lambda: Call("POST", _TOKENS, told(UserToken), body=body),
    )


def revoke_tokens(user: str) -> Verb[int]:
    """End all tokens of a user at once, in every process; how many there were. Raises Forbidden or InvalidField."""
    return Verb(
        lambda me: me.core.user_tokens.revoke(me.principal, user),
        lambda: Call("DELETE", _TOKENS, told_as("revoked", int), {"user": user}),
    )

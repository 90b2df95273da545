"""Links and sessions: each stands for a key, ends with it, ends in time, and a link works once whoever is faster."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from memorist.core import Core
from memorist.errors import Forbidden, Unauthenticated
from memorist.platform.sign_ins import LINK_LIFETIME, csrf_token
from memorist.platform.values import ApiKey, Principal, Role, SignInKind
from memorist.testing import StepClock

SESSION = timedelta(hours=168)


@pytest.fixture
def boss(tenant: str) -> Principal:
    """An admin who is also a user, without a key yet."""
    return Principal(tenant, Role.ADMIN, "boss")


def keys_of(core: Core, principal: Principal) -> list[ApiKey]:
    return list(core.identity.list_keys(principal))


# Sessions


@pytest.mark.parametrize("role", list(Role))
def test_session_stands_for_its_key(core: Core, admin: Principal, role: Role) -> None:
    key, secret = core.identity.create_key(admin, role, user="ada", agent="coder")
    principal, session = core.sign_ins.find(core.sign_ins.sign_in(secret))
    assert principal == Principal(
        admin.tenant, role, "ada", "coder", None, key.id, source="dashboard", agent_bound=True
    )
    assert (session.kind, session.key.id) == (SignInKind.SESSION, key.id)
    assert session.expires_at - session.created_at == SESSION


@pytest.mark.parametrize("secret", ["", "mst_live_", "mst_live_" + "0" * 72, "x" * 5000, "\x00", "ä"])
def test_what_is_no_key_does_not_sign_in(core: Core, secret: str) -> None:
    with pytest.raises(Unauthenticated):
        core.sign_ins.sign_in(secret)


@pytest.mark.parametrize("token", ["", "x", "x" * 5000, "\x00", "ä", "'; DROP TABLE sign_ins; --"])
def test_forged_token_is_nobody(core: Core, token: str) -> None:
    with pytest.raises(Unauthenticated):
        core.sign_ins.find(token)
    with pytest.raises(Unauthenticated):
        core.sign_ins.enter(token)
    core.sign_ins.end(token)


def test_session_ends_in_time_and_not_before(core: Core, admin: Principal, clock: StepClock) -> None:
    _, secret = core.identity.create_key(admin, Role.USER, user="ada")
    token = core.sign_ins.sign_in(secret)
    clock.advance(SESSION - timedelta(seconds=1))
    core.sign_ins.find(token)
    clock.advance(timedelta(seconds=1))
    with pytest.raises(Unauthenticated, match="over"):
        core.sign_ins.find(token)


def test_revoked_key_ends_its_sessions_and_links(core: Core, admin: Principal) -> None:
    key, secret = core.identity.create_key(admin, Role.ADMIN, user="boss")
    session = core.sign_ins.sign_in(secret)
    link = core.sign_ins.make_link(core.identity.authenticate(secret))
    _, other = core.identity.create_key(admin, Role.ADMIN, user="boss")
    kept = core.sign_ins.sign_in(other)

    core.identity.revoke_key(admin, key.id)

    with pytest.raises(Unauthenticated):
        core.sign_ins.find(session)
    with pytest.raises(Unauthenticated):
        core.sign_ins.enter(link)
    core.sign_ins.find(kept)


def test_erased_user_is_signed_out(core: Core, admin: Principal) -> None:
    _, secret = core.identity.create_key(admin, Role.USER, user="ada")
    _, other = core.identity.create_key(admin, Role.USER, user="bob")
    gone, kept = core.sign_ins.sign_in(secret), core.sign_ins.sign_in(other)
    core.erasure.purge_user(admin, "ada", keys=True)
    with pytest.raises(Unauthenticated):
        core.sign_ins.find(gone)
    core.sign_ins.find(kept)


def test_deleted_tenant_has_no_session_left(core: Core, admin: Principal) -> None:
    _, secret = core.identity.create_key(admin, Role.ADMIN, user="boss")
    token = core.sign_ins.sign_in(secret)
    core.erasure.delete_tenant(admin, confirm=admin.tenant, at_once=True)
    with pytest.raises(Unauthenticated):
        core.sign_ins.find(token)


def test_sign_out_ends_one_session_and_twice_is_no_error(core: Core, admin: Principal) -> None:
    _, secret = core.identity.create_key(admin, Role.USER, user="ada")
    first, second = core.sign_ins.sign_in(secret), core.sign_ins.sign_in(secret)
    assert first != second
    core.sign_ins.end(first)
    core.sign_ins.end(first)
    with pytest.raises(Unauthenticated):
        core.sign_ins.find(first)
    core.sign_ins.find(second)


def test_link_is_no_session_and_session_is_no_link(core: Core, boss: Principal) -> None:
    link = core.sign_ins.make_link(boss)
    with pytest.raises(Unauthenticated):
        core.sign_ins.find(link)
    session = core.sign_ins.enter(link)
    with pytest.raises(Unauthenticated):
        core.sign_ins.enter(session)
    core.sign_ins.find(session)


def test_tokens_are_stored_nowhere(core: Core, boss: Principal) -> None:
    session = core.sign_ins.enter(core.sign_ins.make_link(boss))
    assert core.store.find_sign_in(session) is None
    assert session not in repr(core.sign_ins.find(session))
    assert session not in csrf_token(session)


def test_what_is_over_is_dropped_by_the_next_sign_in_of_the_tenant(
    core: Core, admin: Principal, boss: Principal, clock: StepClock
) -> None:
    _, secret = core.identity.create_key(admin, Role.USER, user="ada")
    core.sign_ins.make_link(boss)
    core.sign_ins.sign_in(secret)
    clock.advance(LINK_LIFETIME)
    # The link is over, the session is not, and nothing is left for a second call.
    core.sign_ins.sign_in(secret)
    assert core.store.write(admin.tenant, lambda tx: tx.sign_ins.drop_expired(clock.now())) == 0
    clock.advance(SESSION)
    assert core.store.write(admin.tenant, lambda tx: tx.sign_ins.drop_expired(clock.now())) == 2


def test_another_tenant_ends_nobodys_session(core: Core, admin: Principal, clock: StepClock) -> None:
    _, secret = core.identity.create_key(admin, Role.USER, user="ada")
    token = core.sign_ins.sign_in(secret)
    clock.advance(SESSION)
    assert core.store.write(f"{admin.tenant[:40]}-other", lambda tx: tx.sign_ins.drop_expired(clock.now())) == 0
    assert core.store.write(admin.tenant, lambda tx: tx.sign_ins.drop_expired(clock.now())) == 1
    core.sign_ins.end(token)


# Links


def test_link_works_once(core: Core, boss: Principal) -> None:
    link = core.sign_ins.make_link(boss)
    principal, _ = core.sign_ins.find(core.sign_ins.enter(link))
    assert (principal.tenant, principal.role, principal.user) == (boss.tenant, Role.ADMIN, "boss")
    with pytest.raises(Unauthenticated, match="over"):
        core.sign_ins.enter(link)


def test_of_many_who_use_a_link_at_once_one_gets_in(core: Core, boss: Principal) -> None:
    link = core.sign_ins.make_link(boss)

    def enter(_: int) -> str | None:
        try:
            return core.sign_ins.enter(link)
        except Unauthenticated:
            return None

    with ThreadPoolExecutor(20) as threads:
        sessions = [session for session in threads.map(enter, range(20)) if session is not None]
    assert len(sessions) == 1
    core.sign_ins.find(sessions[0])


def test_link_ends_in_time(core: Core, boss: Principal, clock: StepClock) -> None:
    early, late = core.sign_ins.make_link(boss), core.sign_ins.make_link(boss)
    clock.advance(LINK_LIFETIME - timedelta(seconds=1))
    core.sign_ins.enter(early)
    clock.advance(timedelta(seconds=1))
    with pytest.raises(Unauthenticated, match="over"):
        core.sign_ins.enter(late)


def test_link_lives_as_long_as_asked(core: Core, boss: Principal, clock: StepClock) -> None:
    link = core.sign_ins.make_link(boss, lifetime=timedelta(hours=1))
    clock.advance(timedelta(minutes=59))
    core.sign_ins.enter(link)


def test_link_stands_for_the_key_that_the_caller_came_with(core: Core, admin: Principal) -> None:
    core.identity.create_key(admin, Role.ADMIN, user="boss")
    key, secret = core.identity.create_key(admin, Role.ADMIN, user="boss")
    core.identity.create_key(admin, Role.ADMIN, user="boss")
    link = core.sign_ins.make_link(core.identity.authenticate(secret))
    assert core.sign_ins.find(core.sign_ins.enter(link))[0].key_id == key.id


def test_link_stands_for_a_key_that_the_user_has(core: Core, admin: Principal, boss: Principal) -> None:
    revoked, _ = core.identity.create_key(admin, Role.ADMIN, user="boss")
    core.identity.create_key(admin, Role.ADMIN, user="somebody")
    core.identity.create_key(admin, Role.USER, user="boss")
    key, _ = core.identity.create_key(admin, Role.ADMIN, user="boss")
    core.identity.revoke_key(admin, revoked.id)
    before = len(keys_of(core, admin))
    link = core.sign_ins.make_link(boss)
    assert core.sign_ins.find(core.sign_ins.enter(link))[0].key_id == key.id
    assert len(keys_of(core, admin)) == before


def test_link_of_somebody_without_a_key_makes_one_and_the_next_uses_it(core: Core, boss: Principal) -> None:
    assert keys_of(core, boss) == []
    first, _ = core.sign_ins.find(core.sign_ins.enter(core.sign_ins.make_link(boss)))
    (made,) = keys_of(core, boss)
    assert (made.id, made.role, made.user, made.label) == (first.key_id, Role.ADMIN, "boss", "dashboard")
    second, _ = core.sign_ins.find(core.sign_ins.enter(core.sign_ins.make_link(boss)))
    assert second.key_id == made.id
    assert keys_of(core, boss) == [made]


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ADMIN])
def test_only_admins_make_links(core: Core, admin: Principal, role: Role) -> None:
    _, secret = core.identity.create_key(admin, role, user="ada")
    with pytest.raises(Forbidden):
        core.sign_ins.make_link(core.identity.authenticate(secret))


# Tokens


@pytest.mark.parametrize("ends", ["in time", "revoked"])
def test_token_without_a_key_of_its_own_is_not_given_out_by_one_that_is_over(
    core: Core, admin: Principal, clock: StepClock, ends: str
) -> None:
    key, _ = core.identity.create_key(admin, Role.SERVICE, label="tokens", expires_at=clock.now() + timedelta(hours=1))
    first = core.user_tokens.create(admin, "ada").token
    assert core.identity.authenticate(first).key_id == key.id
    if ends == "revoked":
        core.identity.revoke_key(admin, key.id)
    else:
        clock.advance(timedelta(hours=1))
    again = core.identity.authenticate(core.user_tokens.create(admin, "ada").token)
    assert (again.user, again.key_id == key.id) == ("ada", False)
    with pytest.raises(Forbidden, match="revoked, or has expired"):
        core.user_tokens.create(replace(admin, key_id=key.id), "ada")

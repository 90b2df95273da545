"""Tenants and keys: what a key is, whom it stands for, and that a revoked one ends everywhere at once."""

import hashlib
import string
import zlib
from collections.abc import Callable
from datetime import timedelta

import pytest

from memorist.core import Core
from memorist.errors import Forbidden, InvalidField, InvalidId, NotFound, Unauthenticated
from memorist.ids import new_id
from memorist.memories.values import Memory
from memorist.platform.identity import KEY_PREFIX, new_secret
from memorist.platform.values import Principal, Role
from memorist.testing import StepClock, new_tenant
from tests.support.jobs import authenticate_around
from tests.support.processes import CONTEXT

Remember = Callable[..., Memory]


# Tenants


def test_tenant_is_made_once(core: Core) -> None:
    name = new_tenant()
    made, is_new = core.identity.create_tenant(name)
    assert is_new
    assert core.identity.create_tenant(name) == (made, False)
    assert made in core.identity.list_tenants()


@pytest.mark.parametrize(
    "name", ["", "A", "a b", "-a", "_a", "a" * 64, "a\n", "\x00", "ä", "a/b", "a;b", "\ud800", "a.b"]
)
def test_tenant_with_a_bad_name_is_refused(core: Core, name: str) -> None:
    with pytest.raises(InvalidField, match="tenant's name"):
        core.identity.create_tenant(name)


@pytest.mark.parametrize("suffix", ["", "-", "_", "-9_"])
def test_tenant_with_a_name_at_the_limit_is_made(core: Core, suffix: str) -> None:
    name = (new_tenant() + suffix).ljust(63, "x")
    assert core.identity.create_tenant(name)[0].id == name


# Keys


def test_key_ends_by_itself_and_so_do_its_sessions(core: Core, clock: StepClock) -> None:
    operator = Principal(new_tenant(), Role.ADMIN)
    end = clock.now() + timedelta(days=30)
    key, secret = core.identity.create_key(operator, Role.ADMIN, user="ada", expires_at=end)
    assert key.expires_at == end
    principal = core.identity.authenticate(secret)
    link, session = core.sign_ins.make_link(principal), core.sign_ins.sign_in(secret)
    assert core.sign_ins.find(session)[0].user == "ada"
    clock.advance(timedelta(days=31))
    with pytest.raises(Unauthenticated, match="has expired"):
        core.identity.authenticate(secret)
    for over in (lambda: core.sign_ins.find(session), lambda: core.sign_ins.enter(link)):
        with pytest.raises(Unauthenticated):
            over()
    assert core.overview.sessions(operator) == []


def test_key_does_not_end_before_it_begins(core: Core, clock: StepClock) -> None:
    operator = Principal(new_tenant(), Role.ADMIN)
    with pytest.raises(InvalidField, match="expires must lie in the future"):
        core.identity.create_key(operator, Role.ADMIN, expires_at=clock.now() - timedelta(seconds=1))


def test_key_has_256_random_bits_and_a_checksum() -> None:
    secrets = {new_secret() for _ in range(100)}
    assert len(secrets) == 100
    for secret in secrets:
        body = secret.removeprefix("mst_live_")
        assert len(body) == 64 + 8
        assert set(body) <= set(string.hexdigits.lower())
        assert body[64:] == f"{zlib.crc32(body[:64].encode()):08x}"
    assert KEY_PREFIX == "mst_live_"


@pytest.mark.parametrize("role", list(Role))
def test_key_stands_for_whom_it_was_made(core: Core, admin: Principal, role: Role) -> None:
    key, secret = core.identity.create_key(admin, role, user="ada", agent="coder", label="laptop")
    assert (key.tenant, key.role, key.user, key.agent, key.label) == (admin.tenant, role, "ada", "coder", "laptop")
    holder = Principal(admin.tenant, role, "ada", "coder", None, key.id, agent_bound=True)
    assert core.identity.authenticate(secret) == holder
    assert core.identity.has_keys()


def test_secret_is_stored_nowhere(core: Core, admin: Principal) -> None:
    key, secret = core.identity.create_key(admin, Role.SERVICE)
    assert key.secret_hash == hashlib.sha256(secret.encode()).hexdigest()
    assert secret not in repr(core.identity.list_keys(admin))
    assert secret not in repr(core.store.find_key(key.secret_hash))


def test_keys_are_listed_oldest_first_and_of_this_tenant_only(core: Core, admin: Principal) -> None:
    first, _ = core.identity.create_key(admin, Role.ADMIN)
    other = Principal(core.identity.create_tenant(new_tenant())[0].id, Role.ADMIN)
    core.identity.create_key(other, Role.ADMIN)
    second, _ = core.identity.create_key(admin, Role.READER)
    assert core.identity.list_keys(admin) == [first, second]


def test_user_key_needs_its_user(core: Core, admin: Principal) -> None:
    with pytest.raises(InvalidField) as caught:
        core.identity.create_key(admin, Role.USER)
    assert caught.value.field == "user"


@pytest.mark.parametrize(
    "fields", [{"user": ""}, {"user": "a b"}, {"agent": "\x00"}, {"label": "two\nlines"}, {"label": "x" * 501}], ids=str
)
def test_key_with_a_bad_name_is_refused(core: Core, admin: Principal, fields: dict[str, str]) -> None:
    with pytest.raises(InvalidField):
        core.identity.create_key(admin, Role.SERVICE, **fields)
    assert core.identity.list_keys(admin) == []


@pytest.mark.parametrize("role", [Role.SERVICE, Role.USER, Role.READER])
def test_only_an_admin_manages_keys(core: Core, admin: Principal, role: Role) -> None:
    key, _ = core.identity.create_key(admin, Role.READER)
    caller = Principal(admin.tenant, role, "ada")
    for call in (
        lambda: core.identity.create_key(caller, Role.READER),
        lambda: core.identity.list_keys(caller),
        lambda: core.identity.revoke_key(caller, key.id),
    ):
        with pytest.raises(Forbidden):
            call()
    assert core.identity.list_keys(admin) == [key]


@pytest.mark.parametrize(
    "secret",
    [
        None,
        "",
        "mst_live_",
        "nonsense",
        "mst_live_" + "0" * 72,
        "mst_live_" + "é" * 72,
        "mst_live_" + "\ud800" * 72,
        "\x00",
        "x" * 100_000,
        new_secret(),
        new_secret().upper(),
        " " + new_secret(),
        new_secret().removeprefix("mst_live_"),
        new_secret().replace("mst_live_", "mst_test_"),
    ],
    # Names that do not change with the secrets, so that several processes name the tests alike.
    ids=range(14),
)
def test_unknown_or_malformed_key_is_refused(core: Core, secret: str | None) -> None:
    with pytest.raises(Unauthenticated):
        core.identity.authenticate(secret)


def test_mistyped_key_is_recognised_without_asking_the_database(core: Core, admin: Principal) -> None:
    _, secret = core.identity.create_key(admin, Role.SERVICE)
    core.store.close()
    for index in range(len(KEY_PREFIX), len(secret)):
        wrong = secret[:index] + ("0" if secret[index] != "0" else "1") + secret[index + 1 :]
        with pytest.raises(Unauthenticated):
            core.identity.authenticate(wrong)


# Revoking


def test_revoked_key_is_refused_like_an_unknown_one(core: Core, admin: Principal) -> None:
    key, secret = core.identity.create_key(admin, Role.SERVICE)
    core.identity.revoke_key(admin, key.id)
    with pytest.raises(Unauthenticated) as revoked:
        core.identity.authenticate(secret)
    with pytest.raises(Unauthenticated) as unknown:
        core.identity.authenticate(new_secret())
    assert str(revoked.value) == str(unknown.value)
    assert core.identity.list_keys(admin)[0].revoked_at is not None


def test_key_is_revoked_once_and_only_by_its_tenant(core: Core, admin: Principal) -> None:
    key, secret = core.identity.create_key(admin, Role.SERVICE)
    stranger = Principal(core.identity.create_tenant(new_tenant())[0].id, Role.ADMIN)
    with pytest.raises(NotFound):
        core.identity.revoke_key(stranger, key.id)
    assert core.identity.authenticate(secret).key_id == key.id
    core.identity.revoke_key(admin, key.id)
    for key_id in (key.id, new_id("key")):
        with pytest.raises(NotFound):
            core.identity.revoke_key(admin, key_id)
    with pytest.raises(InvalidId):
        core.identity.revoke_key(admin, "nonsense")


def test_revoked_key_ends_in_another_process_at_once(core: Core, admin: Principal, database_url: str) -> None:
    key, secret = core.identity.create_key(admin, Role.SERVICE, user="ada")
    here, there = CONTEXT.Pipe()
    process = CONTEXT.Process(target=authenticate_around, args=(database_url, secret, there))
    process.start()
    try:
        assert here.poll(30)
        assert here.recv() == "ready"
        for _ in range(2):
            here.send("again")
            assert here.poll(30)
            assert here.recv() == Principal(admin.tenant, Role.SERVICE, "ada", key_id=key.id)
        core.identity.revoke_key(admin, key.id)
        here.send("again")
        assert here.poll(30)
        assert here.recv() is None
        here.send("stop")
    finally:
        process.join(30)
        process.close()
        here.close()
        there.close()

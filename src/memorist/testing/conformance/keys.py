"""What every store must do for keys and sign ins."""

import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from memorist.errors import Conflict
from memorist.platform.values import ApiKey, Role, SignIn, SignInKind
from memorist.ports import Store, Writer
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.helpers import add_key
from memorist.testing.makers import make_key

_LATER = START + timedelta(minutes=15)


class KeyConformance(StoreFixtures):
    """`tx.keys`: API keys."""

    @pytest.mark.parametrize("role", list(Role))
    def test_key_is_found_by_its_hash(self, store: Store, tenant: str, role: Role) -> None:
        bare = make_key(tenant, role=role, user=None)
        full = make_key(tenant, role=role, agent="coder", label="laptop", last_used_at=START, revoked_at=START)
        ending = make_key(tenant, role=role, expires_at=START + timedelta(days=1))
        for key in (bare, full, ending):
            add_key(store, key)
            assert store.find_key(key.secret_hash) == key
        assert store.has_keys()

    def test_unknown_hash_is_no_key(self, store: Store, tenant: str) -> None:
        assert store.find_key(make_key(tenant).secret_hash) is None

    def test_keys_are_listed_oldest_first(self, store: Store, tenant: str) -> None:
        newer = make_key(tenant, created_at=START + timedelta(seconds=1))
        older = make_key(tenant)
        for key in (newer, older):
            add_key(store, key)
        assert store.read(tenant, lambda tx: tx.keys.all()) == [older, newer]

    def test_second_key_with_the_same_hash_conflicts(self, store: Store, tenant: str) -> None:
        key = make_key(tenant)
        store.write(tenant, lambda tx: tx.keys.insert(key))
        twin = make_key(tenant, secret_hash=key.secret_hash)
        with pytest.raises(Conflict):
            store.write(tenant, lambda tx: tx.keys.insert(twin))

    def test_key_is_revoked_once(self, store: Store, tenant: str) -> None:
        key = make_key(tenant)
        store.write(tenant, lambda tx: tx.keys.insert(key))
        later = START + timedelta(seconds=1)
        assert store.write(tenant, lambda tx: tx.keys.revoke(key.id, START)) is True
        assert store.write(tenant, lambda tx: tx.keys.revoke(key.id, later)) is False
        assert store.write(tenant, lambda tx: tx.keys.revoke(make_key(tenant).id, START)) is False
        assert store.find_key(key.secret_hash) == replace(key, revoked_at=START)

    def test_all_keys_of_a_tenant_are_revoked_at_once(self, store: Store, tenant: str, neighbour: str) -> None:
        keys = [make_key(tenant), make_key(tenant), make_key(tenant, revoked_at=START)]
        for key in (*keys, make_key(neighbour)):
            add_key(store, key)
        later = START + timedelta(seconds=1)
        assert store.write(tenant, lambda tx: tx.keys.revoke_all(later)) == 2
        found = store.read(tenant, lambda tx: tx.keys.all())
        assert sorted(key.revoked_at or START for key in found) == [START, later, later]
        assert [key.revoked_at for key in store.read(neighbour, lambda tx: tx.keys.all())] == [None]

    def test_last_use_of_a_key_moves_forward_only(self, store: Store, tenant: str) -> None:
        key = make_key(tenant)
        store.write(tenant, lambda tx: tx.keys.insert(key))
        for at in (START, START + timedelta(seconds=5), START + timedelta(seconds=1)):
            store.write(tenant, lambda tx: tx.keys.touch({key.id: at, make_key(tenant).id: at}))
        store.write(tenant, lambda tx: tx.keys.touch({}))
        assert store.find_key(key.secret_hash) == replace(key, last_used_at=START + timedelta(seconds=5))


class SignInConformance(StoreFixtures):
    """`tx.sign_ins`: links and sessions of the dashboard."""

    @pytest.mark.parametrize("kind", list(SignInKind))
    def test_sign_in_is_found_with_its_key_by_whoever_has_the_hash(
        self, store: Store, tenant: str, kind: SignInKind
    ) -> None:
        sign_in = SignIn(kind, _new_key(store, tenant), START, _LATER)
        token_hash = _begin(store, sign_in)
        assert store.find_sign_in(token_hash) == sign_in
        assert store.find_sign_in(secrets.token_hex(32)) is None

    def test_sign_in_tells_that_its_key_was_revoked(self, store: Store, tenant: str) -> None:
        key = _new_key(store, tenant)
        token_hash = _begin(store, SignIn(SignInKind.SESSION, key, START, _LATER))
        store.write(tenant, lambda tx: tx.keys.revoke(key.id, START))
        found = store.find_sign_in(token_hash)
        assert found is not None
        assert found.key == replace(key, revoked_at=START)

    def test_one_of_many_who_delete_a_sign_in_at_once_is_told_so(self, store: Store, tenant: str) -> None:
        token_hash = _begin(store, SignIn(SignInKind.LINK, _new_key(store, tenant), START, _LATER))
        with ThreadPoolExecutor(8) as threads:
            calls = [threads.submit(store.write, tenant, lambda tx: tx.sign_ins.delete(token_hash)) for _ in range(8)]
            assert sorted(call.result() for call in calls) == [False] * 7 + [True]
        assert store.find_sign_in(token_hash) is None

    def test_expired_sign_ins_are_dropped_and_no_other(self, store: Store, tenant: str, neighbour: str) -> None:
        key, other = _new_key(store, tenant), _new_key(store, neighbour)
        over = _begin(store, SignIn(SignInKind.LINK, key, START, START))
        valid = _begin(store, SignIn(SignInKind.SESSION, key, START, _LATER))
        foreign = _begin(store, SignIn(SignInKind.SESSION, other, START, START))
        assert store.write(tenant, lambda tx: tx.sign_ins.drop_expired(START)) == 1
        assert store.find_sign_in(over) is None
        assert store.find_sign_in(valid) is not None
        assert store.find_sign_in(foreign) is not None

    def test_neighbour_ends_no_session(self, store: Store, tenant: str, neighbour: str) -> None:
        token_hash = _begin(store, SignIn(SignInKind.SESSION, _new_key(store, tenant), START, _LATER))
        assert store.write(neighbour, lambda tx: tx.sign_ins.delete(token_hash)) is False
        assert store.find_sign_in(token_hash) is not None

    def test_tokens_of_a_user_are_ended_and_no_other(self, store: Store, tenant: str, neighbour: str) -> None:
        key, other = _new_key(store, tenant), _new_key(store, neighbour)
        mine = SignIn(SignInKind.TOKEN, key, START, _LATER, Role.READER, "ada", "coder")
        ended = _begin(store, mine)
        kept = [
            _begin(store, SignIn(SignInKind.TOKEN, key, START, _LATER, Role.USER, "bob")),
            _begin(store, SignIn(SignInKind.TOKEN, other, START, _LATER, Role.USER, "ada")),
            _begin(store, SignIn(SignInKind.SESSION, key, START, _LATER)),
        ]
        assert store.find_sign_in(ended) == mine
        assert store.write(tenant, lambda tx: tx.sign_ins.end_tokens("ada")) == 1
        assert store.find_sign_in(ended) is None
        assert all(store.find_sign_in(token_hash) is not None for token_hash in kept)

    def test_sessions_are_listed_while_they_last(self, store: Store, tenant: str, neighbour: str) -> None:
        key, other = make_key(tenant), make_key(neighbour)
        later = START + timedelta(hours=1)

        def begin(tx: Writer) -> None:
            tx.keys.insert(key)
            for index, (kind, end) in enumerate(
                [(SignInKind.SESSION, later), (SignInKind.SESSION, START), (SignInKind.LINK, later)]
            ):
                tx.sign_ins.insert(f"{tenant}-{index}", SignIn(kind, key, START, end))

        store.write(tenant, begin)
        store.write(neighbour, lambda tx: tx.keys.insert(other))
        assert store.read(tenant, lambda tx: tx.sign_ins.sessions(START, 10)) == [
            SignIn(SignInKind.SESSION, key, START, later)
        ]
        assert store.read(neighbour, lambda tx: tx.sign_ins.sessions(START, 10)) == []
        store.write(tenant, lambda tx: tx.keys.revoke(key.id, START))
        assert store.read(tenant, lambda tx: tx.sign_ins.sessions(START, 10)) == []


def _new_key(store: Store, tenant: str) -> ApiKey:
    key = make_key(tenant)
    store.write(tenant, lambda tx: tx.keys.insert(key))
    return key


def _begin(store: Store, sign_in: SignIn) -> str:
    token_hash = secrets.token_hex(32)
    store.write(sign_in.key.tenant, lambda tx: tx.sign_ins.insert(token_hash, sign_in))
    return token_hash

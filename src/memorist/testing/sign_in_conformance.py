"""What every store must do for links and sessions of the dashboard: a part of StoreConformance."""

import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from memorist.platform.values import ApiKey, SignIn, SignInKind
from memorist.ports import Store
from memorist.testing.clocks import START
from memorist.testing.makers import make_key

_LATER = START + timedelta(minutes=15)


class SignInConformance:
    """Expects the fixtures of StoreConformance: `store`, `tenant` and `neighbour`."""

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


def _new_key(store: Store, tenant: str) -> ApiKey:
    key = make_key(tenant)
    store.write(tenant, lambda tx: tx.keys.insert(key))
    return key


def _begin(store: Store, sign_in: SignIn) -> str:
    token_hash = secrets.token_hex(32)
    store.write(sign_in.key.tenant, lambda tx: tx.sign_ins.insert(token_hash, sign_in))
    return token_hash

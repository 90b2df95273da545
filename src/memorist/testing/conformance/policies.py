"""What every store must do with `tx.policies`: a tenant's retention rules."""

from dataclasses import replace
from datetime import timedelta

from memorist.memories.policy import Derived, Mode, Policy, PolicyRevision, SweepState, Windows
from memorist.memories.values import Kind
from memorist.ports import Store
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures

_DAY = timedelta(days=1)


class PolicyConformance(StoreFixtures):
    """`tx.policies`: a tenant's retention rules."""

    def test_policy_comes_back_as_it_was_and_the_newest_is_in_force(self, store: Store, tenant: str) -> None:
        policy = Policy(
            Mode.ENFORCE, Windows(1.5, False, 2, 0), {Kind.TOOL_OUTPUT: {"archive": True}}, 9, Derived.ERASE
        )
        first = PolicyRevision(1, policy, "admin", START, "ada")
        second = PolicyRevision(2, Policy(), "cli", START + _DAY, None)
        assert store.read(tenant, lambda tx: tx.policies.get()) is None
        assert store.write(tenant, lambda tx: tx.policies.insert(first))
        assert store.read(tenant, lambda tx: tx.policies.get()) == first
        assert not store.write(tenant, lambda tx: tx.policies.insert(replace(second, revision=1)))
        assert store.write(tenant, lambda tx: tx.policies.insert(second))
        assert store.read(tenant, lambda tx: tx.policies.history(10)) == [second, first]
        assert store.read(tenant, lambda tx: tx.policies.history(1)) == [second]

    def test_observation_window_begins_with_the_tenant(self, store: Store, tenant: str) -> None:
        began = {one.id: one.created_at for one in store.list_tenants()}
        assert store.read(tenant, lambda tx: tx.policies.observed_from()) == began[tenant]
        assert store.read("nobody", lambda tx: tx.policies.observed_from()) is None

    def test_policy_of_a_tenant_is_its_own(self, store: Store, tenant: str, neighbour: str) -> None:
        store.write(tenant, lambda tx: tx.policies.insert(PolicyRevision(1, Policy(), "cli", START)))
        store.write(tenant, lambda tx: tx.aging.put_sweep(SweepState(1, None)))
        assert store.read(neighbour, lambda tx: (tx.policies.get(), tx.aging.get_sweep())) == (None, None)

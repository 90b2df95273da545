"""What every store must do with `tx.idempotency`: remembered requests."""

from dataclasses import replace
from datetime import timedelta

from memorist.ports import Store
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.helpers import find_request, save_request
from memorist.testing.makers import make_record


class IdempotencyConformance(StoreFixtures):
    """`tx.idempotency`: remembered requests."""

    def test_remembered_request_comes_back_as_written(self, store: Store, tenant: str) -> None:
        for record in (make_record(), make_record(user=None, response="ответ 🚀" * 1000)):
            assert save_request(store, tenant, record) is True
            assert find_request(store, tenant, record) == record

    def test_request_is_found_by_all_three_parts_only(self, store: Store, tenant: str) -> None:
        record = make_record()
        store.write(tenant, lambda tx: tx.idempotency.insert(record))
        others = [replace(record, principal="other"), replace(record, route="other"), replace(record, key="other")]
        assert [find_request(store, tenant, other) for other in others] == [None] * 3

    def test_taken_key_is_not_written_again(self, store: Store, tenant: str) -> None:
        record = make_record()
        store.write(tenant, lambda tx: tx.idempotency.insert(record))
        other = replace(record, response="{}")
        assert store.write(tenant, lambda tx: tx.idempotency.insert(other)) is False
        found = store.read(tenant, lambda tx: tx.idempotency.find(record.principal, record.route, record.key))
        assert found == record

    def test_expired_requests_are_dropped_and_others_stay(self, store: Store, tenant: str) -> None:
        expired = make_record(expires_at=START)
        alive = make_record(expires_at=START + timedelta(microseconds=1))
        for record in (expired, alive):
            save_request(store, tenant, record)
        assert store.write(tenant, lambda tx: tx.idempotency.drop_expired(START)) == 1
        assert find_request(store, tenant, expired) is None
        assert find_request(store, tenant, alive) == alive

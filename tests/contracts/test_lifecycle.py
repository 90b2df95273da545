"""What the lifecycle document says and no other test pins."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import httpx2
import pytest

from memorist.memories import writing
from memorist.memories.values import Status
from memorist.platform.values import Role
from tests.http.conftest import Served
from tests.http.test_lifecycle import add, found, moment


@pytest.fixture
def admin(by_keyword: Served, tenant: str) -> Iterator[httpx2.Client]:
    with by_keyword.client(tenant, Role.ADMIN, None) as client:
        yield client


@pytest.mark.parametrize("status", list(Status))
def test_search_returns_active_rows_alone(by_keyword: Served, tenant: str, ada: httpx2.Client, status: Status) -> None:
    row = add(ada)
    stored = by_keyword.core.store.read(tenant, lambda tx: tx.memories.get(row["id"]))
    assert stored is not None
    moved = replace(stored, status=status, updated_at=stored.updated_at + timedelta(seconds=1))
    by_keyword.core.store.write(tenant, lambda tx: writing.replace(tx, moved, stored.updated_at))
    assert found(ada) == ([row["id"]] if status is Status.ACTIVE else [])


@pytest.mark.parametrize("days", [1, 400])
@pytest.mark.parametrize("window", ["active_days", "archive_days", "grace_days"])
def test_tenant_shortens_and_lengthens_each_window(
    ada: httpx2.Client, admin: httpx2.Client, window: str, days: int
) -> None:
    assert admin.put("/v1/admin/policy", json={window: days}).status_code == 200
    row = add(ada)
    gone = ada.delete(f"/memory/{row['id']}").json()
    lasts = {
        "active_days": moment(row, "archive_at") - moment(row, "created_at"),
        "archive_days": moment(row, "retention_expires_at") - moment(row, "archive_at"),
        "grace_days": moment(gone, "hard_delete_at") - moment(gone, "deleted_at"),
    }
    expected = {"active_days": 90, "archive_days": 60, "grace_days": 7} | {window: days}
    assert lasts == {name: timedelta(days=value) for name, value in expected.items()}


def test_without_an_archive_the_active_window_ends_in_deletion(ada: httpx2.Client, admin: httpx2.Client) -> None:
    admin.put("/v1/admin/policy", json={"archive": False})
    row = add(ada)
    assert row["archive_at"] is None
    assert moment(row, "retention_expires_at") - moment(row, "created_at") == timedelta(days=90)


def test_purge_takes_rows_in_every_state_at_once(ada: httpx2.Client) -> None:
    active, archived, deleted = (add(ada, f"kiln {number}")["id"] for number in range(3))
    ada.post(f"/memory/{archived}/archive")
    ada.delete(f"/memory/{deleted}")
    assert ada.delete("/memory/user/purge").json()["counts"]["memories"] == 3
    assert [ada.get(f"/memory/{one}").status_code for one in (active, archived, deleted)] == [404] * 3
    assert ada.post(f"/memory/{deleted}/restore").status_code == 404


def test_every_transition_is_one_row_of_the_event_log(ada: httpx2.Client) -> None:
    row = add(ada)
    ada.post(f"/memory/{row['id']}/archive")
    ada.delete(f"/memory/{row['id']}")
    ada.post(f"/memory/{row['id']}/restore")
    events = ada.get(f"/memory/{row['id']}/events").json()["events"]
    assert [(event["event_type"], event["payload"].get("to")) for event in events] == [
        ("created", None),
        ("archived", "archived"),
        ("deleted", "soft_deleted"),
        ("restored", "active"),
    ]
    assert all(event["source"] and event["created_at"] for event in events)
    assert "events" not in ada.get(f"/memory/{row['id']}").json()


def test_deadline_weighs_nothing_in_search(ada: httpx2.Client) -> None:
    lasting, passing = add(ada), add(ada, ttl_minutes=1)
    items = ada.post("/memory/query", json={"query": "kiln"}).json()["items"]
    assert {item["id"] for item in items} == {lasting["id"], passing["id"]}
    assert len({item["score"] for item in items}) == 1

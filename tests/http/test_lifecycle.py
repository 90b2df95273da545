"""The lifecycle door: every call of its document, over HTTP, on both databases."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest

from memorist.ids import parse_id
from memorist.memories import writing
from memorist.memories.values import Memory, Status
from memorist.platform.values import Event, Principal, Role
from memorist.ports import Writer
from memorist.times import from_iso
from tests.http.conftest import Served
from tests.http.test_events import following

MISSING = "mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3"


@pytest.fixture
def user(by_keyword: Served, tenant: str) -> Iterator[httpx2.Client]:
    with by_keyword.client(tenant) as client:
        yield client


@pytest.fixture
def admin(by_keyword: Served, tenant: str) -> Iterator[httpx2.Client]:
    """An admin that acts for nobody."""
    with by_keyword.client(tenant, Role.ADMIN, None) as client:
        yield client


def add(client: httpx2.Client, content: str = "The kiln is hot.", **fields: Any) -> dict[str, Any]:
    response = client.post("/memory/add", json={"content": content, **fields})
    assert response.status_code == 201, response.text
    row: dict[str, Any] = response.json()
    return row


def found(client: httpx2.Client, query: str = "kiln") -> list[str]:
    response = client.post("/memory/query", json={"query": query, "top_k": 20, "min_score": 0})
    assert response.status_code == 200, response.text
    answer = response.json()
    assert answer["total"] == len(answer["items"])
    return [item["id"] for item in answer["items"]]


def moment(row: dict[str, Any], name: str) -> datetime:
    return from_iso(row[name])


def test_added_row_has_its_state_and_its_times(user: httpx2.Client) -> None:
    row = add(user, metadata={"room": "workshop"})
    assert (row["content"], row["metadata"]) == ("The kiln is hot.", {"room": "workshop"})
    assert (row["retention_status"], row["was_new"]) == ("active", True)
    assert moment(row, "archive_at") - moment(row, "created_at") == timedelta(days=90)
    assert moment(row, "retention_expires_at") - moment(row, "archive_at") == timedelta(days=60)
    assert row["expires_at"] is row["deleted_at"] is row["hard_delete_at"] is None
    assert user.get(f"/memory/{row['id']}").json() == {key: row[key] for key in row if key != "was_new"}


def test_same_text_is_stored_once_and_the_event_says_so(user: httpx2.Client) -> None:
    first, again = add(user), add(user)
    assert (again["id"], again["was_new"]) == (first["id"], False)
    events = user.get(f"/memory/{first['id']}/events").json()["events"]
    assert [event["event_type"] for event in events] == ["created", "deduplicated"]
    assert {"event_type", "source", "payload", "created_at"} <= set(events[0])


@pytest.mark.parametrize("minutes", [1, 0.5, 90.25])
def test_ttl_is_counted_from_the_creation(user: httpx2.Client, minutes: float) -> None:
    row = add(user, ttl_minutes=minutes)
    assert moment(row, "expires_at") - moment(row, "created_at") == timedelta(minutes=minutes)


@pytest.mark.parametrize("minutes", [0, -1, "5", True, 1e300, None.__class__])
def test_ttl_that_is_none_is_refused(user: httpx2.Client, minutes: Any) -> None:
    if minutes is type(None):
        assert add(user, ttl_minutes=None)["expires_at"] is None
        return
    response = user.post("/memory/add", json={"content": "x", "ttl_minutes": minutes})
    assert (response.status_code, response.json()["code"]) == (422, "invalid_field")
    assert "ttl_minutes" in response.json()["field"]


def test_expired_row_is_in_no_search_though_nothing_was_swept(user: httpx2.Client) -> None:
    row = add(user, ttl_minutes=1e-6)
    assert found(user) == []
    assert user.post(f"/memory/{row['id']}/archive").status_code == 409
    shown = user.get(f"/memory/{row['id']}").json()
    assert (shown["retention_status"], shown["archive_at"]) == ("archived", row["expires_at"])
    assert moment(shown, "retention_expires_at") - moment(row, "expires_at") == timedelta(days=60)


def test_each_add_has_the_deadline_that_it_asked_for(user: httpx2.Client) -> None:
    forever, short, long = add(user), add(user, ttl_minutes=5), add(user, ttl_minutes=60)
    assert len({row["id"] for row in (forever, short, long)}) == 3
    assert forever["expires_at"] is None
    assert moment(short, "expires_at") - moment(short, "created_at") == timedelta(minutes=5)
    again = add(user, ttl_minutes=5)
    assert (again["id"], again["was_new"]) == (short["id"], False)
    assert again["expires_at"] > short["expires_at"], "counted from when it was asked for"
    assert user.get(f"/memory/{long['id']}").json()["expires_at"] == long["expires_at"]


def test_expired_row_is_restored_as_a_deleted_one_though_nothing_was_swept(user: httpx2.Client) -> None:
    row = add(user, ttl_minutes=1e-6)
    back = user.post(f"/memory/{row['id']}/restore")
    assert (back.status_code, back.json()["retention_status"], back.json()["expires_at"]) == (200, "active", None)
    assert found(user) == [row["id"]]
    events = user.get(f"/memory/{row['id']}/events").json()["events"]
    assert [event["event_type"] for event in events] == ["created", "expired", "restored"]
    assert [event["payload"] for event in events[1:]] == [
        {"from": "active", "to": "archived"},
        {"from": "archived", "to": "active"},
    ]


@pytest.mark.parametrize("path", ["/memory/add/", "/memory/query/", "/v1/memory/", "/v1/turns/"])
def test_address_with_a_slash_too_many_is_not_found(user: httpx2.Client, path: str) -> None:
    response = user.post(path, json={"content": "x", "query": "x"}, follow_redirects=False)
    assert response.status_code in (404, 405)
    assert "location" not in response.headers
    assert "code" in response.json()


def test_same_text_with_other_metadata_is_a_row_of_its_own(user: httpx2.Client) -> None:
    first = add(user, metadata={"by": "ada", "in": "May"})
    other = add(user, metadata={"by": "bob", "in": "May"})
    again = add(user, metadata={"in": "May", "by": "ada"})
    assert [row["was_new"] for row in (first, other, again)] == [True, True, False]
    assert (again["id"], other["metadata"]) == (first["id"], {"by": "bob", "in": "May"})


def test_query_finds_active_rows_with_their_scores(user: httpx2.Client) -> None:
    row = add(user)
    response = user.post("/memory/query", json={"query": "kiln"})
    [item] = response.json()["items"]
    assert (item["id"], item["retention_status"]) == (row["id"], "active")
    assert 0 < item["score"] <= 1
    assert user.post("/memory/query", json={"query": "kiln", "min_score": 1}).json() == {"items": [], "total": 0}


def test_archived_row_is_readable_by_id_but_not_found(user: httpx2.Client) -> None:
    row = add(user)
    archived = user.post(f"/memory/{row['id']}/archive")
    assert (archived.status_code, archived.json()["retention_status"]) == (200, "archived")
    assert found(user) == []
    assert user.get(f"/memory/{row['id']}").json()["retention_status"] == "archived"
    assert user.post(f"/memory/{row['id']}/archive").status_code == 409
    assert user.post(f"/memory/{row['id']}/restore").json()["retention_status"] == "active"
    assert found(user) == [row["id"]]


def test_delete_is_soft_and_can_be_taken_back(user: httpx2.Client) -> None:
    row = add(user)
    deleted = user.delete(f"/memory/{row['id']}")
    assert (deleted.status_code, deleted.json()["retention_status"]) == (200, "soft_deleted")
    assert moment(deleted.json(), "hard_delete_at") - moment(deleted.json(), "deleted_at") == timedelta(days=7)
    assert found(user) == []
    shown = user.get(f"/memory/{row['id']}")
    assert (shown.status_code, shown.json()) == (200, deleted.json())
    assert user.get("/memory", params={"retention_status": "soft_deleted"}).json()["items"] == [deleted.json()]
    assert user.get("/memory").json() == {"items": [], "next_cursor": None, "has_more": False}
    assert user.delete(f"/memory/{row['id']}").status_code == 404
    back = user.post(f"/memory/{row['id']}/restore")
    assert (back.status_code, back.json()["retention_status"]) == (200, "active")
    assert back.json()["deleted_at"] is back.json()["hard_delete_at"] is None
    assert found(user) == [row["id"]]
    assert user.post(f"/memory/{row['id']}/restore").json()["code"] == "illegal_transition"
    events = user.get(f"/memory/{row['id']}/events").json()["events"]
    assert [event["event_type"] for event in events] == ["created", "deleted", "restored"]
    assert events[1]["payload"] == {"from": "active", "to": "soft_deleted"}


def test_archived_row_can_be_deleted(user: httpx2.Client) -> None:
    row = add(user)
    user.post(f"/memory/{row['id']}/archive")
    assert user.delete(f"/memory/{row['id']}").json()["retention_status"] == "soft_deleted"


def test_restored_text_that_somebody_wrote_again_is_a_conflict(user: httpx2.Client) -> None:
    row = add(user)
    user.delete(f"/memory/{row['id']}")
    add(user)
    response = user.post(f"/memory/{row['id']}/restore")
    assert (response.status_code, response.json()["code"]) == (409, "duplicate_content")


def test_owner_and_admin_restore_and_nobody_else(
    by_keyword: Served, tenant: str, user: httpx2.Client, admin: httpx2.Client
) -> None:
    row = add(user)
    user.delete(f"/memory/{row['id']}")
    with by_keyword.client(tenant, user="bob") as bob, by_keyword.client(tenant, Role.READER, "ada") as reader:
        assert bob.post(f"/memory/{row['id']}/restore").status_code == 404
        assert reader.post(f"/memory/{row['id']}/restore").status_code == 403
        assert [one.get(f"/memory/{row['id']}").status_code for one in (bob, reader)] == [404, 404]
        assert reader.get("/memory", params={"retention_status": "soft_deleted"}).json()["items"] == []
    assert admin.get(f"/memory/{row['id']}").json()["retention_status"] == "soft_deleted"
    assert admin.post(f"/memory/{row['id']}/restore").status_code == 200
    user.delete(f"/memory/{row['id']}")
    with by_keyword.client(tenant, Role.ADMIN, "bob") as somebody:
        assert somebody.get(f"/memory/{row['id']}").json()["retention_status"] == "soft_deleted"
        assert somebody.post(f"/memory/{row['id']}/restore").status_code == 200
        assert somebody.get(f"/memory/{row['id']}").status_code == 404, "what is not deleted is its owner's"


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("GET", "/events"), ("POST", "/archive"), ("POST", "/restore"), ("DELETE", "")],
)
def test_unknown_and_foreign_rows_look_the_same(
    by_keyword: Served, tenant: str, user: httpx2.Client, method: str, path: str
) -> None:
    theirs = add(user)["id"]
    with by_keyword.client(tenant, user="bob") as bob:
        answers = [bob.request(method, f"/memory/{memory_id}{path}") for memory_id in (theirs, MISSING)]
    shown = [(answer.status_code, answer.json()["code"]) for answer in answers]
    assert shown == [(404, "not_found")] * 2


def test_retry_under_a_key_has_one_effect(user: httpx2.Client) -> None:
    headers = {"Idempotency-Key": "once"}
    answers = [user.post("/memory/add", json={"content": "Once."}, headers=headers) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert answers[1].headers["idempotency-replayed"] == "true"


def test_unknown_fields_are_refused(user: httpx2.Client) -> None:
    assert user.post("/memory/add", json={"content": "x", "ttl": 5}).json()["field"] == "ttl"
    assert user.post("/memory/query", json={"query": "x", "limit": 5}).json()["field"] == "limit"


def test_nothing_is_done_without_a_key(by_keyword: Served) -> None:
    for method, path in [("POST", "/memory/add"), ("DELETE", "/memory/user/purge"), ("GET", "/v1/admin/policy")]:
        body = {"content": "x"} if path == "/memory/add" else None
        assert httpx2.request(method, by_keyword.url + path, json=body).status_code == 401


def test_purge_erases_all_of_the_caller_and_answers_with_the_receipt(
    by_keyword: Served, tenant: str, user: httpx2.Client
) -> None:
    mine = [add(user, f"kiln {number}")["id"] for number in range(3)]
    with by_keyword.client(tenant, user="bob") as bob:
        theirs = add(bob)["id"]
        response = user.delete("/memory/user/purge")
        assert response.status_code == 200, response.text
        receipt = response.json()
        assert receipt["id"].startswith("rcpt_")
        assert receipt["counts"]["memories"] == 3
        assert receipt["verification"]["ok"] is True
        assert [user.get(f"/memory/{memory_id}").status_code for memory_id in mine] == [404] * 3
        assert bob.get(f"/memory/{theirs}").status_code == 200


# The policy, which only an admin sees and changes


def test_new_tenant_observes(admin: httpx2.Client) -> None:
    policy = admin.get("/v1/admin/policy").json()
    assert (policy["mode"], policy["active_days"], policy["archive_days"], policy["grace_days"]) == (
        "auto",
        90,
        60,
        7,
    )
    assert policy["acts_from"] is not None
    assert (policy["archive"], policy["anonymize_after_days"], policy["revision"]) == (True, 30, 0)
    assert policy["history"] == []


def test_dry_run_says_what_a_change_touches_and_changes_nothing(admin: httpx2.Client, user: httpx2.Client) -> None:
    row = add(user)
    for call in (
        {"params": {"dry_run": "true"}, "json": {"active_days": 0}},
        {"json": {"active_days": 0, "dry_run": True}},
    ):
        told = admin.put("/v1/admin/policy", **call).json()
        assert (told["dry_run"], told["touched"], told["revision"]) == (True, {"fact": 1}, 0)
        assert told["due"] == {"archived": {"fact": 1}}
    assert user.get(f"/memory/{row['id']}").json()["archive_at"] == row["archive_at"]
    assert admin.get("/v1/admin/policy").json()["revision"] == 0


def test_change_recomputes_the_deadlines_and_is_remembered(admin: httpx2.Client, user: httpx2.Client) -> None:
    row = add(user)
    changed = admin.put("/v1/admin/policy", json={"active_days": 10, "mode": "enforce"}).json()
    assert (changed["touched"], changed["pending"], changed["revision"]) == ({"fact": 1}, False, 1)
    shown = user.get(f"/memory/{row['id']}").json()
    assert moment(shown, "archive_at") - moment(row, "created_at") == timedelta(days=10)
    policy = admin.get("/v1/admin/policy").json()
    assert (policy["mode"], policy["active_days"], policy["grace_days"]) == ("enforce", 10, 7)
    assert [one["revision"] for one in policy["history"]] == [1]
    assert policy["history"][0]["changed_by"] == "admin"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"active_days": -1}, "active_days"),
        ({"grace_days": "7"}, "grace_days"),
        ({"archive": 1}, "archive"),
        ({"mode": "delete"}, "mode"),
        ({"window": 3}, "window"),
        ({"kinds": {"fact": {"active_days": True}}}, "kinds.fact.active_days"),
        ({"kinds": {"note": {}}}, "kinds"),
        ({"kinds": []}, "kinds"),
    ],
)
def test_bad_policy_is_refused_with_its_field(admin: httpx2.Client, body: dict[str, Any], field: str) -> None:
    response = admin.put("/v1/admin/policy", json=body)
    assert (response.status_code, response.json()["field"]) == (422, field)


def test_policies_are_for_admins(user: httpx2.Client) -> None:
    assert user.get("/v1/admin/policy").status_code == 403
    assert user.put("/v1/admin/policy", json={"mode": "enforce"}).status_code == 403
    assert user.get("/v1/admin/retention/report").status_code == 403


def test_report_tells_what_is_due(admin: httpx2.Client, user: httpx2.Client) -> None:
    row = add(user)
    admin.put("/v1/admin/policy", json={"active_days": 0})
    report = admin.get("/v1/admin/retention/report").json()
    assert (report["mode"], report["due"], report["done"]) == ("observe", {"archived": {"fact": 1}}, {})
    assert report["samples"] == {"archived": [row["id"]]}


def test_report_is_of_the_last_sweep_and_of_the_policy_in_force(admin: httpx2.Client, user: httpx2.Client) -> None:
    add(user)
    swept = admin.post("/v1/admin/retention/sweep").json()
    assert admin.get("/v1/admin/retention/report").json() == swept
    admin.put("/v1/admin/policy", json={"mode": "enforce", "active_days": 0})
    assert admin.get("/v1/admin/retention/report").json()["mode"] == "enforce"
    swept = admin.post("/v1/admin/retention/sweep").json()
    assert admin.get("/v1/admin/retention/report").json() == swept


def retire_a_fact(served: Served, tenant: str) -> tuple[Memory, Memory]:
    """A fact of ada's, and what took its place."""
    ada = Principal(tenant, Role.USER, user="ada")
    older, newer = (served.core.facts.remember(ada, text).memory for text in ("Tea.", "Coffee."))
    retired = replace(older, status=Status.ARCHIVED, superseded_by=newer.id)
    event = Event(older.id, "superseded", "test", older.updated_at, "ada", {"by": newer.id})

    def work(tx: Writer) -> None:
        assert writing.replace(tx, retired, older.updated_at)
        tx.events.append([event])

    served.core.store.write(tenant, work)
    return older, newer


def told(client: httpx2.Client, count: int) -> list[tuple[str, str]]:
    """The first changes that somebody is told of."""
    with following(client, after="0-0") as stream:
        return [(action, parse_id("mem", id_)) for action, id_ in stream.changes(count)]


def test_anonymized_fact_is_nobodys_through_every_door(
    admin: httpx2.Client, user: httpx2.Client, by_keyword: Served, tenant: str
) -> None:
    older, newer = retire_a_fact(by_keyword, tenant)
    admin.put("/v1/admin/policy", json={"mode": "enforce", "anonymize_after_days": 0})
    assert admin.post("/v1/admin/retention/sweep").json()["done"] == {"anonymized": {"fact": 1}}
    paths = [f"/v1/records/{older.id}", f"/v1/records/{older.id}/events", f"/v1/facts/{older.id}/history"]
    paths += [f"/memory/{older.id}", f"/v1/memories/{older.id}"]
    with by_keyword.client(tenant, user="bob") as bob:
        for other in (bob, user):
            for path in paths:
                assert other.get(path).status_code == 404, path
            for method, path in (("DELETE", f"/memory/{older.id}"), ("POST", f"/v1/facts/{older.id}/restore")):
                assert other.request(method, path).status_code == 404, path
        mine = add(bob)["id"]
        assert told(bob, 1) == [("created", mine)]
    assert told(user, 1) == [("created", newer.id)]
    of_older = [action for action, id_ in told(admin, 5) if id_ == older.id]
    assert of_older == ["created", "superseded", "anonymized"]
    assert [admin.get(path).status_code for path in paths] == [200] * len(paths)


def test_dry_run_of_a_policy_tells_what_it_would_anonymize(
    admin: httpx2.Client, by_keyword: Served, tenant: str
) -> None:
    retire_a_fact(by_keyword, tenant)
    for changes in ({"anonymize_after_days": 0}, {"anonymize_after_days": 0, "active_days": 5}):
        told = admin.put("/v1/admin/policy", params={"dry_run": "true"}, json=changes).json()
        assert told["due"] == {"anonymized": {"fact": 1}}
    assert admin.put("/v1/admin/policy", params={"dry_run": "true"}, json={"active_days": 5}).json()["due"] == {}


@pytest.mark.parametrize("given", ["true", 1, None])
def test_a_dry_run_that_is_no_boolean_changes_nothing(admin: httpx2.Client, given: object) -> None:
    answer = admin.put("/v1/admin/policy", json={"active_days": 30, "dry_run": given})
    assert (answer.status_code, answer.json()["field"]) == (422, "dry_run")
    assert admin.get("/v1/admin/policy").json()["revision"] == 0


@pytest.mark.parametrize("door", ["/memory", "/api/memory"])
def test_what_is_past_its_ttl_is_deleted_before_a_sweep_comes(ada: httpx2.Client, door: str) -> None:
    added = ada.post("/memory/add", json={"content": "Ends at once.", "ttl_minutes": 0.000001}).json()["id"]
    path = f"/memory/{added}"
    assert ada.get(path).json()["retention_status"] == "archived"
    assert ada.post(f"{path}/archive").status_code == 409
    assert ada.delete(f"{door}/{added}").status_code in (200, 204)
    assert ada.get(path).json()["retention_status"] == "soft_deleted"
    told = ada.get(f"{path}/events").json()["events"]
    assert [event["event_type"] for event in told] == ["created", "expired", "deleted"]

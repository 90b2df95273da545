"""No call of anybody ever shows or changes a row of another tenant or user: random calls against a simple oracle."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
from hypothesis import strategies as st

from memorist.platform.values import Role
from memorist.testing import new_tenant
from tests.http.conftest import Served
from tests.support.isolation import AGENTS, Owned, Who, assert_nothing_leaked, mark, walk_often, who

CALLS = st.tuples(
    who(),
    st.sampled_from(["create", "create", "list", "list_profile", "section", "read", "change", "delete", "page"]),
    st.integers(0, 50),
    st.sampled_from([*AGENTS, None, "absent"]),
)


@dataclass
class World:
    served: Served
    tenants: list[str] = field(default_factory=lambda: [new_tenant(), new_tenant()])
    keys: dict[tuple[object, ...], str] = field(default_factory=dict)
    rows: dict[str, Owned] = field(default_factory=dict)

    def call(self, client: httpx2.Client, caller: Who, operation: str, number: int, profile: str | None) -> None:
        target = list(self.rows)[number % len(self.rows)] if self.rows else "mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3"
        method, path, body = self._request(caller, operation, number, profile, target)
        response = client.request(method, path, json=body, headers=self._headers(caller))
        assert response.status_code < 500, response.text
        if operation == "list_profile":
            # Naming a profile is acting as it.
            assert_nothing_leaked(replace(caller, header_agent=profile or "default"), self.tenants, response.text)
        else:
            assert_nothing_leaked(caller, self.tenants, response.text)
        if response.is_success and operation == "create":
            row = response.json()
            owner = (caller.tenant, row["user_id"] or "", row["profile_id"] or "")
            assert caller.may_write(*owner), f"{caller} wrote a row of {owner}"
            self.rows[row["id"]] = owner
        elif response.is_success and operation in ("change", "delete"):
            assert caller.may_write(*self.rows[target]), f"{caller} changed a row of {self.rows[target]}"
            if operation == "delete":
                del self.rows[target]
        elif operation == "read" and target in self.rows:
            assert response.is_success == caller.may_see(*self.rows[target]), f"{caller} reading {self.rows[target]}"

    def _request(
        self, caller: Who, operation: str, number: int, profile: str | None, target: str
    ) -> tuple[str, str, dict[str, object] | None]:
        if operation == "create":
            # What the row will say of its owner is decided before the server decides whose it is.
            agent = "" if profile is None else (caller.agent or "default") if profile == "absent" else profile
            text = mark(self.tenants[caller.tenant], caller.user, agent)
            fields: dict[str, object] = {"type": "user", "name": f"n{number}", "description": text, "body": text}
            return "POST", "/v1/memories", fields if profile == "absent" else fields | {"profile_id": profile}
        if operation in ("list", "page"):
            return "GET", f"/v1/memories?limit={100 if operation == 'list' else 1}", None
        if operation == "list_profile":
            return "GET", f"/v1/memories?limit=100&profile_id={profile or 'default'}", None
        if operation == "section":
            return "GET", "/v1/memories/section", None
        if operation == "change":
            return "PATCH", f"/v1/memories/{target}", {"importance": number}
        return "GET" if operation == "read" else "DELETE", f"/v1/memories/{target}", None

    def _headers(self, caller: Who) -> dict[str, str]:
        binding = (caller.tenant, caller.role, caller.bound_user, caller.bound_agent, caller.by_token)
        if binding not in self.keys:
            make = self.served.token if caller.by_token else self.served.key
            self.keys[binding] = make(self.tenants[caller.tenant], caller.role, caller.bound_user, caller.bound_agent)
        headers = {"Authorization": f"Bearer {self.keys[binding]}"}
        if caller.header_user:
            headers["X-Memorist-User"] = caller.header_user
        if caller.header_agent:
            headers["X-Memorist-Agent"] = caller.header_agent
        return headers


def make_calls(served: Served, make: Callable[..., None], calls: Iterable[tuple[Any, ...]]) -> None:
    """One after another, by one client."""
    with httpx2.Client(base_url=served.url, timeout=30) as client:
        for call in calls:
            make(client, *call)


def test_nobody_sees_or_changes_what_is_not_theirs(by_keyword: Served) -> None:
    def walk(calls: list[tuple[Who, str, int, str | None]]) -> None:
        world = World(by_keyword)
        with httpx2.Client(base_url=by_keyword.url) as client:
            for caller, operation, number, profile in calls:
                world.call(client, caller, operation, number, profile)
            for memory_id, owner in world.rows.items():
                reader = Who(owner[0], Role.ADMIN, None, None, None, None)
                kept = client.get(f"/v1/memories/{memory_id}", headers=world._headers(reader))
                assert kept.status_code == 200, f"a row of {owner} is gone"

    walk_often(by_keyword.core, 45, walk, calls=st.lists(CALLS, min_size=50, max_size=60))

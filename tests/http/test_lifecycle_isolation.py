"""No call of the lifecycle door ever shows or changes what is another's: random calls against the oracle."""

from dataclasses import dataclass, field

import httpx2
from hypothesis import strategies as st

from memorist.platform.values import Role
from tests.http.conftest import Served
from tests.http.test_isolation import World, make_calls
from tests.support.isolation import Who, assert_nothing_leaked, mark, walk_often, who

CHANGES = {"archive": ("POST", "/archive"), "restore": ("POST", "/restore"), "delete": ("DELETE", "")}
READS = {"read": ("GET", ""), "events": ("GET", "/events")}
ADMIN = {"policy": "/v1/admin/policy", "report": "/v1/admin/retention/report"}
OPERATIONS = ["add", "add", "add", "query", "query", *CHANGES, *CHANGES, *READS, *ADMIN]
CALLS = st.tuples(who(), st.sampled_from(OPERATIONS), st.integers(0, 50))


@dataclass
class LifecycleWorld(World):
    deleted: set[str] = field(default_factory=set)

    def run(self, client: httpx2.Client, caller: Who, operation: str, number: int) -> None:
        target = list(self.rows)[number % len(self.rows)] if self.rows else "mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3"
        method, path, body = self._call(caller, operation, number, target)
        response = client.request(method, path, json=body, headers=self._headers(caller))
        assert response.status_code < 500, response.text
        # An admin looks after what anybody in its tenant deleted.
        looks_after = caller.role is Role.ADMIN and target in self.rows and self.rows[target][0] == caller.tenant
        if not (looks_after and operation in ("read", "restore")):
            assert_nothing_leaked(caller, self.tenants, response.text)
        if operation == "add" and response.is_success:
            owner = (caller.tenant, caller.user or "", caller.agent or "")
            assert caller.may_write(*owner), f"{caller} wrote a row of {owner}"
            self.rows[response.json()["id"]] = owner
        elif operation in CHANGES and response.is_success:
            may_change = caller.may_write(*self.rows[target]) or (looks_after and operation == "restore")
            assert may_change, f"{caller} changed a row of {self.rows[target]}"
            (self.deleted.add if operation == "delete" else self.deleted.discard)(target)
        elif operation in CHANGES and target in self.rows and caller.may_write(*self.rows[target]):
            assert response.status_code in (404, 409), f"{caller} was refused its own row: {response.text}"
        elif operation == "events" and target in self.rows:
            is_told = caller.may_write if target in self.deleted else caller.may_see
            assert response.is_success == is_told(*self.rows[target]), f"{caller} reading {self.rows[target]}"
        elif operation in ADMIN:
            assert response.is_success == (caller.role is Role.ADMIN), response.text

    def _call(self, caller: Who, operation: str, number: int, target: str) -> tuple[str, str, dict[str, object] | None]:
        if operation == "add":
            text = f"{mark(self.tenants[caller.tenant], caller.user, caller.agent)} drinks tea {number}"
            return "POST", "/memory/add", {"content": text, "metadata": {"said": text}}
        if operation == "query":
            return "POST", "/memory/query", {"query": f"tea {number}", "top_k": 20, "min_score": 0}
        if operation in ADMIN:
            return "GET", ADMIN[operation], None
        method, suffix = (CHANGES | READS)[operation]
        return method, f"/memory/{target}{suffix}", None


def test_nobody_sees_or_changes_what_is_not_theirs(by_keyword: Served) -> None:
    def walk(calls: list[tuple[Who, str, int]]) -> None:
        make_calls(by_keyword, LifecycleWorld(by_keyword).run, calls)

    walk_often(by_keyword.core, 12, walk, calls=st.lists(CALLS, min_size=40, max_size=50))


def test_purge_is_of_the_caller_alone(by_keyword: Served) -> None:
    world = LifecycleWorld(by_keyword)
    with httpx2.Client(base_url=by_keyword.url, timeout=30) as client:
        ada, bob = (Who(0, Role.USER, user, None, None, None) for user in ("ada", "bob"))
        elsewhere = Who(1, Role.USER, "ada", None, None, None)
        for caller in (ada, bob, elsewhere):
            world.run(client, caller, "add", 1)
        reader = Who(0, Role.READER, "ada", None, None, None)
        assert client.delete("/memory/user/purge", headers=world._headers(reader)).status_code == 403
        answer = client.delete("/memory/user/purge", headers=world._headers(ada))
        assert answer.json()["counts"]["memories"] == 1
        left = [
            client.get(f"/memory/{row}", headers=world._headers(Who(t, Role.ADMIN, None, None, None, None)))
            for row, (t, _, _) in world.rows.items()
        ]
    assert [one.status_code for one in left] == [404, 200, 200]

"""Neither the coding-assistant API nor the feed ever shows or changes what is another's: random calls, an oracle."""

from dataclasses import dataclass

import httpx2
from hypothesis import strategies as st

from memorist.errors import Forbidden
from memorist.ids import to_uuid
from memorist.platform import access
from memorist.platform.feed import START, changes
from tests.http.conftest import Served
from tests.http.test_isolation import World, make_calls
from tests.support.isolation import Who, assert_nothing_leaked, mark, walk_often, who

CALLS = st.tuples(
    who(),
    st.sampled_from(["store", "store", "search", "search_all", "context", "delete", "extract", "feed"]),
    st.integers(0, 50),
)


@dataclass
class ChunkWorld(World):
    def run(self, client: httpx2.Client, caller: Who, operation: str, number: int) -> None:
        if operation == "feed":
            self._follow(caller)
            return
        target = list(self.rows)[number % len(self.rows)] if self.rows else "01a1ddf2-ab2f-cbd6-c50d-f38228b7c7c2"
        owner = (caller.tenant, caller.user or "", caller.agent or "")
        text = f"{mark(self.tenants[caller.tenant], caller.user, caller.agent)} likes tea {number}"
        method, path, body = _request(operation, target, text)
        response = client.request(method, path, json=body, headers=self._headers(caller))
        assert response.status_code < 500, response.text
        assert_nothing_leaked(caller, self.tenants, response.text)
        if operation == "store" and response.is_success:
            assert caller.may_write(*owner), f"{caller} wrote a row of {owner}"
            self.rows[response.json()["data"]["id"]] = owner
        elif operation == "delete" and response.is_success:
            assert caller.may_write(*self.rows.pop(target)), f"{caller} deleted {target}"
        elif operation == "search_all" and response.is_success:
            found = {row["id"] for row in response.json()["data"]}
            assert self._seen_by(caller) == found & set(self.rows), f"{caller} searching"

    def _seen_by(self, caller: Who) -> set[str]:
        return {memory_id for memory_id, owner in self.rows.items() if caller.may_see(*owner)}

    def _follow(self, caller: Who) -> None:
        """Whatever the feed tells a caller is of a memory that it may see, and it tells of all of those."""
        identity = self.served.core.identity
        principal = identity.authenticate(self._headers(caller)["Authorization"].removeprefix("Bearer "))
        try:
            principal = access.acting(principal, user=caller.header_user, agent=caller.header_agent)
        except Forbidden:
            assert not caller.is_allowed
            return
        told = {str(to_uuid(one.memory_id)) for one in changes(self.served.core.feed, lambda: principal, START, wait=0)}
        assert told & set(self.rows) == self._seen_by(caller), f"{caller} following"


def _request(operation: str, target: str, text: str) -> tuple[str, str, dict[str, object] | None]:
    if operation == "store":
        return "POST", "/api/memory/store", {"content": text, "chunkType": "fact", "sourceExcerpt": text}
    if operation == "extract":
        return "POST", "/api/memory/extract", {"transcript": f"User: I prefer {text}."}
    if operation == "delete":
        return "DELETE", f"/api/memory/{target}", None
    paths = {"search": "search?query=TEA&limit=5", "search_all": "search?query=likes&limit=100", "context": "context"}
    return "GET", f"/api/memory/{paths[operation]}", None


def test_nobody_sees_or_changes_what_is_not_theirs(learning: Served) -> None:
    def walk(calls: list[tuple[Who, str, int]]) -> None:
        make_calls(learning, ChunkWorld(learning).run, calls)

    walk_often(learning.core, 8, walk, calls=st.lists(CALLS, min_size=30, max_size=40))

"""Tokens of users: what a page can do with one, what it cannot, and when it ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import httpx2
import pytest

from memorist.client import Client
from memorist.errors import Forbidden, InvalidField, MemoristError, NotFound, Unauthenticated
from memorist.platform.values import Principal, Role, TokenRights
from memorist.settings import Settings
from memorist.testing import StepClock, new_tenant
from tests.http.conftest import Served, serving


@contextmanager
def paged(served: Served, tenant: str, user: str = "ada", **asked: object) -> Iterator[Client]:
    """The client in a page of a user, whose token a service key made."""
    with Client(served.url, api_key=served.key(tenant, Role.SERVICE)) as service:
        token = service.create_token(user, **asked).token  # type: ignore[arg-type]
    with Client(served.url, api_key=token) as page:
        yield page


def test_page_reads_and_writes_what_is_its_users(by_keyword: Served, tenant: str) -> None:
    with paged(by_keyword, tenant) as page, paged(by_keyword, tenant, "bob") as other:
        entry = page.add_entry("Sleep more.", "goal").memory  # type: ignore[arg-type]
        assert [one.id for one in page.entries().items] == [entry.id]
        assert (page.principal.user, page.principal.role) == ("ada", Role.USER)
        assert other.entries().items == ()
        with pytest.raises(NotFound):
            other.get(entry.id)
        with pytest.raises(NotFound):
            other.erase_entry(entry.id)
        page.erase_entry(entry.id)


def test_token_is_of_its_tenant(by_keyword: Served, tenant: str) -> None:
    with paged(by_keyword, tenant) as page, paged(by_keyword, new_tenant()) as neighbour:
        mine = page.remember("Rex is a dog.").memory
        with pytest.raises(NotFound):
            neighbour.get(mine.id)
        assert neighbour.recall("Rex").hits == ()


def test_token_acts_for_nobody_else_and_does_not_renew_itself(by_keyword: Served, tenant: str) -> None:
    with paged(by_keyword, tenant) as page:
        token = page._http.headers["Authorization"].removeprefix("Bearer ")
        with Client(by_keyword.url, api_key=token, user="bob") as forged, pytest.raises(Forbidden):
            forged.list()
        for refused in (
            lambda: page.create_token("ada"),
            lambda: page.revoke_tokens("ada"),
            lambda: page.purge("bob"),
            lambda: page.policy(),
            lambda: page.sweep(),
            lambda: page.delete_tenant("x"),
        ):
            with pytest.raises(Forbidden):
                refused()


def test_token_that_reads_writes_nothing(by_keyword: Served, tenant: str) -> None:
    with paged(by_keyword, tenant) as page:
        page.remember("Rex is a dog.")
    with paged(by_keyword, tenant, rights=TokenRights.READ) as reader:
        assert len(reader.list().items) == 1
        for refused in (
            lambda: reader.remember("No."),
            lambda: reader.erase(reader.list().items[0].id),
            lambda: reader.purge(),
            lambda: reader.reset(),
        ):
            with pytest.raises(Forbidden):
                refused()


def test_token_that_reads_is_not_answered_what_one_that_writes_was(by_keyword: Served, tenant: str) -> None:
    with Client(by_keyword.url, api_key=by_keyword.key(tenant, Role.SERVICE)) as service:
        tokens = [service.create_token("ada", rights=rights).token for rights in (TokenRights.WRITE, TokenRights.READ)]
    with Client(by_keyword.url, api_key=tokens[0]) as page, Client(by_keyword.url, api_key=tokens[1]) as reader:
        memory = page.remember("Rex is a dog.", name="rex").memory
        page.edit(memory.id, {"content": "Rex is a cat."}, idempotency_key="px")
        with pytest.raises(Forbidden):
            reader.edit(memory.id, {"content": "Rex is a cat."}, idempotency_key="px")
        page.forget(memory.id, idempotency_key="py")
        with pytest.raises(Forbidden):
            reader.forget(memory.id, idempotency_key="py")


def test_token_of_an_agent_stays_with_it(by_keyword: Served, tenant: str) -> None:
    with paged(by_keyword, tenant, agent="coder") as page:
        assert page.remember("Tabs.").memory.agent == "coder"
        token = page._http.headers["Authorization"].removeprefix("Bearer ")
        with Client(by_keyword.url, api_key=token, agent="planner") as other, pytest.raises(Forbidden):
            other.list()


def test_token_ends_when_it_is_revoked_and_with_its_key(by_keyword: Served, tenant: str) -> None:
    with (
        Client(by_keyword.url, api_key=by_keyword.key(tenant, Role.SERVICE)) as service,
        paged(by_keyword, tenant) as page,
        paged(by_keyword, tenant, "bob") as other,
    ):
        page.list()
        assert service.revoke_tokens("ada") == 1
        with pytest.raises(Unauthenticated):
            page.list()
        assert other.list().items == ()
        key_id = other.principal.key_id
        assert key_id is not None
        by_keyword.core.identity.revoke_key(Principal(tenant, Role.ADMIN), key_id)
        with pytest.raises(Unauthenticated):
            other.list()


def test_erasing_the_user_ends_the_token_and_leaves_no_name(by_keyword: Served, tenant: str) -> None:
    with paged(by_keyword, tenant, "name-of-zoe") as page:
        page.remember("Zoe likes figs.")
        receipt = page.purge()
        assert receipt.counts["sign_ins"] == 1
        with pytest.raises(Unauthenticated):
            page.list()
    found = by_keyword.core.store.read(tenant, lambda tx: tx.erasure.find_text("name-of-zoe"))
    assert found == []


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_token_is_over_after_its_time(
    database: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    url = request.getfixturevalue("postgres_url") if database == "postgres" else ""
    clock = StepClock()
    settings = Settings(data=tmp_path_factory.mktemp("t"), database=url, port=0, embedder="off", reranker="off")
    with serving(settings, clock=clock) as served:
        tenant = new_tenant()
        with paged(served, tenant, lifetime=timedelta(minutes=5)) as page:
            page.list()
            clock.advance(timedelta(minutes=6))
            with pytest.raises(Unauthenticated):
                page.list()


@pytest.mark.parametrize("token", ["mst_user_", "mst_user_nonsense", "mst_user_" + "0" * 72])
def test_what_only_looks_like_a_token_is_refused(by_keyword: Served, token: str) -> None:
    with Client(by_keyword.url, api_key=token) as page, pytest.raises(Unauthenticated):
        page.list()


def test_token_does_not_sign_in_to_the_dashboard(by_keyword: Served, tenant: str) -> None:
    with paged(by_keyword, tenant) as page:
        token = page._http.headers["Authorization"].removeprefix("Bearer ")
    with pytest.raises(Unauthenticated):
        by_keyword.core.sign_ins.sign_in(token)
    with pytest.raises(Unauthenticated):
        by_keyword.core.sign_ins.find(token)


@pytest.mark.parametrize(
    "asked", [{"user": ""}, {"user": "two words"}, {"lifetime": timedelta(days=2)}, {"agent": "two words"}]
)
def test_token_of_nobody_or_for_ever_is_refused(by_keyword: Served, tenant: str, asked: dict[str, object]) -> None:
    with pytest.raises(InvalidField), paged(by_keyword, tenant, **asked):  # type: ignore[arg-type]
        pass


def test_answer_with_a_token_is_not_kept_anywhere_on_its_way(by_keyword: Served, tenant: str) -> None:
    headers = {"Authorization": f"Bearer {by_keyword.key(tenant, Role.SERVICE)}"}
    answer = httpx2.post(f"{by_keyword.url}/v1/tokens", headers=headers, json={"user": "ada"})
    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "no-store"


def test_tokens_of_a_key_that_was_revoked_meanwhile_are_none(by_keyword: Served, tenant: str) -> None:
    key = by_keyword.key(tenant, Role.SERVICE)
    principal = by_keyword.core.identity.authenticate(key)
    by_keyword.core.identity.revoke_key(Principal(tenant, Role.ADMIN), principal.key_id or "")
    with pytest.raises(MemoristError):
        by_keyword.core.user_tokens.create(principal, "ada")

"""Erasure and receipts over HTTP."""

from pathlib import Path

import pytest

from memorist.platform.values import Role
from memorist.settings import Settings
from memorist.testing import new_tenant
from tests.http.conftest import Served, new_memory, serving
from tests.support.waiting import eventually


def test_admin_erases_a_user_and_both_see_the_receipt(by_keyword: Served) -> None:
    tenant = by_keyword.core.identity.create_tenant(new_tenant())[0].id
    with (
        by_keyword.client(tenant, Role.ADMIN, None) as admin,
        by_keyword.client(tenant, Role.USER, "ada") as ada,
        by_keyword.client(tenant, Role.USER, "bob") as bob,
    ):
        body = {"type": "user", "name": "profile", "description": "d", "body": "Lives in a small town."}
        assert ada.post("/v1/memories", json=body).status_code == 201
        assert ada.delete("/v1/admin/users/ada").status_code == 403
        assert bob.delete("/v1/admin/tenant").status_code == 403
        own = ada.delete("/memory/user/purge").json()
        assert own["counts"]["memories"] == 1
        assert ada.get(f"/v1/receipts/{own['id']}").json() == own
        assert [row["id"] for row in ada.get("/v1/receipts").json()["data"]] == [own["id"]]
        assert bob.get("/v1/receipts").json() == {"data": []}
        assert bob.get(f"/v1/receipts/{own['id']}").status_code == 404
        whole = admin.delete("/v1/admin/users/ada")
        assert whole.status_code == 200
        assert whole.json()["counts"]["api_keys"] == 1
        assert ada.get("/v1/receipts").status_code == 401
        page = admin.get("/v1/receipts", params={"limit": 1}).json()["data"]
        assert [row["id"] for row in page] == [whole.json()["id"]]
        rest = admin.get("/v1/receipts", params={"before": page[0]["id"]}).json()["data"]
        assert [row["id"] for row in rest] == [own["id"]]
        for confirm in ({}, {"confirm": "yes"}):
            refused = admin.delete("/v1/admin/tenant", params={"at_once": True, **confirm})
            assert (refused.status_code, refused.json()["field"]) == (422, "confirm")
        gone = admin.delete("/v1/admin/tenant", params={"at_once": True, "confirm": tenant})
        assert gone.json()["status"] == "done"
        assert bob.get("/v1/receipts").status_code == admin.get("/v1/receipts").status_code == 401


def test_receipt_tells_nothing_of_what_others_hold(by_keyword: Served) -> None:
    """Whoever erases guesses would otherwise read the texts of others by it, letter by letter."""
    ours, theirs = (by_keyword.core.identity.create_tenant(new_tenant())[0].id for _ in range(2))
    secret = "was told the diagnosis: lupus"
    with by_keyword.client(ours, Role.USER, "eve") as eve:
        for tenant, user in ((ours, "bob"), (theirs, "victim-of-guesses")):
            with by_keyword.client(tenant, Role.USER, user) as other:
                assert other.post("/v1/records", json={"content": secret}).status_code == 201

        def found(guess: str) -> dict[str, object]:
            made = eve.post("/v1/records", json={"content": guess}).json()["memory"]["id"]
            receipt = eve.post("/v1/records/erase", json={"ids": [made]}).json()
            assert eve.get(f"/v1/receipts/{receipt['id']}").json() == receipt
            return {name: value for name, value in receipt["verification"].items() if name != "checked_at"}

        assert found("the diagnosis: lupus") == found("the diagnosis: gouts")
        # In the file of the database a user's name is followed by the kind of the memory and by its text.
        assert found("of-guessesfactwas told") == found("of-guessesfactwas gout")


def test_admin_erases_themselves_only_where_that_was_said_twice(by_keyword: Served, tenant: str) -> None:
    with by_keyword.client(tenant, Role.ADMIN, "ada") as ada:
        refused = ada.delete("/v1/admin/users/ada")
        assert (refused.status_code, refused.json()["field"]) == (422, "confirm")
        assert ada.delete("/v1/admin/users/ada", params={"confirm": "ada"}).status_code == 200
        assert ada.get("/v1/memories").status_code == 401


@pytest.mark.parametrize("credential", ["user", "service", "token"])
def test_credential_of_one_agent_erases_nothing_of_the_others(by_keyword: Served, tenant: str, credential: str) -> None:
    with (
        by_keyword.client(tenant, Role.SERVICE if credential == "service" else Role.USER, agent="bot") as bot,
        by_keyword.client(tenant) as ada,
    ):
        if credential == "token":
            bot.headers["Authorization"] = f"Bearer {by_keyword.token(tenant, Role.USER, 'ada', 'bot')}"
        assert ada.post("/v1/memories", json={**new_memory("savings"), "profile_id": "finance"}).status_code == 201
        for refused in (
            bot.delete("/memory/user/purge"),
            bot.post("/v1/records/purge", json={}),
            bot.post("/v1/records/purge", json={"user": "ada"}),
        ):
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert bot.post("/v1/records/reset", json={}).status_code == 200
        assert [row["name"] for row in ada.get("/v1/memories").json()["data"]] == ["savings"]
        # Who merely names an agent holds the user's own key.
        own = ada.delete("/memory/user/purge", headers={"X-Memorist-Agent": "bot"})
        assert own.json()["counts"]["memories"] == 1


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_erasure_of_much_is_answered_before_it_is_done(
    request: pytest.FixtureRequest, tmp_path: Path, tenant: str, database: str
) -> None:
    url = request.getfixturevalue("postgres_url") if database == "postgres" else ""
    settings = Settings(
        data=tmp_path, database=url, port=0, embedder="off", reranker="off", purge_at_once=5, sweep_interval_s=0
    )
    with serving(settings) as server, server.client(tenant) as ada, server.client(tenant, Role.ADMIN, None) as admin:
        server.core.erasure.start(3600)
        for method, path in (("DELETE", "/memory/user/purge"), ("POST", "/v1/records/purge")):
            for number in range(5):
                assert ada.post("/v1/memories", json=new_memory(f"n{number}")).status_code == 201
            begun = ada.request(method, path, **({"json": {}} if method == "POST" else {}))
            assert (begun.status_code, begun.json()["status"]) == (202, "running")
            receipt = begun.headers["location"]
            assert receipt == f"/v1/receipts/{begun.json()['id']}"
            eventually(lambda receipt=receipt: ada.get(receipt).json()["status"] == "done")
            done = ada.get(receipt).json()
            assert (done["counts"]["memories"], done["verification"]["ok"]) == (5, True)
            assert any("Logs" in line for line in done["remains"])
            assert ada.get("/v1/memories").json()["data"] == []
        # What is little is done when it is answered.
        small = admin.delete("/v1/admin/users/bob")
        assert (small.status_code, small.json()["status"]) == (200, "done")

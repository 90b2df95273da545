"""Erasure and receipts over HTTP."""

from memorist.platform.values import Role
from memorist.testing import new_tenant
from tests.http.conftest import Served


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
        gone = admin.delete("/v1/admin/tenant", params={"at_once": True})
        assert gone.json()["status"] == "done"
        assert bob.get("/v1/receipts").status_code == admin.get("/v1/receipts").status_code == 401

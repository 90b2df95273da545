"""Documents over real HTTP, on both databases: stored in chunks, replaced as a whole, shared or not."""

import base64
from typing import Any

import httpx2
import pytest

from memorist.platform.values import Role
from tests.http.conftest import Served
from tests.http.test_agent_tools import contents, recall
from tests.http.test_refusals import assert_problem

ROW = ["document_id", "title", "media_type", "chunks", "shared", "created_at", "updated_at"]
HANDBOOK = "# Handbook\n\nWelcome.\n\n## Holidays\n\nEverybody has thirty days of vacation.\n\n## Pay\n\nOn the 25th."


def upload(client: httpx2.Client, title: str = "Handbook", content: str = HANDBOOK, **fields: Any) -> Any:
    body = {"title": title, "content": content, "media_type": "text/markdown", **fields}
    response = client.post("/v1/documents", json=body)
    assert response.status_code == 201, response.text
    return response.json()


def chunks(client: httpx2.Client, query: str) -> list[str]:
    return contents(recall(client, query, source_kinds=["document_chunk"], min_score=0, top_k=20))


def test_document_is_stored_and_recalled_by_its_chunks(ada: httpx2.Client) -> None:
    response = ada.post("/v1/documents", json={"title": "Handbook", "content": HANDBOOK, "media_type": "text/markdown"})

    assert response.status_code == 201
    stored = response.json()
    assert list(stored) == [*ROW, "was_new", "changed"]
    assert stored["document_id"].startswith("doc_")
    assert stored["chunks"] >= 1
    assert (stored["shared"], stored["was_new"], stored["changed"]) == (False, True, True)
    assert response.headers["location"] == f"/v1/documents/{stored['document_id']}"
    (item, *_) = recall(ada, "how many days off do we get?", scope="tenant", min_score=0)["items"]
    assert (item["source_kind"], item["source_ref"]) == ("document_chunk", stored["document_id"])
    assert "thirty days" in item["content"]

    whole = ada.get(response.headers["location"]).json()
    assert list(whole) == [*ROW, "content"]
    assert whole["content"] == HANDBOOK


def test_plain_text_is_the_default(ada: httpx2.Client) -> None:
    assert ada.post("/v1/documents", json={"title": "t", "content": "tea"}).json()["media_type"] == "text/plain"


@pytest.mark.parametrize("fields", [{}, {"document_id": "handbook/2026 edition".replace(" ", "_")}])
def test_document_sent_again_replaces_its_chunks(ada: httpx2.Client, fields: dict[str, str]) -> None:
    first = upload(ada, **fields)
    second = upload(ada, content="# Handbook\n\nEverybody has forty days of vacation.", **fields)

    assert second["document_id"] == first["document_id"]
    assert (second["was_new"], second["changed"]) == (False, True)
    assert second["created_at"] == first["created_at"]
    assert second["updated_at"] > first["updated_at"]
    found = chunks(ada, "days of vacation")
    assert len(found) == second["chunks"]
    assert not any("thirty" in text for text in found)
    assert ada.get(f"/v1/documents/{first['document_id']}").json()["content"].endswith("forty days of vacation.")


def test_same_document_again_changes_nothing(ada: httpx2.Client) -> None:
    first, again = upload(ada), upload(ada)
    assert (again["was_new"], again["changed"]) == (False, False)
    assert {name: again[name] for name in ROW} == {name: first[name] for name in ROW}
    assert len(chunks(ada, "vacation")) == first["chunks"]


def test_new_title_under_the_same_id_renames(ada: httpx2.Client) -> None:
    upload(ada, document_id="d1")
    renamed = upload(ada, title="Rules", document_id="d1")
    assert (renamed["title"], renamed["was_new"], renamed["changed"]) == ("Rules", False, True)
    assert [row["title"] for row in ada.get("/v1/documents").json()["data"]] == ["Rules"]


def test_bytes_are_taken_as_base64(ada: httpx2.Client) -> None:
    encoded = base64.encodebytes("Grüner Tee".encode()).decode()
    body = {"title": "t", "content_base64": encoded, "document_id": "d1"}
    assert ada.post("/v1/documents", json=body).status_code == 201
    assert ada.get("/v1/documents/d1").json()["content"] == "Grüner Tee"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"title": ""}, "title"),
        ({"title": "two\nlines"}, "title"),
        ({"title": "x" * 501}, "title"),
        ({"title": None}, "title"),
        ({"content": ""}, "content"),
        ({"content": " \n"}, "content"),
        ({"content": None}, "content"),
        ({"content": "a\x00b"}, "content"),
        ({"content": "x", "content_base64": "eA=="}, "content"),
        ({"content": None, "content_base64": "not base64!"}, "content_base64"),
        ({"content": None, "content_base64": "größe"}, "content_base64"),
        ({"content": None, "content_base64": ""}, "content_base64"),
        ({"content": None, "content_base64": "/w=="}, "content_base64"),
        ({"content": "<p></p>", "media_type": "text/html"}, "content"),
        ({"media_type": "image/png"}, "media_type"),
        ({"media_type": "text/plain; charset=\x00"}, "media_type"),
        ({"content": "%PDF-1.4", "media_type": "application/pdf"}, "content"),
        ({"document_id": ""}, "document_id"),
        ({"document_id": "with space"}, "document_id"),
        ({"document_id": "x" * 129}, "document_id"),
        ({"shared": "yes"}, "shared"),
        ({"tenant": "other"}, "tenant"),
    ],
)
def test_bad_document_is_refused(ada: httpx2.Client, fields: dict[str, Any], field: str) -> None:
    body = {"title": "t", "content": "text", **fields}
    problem = assert_problem(ada.post("/v1/documents", json=body), 422, "invalid_field")
    assert problem["field"] == field
    assert ada.get("/v1/documents").json()["data"] == []


def test_broken_pdf_is_refused_with_a_reason(ada: httpx2.Client) -> None:
    broken = base64.b64encode(b"%PDF-1.4 nothing").decode()
    response = ada.post("/v1/documents", json={"title": "t", "content_base64": broken, "media_type": "application/pdf"})
    # Without the extra it says how to install it, with it that the file is broken.
    assert assert_problem(response, 422, "invalid_field")["field"] in ("content_base64", "media_type")


def test_document_over_the_body_limit_is_refused(ada: httpx2.Client) -> None:
    response = ada.post("/v1/documents", json={"title": "t", "content": "word " * 220_000})
    assert_problem(response, 413, "payload_too_large")


def test_document_of_nearly_the_body_limit_is_found_at_its_end(by_keyword: Served, tenant: str) -> None:
    with by_keyword.client(tenant) as ada:
        stored = upload(ada, content="plain words of no meaning. " * 38_000 + "\n\nThe cormorant is last.")
        assert stored["chunks"] > 100
        assert "cormorant" in chunks(ada, "cormorant")[0]


def test_pages_of_documents_follow_each_other_without_a_gap(by_keyword: Served, tenant: str) -> None:
    with by_keyword.client(tenant) as ada, by_keyword.client(tenant, Role.ADMIN, None) as admin:
        for number in range(7):
            upload(ada, title=f"mine {number}", document_id=f"d{number}")
            upload(admin, title=f"shared {number}", document_id=f"d{number}")
        found: list[tuple[str, bool]] = []
        query: dict[str, Any] = {"limit": 3}
        while True:
            page = ada.get("/v1/documents", params=query).json()
            assert list(page) == ["data", "next_cursor", "has_more"]
            assert all(list(row) == ROW for row in page["data"])
            found += [(row["document_id"], row["shared"]) for row in page["data"]]
            assert page["has_more"] is (page["next_cursor"] is not None)
            if not page["has_more"]:
                break
            query["cursor"] = page["next_cursor"]
        assert found == [(f"d{number}", shared) for number in range(7) for shared in (True, False)]
        assert len(ada.get("/v1/documents", params={"limit": 14}).json()["data"]) == 14
        assert ada.get("/v1/documents", params={"limit": 14}).json()["has_more"] is False


@pytest.mark.parametrize(
    "cursor", ["", "abc", "💩", "W10", "WyJkb2N1bWVudHMiLCIAIiwiIiwiIl0", "WyJvdGhlciIsImQiLCIiLCIiXQ"]
)
def test_cursor_of_no_list_of_documents_is_refused(ada: httpx2.Client, cursor: str) -> None:
    assert_problem(ada.get("/v1/documents", params={"cursor": cursor}), 400, "invalid_cursor")


@pytest.mark.parametrize("limit", ["0", "101", "ten"])
def test_bad_page_size_is_refused(ada: httpx2.Client, limit: str) -> None:
    assert assert_problem(ada.get(f"/v1/documents?limit={limit}"), 422, "invalid_field")["field"] == "limit"


def test_deleted_document_is_gone_with_its_chunks(ada: httpx2.Client) -> None:
    path = f"/v1/documents/{upload(ada)['document_id']}"
    assert chunks(ada, "vacation")

    deleted = ada.delete(path)
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert chunks(ada, "vacation") == []
    assert ada.get("/v1/documents").json()["data"] == []
    for response in (ada.get(path), ada.delete(path)):
        assert_problem(response, 404, "not_found")
    assert upload(ada)["was_new"] is True


@pytest.mark.parametrize("document_id", ["a/b/c.md", "größe", "a%2Fb", "doc?x#y", "..", "/"])
def test_document_id_may_be_any_word(ada: httpx2.Client, document_id: str) -> None:
    path = f"/v1/documents/{''.join(f'%{byte:02X}' for byte in document_id.encode())}"
    assert upload(ada, document_id=document_id)["document_id"] == document_id
    assert ada.get(path).json()["document_id"] == document_id
    assert ada.delete(path).status_code == 204


def test_service_key_shares_documents_and_looks_after_them(served: Served, tenant: str, ada: httpx2.Client) -> None:
    with served.client(tenant, Role.SERVICE, None) as service:
        assert upload(service, document_id="d1")["shared"] is True
        assert upload(service, document_id="d1", content="Another handbook.", shared=True)["changed"] is True
        assert chunks(ada, "Another handbook") == ["Another handbook."]
        acting = {"X-Memorist-User": "ada"}
        body = {"title": "Diary", "content": "It rained.", "shared": False}
        assert service.post("/v1/documents", json=body, headers=acting).json()["shared"] is False
        assert service.delete("/v1/documents/d1").status_code == 204
    assert ada.get("/v1/documents/d1").status_code == 404


def test_user_shares_a_document_where_the_tenant_allows_it(
    served: Served, tenant: str, ada: httpx2.Client, admin: httpx2.Client
) -> None:
    assert upload(ada, title="Menu", content="Soup of beetroot.", document_id="menu", shared=True)["shared"] is True
    with served.client(tenant, user="bob") as bob:
        assert chunks(bob, "beetroot") == ["Soup of beetroot."]
        # Whoever shares adds to what is there, and changes nothing of it.
        body = {"title": "Menu", "content": "No soup.", "document_id": "menu", "shared": True}
        assert_problem(bob.post("/v1/documents", json=body), 403, "forbidden")
        assert_problem(bob.delete("/v1/documents/menu"), 403, "forbidden")
    assert admin.put("/v1/admin/policy", json={"users_share_documents": False}).status_code == 200
    refused = ada.post("/v1/documents", json={"title": "Wine", "content": "Red.", "shared": True})
    assert "only service and admin keys" in assert_problem(refused, 403, "forbidden")["detail"]
    assert upload(ada, title="Wine", content="Red.")["shared"] is False
    with served.client(tenant, Role.READER, "ada") as reader:
        response = reader.post("/v1/documents", json={"title": "t", "content": "x", "shared": True})
        assert_problem(response, 403, "forbidden")


def test_document_of_an_admin_is_everybodys_unless_it_says_otherwise(
    served: Served, tenant: str, ada: httpx2.Client, admin: httpx2.Client
) -> None:
    assert upload(admin, document_id="d1")["shared"] is True
    assert upload(admin, title="Secret plans", content="Buy vacation homes.", shared=False)["shared"] is False
    with served.client(tenant, user="bob") as bob:
        assert bob.get("/v1/documents/d1").json()["content"] == HANDBOOK
        assert chunks(bob, "vacation")
        assert not any("homes" in text for text in chunks(bob, "vacation homes"))
        assert_problem(bob.delete("/v1/documents/d1"), 403, "forbidden")
        overwriting = bob.post(
            "/v1/documents", json={"title": "t", "content": "x", "document_id": "d1", "shared": True}
        )
        assert_problem(overwriting, 403, "forbidden")
        # One's own under the same id goes first, and does not touch the shared one.
        upload(bob, content="My own handbook.", document_id="d1")
        assert bob.get("/v1/documents/d1").json()["content"] == "My own handbook."
        assert bob.delete("/v1/documents/d1").status_code == 204
        assert bob.get("/v1/documents/d1").json()["content"] == HANDBOOK
    assert ada.get("/v1/documents/d1").status_code == 200

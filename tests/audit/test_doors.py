"""What each door leaves in the audit log: who, by which route, how it ended, and never what was said."""

import json

import httpx2
import pytest

from memorist.audit import chain
from memorist.audit.values import NO_TENANT
from memorist.platform.values import Principal, Role
from memorist.surfaces.library import Memorist
from tests.audit.conftest import acts_of, rows_as_text, told
from tests.cli.conftest import Cli, clean_environment, cli  # noqa: F401 - fixtures
from tests.http.conftest import Served, new_memory
from tests.mcp.conftest import call, over_http, refused, run

READ_ONE = "GET /v1/memories/{memory_id}"


def test_reads_writes_and_refusals_over_http(audited: Served, whose: str) -> None:
    with audited.client(whose, Role.READER, "ada") as reader, audited.client(whose, Role.SERVICE, None) as service:
        acting = {"X-Memorist-User": "grace"}
        made = service.post("/v1/memories", json=new_memory(), headers=acting).json()
        assert service.get(f"/v1/memories/{made['id']}", headers=acting).status_code == 200
        assert reader.post("/v1/memories", json=new_memory()).status_code == 403
        assert reader.get(f"/v1/memories/{made['id']}").status_code == 404
        assert reader.get("/v1/nowhere/grace").status_code == 404
        assert reader.get("/v1/memories", headers=acting).status_code == 403
    noted = [act for act in acts_of(audited.core, whose) if act.door == "http"]
    assert [(act.kind, act.route, act.outcome) for act in noted] == [
        ("write", "POST /v1/memories", "ok"),
        ("read", READ_ONE, "ok"),
        ("denied", "POST /v1/memories", "forbidden"),
        ("failed", READ_ONE, "not_found"),
        ("failed", "GET (no route)", "not_found"),
        ("denied", "GET /v1/memories", "forbidden"),
    ]
    written, read, denied, *_ = noted
    assert (written.role, written.on_behalf, written.user) == ("service", True, read.user)
    assert written.key_id.startswith("key_")
    assert denied.key_id not in ("", written.key_id)
    admin = Principal(whose, Role.ADMIN)
    found = audited.core.audit.list(admin, user="grace", about=made["id"]).items
    assert [one.act.route for one in found] == [READ_ONE]
    assert len(audited.core.audit.list(admin, key=denied.key_id).items) == 4


def test_keys_and_policies_are_kinds_of_their_own(audited: Served, whose: str) -> None:
    core = audited.core
    with audited.client(whose, Role.ADMIN, "ada") as admin:
        assert admin.put("/v1/admin/policy", json={"mode": "enforce"}).status_code == 200
        assert admin.post("/v1/tokens", json={"user": "bob"}).status_code == 201
        assert admin.delete("/v1/tokens", params={"user": "bob"}).status_code == 200
    assert told(core, whose) == [
        ("policy", "PUT /v1/admin/policy", "ok"),
        ("keys", "POST /v1/tokens", "ok"),
        ("keys", "DELETE /v1/tokens", "ok"),
    ]


def test_policy_that_comes_with_an_export_is_a_change_of_it(audited: Served, whose: str) -> None:
    lines = ['{"format": "memorist-export", "version": 1}', '{"policy": {"active_days": 3}}']
    with audited.client(whose, Role.ADMIN, None) as admin:
        answers = [admin.post("/v1/records/import", json={"lines": lines}).json() for _ in range(2)]
    assert [one["policy_set"] for one in answers] == [1, 0]
    assert told(audited.core, whose)[0] == ("policy", "POST /v1/records/import", "ok")


def test_refused_keys_are_counted_where_they_belong(audited: Served, whose: str) -> None:
    core, admin = audited.core, Principal(whose, Role.ADMIN)
    key, secret = core.identity.create_key(admin, Role.USER, user="ada")
    core.identity.revoke_key(admin, key.id)
    before = sum(act.times for act in acts_of(core, NO_TENANT) if act.outcome == "unauthenticated")
    for _ in range(3):
        for bearer in (secret, "mst_live_no"):
            headers = {"Authorization": f"Bearer {bearer}"}
            assert httpx2.get(f"{audited.url}/v1/memories", headers=headers).status_code == 401
    denied = acts_of(core, whose)
    assert {(act.kind, act.outcome, act.key_id) for act in denied} == {("denied", "unauthenticated", key.id)}
    assert sum(act.times for act in denied) == 3
    after = sum(act.times for act in acts_of(core, NO_TENANT) if act.outcome == "unauthenticated")
    assert after == before + 3


def test_what_is_open_to_anybody_is_nobodys_act(audited: Served) -> None:
    def count() -> int:
        return sum(act.times for act in acts_of(audited.core, NO_TENANT))

    before = count()
    for path in ("/healthz", "/docs", "/openapi.json", "/dashboard/sign-in"):
        assert httpx2.get(audited.url + path).status_code == 200
    assert count() == before


def test_tools_of_models_are_named(audited: Served, whose: str) -> None:
    with audited.client(whose, Role.USER, "ada") as ada:
        assert ada.post("/v1/tools/remember_fact", json={"content": "Tea is green.", "scope": "user"}).is_success
        assert ada.post("/v1/tools/recall", json={"query": "tea"}).is_success
        assert ada.post("/v1/tools/recall", json={}).status_code == 422

    async def work() -> None:
        async with over_http(audited.url, audited.key(whose, Role.USER, "ada")) as client:
            await call(client, "recall", query="tea")
            await refused(client, "memory_read", name="nothing")

    run(work)
    # A fact is judged in the background, which is noted too.
    by_http = [act for act in acts_of(audited.core, whose) if act.door == "http"]
    assert [(act.kind, act.route, act.outcome) for act in by_http[:3]] == [
        ("write", "POST /v1/tools/remember_fact", "ok"),
        ("read", "POST /v1/tools/recall", "ok"),
        ("failed", "POST /v1/tools/recall", "invalid_field"),
    ]
    by_mcp = [(act.kind, act.route, act.outcome) for act in acts_of(audited.core, whose) if act.door == "mcp"]
    assert by_mcp == [("read", "tool recall", "ok"), ("failed", "tool memory_read", "not_found")]


def test_visits_of_the_dashboard(audited: Served, whose: str) -> None:
    key = audited.key(whose, Role.ADMIN, "ada")
    with httpx2.Client(base_url=audited.url) as browser:
        assert browser.post("/dashboard/sign-in", data={"key": key}).status_code == 303
        assert browser.get("/dashboard/memories").status_code == 200
        shown = browser.get("/dashboard/audit", params={"kind": "sign_in"})
        assert "POST /dashboard/sign-in" in shown.text
        assert "/dashboard/memories</code>" not in shown.text
        assert browser.post("/dashboard/audit/verify").status_code == 403
    noted = [act for act in acts_of(audited.core, whose) if act.door == "dashboard"]
    assert [(act.kind, act.route) for act in noted] == [
        ("sign_in", "POST /dashboard/sign-in"),
        ("read", "GET /dashboard/memories"),
        ("read", "GET /dashboard/audit"),
        ("denied", "POST /dashboard/audit/verify"),
    ]
    assert len({(act.key_id, act.role) for act in noted}) == 1


def test_admins_read_it_over_http(audited: Served, whose: str) -> None:
    with audited.client(whose, Role.ADMIN, "ada") as admin, audited.client(whose, Role.USER, "bob") as bob:
        bob.get("/v1/memories")
        assert bob.get("/v1/admin/audit").status_code == 403
        page = admin.get("/v1/admin/audit", params={"limit": 1}).json()
        assert [(row["number"], row["kind"], row["outcome"]) for row in page["data"]] == [(2, "denied", "forbidden")]
        rest = admin.get("/v1/admin/audit", params={"limit": 9, "cursor": page["next_cursor"], "kind": "read"})
        assert rest.status_code == 400
        rest = admin.get("/v1/admin/audit", params={"user": "bob", "kind": "read"}).json()
        assert [row["route"] for row in rest["data"]] == ["GET /v1/memories"]
        assert rest["data"][0]["user"] not in (None, "bob")
        check = admin.get("/v1/admin/audit/verification").json()
        assert check["findings"] == []
        assert check["number"] >= 4


def test_a_stream_is_noted_when_it_begins(audited: Served, whose: str) -> None:
    with audited.client(whose, Role.USER, "ada") as ada, ada.stream("GET", "/v1/events/stream") as stream:
        assert stream.status_code == 200
        assert told(audited.core, whose) == [("read", "GET /v1/events/stream", "ok")]


MARKER = "Zebrafinch-Quartz"


def test_no_content_is_in_it_whatever_the_door(audited: Served, whose: str) -> None:
    user = f"user-{MARKER}"
    core = audited.core
    key = audited.key(whose, Role.ADMIN, user, f"agent-{MARKER}")
    with httpx2.Client(base_url=audited.url, headers={"Authorization": f"Bearer {key}"}) as http:
        body = new_memory(f"name_{MARKER.lower().replace('-', '_')}", body=f"About {MARKER}")
        made = http.post("/v1/memories", json=body).json()
        http.get(f"/v1/memories/{made['id']}")
        http.get(f"/v1/memories/{MARKER}", params={"q": MARKER})
        http.get(f"/v1/{MARKER}/{MARKER}")
        http.post(f"/v1/sessions/{MARKER}/messages", json={"messages": [{"role": "user", "content": MARKER}]})
        http.post("/v1/documents", json={"title": MARKER, "content": MARKER, "document_id": MARKER})
        http.get(f"/v1/documents/{MARKER}")
        http.post("/v1/tools/recall", json={"query": MARKER})
        http.post(f"/v1/tools/{MARKER}", json={})
        http.post("/memory/add", json={"content": MARKER})
        http.get("/v1/about", params={"person": MARKER})
        http.get("/v1/memories", headers={"X-Memorist-User": MARKER, "X-Memorist-Session": MARKER})
        http.request(MARKER.upper().replace("-", ""), "/v1/memories")
        http.post("/v1/tokens", json={"user": MARKER})

    async def work() -> None:
        async with over_http(audited.url, key, headers={"X-Memorist-User": MARKER}) as client:
            await call(client, "remember_fact", content=MARKER, scope="user")
            await call(client, "recall", query=MARKER)

    run(work)
    with httpx2.Client(base_url=audited.url) as browser:
        browser.post("/dashboard/sign-in", data={"key": key})
        browser.get("/dashboard/memories", params={"q": MARKER})
        browser.get(f"/dashboard/memories/{MARKER}")
    me = Memorist(core).user(user, agent=MARKER, session=MARKER, tenant=whose)
    me.remember(MARKER)
    me.recall(MARKER)
    assert len(acts_of(core, whose)) > 18
    stored = rows_as_text(core, whose)
    assert MARKER.lower() not in stored.lower()
    assert MARKER.lower().replace("-", "") not in stored.lower()
    assert core.audit.list(Principal(whose, Role.ADMIN), user=MARKER).items


def test_the_library_names_its_verbs(audited: Served, whose: str) -> None:
    me = Memorist(audited.core).user("ada", tenant=whose)
    memory = me.remember("Tea is green.").memory
    me.get(memory.id)
    me.forget(memory.id)
    list(me.export())
    assert told(audited.core, whose) == [
        ("write", "remember", "ok"),
        ("read", "get", "ok"),
        ("write", "forget", "ok"),
        ("read", "export", "ok"),
    ]


def test_commands_are_noted_and_shown(cli: Cli) -> None:  # noqa: F811
    key = cli.json("keys", "create", "--role", "user", "--user", "ada")
    cli.ok("remember", "Tea is green.")
    cli.ok("recall", "tea", "--key", key["key"])
    assert cli("keys", "list", "--key", key["key"]).code == 4
    cli.ok("keys", "revoke", key["id"])
    shown = cli.json("audit", "tail", "--limit", "5")["items"]
    assert [(one["kind"], one["door"], one["route"], one["outcome"]) for one in reversed(shown)] == [
        ("keys", "cli", "keys create", "ok"),
        ("write", "cli", "remember", "ok"),
        ("read", "cli", "recall", "ok"),
        ("denied", "cli", "keys list", "forbidden"),
        ("keys", "cli", "keys revoke", "ok"),
    ]
    assert shown[2]["key_id"] == key["id"]
    assert "keys revoke" in cli.ok("audit", "tail", "--route", "keys revoke").out
    exported = [json.loads(line) for line in cli.ok("audit", "export").out.splitlines()]
    assert exported[:5] == shown[::-1]
    number, _, digest = cli.ok("audit", "verify").out.strip().partition(":")
    assert (len(digest), int(number)) == (64, len(exported) + 1)
    assert cli.json("audit", "verify", "--expect", f"{number}:{digest}")["ok"] is True
    assert cli("audit", "verify", "--expect", f"{number}:{'0' * 64}").code == 1
    assert cli("audit", "verify", "--expect", "nothing").code == 2
    assert cli("audit", "tail", "--key", cli.key("reader")).code == 4
    assert cli.json("audit", "verify", "--server")["ok"] is True


def test_names_are_hashed_with_the_tenants_own_salt() -> None:
    assert chain.hidden("one", "ada") != chain.hidden("two", "ada")
    assert chain.hidden("one", None) == chain.hidden("one", "") == ""


@pytest.mark.parametrize(("level", "kinds"), [("all", ["write", "read"]), ("changes", ["write"]), ("off", [])])
def test_the_setting_says_what_is_noted(
    cli: Cli,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    level: str,
    kinds: list[str],
) -> None:
    monkeypatch.setenv("MEMORIST_AUDIT", level)
    cli.ok("remember", "Tea is green.")
    cli.ok("list")
    monkeypatch.setenv("MEMORIST_AUDIT", "off")
    assert [json.loads(line)["kind"] for line in cli.ok("audit", "export").out.splitlines()] == kinds

"""What an API key may do at the command line, and what only the operator of the database may."""

from contextlib import closing
from pathlib import Path

import pytest

from memorist.bootstrap import open_core
from memorist.context.companion import Category
from memorist.platform.values import Principal, Role
from tests.cli.conftest import Cli
from tests.support.stores import bare


@pytest.fixture
def ada(cli: Cli) -> str:
    return cli.key("user", "--user", "ada")


@pytest.fixture
def bob(cli: Cli) -> str:
    return cli.key("user", "--user", "bob")


def test_a_user_key_sees_its_own_memories_only(cli: Cli, ada: str, bob: str) -> None:
    memory_id = cli.json("remember", "ada's secret", "--key", ada)["id"]
    assert cli.texts("--key", ada) == {"ada's secret"}
    assert cli.texts("--key", bob) == set()
    for command in (["show"], ["events"], ["edit", "--importance", "1"], ["forget"]):
        assert cli(*command, memory_id, "--key", bob).code == 3, command
    assert "secret" not in cli.ok("export", "--key", bob).out
    assert "secret" in cli.ok("export", "--key", ada).out


def test_a_user_key_acts_for_nobody_else(cli: Cli, ada: str) -> None:
    for command in (["list"], ["remember", "x"], ["export"], ["reset", "--yes"], ["section"]):
        assert cli(*command, "--user", "bob", "--key", ada).code == 4, command
    for command in (["list", "--all-users"], ["reset", "--all", "--yes"], ["remember", "x", "--shared"]):
        assert cli(*command, "--key", ada).code == 4, command


def test_a_key_ignores_the_user_and_tenant_of_the_settings(cli: Cli, ada: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_API_KEY", ada)
    monkeypatch.setenv("MEMORIST_USER", "bob")
    monkeypatch.setenv("MEMORIST_TENANT", "other")
    assert cli.json("remember", "x")["user"] == "ada"


def test_a_reader_writes_nothing(cli: Cli) -> None:
    memory_id = cli.json("remember", "x", "--user", "ada")["id"]
    export = cli.ok("export").out.encode()
    reader = cli.key("reader", "--user", "ada")
    assert cli.texts("--key", reader) == {"x"}
    for command in (
        ["remember", "y"],
        ["edit", memory_id, "--importance", "1"],
        ["forget", memory_id],
        ["reset", "--yes"],
        ["import", "-"],
        ["keys", "create", "--role", "reader"],
        ["keys", "list"],
    ):
        assert cli(*command, "--key", reader, stdin=export).code == 4, command


def test_a_service_key_acts_for_whom_it_names(cli: Cli) -> None:
    service = cli.key("service")
    assert cli("remember", "x", "--key", service).code == 4
    assert cli.json("remember", "x", "--key", service, "--user", "ada")["user"] == "ada"
    assert cli("reset", "--yes", "--key", service).code == 2
    assert cli("list", "--all-users", "--key", service).code == 4


def test_tenants_are_isolated(cli: Cli) -> None:
    memory_id = cli.json("remember", "here")["id"]
    stranger = cli.key("admin", "--tenant", "acme")
    assert cli.texts("--key", stranger, "--all-users") == set()
    assert cli("show", memory_id, "--key", stranger).code == 3
    assert cli("show", memory_id, "--tenant", "acme", "--all-users").code == 3
    assert cli("list", "--tenant", "local", "--key", stranger).code == 4
    assert cli.texts("--tenant", "acme", "--key", stranger) == set()
    cli.ok("reset", "--all", "--yes", "--key", stranger)
    assert cli.texts() == {"here"}


def test_an_admin_key_makes_keys_of_its_own_tenant_only(cli: Cli) -> None:
    admin = cli.key("admin", "--tenant", "acme")
    made = cli.json("keys", "create", "--role", "user", "--user", "ada", "--key", admin)
    assert made["tenant"] == "acme"
    assert cli("keys", "create", "--role", "admin", "--tenant", "local", "--key", admin).code == 4
    assert {key["tenant"] for key in cli.json("keys", "list", "--key", admin)["items"]} == {"acme"}
    local = cli.json("keys", "create", "--role", "admin")["id"]
    assert cli("keys", "revoke", local, "--key", admin).code == 3
    cli.ok("keys", "revoke", made["id"], "--key", admin)


def test_an_admin_key_erases_a_tenant_only_when_told_so(cli: Cli) -> None:
    admin = cli.key("admin")
    cli.ok("remember", "x", "--user", "ada")
    assert cli("reset", "--yes", "--key", admin).code == 2
    assert cli.texts("--key", admin, "--all-users") == {"x"}
    assert cli.json("reset", "--yes", "--all", "--key", admin)["erased"] == 1


@pytest.mark.parametrize(
    "command", [["tenants", "list"], ["tenants", "create", "x"], ["db", "status"], ["db", "check"], ["db", "migrate"]]
)
def test_the_database_itself_is_the_operators(cli: Cli, command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    admin = cli.key("admin")
    assert cli(*command, "--key", admin).code == 4
    monkeypatch.setenv("MEMORIST_API_KEY", admin)
    assert cli(*command).code == 4


def test_a_revoked_or_mistyped_key_is_nobody(cli: Cli, ada: str) -> None:
    assert cli("list", "--key", ada[:-1] + ("0" if ada[-1] != "0" else "1")).code == 4
    assert cli("list", "--key", "").code == 0


def test_operator_who_names_a_user_is_noted_and_sees_no_entry_among_everybodys(cli: Cli, data: Path) -> None:
    cli.ok("remember", "Tea at five.")
    with closing(open_core(bare(str(data / "memorist.db")))) as core:
        for user in ("local", "bob"):
            core.companion.add(Principal("local", Role.USER, user), f"A goal of {user}.", Category.GOAL)
    assert cli.texts("--all-users") == {"Tea at five."}
    (own,) = cli.json("memory")["items"]
    (other,) = cli.json("memory", "--user", "bob")["items"]
    assert "read_for_user" not in cli.ok("show", own["id"], "--json").out
    with closing(open_core(bare(str(data / "memorist.db")))) as core:
        trail = [core.memories.events(Principal("local", Role.USER, one), id_) for one, id_ in (
            ("local", own["id"]), ("bob", other["id"]),
        )]  # fmt: skip
    assert ["read_for_user" in [event.event_type for event in events] for events in trail] == [False, True]


def test_a_token_stands_for_one_user_until_it_is_revoked(cli: Cli) -> None:
    made = cli.json("tokens", "create", "ada", "--rights", "read", "--minutes", "5", "--key", cli.key("service"))
    assert (made["user"], made["rights"]) == ("ada", "read")
    cli.ok("remember", "ada's secret", "--user", "ada")
    assert cli.texts("--key", made["token"]) == {"ada's secret"}
    for command in (["remember", "y"], ["tokens", "create", "ada"], ["list", "--user", "bob"]):
        assert cli(*command, "--key", made["token"]).code == 4, command
    assert cli.json("tokens", "revoke", "ada") == {"revoked": 1}
    assert cli("list", "--key", made["token"]).code == 4


def test_the_operator_makes_a_token_without_a_key(cli: Cli) -> None:
    token = cli.ok("tokens", "create", "ada").out.split()[0]
    cli.ok("remember", "mine", "--key", token)
    assert cli.texts("--user", "ada") == {"mine"}
    assert [key["label"] for key in cli.json("keys", "list")["items"]] == ["tokens"]

"""`memorist dashboard`: a link that signs in once."""

from pathlib import Path

import pytest

from memorist.bootstrap import open_core
from memorist.errors import Unauthenticated
from memorist.model import Role
from memorist.settings import Settings
from tests.cli.conftest import Cli


def enter(data: Path, link: str) -> tuple[str, str | None, Role]:
    """Use a link up: the tenant, the user and the role that it signs in as."""
    core = open_core(Settings(data=data, embedder="off", reranker="off"))
    try:
        principal, _ = core.sign_ins.find(core.sign_ins.enter(link.split("link=")[1].strip()))
        return principal.tenant, principal.user, principal.role
    finally:
        core.close()


def test_link_signs_the_operator_in_once(cli: Cli, data: Path) -> None:
    result = cli.ok("dashboard")
    assert result.out.startswith("http://127.0.0.1:8377/dashboard/enter?link=")
    assert result.out.count("\n") == 1
    assert "15 minutes" in result.err
    assert enter(data, result.out) == ("local", "local", Role.ADMIN)
    with pytest.raises(Unauthenticated):
        enter(data, result.out)


def test_link_for_programs_says_how_long_it_lives(cli: Cli, data: Path) -> None:
    printed = cli.json("dashboard")
    assert set(printed) == {"url", "expires_in_s"}
    assert printed["expires_in_s"] == 900
    assert enter(data, printed["url"])[2] is Role.ADMIN


def test_second_link_makes_no_second_key(cli: Cli) -> None:
    for _ in range(3):
        cli.ok("dashboard")
    (key,) = cli.json("keys", "list")["items"]
    assert (key["role"], key["user"], key["label"]) == ("admin", "local", "dashboard")


@pytest.mark.parametrize(
    ("options", "address"),
    [
        (["--url", "https://memory.example.com/"], "https://memory.example.com"),
        (["--url", "http://[::1]:9000"], "http://[::1]:9000"),
    ],
)
def test_address_is_the_one_that_was_given(cli: Cli, options: list[str], address: str) -> None:
    assert cli.json("dashboard", *options)["url"].startswith(f"{address}/dashboard/enter?link=")


def test_address_follows_the_settings(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_HOST", "::1")
    monkeypatch.setenv("MEMORIST_PORT", "9000")
    assert cli.ok("dashboard").out.startswith("http://[::1]:9000/dashboard/enter?link=")


def test_link_is_for_the_user_and_tenant_that_were_named(cli: Cli, data: Path) -> None:
    link = cli.json("dashboard", "--tenant", "acme", "--user", "ada")["url"]
    assert enter(data, link) == ("acme", "ada", Role.ADMIN)


def test_only_an_admin_key_makes_links(cli: Cli, data: Path) -> None:
    for role in ("user", "reader", "service"):
        assert cli("dashboard", "--key", cli.key(role, "--user", "ada")).code == 4, role
    link = cli.json("dashboard", "--key", cli.key("admin", "--user", "ada"))["url"]
    assert enter(data, link) == ("local", "ada", Role.ADMIN)

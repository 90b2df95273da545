"""`memorist archive`, `restore`, `policy` and `sweep`."""

from pathlib import Path

from memorist import Memorist
from memorist.memories.values import Draft, Kind, Retention
from tests.cli.conftest import Cli


def aging(data: Path, count: int = 3) -> list[str]:
    """Memories that the policy ages."""
    with Memorist.open(data) as memorist:
        user = memorist.user("local")
        drafts = [Draft(f"message {number}", Kind.CHAT_MESSAGE, retention=Retention.POLICY) for number in range(count)]
        return [one.memory.id for one in user.remember_all(drafts)]


def test_archived_and_restored_memories_leave_the_list_and_come_back(cli: Cli) -> None:
    ids = [cli.json("remember", text)["id"] for text in ("a", "b", "c")]
    archived = cli.json("archive", *ids[:2])["items"]
    assert [(item["id"], item["status"]) for item in archived] == [(ids[0], "archived"), (ids[1], "archived")]
    assert cli.texts() == {"c"}
    assert cli.json("show", ids[0])["status"] == "archived"
    assert cli.ok("restore", ids[0]).out.strip() == ids[0]
    cli.ok("forget", ids[2])
    assert [item["status"] for item in cli.json("restore", ids[2])["items"]] == ["active"]
    assert cli.texts() == {"a", "c"}
    refused = cli("archive", ids[0], ids[1], ids[2])
    assert (refused.code, refused.out.split()) == (5, [ids[0]])


def test_policy_is_shown_and_changed(cli: Cli) -> None:
    shown = cli.json("policy", "show")
    assert (shown["mode"], shown["active_days"], shown["revision"]) == ("auto", 90, 0)
    assert "acts_from" in cli.ok("policy", "show").out
    changed = cli.json("policy", "set", "--mode", "enforce", "--grace-days", "3.5", "--no-archive")
    assert (changed["mode"], changed["grace_days"], changed["archive"]) == ("enforce", 3.5, False)
    cli.ok("policy", "set", "--kind", "chat_message", "--active-days", "14")
    cli.ok("policy", "set", "--derived-facts", "erase", "--anonymize-after-days", "5", "--archive")
    shown = cli.json("policy", "show", "--history")
    assert shown["kinds"] == {"chat_message": {"active_days": 14}}
    assert (shown["derived_facts"], shown["anonymize_after_days"], shown["archive"]) == ("erase", 5, True)
    assert [one["revision"] for one in shown["history"]] == [3, 2, 1]
    assert cli.json("policy", "set", "--clear-kind", "chat_message")["kinds"] == {}
    assert cli.json("policy", "set", "--no-users-share-documents")["users_share_documents"] is False
    assert cli.json("policy", "show")["users_share_documents"] is False
    assert "observe" not in cli.ok("policy", "show").out


def test_dry_run_of_a_policy_says_what_it_touches_and_changes_nothing(cli: Cli, data: Path) -> None:
    aging(data)
    told = cli.json("policy", "set", "--active-days", "0", "--dry-run")
    assert (told["touched"], told["due"]) == ({"chat_message": 3}, {"archived": {"chat_message": 3}})
    assert cli.json("policy", "show")["revision"] == 0
    shown = cli.ok("policy", "set", "--active-days", "0", "--dry-run")
    assert "chat_message" in shown.out
    assert "Nothing was changed." in shown.err


def test_bad_policies_are_refused(cli: Cli) -> None:
    assert cli("policy", "set", "--json").error["code"] == "invalid_request"
    assert cli("policy", "set", "--kind", "fact", "--json").error["field"] == "kind"
    assert cli("policy", "set", "--active-days", "-1", "--json").error["field"] == "active_days"
    assert cli("policy", "set", "--derived-facts", "burn", "--json").error["field"] == "derived_facts"


def test_sweep_observes_until_the_policy_is_enforced(cli: Cli, data: Path) -> None:
    ids = aging(data)
    assert cli.ok("sweep").err == "Nothing is due.\n"
    cli.ok("policy", "set", "--active-days", "0")
    [dry] = cli.json("sweep", "--dry-run")["sweeps"]
    [observed] = cli.json("sweep")["sweeps"]
    for one in (dry, observed):
        assert (one["mode"], one["due"], one["done"]) == ("observe", {"archived": {"chat_message": 3}}, {})
    assert sorted(observed["samples"]["archived"]) == sorted(ids)
    assert "the policy observes" in cli.ok("sweep").err
    cli.ok("policy", "set", "--mode", "enforce")
    [done] = cli.json("sweep")["sweeps"]
    assert (done["done"], done["due"]) == ({"archived": {"chat_message": 3}}, {})
    assert cli.texts() == set()


def test_sweep_is_of_one_tenant_where_one_is_named(cli: Cli, data: Path) -> None:
    aging(data)
    cli.ok("tenants", "create", "other")
    assert [one["tenant"] for one in cli.json("sweep")["sweeps"]] == ["local", "other"]
    assert [one["tenant"] for one in cli.json("sweep", "--tenant", "other")["sweeps"]] == ["other"]
    assert [one["tenant"] for one in cli.json("sweep", "--key", cli.key("admin"))["sweeps"]] == ["local"]


def test_policies_and_sweeps_take_an_admin(cli: Cli) -> None:
    key = cli.key("user", "--user", "ada")
    for command in (("policy", "show"), ("policy", "set", "--mode", "enforce"), ("sweep",)):
        refused = cli(*command, "--key", key, "--json")
        assert (refused.code, refused.error["code"]) == (4, "forbidden")


def test_memory_with_a_ttl_ends(cli: Cli) -> None:
    memory = cli.json("remember", "short", "--ttl-minutes", "0.00001")
    assert memory["expires_at"] > memory["created_at"]
    assert cli.texts() == set()
    assert cli.json("sweep")["sweeps"][0]["done"] == {"expired": {"fact": 1}}
    for bad in ("0", "-5", "nan", "1e300", "soon"):
        assert cli("remember", "x", "--ttl-minutes", bad).code != 0

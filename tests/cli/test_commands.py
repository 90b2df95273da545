"""What each command does, and the shape of what it prints."""

import dataclasses
import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from memorist import bootstrap
from memorist.memories.values import Memory
from memorist.settings import Settings
from tests.cli.conftest import Cli

RECORD = {field.name for field in dataclasses.fields(Memory)} - {"tenant", "owner", "redacted"} | {
    "user",
    "agent",
    "version",
}


def test_remembered_text_is_listed_and_shown(cli: Cli) -> None:
    printed = cli.ok("remember", "Deploys happen on Fridays.", "--category", "project")
    memory_id = printed.out.strip()
    assert memory_id.startswith("mem_")
    assert "Remembered." in printed.err
    listed = cli.ok("list")
    assert memory_id in listed.out
    assert "Deploys happen on Fridays." in listed.out
    assert "Deploys happen on Fridays." in cli.ok("show", memory_id).out


def test_remember_takes_every_field(cli: Cli) -> None:
    made = cli.json(
        "remember", "the text", "--category", "project", "--name", "a_name", "--description", "one line",
        "--importance", "7", "--project", "/work", "--session", "s1", "--kind", "chat_message",
        "--confidence", "0.5", "--meta", '{"a": [1]}', "--user", "ada", "--agent", "coder",
    )  # fmt: skip
    assert set(made) == RECORD | {"was_new", "replayed"}
    expected = {
        "content": "the text", "category": "project", "name": "a_name", "description": "one line", "importance": 7,
        "project": "/work", "session": "s1", "kind": "chat_message", "confidence": 0.5, "meta": {"a": [1]},
        "user": "ada", "agent": "coder", "was_new": True, "replayed": False,
    }  # fmt: skip
    assert {name: made[name] for name in expected} == expected


def test_remember_reads_a_dash_from_stdin(cli: Cli) -> None:
    made = cli.json("remember", "-", stdin="zwei\nZeilen ✓\n".encode())
    assert made["content"] == "zwei\nZeilen ✓"


def test_the_same_fact_is_remembered_once(cli: Cli) -> None:
    first = cli.json("remember", "once")
    again = cli.ok("remember", "once")
    assert again.out.strip() == first["id"]
    assert "already" in again.err


def test_idempotency_key_replays_the_answer(cli: Cli) -> None:
    first = cli.json("remember", "x", "--idempotency-key", "k", "--kind", "chat_message")
    second = cli.json("remember", "x", "--idempotency-key", "k", "--kind", "chat_message")
    assert (first["id"], first["replayed"]) == (second["id"], False)
    assert second["replayed"]


def test_shared_memory_is_seen_by_every_user(cli: Cli) -> None:
    cli.ok("remember", "for all", "--shared")
    assert cli.texts("--user", "somebody") == {"for all"}


def test_list_pages_with_a_cursor_and_all_reads_every_page(cli: Cli) -> None:
    for number in range(5):
        cli.ok("remember", f"text {number}")
    page = cli.json("list", "--limit", "2")
    assert set(page) == {"items", "next_cursor"}
    assert [item["content"] for item in page["items"]] == ["text 4", "text 3"]
    rest = cli.json("list", "--limit", "2", "--cursor", page["next_cursor"])
    assert [item["content"] for item in rest["items"]] == ["text 2", "text 1"]
    everything = cli.json("list", "--all")
    assert everything["next_cursor"] is None
    assert len(everything["items"]) == 5
    assert set(everything["items"][0]) == RECORD
    assert page["next_cursor"] in cli.ok("list", "--limit", "2").err


def test_list_all_goes_past_the_largest_page(cli: Cli, data: Path) -> None:
    from memorist import Draft, Memorist

    with Memorist.open(data) as memorist:
        memorist.user("local").remember_all(Draft(f"text {number}") for number in range(230))
    assert len(cli.texts()) == 230
    printed = cli.ok("list", "--all").out
    assert sum(line.startswith("mem_") for line in printed.splitlines()) == 230


def test_list_filters(cli: Cli) -> None:
    cli.ok("remember", "plain")
    cli.ok("remember", "goal", "--category", "goal", "--project", "p", "--session", "s")
    cli.ok("remember", "said", "--kind", "chat_message")
    cli.ok("remember", "named", "--name", "n", "--importance", "3")
    assert cli.texts("--category", "goal") == {"goal"}
    assert cli.texts("--project", "p") == {"goal"}
    assert cli.texts("--session", "s") == {"goal"}
    assert cli.texts("--kind", "chat_message") == {"said"}
    assert cli.texts("--named", "--order", "importance") == {"named"}
    assert cli.texts("--status", "soft_deleted") == set()


def test_an_empty_list_says_so_on_stderr_only(cli: Cli) -> None:
    result = cli.ok("list")
    assert result.out == ""
    assert "Nothing is remembered" in result.err


def test_all_users_shows_the_whole_tenant(cli: Cli) -> None:
    mine = cli.json("remember", "ada's", "--user", "ada")["id"]
    assert cli.texts() == set()
    assert cli.texts("--all-users") == {"ada's"}
    assert "ada" in cli.ok("list", "--all-users").out
    assert cli("show", mine).code == 3
    assert cli.json("show", mine, "--all-users")["content"] == "ada's"
    assert cli("events", mine).code == 3
    assert len(cli.json("events", mine, "--all-users")["items"]) == 1


def test_edit_changes_and_clears_fields(cli: Cli) -> None:
    memory_id = cli.json("remember", "old", "--category", "goal", "--project", "p")["id"]
    edited = cli.json("edit", memory_id, "--content", "-", "--importance", "4", "--clear", "project", stdin=b"new\n")
    assert (edited["content"], edited["importance"], edited["project"]) == ("new", 4, None)
    assert edited["category"] == "goal"
    assert cli("edit", memory_id).code == 2
    assert cli("edit", memory_id, "--clear", "content").code == 2
    assert cli("edit", memory_id, "--clear", "nonsense").code == 2
    assert cli("edit", memory_id, "--category", "x", "--clear", "category").code == 2


def test_edit_of_an_old_version_is_refused(cli: Cli) -> None:
    before = cli.json("remember", "old")
    after = cli.json("edit", before["id"], "--content", "new", "--if-version", before["version"])
    assert after["version"] != before["version"]
    stale = cli("edit", before["id"], "--content", "other", "--if-version", before["version"], "--json")
    assert (stale.code, stale.error["code"]) == (5, "stale_version")


def test_entry_of_the_companion_is_written_anew_and_never_changed(cli: Cli, data: Path) -> None:
    from memorist.context.companion import Category
    from memorist.surfaces.library import Memorist

    cli.ok("remember", "Something else.")
    with Memorist.open(data) as memorist:
        entry = memorist.user("local").add_entry("Run a marathon.", Category.GOAL).memory
    assert cli.json("show", entry.id)["governed_by"] == "companion"
    assert "companion" in cli.ok("show", entry.id).out
    refused = cli("edit", entry.id, "--content", "Run a mile.", "--json")
    assert (refused.code, refused.error["code"]) == (5, "not_editable")
    assert "Write it anew" in refused.error["message"]
    assert cli("edit", entry.id, "--anew", "--importance", "3").code == 2
    written = cli.json("edit", entry.id, "--anew", "--content", "Run a mile.", "--category", "history")
    assert (written["content"], written["category"], written["governed_by"]) == ("Run a mile.", "history", "companion")
    assert cli("show", entry.id).code == 3


def test_forgotten_memories_leave_the_list(cli: Cli) -> None:
    ids = [cli.json("remember", text)["id"] for text in ("a", "b", "c")]
    forgotten = cli.json("forget", *ids[:2])["items"]
    assert [item["id"] for item in forgotten] == ids[:2]
    assert all(item["status"] == "soft_deleted" for item in forgotten)
    assert cli.texts() == {"c"}
    assert cli.ok("forget", ids[2]).out.strip() == ids[2]


def test_forget_stops_at_the_first_unknown_id_and_prints_what_it_did(cli: Cli) -> None:
    first, last = (cli.json("remember", text)["id"] for text in ("a", "b"))
    result = cli("forget", first, "mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3", last)
    assert (result.code, result.out.split()) == (3, [first])
    assert cli.texts() == {"b"}


def test_events_tell_the_history(cli: Cli) -> None:
    memory_id = cli.json("remember", "x")["id"]
    cli.ok("edit", memory_id, "--importance", "2")
    cli.ok("forget", memory_id)
    items = cli.json("events", memory_id)["items"]
    assert [item["event_type"] for item in items] == ["created", "updated", "deleted"]
    assert {item["source"] for item in items} == {"cli"}
    assert "deleted" in cli.ok("events", memory_id).out


def test_section_lists_the_named_memories_of_a_profile(cli: Cli) -> None:
    cli.ok("remember", "body", "--name", "style", "--category", "feedback", "--description", "be brief", "--agent", "a")
    cli.ok("remember", "body", "--name", "other", "--category", "feedback", "--agent", "b")
    printed = cli.ok("section", "--agent", "a").out
    assert printed.startswith("<memories>")
    assert "- style (feedback): be brief" in printed
    assert "other" not in printed
    assert cli.json("section", "--agent", "a")["count"] == 1


def test_key_is_made_with_an_end(cli: Cli) -> None:
    for when in ("90d", "12h", "2999-01-31", "2999-01-31T12:00:00+02:00"):
        made = cli.ok("keys", "create", "--role", "admin", "--expires", when, "--json").json
        assert made["expires_at"] is not None
    listed = cli.json("keys", "list")["items"]
    assert {key["expires_at"] for key in listed} >= {"2999-01-31T00:00:00.000000Z", "2999-01-31T10:00:00.000000Z"}
    for when in ("soon", "2001-01-01", "-1d"):
        refused = cli("keys", "create", "--role", "admin", f"--expires={when}")
        assert refused.code == 2
        assert "expires must" in refused.err


def test_keys_are_created_listed_and_revoked(cli: Cli) -> None:
    made = cli.ok("keys", "create", "--role", "user", "--user", "ada", "--tenant", "acme", "--label", "l", "--json")
    key = made.json
    assert set(key) == {"id", "key", "tenant", "role", "user", "agent", "label", "created_at", "expires_at"}
    assert (key["tenant"], key["role"], key["user"], key["agent"], key["label"]) == ("acme", "user", "ada", None, "l")
    assert "acme is new" in made.err
    [listed] = cli.json("keys", "list", "--tenant", "acme")["items"]
    assert listed["id"] == key["id"]
    assert listed["revoked_at"] is None
    assert "key" not in listed
    cli.ok("list", "--key", key["key"])
    cli.ok("keys", "revoke", key["id"], "--tenant", "acme")
    assert cli("list", "--key", key["key"]).code == 4
    assert cli("keys", "revoke", key["id"], "--tenant", "acme").code == 3
    assert cli.json("keys", "list", "--tenant", "acme")["items"][0]["revoked_at"]
    assert key["id"] in cli.ok("keys", "list", "--tenant", "acme").out


def test_a_key_without_json_is_alone_on_stdout(cli: Cli) -> None:
    made = cli.ok("keys", "create", "--role", "admin")
    assert made.out.startswith("mst_live_")
    assert len(made.out.split()) == 1
    cli.ok("list", "--key", made.out.strip())


def test_a_user_key_needs_its_user_and_makes_no_tenant(cli: Cli) -> None:
    assert cli("keys", "create", "--role", "user", "--tenant", "acme").code == 2
    assert cli("keys", "create").code == 2
    assert cli.json("tenants", "list")["items"] == []


def test_tenants_are_created_once(cli: Cli) -> None:
    assert cli.json("tenants", "create", "acme")["was_new"]
    assert not cli.json("tenants", "create", "acme")["was_new"]
    assert "exists" in cli.ok("tenants", "create", "acme").err
    assert [tenant["id"] for tenant in cli.json("tenants", "list")["items"]] == ["acme"]
    assert "acme" in cli.ok("tenants", "list").out
    assert cli("tenants", "create", "Not A Name").code == 2


def test_serve_hands_the_settings_to_the_server(cli: Cli, monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    served: list[tuple[Settings, bool, str]] = []

    def run(settings: Settings, *, as_json: bool, origins: Mapping[str, str]) -> None:
        served.append((settings, as_json, origins["port"]))

    monkeypatch.setattr(bootstrap, "run_server", run)
    cli.ok("serve", "--host", "::1", "--port", "9000", "--data", str(data / "other"), "--json")
    (settings, as_json, origin) = served[0]
    assert (settings.host, settings.port, settings.data, as_json) == ("::1", 9000, data / "other", True)
    assert origin == "flag"
    assert cli("serve", "--port", "70000").code == 2


def test_config_shows_values_and_origins_and_masks_secrets(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_API_KEY", "mst_live_secret")
    monkeypatch.setenv("MEMORIST_DATABASE", "postgresql://me:hunter2@host/db?sslmode=require&password=hunter3")
    monkeypatch.setenv("MEMORIST_USR", "x")
    shown = cli.json("config", "show", "--user", "ada")
    assert shown["settings"]["user"] == {"value": "ada", "origin": "flag"}
    assert shown["settings"]["port"] == {"value": 8377, "origin": "default"}
    assert shown["settings"]["api_key"]["origin"] == "MEMORIST_API_KEY"
    assert "MEMORIST_USR" in shown["warnings"][0]
    plain = cli.ok("config", "show")
    assert "MEMORIST_USR" in plain.err
    assert "host/db?sslmode=require" in plain.out
    for output in (str(shown), plain.out, plain.err):
        assert not any(secret in output for secret in ("mst_live_secret", "hunter2", "hunter3"))


def test_a_named_folder_and_a_database_from_the_environment_are_refused_together(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MEMORIST_DATABASE", str(tmp_path / "environment.db"))
    result = cli("remember", "where?", "--data", str(tmp_path / "folder"))
    assert (result.code, str(tmp_path / "folder") in result.err, "MEMORIST_DATABASE" in result.err) == (2, True, True)
    assert not (tmp_path / "folder").exists()
    cli.ok("remember", "in the file", "--data", str(tmp_path / "folder"), "--database", str(tmp_path / "named.db"))
    assert (tmp_path / "named.db").exists()


def test_store_of_the_folder_or_above_it_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    below = tmp_path / "home" / "shop" / "src"
    (tmp_path / "home" / "shop" / ".memorist").mkdir(parents=True)
    below.mkdir()
    command = [sys.executable, "-m", "memorist"]
    monkeypatch.chdir(below)
    subprocess.run([*command, "remember", "Ours."], check=True, capture_output=True)
    assert (tmp_path / "home" / "shop" / ".memorist" / "memorist.db").exists()
    listed = subprocess.run([*command, "list", "--json"], check=True, capture_output=True, text=True)
    assert [one["content"] for one in json.loads(listed.stdout)["items"]] == ["Ours."]
    assert "Store:" not in listed.stderr, "there is no terminal"
    installed = subprocess.run(
        [*command, "install", "claude-code", "--dry-run", "--json"], check=True, capture_output=True, text=True
    )
    assert str(tmp_path / "home" / "shop" / ".memorist") in installed.stdout, "an assistant is started elsewhere"


def test_a_mistyped_variable_is_told_where_the_server_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMORIST_PORTT", "1")
    (tmp_path / "a file").touch()
    command = [sys.executable, "-m", "memorist", "serve", "--data", str(tmp_path / "a file")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.stderr.splitlines()[0] == (
        "warning: MEMORIST_PORTT is no setting of Memorist. Did you mean MEMORIST_PORT?"
    )


def test_on_a_terminal_a_command_says_which_store_it_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMORIST_PORTT", "1")
    ours, theirs = pty.openpty()
    try:
        subprocess.run([sys.executable, "-m", "memorist", "list"], check=True, stdout=subprocess.PIPE, stderr=theirs)
        said = os.read(ours, 4096).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    folder = tmp_path / "home" / ".local" / "share" / "memorist"
    assert f"Store: {folder / 'memorist.db'} (the default)" in said.replace("\r\n", "")
    assert "MEMORIST_PORTT is no setting of Memorist." in said


def test_on_a_terminal_a_command_says_which_server_it_asks() -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "memorist", "list", "--url", "http://127.0.0.1:9", "--key", "x"]
    try:
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=theirs)
        said = os.read(ours, 4096).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert (done.returncode, "Server: http://127.0.0.1:9 (--url)" in said) == (6, True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(cli: Cli, shell: str) -> None:
    assert "_MEMORIST_COMPLETE" in cli.ok("completion", shell).out
    assert cli.json("completion", shell)["shell"] == shell


def test_completion_takes_the_login_shell(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    assert cli.json("completion")["shell"] == "zsh"
    monkeypatch.setenv("SHELL", "/usr/bin/tcsh")
    assert cli("completion").code == 2

"""`memorist encryption`: what the operator sees, and what is refused."""

from pathlib import Path

import pytest

from memorist.running_servers import noted
from memorist.settings_sources import load_settings
from tests.cli.conftest import Cli
from tests.support.stores import MASTER_KEY, bytes_in

NONE = {"tenant": "local", "is_encrypted": False, "is_complete": False, "keys": 0, "master": ""}


def test_tenant_is_encrypted_and_its_keys_are_changed(
    cli: Cli, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = cli.ok("remember", "The quetzal sings at dawn.").out.strip()
    assert cli.json("encryption", "status") == {"key_is_set": False, "items": [NONE]}
    assert cli("encryption", "enable", "--json").error["code"] == "encryption_key"
    assert b"quetzal" in bytes_in(data)

    key = tmp_path / "master.key"
    key.write_text(MASTER_KEY)
    monkeypatch.setenv("MEMORIST_ENCRYPTION_KEY_FILE", str(key))
    done = cli.json("encryption", "enable")
    assert (done["tenants"], done["rows"] > 0) == (["local"], True)
    assert cli.json("encryption", "enable", "--all")["rows"] == 0
    assert b"quetzal" not in bytes_in(data)
    assert "quetzal" in cli.ok("show", memory).out
    (status,) = cli.json("encryption", "status")["items"]
    assert (status["is_complete"], status["keys"]) == (True, 1)
    assert "yes" in cli.ok("encryption", "status").out

    key.write_text(f"{'A' * 43}=\n{MASTER_KEY}\n")
    assert cli.json("encryption", "rotate")["keys_wrapped"] == 1
    again = cli.json("encryption", "rotate", "--new-data-key")
    assert (again["keys_wrapped"], again["rows"] >= done["rows"]) == (0, True)
    key.write_text(f"{'A' * 43}=\n")
    assert "quetzal" in cli.ok("show", memory).out

    monkeypatch.delenv("MEMORIST_ENCRYPTION_KEY_FILE")
    assert cli("show", memory, "--json").error["code"] == "encryption_key"
    (missing,) = [one for one in cli("doctor", "--json").json["checks"] if one["check"] == "encryption"]
    assert missing["state"] == "problem"
    # What takes no text takes no key.
    assert cli.json("encryption", "status")["key_is_set"] is False
    assert cli.json("db", "check")["ok"]


def test_server_without_the_key_is_in_the_way(cli: Cli, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.ok("remember", "x")
    with noted(load_settings({"data": data}).settings, "http://127.0.0.1:1"):
        monkeypatch.setenv("MEMORIST_ENCRYPTION_KEY", MASTER_KEY)
        assert cli("encryption", "enable", "--json").error["code"] == "conflict"
    assert cli.json("encryption", "enable")["rows"]


def test_key_is_nowhere_to_be_seen(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_ENCRYPTION_KEY", MASTER_KEY)
    cli.ok("remember", "x")
    assert MASTER_KEY not in cli.ok("config", "show").out
    assert MASTER_KEY not in cli.ok("config", "show", "--json").out

"""`memorist watch`: what happened, as it happens, and from a position on."""

import json
import os
import signal
import subprocess

from tests.cli.conftest import EXECUTABLE, Cli


def told(output: str) -> list[tuple[str, str]]:
    return [(record["action"], record["memory_id"]) for record in map(json.loads, output.splitlines())]


def test_what_is_there_is_printed_from_any_position(cli: Cli) -> None:
    first = cli.json("remember", "one")["id"]
    second = cli.json("remember", "two")["id"]
    cli.ok("forget", first)
    expected = [("created", first), ("created", second), ("deleted", first)]
    printed = cli.ok("watch", "--once", "--json").out
    assert told(printed) == expected
    for index, line in enumerate(printed.splitlines()):
        position = json.loads(line)["position"]
        assert told(cli.ok("watch", "--once", "--json", "--after", position).out) == expected[index + 1 :]
    plain = cli.ok("watch", "--once").out.splitlines()
    assert [line.split()[1:3] for line in plain] == [[action, memory_id] for action, memory_id in expected]


def test_others_memories_are_the_admins_to_watch(cli: Cli) -> None:
    his = cli.json("remember", "bob's", "--user", "bob")["id"]
    assert cli.ok("watch", "--once", "--json").out == ""
    assert told(cli.ok("watch", "--once", "--json", "--all-users").out) == [("created", his)]
    key = cli.key("user", "--user", "ada")
    assert cli("watch", "--once", "--all-users", "--key", key).code != 0


def test_wrong_position_is_refused(cli: Cli) -> None:
    assert cli("watch", "--once", "--after", "nonsense", "--json").error["code"] == "invalid_cursor"


def test_changes_of_other_processes_are_printed_as_they_happen(cli: Cli) -> None:
    cli.ok("remember", "before")
    with subprocess.Popen(
        [EXECUTABLE, "watch", "--after", "0-0", "--json"], stdout=subprocess.PIPE, text=True
    ) as watching:
        assert watching.stdout is not None
        assert json.loads(watching.stdout.readline())["action"] == "created"
        memory_id = cli.json("remember", "while it watches")["id"]
        assert told(watching.stdout.readline()) == [("created", memory_id)]
        os.kill(watching.pid, signal.SIGINT)
        assert watching.wait(timeout=30) == 130

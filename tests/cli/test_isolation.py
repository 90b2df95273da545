"""No command of anybody ever shows or changes a row of another tenant or user: random commands against the oracle."""

import json
from dataclasses import dataclass, field

from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memorist.testing import new_tenant
from tests.cli.conftest import Cli, Result
from tests.support.isolation import Owned, Who, assert_nothing_leaked, mark, who

COMMANDS = ["remember", "remember", "list", "show", "edit", "forget", "events", "section", "about", "export", "reset"]
CALLS = st.tuples(who(), st.sampled_from(COMMANDS), st.integers(0, 50))


@dataclass
class World:
    cli: Cli
    tenants: list[str] = field(default_factory=lambda: [new_tenant(), new_tenant()])
    keys: dict[tuple[object, ...], str] = field(default_factory=dict)
    rows: dict[str, Owned] = field(default_factory=dict)
    written: int = 0

    def call(self, caller: Who, command: str, number: int) -> None:
        target = list(self.rows)[number % len(self.rows)] if self.rows else "mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3"
        self.written += 1
        text = f"{mark(self.tenants[caller.tenant], caller.user, caller.agent)} {self.written}"
        arguments = {
            "remember": ["remember", text],
            "list": ["list", "--all"],
            "edit": ["edit", target, "--importance", str(number)],
            "section": ["section"],
            "about": ["about"],
            "export": ["export", "-"],
            "reset": ["reset", "--yes"],
        }.get(command, [command, target])
        result = self.cli(*arguments, "--json", *self._identity(caller))
        assert result.code in (0, 2, 3, 4, 5), result.err
        assert_nothing_leaked(caller, self.tenants, result.out + result.err)
        if result.code == 0:
            self._note(caller, command, target, result)

    def _note(self, caller: Who, command: str, target: str, result: Result) -> None:
        if command == "remember":
            row = json.loads(result.out)
            owner = (caller.tenant, row["user"] or "", row["agent"] or "")
            assert caller.may_write(*owner), f"{caller} wrote a row of {owner}"
            self.rows[row["id"]] = owner
        elif command in ("edit", "forget"):
            assert caller.may_write(*self.rows[target]), f"{caller} changed a row of {self.rows[target]}"
            if command == "forget":
                del self.rows[target]
        elif command == "reset":
            mine = {key for key, owner in self.rows.items() if self._is_own(caller, owner)}
            self.rows = {key: owner for key, owner in self.rows.items() if key not in mine}

    def _is_own(self, caller: Who, owner: Owned) -> bool:
        return owner[:2] == (caller.tenant, caller.user) and (caller.agent is None or owner[2] == caller.agent)

    def _identity(self, caller: Who) -> list[str]:
        binding = (caller.tenant, caller.role, caller.bound_user, caller.bound_agent)
        if binding not in self.keys:
            options = ["--tenant", self.tenants[caller.tenant]]
            options += ["--user", caller.bound_user] if caller.bound_user else []
            options += ["--agent", caller.bound_agent] if caller.bound_agent else []
            self.keys[binding] = self.cli.json("keys", "create", "--role", caller.role, *options)["key"]
        flags = ["--key", self.keys[binding]]
        flags += ["--user", caller.header_user] if caller.header_user else []
        return flags + (["--agent", caller.header_agent] if caller.header_agent else [])


@hypothesis_settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(calls=st.lists(CALLS, min_size=25, max_size=30))
def test_no_command_shows_or_changes_what_is_not_the_callers(cli: Cli, calls: list[tuple[Who, str, int]]) -> None:
    world = World(cli)
    for caller, command, number in calls:
        world.call(caller, command, number)
    for memory_id, owner in world.rows.items():
        kept = cli("show", memory_id, "--all-users", "--tenant", world.tenants[owner[0]], "--json")
        assert kept.code == 0, f"a row of {owner} is gone"

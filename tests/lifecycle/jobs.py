"""What other processes do in these tests. Each function opens what it needs and leaves nothing open."""

import random
from collections.abc import Callable
from datetime import datetime

from memorist.bootstrap import open_core
from memorist.errors import MemoristError
from memorist.memories.sweeper import Sweeper
from memorist.memories.values import Draft, Retention
from memorist.platform.values import Principal, Role
from memorist.testing import FrozenClock
from tests.support.stores import bare


def sweep_until_done(_: int, url: str, tenant: str, now: datetime, times: int) -> dict[str, int]:
    """Sweep as often, an hour apart; return how many memories this process moved, by move."""
    clock = FrozenClock(now)
    core = open_core(bare(url), clock=clock)
    sweeper = Sweeper(core.store, clock, core.policies, core.erasure, rest=lambda _: None)
    moved: dict[str, int] = {}
    try:
        for _ in range(times):
            for move, kinds in sweeper.sweep(tenant).done.items():
                moved[move] = moved.get(move, 0) + sum(kinds.values())
        return moved
    finally:
        core.close()


def write_meanwhile(number: int, url: str, tenant: str, ids: list[str], now: datetime, count: int) -> dict[str, int]:
    """Archive, delete, restore, edit and add while others sweep; return how often each was done."""
    core = open_core(bare(url), clock=FrozenClock(now))
    ada = Principal(tenant, Role.USER, "ada")
    rng = random.Random(number)
    done: dict[str, int] = {}
    verbs: dict[str, Callable[[Principal, str], object]] = {
        "archived": core.retention.archive,
        "deleted": core.retention.delete,
        "restored": core.retention.restore,
        "updated": lambda who, id_: core.memories.edit(who, id_, {"importance": rng.randrange(1, 10**6)}),
    }
    try:
        for index in range(count):
            if index % 5 == 0:
                core.memories.remember(ada, [Draft(f"by {number}: {index}", retention=Retention.POLICY)])
            event, verb = rng.choice(list(verbs.items()))
            try:
                verb(ada, rng.choice(ids))
            except MemoristError:
                continue  # Refused: somebody else was first.
            done[event] = done.get(event, 0) + 1
        return done
    finally:
        core.close()

"""An erasure that is interrupted anywhere is finished later, and never acknowledged half way."""

import random
from collections.abc import Callable, Iterable

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.erasure.values import ErasureStatus
from memorist.errors import StoreBusy
from memorist.memories.values import Draft, Memory
from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from memorist.testing import new_tenant
from tests.erasure.doomed import purge_and_die
from tests.erasure.plant import Planter
from tests.support.processes import CONTEXT
from tests.support.stores import bare

Held = Callable[[Iterable[str]], set[str]]


@pytest.fixture
def settings(own_database_url: str) -> Settings:
    """A database of its own: what is finished later is so in every tenant, and those of other tests are many."""
    return bare(own_database_url)


# How often a purge like the one below writes, scrubs or searches; more are counted where it takes more.
MOST_STEPS = 40


def killed_after(url: str, tenant: str, steps: int) -> bool:
    """Whether the process was killed, and not done before."""
    process = CONTEXT.Process(target=purge_and_die, args=(url, tenant, steps))
    process.start()
    process.join(60)
    code = process.exitcode
    process.close()
    assert code in (0, -9)
    return code != 0


def test_killed_at_every_step_and_finished_by_the_next_start(
    core: Core, settings: Settings, ada: Principal, rng: random.Random, held_by: Held
) -> None:
    kept = core.memories.remember(Principal(ada.tenant, Role.USER, "bob"), [Draft("what bob keeps, all the while")])
    kills = 0
    # A server is not what is tested here, and takes long to reach from new processes.
    stride = 1 if settings.sqlite_path() else 3
    for steps in range(1, MOST_STEPS, stride):
        planter = Planter(rng)
        planter.everywhere(core, ada, 60)
        if not killed_after(settings.database_url(), ada.tenant, steps):
            break
        kills += 1
        unfinished = core.store.read(ada.tenant, lambda tx: tx.receipts.unfinished(core.clock.now()))
        done = [one for one in core.erasure.receipts(ada) if one.status is ErasureStatus.DONE]
        # Each kill leaves one intention; a receipt appears with the last step, after which nothing is left to do.
        assert len(done) == kills - len(unfinished), steps
        if rng.random() < 0.5:
            core.erasure.resume()
        else:
            core.erasure.purge_user(ada)
        assert held_by(planter.markers) == set(), steps
        kills = len(core.erasure.receipts(ada))
        assert all(one.status is ErasureStatus.DONE for one in core.erasure.receipts(ada))
        assert all(one.verification and one.verification.ok for one in core.erasure.receipts(ada)), steps
    else:
        pytest.fail("the purge takes more steps than were tried")
    assert kills > 8 / stride
    assert core.memories.get(Principal(ada.tenant, Role.USER, "bob"), kept[0].memory.id).content.startswith("what bob")


def test_counts_are_right_after_a_kill(core: Core, settings: Settings, ada: Principal) -> None:
    core.memories.remember(ada, [Draft(f"fact number {n}") for n in range(700)])
    assert killed_after(settings.database_url(), ada.tenant, 2)
    left = core.erasure.preview(ada)["memories"]
    assert left == 200
    core.erasure.purge_user(ada)
    (receipt,) = core.erasure.receipts(ada)
    assert receipt.counts["memories"] == receipt.counts["memory_index"] == 700


def test_reader_that_keeps_the_log_from_being_emptied_delays_the_receipt(sqlite_url: str) -> None:
    core = open_core(Settings(database=sqlite_url, embedder="off", reranker="off", busy_timeout_ms=50))
    ada = Principal(core.identity.create_tenant(new_tenant())[0].id, Role.USER, "ada")
    memory: Memory = core.memories.remember(ada, [Draft("a text that a slow reader looks at")])[0].memory

    def slowly(tx) -> None:
        assert tx.memories.get(memory.id) is not None
        with pytest.raises(StoreBusy):
            core.erasure.erase(ada, [memory.id])

    core.store.read(ada.tenant, slowly)
    assert [one.status for one in core.erasure.receipts(ada)] == [ErasureStatus.SCRUBBING]
    receipt = core.erasure.erase(ada, [memory.id])
    assert receipt.status is ErasureStatus.DONE
    assert [one.id for one in core.erasure.receipts(ada)] == [receipt.id]
    core.close()

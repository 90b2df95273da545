"""Of what was erased nothing is left in a saved index, and of what is encrypted nothing is saved."""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from memorist import bootstrap
from memorist.bootstrap import create_backup, open_core, restore_backup
from memorist.core import Core
from memorist.erasure.values import Receipt
from memorist.errors import StoreUnavailable
from memorist.memories.values import Draft, Memory
from memorist.platform.values import Owner, Principal, Role
from memorist.recall.index import vectors
from memorist.recall.index.snapshot_folder import SnapshotFolder
from memorist.recall.values import Question
from memorist.settings import Settings
from memorist.testing import StepClock
from tests.erasure.plant import Planter
from tests.support.models import WordEmbedder
from tests.support.stores import bytes_in

MASTER_KEY = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="


@pytest.fixture(autouse=True, params=[1 << 30, 1], ids=["plain", "listed"])
def every_index_is_saved(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> bool:
    """Whether in lists."""
    made = partial(SnapshotFolder, smallest=1, listed_from=request.param, rest_s=0)
    monkeypatch.setattr(bootstrap, "SnapshotFolder", made)
    monkeypatch.setattr(bootstrap, "open_embedder", lambda _: WordEmbedder())
    return bool(request.param == 1)


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    return replace(settings, index_folder=str(tmp_path / "shelves"))


@pytest.fixture
def planter(rng: random.Random) -> Planter:
    return Planter(rng)


def saved(core: Core, settings: Settings, *principals: Principal) -> bytes:
    """What the folder holds after recalls, once all is saved."""
    for principal in principals:
        assert core.indexer.wait_for(principal.tenant, 60), "vectors are there"
        core.recall.recall(principal, Question("something"))
    core.recall.finish_saving()
    folder = settings.shelves_path()
    assert folder is not None
    return bytes_in(folder) if any(folder.rglob("*")) else b""


def vector(core: Core, memory: Memory) -> bytes:
    """As a file has it."""
    rows = core.store.read(memory.tenant, lambda tx: tx.index.load(memory.owner.user, "", 10))
    packed = next(row.vectors for row in rows if row.memory_id == memory.id)
    assert packed is not None
    return vectors.unpack([packed])[0].tobytes()


def raw(memory: Memory) -> bytes:
    return memory.id.removeprefix("mem_").encode()


def purge_old(core: Core, user: Principal, memory: Memory) -> None:
    """As when its retention is over."""
    core.store.write(user.tenant, lambda tx: core.erasure.purge_rows(tx, [memory.id]))


ERASURES: dict[str, Callable[[Core, Principal, Memory], object]] = {
    "memories": lambda core, user, memory: core.erasure.erase(user, [memory.id]),
    "reset": lambda core, user, _: core.erasure.reset(user),
    "user": lambda core, user, _: core.erasure.purge_user(user),
    "tenant": lambda core, user, _: core.erasure.delete_tenant(
        Principal(user.tenant, Role.ADMIN), confirm=user.tenant, at_once=True
    ),
    "retention": purge_old,
}


@pytest.mark.parametrize("kind", ERASURES)
def test_nothing_of_what_was_erased_is_left_in_a_file(
    core: Core,
    settings: Settings,
    ada: Principal,
    bob: Principal,
    remember: Callable[..., Memory],
    kind: str,
    every_index_is_saved: bool,
) -> None:
    is_listed = every_index_is_saved
    gone, of_bob = remember(ada, "quetzalcoatl plays the xylophone"), remember(bob, "another text")
    before = saved(core, settings, ada, bob)
    steps = vector(core, gone)
    assert raw(gone) in before
    assert steps in before
    assert (b'"centres"' in before) is is_listed
    assert raw(of_bob) in before
    receipt = ERASURES[kind](core, ada, gone)
    left = saved(core, settings)
    assert raw(gone) not in left
    assert steps not in left
    if isinstance(receipt, Receipt):
        told = any("Saved indexes" in one for one in receipt.remains)
        assert told is (settings.sqlite_path() is None), "other machines may have such files"
    remember(ada, "what came later")
    if kind != "tenant":
        after = saved(core, settings, ada, bob)
        assert raw(gone) not in after
        assert steps not in after
        assert raw(of_bob) in after


def test_erasure_by_a_process_that_never_recalled_removes_what_another_saved(
    core: Core, settings: Settings, clock: StepClock, ada: Principal, remember: Callable[..., Memory]
) -> None:
    gone, kept = remember(ada, "quetzalcoatl plays the xylophone"), remember(ada, "a lazy dog")
    assert raw(gone) in saved(core, settings, ada)
    other = open_core(settings, clock=clock)
    other.erasure.erase(ada, [gone.id])
    other.close()
    assert saved(core, settings) == b""
    # Nor does the first one, which nobody told, save it again.
    for number in range(3):
        remember(ada, f"what came later {number}")
        assert raw(gone) not in saved(core, settings, ada)
    core.close()
    third = open_core(settings, clock=clock)
    assert kept.id in [hit.memory.id for hit in third.recall.recall(ada, Question("lazy dog")).hits]
    assert raw(gone) not in saved(third, settings, ada)
    third.close()


def test_vectors_and_words_of_the_planted_are_nowhere(
    core: Core, settings: Settings, ada: Principal, tenant: str, planter: Planter
) -> None:
    planter.everywhere(core, ada, 60)
    kept = core.memories.remember(Principal(tenant, Role.ADMIN), [Draft("for all", owner=Owner())])[0].memory
    content = saved(core, settings, ada)
    assert raw(kept) in content
    assert any(marker.encode() in content for marker in planter.markers), "sessions are in it by their names"
    core.erasure.purge_user(ada)
    content = saved(core, settings)
    assert not [marker for marker in planter.markers if marker.encode() in content]


def test_file_that_cannot_be_removed_keeps_an_erasure_from_being_done(
    core: Core, settings: Settings, ada: Principal, remember: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = remember(ada, "quetzalcoatl plays the xylophone")
    assert raw(gone) in saved(core, settings, ada)

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refused)
        with pytest.raises(StoreUnavailable):
            core.erasure.erase(ada, [gone.id])
    assert core.erasure.resume()
    assert saved(core, settings) == b""


def test_nothing_is_saved_where_there_is_a_key_and_what_was_is_removed(
    settings: Settings, clock: StepClock, core: Core, ada: Principal, remember: Callable[..., Memory]
) -> None:
    remember(ada, "a plain text")
    assert saved(core, settings, ada)
    core.close()
    encrypted = replace(settings, encryption_key=MASTER_KEY)
    sealed = open_core(encrypted, clock=clock)
    assert saved(sealed, settings) == b""
    assert saved(sealed, settings, ada) == b""
    sealed.close()


def test_erasure_removes_what_was_saved_before_saving_was_turned_off(
    settings: Settings, clock: StepClock, core: Core, ada: Principal, remember: Callable[..., Memory]
) -> None:
    gone = remember(ada, "quetzalcoatl plays the xylophone")
    assert raw(gone) in saved(core, settings, ada)
    core.close()
    without = open_core(replace(settings, index_disk_mb=0), clock=clock)
    assert without.recall.recall(ada, Question("xylophone")).hits
    without.erasure.erase(ada, [gone.id])
    assert saved(without, settings, ada) == b""
    without.close()


def test_restored_backup_is_not_searched_by_what_was_saved(
    tmp_path: Path, own_sqlite_url: str, settings: Settings, clock: StepClock
) -> None:
    settings = replace(settings, database=own_sqlite_url, index_folder="")
    core = open_core(settings, clock=clock)
    tenant, _ = core.identity.create_tenant("restored")
    ada = Principal(tenant.id, Role.USER, "ada")
    core.memories.remember(ada, [Draft("the first text")])
    create_backup(settings, tmp_path / "backup.db")
    core.memories.remember(ada, [Draft("the second text")])
    assert saved(core, settings, ada)
    core.close()
    restore_backup(settings, tmp_path / "backup.db", overwrite=True)
    core = open_core(settings, clock=clock)
    assert saved(core, settings) == b""
    assert [hit.memory.content for hit in core.recall.recall(ada, Question("text")).hits] == ["the first text"]
    core.close()

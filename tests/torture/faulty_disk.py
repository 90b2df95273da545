"""A disk that fails: every write, sync, truncate and open once, and then at random.

Whatever fails, the caller is told by an error of ours, and the file is whole: what was acknowledged is there, what
failed happened or did not, and nothing is half done.
"""

import random
import shutil
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from memorist.bootstrap import open_core, open_store
from memorist.core import Core
from memorist.errors import MemoristError
from memorist.memories.values import Draft, Memory, Status
from memorist.platform.values import Principal, Role
from memorist.recall.values import Question
from tests.support.stores import bare
from tests.torture.outcome import Outcome

ADA = Principal("t", Role.USER, "ada")
KINDS = ("write", "sync", "truncate", "open")


class FaultyDisk(apsw.VFS):
    """Everything SQLite does with files goes through here, once it is `inserted`."""

    def __init__(self) -> None:
        super().__init__("faulty", "unix", makedefault=True)
        self.count = 0
        self.kinds: list[str] = []
        self.due: Callable[[], bool] = lambda: False
        self.failed: list[str] = []

    def about_to(self, kind: str) -> None:
        self.count += 1
        self.kinds.append(kind)
        if self.due():
            self.failed.append(kind)
            raise apsw.CantOpenError("the disk fails") if kind == "open" else apsw.IOError("the disk fails")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        self.about_to("open")
        return _File(self, name, flags)

    def excepthook(self, *_: Any) -> None:
        """SQLite is told by a code; nothing is printed."""


class _File(apsw.VFSFile):
    def __init__(self, disk: FaultyDisk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.about_to("write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._disk.about_to("sync")
        super().xSync(flags)

    def xTruncate(self, size: int) -> None:
        self._disk.about_to("truncate")
        super().xTruncate(size)

    def excepthook(self, *_: Any) -> None:
        """As above."""


@contextmanager
def inserted() -> Iterator[FaultyDisk]:
    disk = FaultyDisk()
    try:
        yield disk
    finally:
        disk.unregister()


class Life:
    """What a caller did, and what each memory may be now: a step that failed may have happened."""

    def __init__(self, core: Core, outcome: Outcome) -> None:
        self._core = core
        self._outcome = outcome
        self.may_be: dict[str, set[tuple[str, Status | None]]] = {}

    def live(self) -> None:
        core = self._core
        for number in range(3):
            self._attempt(lambda number=number: self._remember(f"first {number} " * 40))  # type: ignore[misc]
        for number, memory_id in enumerate(list(self.may_be)):
            self._edit(memory_id, f"edited {number} " * 60)
        self._attempt(lambda: core.recall.recall(ADA, Question("edited")))
        for memory_id in list(self.may_be)[:1]:
            self._change(memory_id, Status.SOFT_DELETED, lambda one=memory_id: core.memories.forget(ADA, one))  # type: ignore[misc]
        self._attempt(lambda: self._remember("last " * 900))
        for memory_id in list(self.may_be)[1:2]:
            self._change(memory_id, None, lambda one=memory_id: core.erasure.erase(ADA, [one]))  # type: ignore[misc]
        self._attempt(core.close)

    def _remember(self, text: str) -> None:
        memory = self._core.memories.remember(ADA, [Draft(text)])[0].memory
        self.may_be[memory.id] = {(text, Status.ACTIVE)}

    def _edit(self, memory_id: str, text: str) -> None:
        before, after = self.may_be[memory_id], {(text, Status.ACTIVE)}
        self.may_be[memory_id] = before | after
        if self._attempt(lambda: self._core.memories.edit(ADA, memory_id, {"content": text})):
            self.may_be[memory_id] = after

    def _change(self, memory_id: str, status: Status | None, call: Callable[[], object]) -> None:
        before = self.may_be[memory_id]
        after = {(text if status else "", status) for text, _ in before}
        self.may_be[memory_id] = before | after
        if self._attempt(call):
            self.may_be[memory_id] = after

    def _attempt(self, call: Callable[[], object]) -> bool:
        try:
            call()
        except MemoristError as error:
            self._outcome.counts["errors told"] += 1
            self._outcome.check(error.code != "internal", f"an unclear error: {error}")
            return False
        except Exception as error:  # noqa: BLE001 - That it is none of ours is what is looked for.
            self._outcome.fail("not an error of ours: " + "".join(traceback.format_exception(error)[-6:]))
            return False
        self._outcome.counts["acknowledged"] += 1
        return True


def run(folder: Path, *, seed: int, rounds: int | None) -> Outcome:
    """`rounds` is how many single failures are tried, spread over all, and as many lives at random; None for all."""
    outcome = Outcome("faulty disk")
    rng = random.Random(seed)
    template = folder / "template.db"
    with _open(template) as core:
        core.identity.create_tenant("t")
    with inserted() as disk:
        _live(folder, template, disk, outcome, lambda: False)
        steps = disk.count
        outcome.counts["operations of the disk"] = steps
        chosen = range(1, steps + 1) if rounds is None else sorted(rng.sample(range(1, steps + 1), min(rounds, steps)))
        for number in chosen:
            _live(folder, template, disk, outcome, _once(disk, number))
        for _ in range(steps if rounds is None else rounds):
            chance = rng.choice((0.01, 0.05, 0.3))
            _live(folder, template, disk, outcome, lambda chance=chance: rng.random() < chance)  # type: ignore[misc]
    return outcome


def _once(disk: FaultyDisk, number: int) -> Callable[[], bool]:
    return lambda: disk.count == number


def _live(folder: Path, template: Path, disk: FaultyDisk, outcome: Outcome, due: Callable[[], bool]) -> None:
    """One life on a disk that fails when it is `due`, then a look at what is left once it works again."""
    path = folder / "life" / "memorist.db"
    shutil.rmtree(path.parent, ignore_errors=True)
    path.parent.mkdir(mode=0o700)
    shutil.copy(template, path)
    disk.count, disk.failed, disk.due = 0, [], due
    life = None
    try:
        life = Life(open_core(bare(str(path)), background=False), outcome)
    except MemoristError:
        outcome.counts["errors told"] += 1
    if life is not None:
        life.live()
    disk.due = lambda: False
    outcome.counts.update(f"{kind}s failed" for kind in disk.failed)
    outcome.counts["lives"] += 1
    _look(path, {} if life is None else life.may_be, outcome, f"after {disk.failed} at {disk.count}")


def _look(path: Path, may_be: dict[str, set[tuple[str, Status | None]]], outcome: Outcome, when: str) -> None:
    with _open(path) as core:
        stored: list[Memory] = core.store.read("t", lambda tx: tx.memories.get_many(list(may_be)))
        found: dict[str, tuple[str, Status | None]] = {one.id: (one.content, one.status) for one in stored}
        for memory_id, allowed in may_be.items():
            outcome.check(found.get(memory_id, ("", None)) in allowed, f"{memory_id} is not as acknowledged, {when}")
    store = open_store(bare(str(path)))
    outcome.check(set(store.check().values()) == {"ok"}, f"torn {when}: {store.check()}")
    store.close()


@contextmanager
def _open(path: Path) -> Iterator[Core]:
    core = open_core(bare(str(path)), background=False)
    try:
        yield core
    finally:
        with suppress(MemoristError):
            core.close()

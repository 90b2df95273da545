"""A short form of each torture. `make torture` runs them at length, with a seed of your own."""

from pathlib import Path

import pytest

from tests.torture import erased, faulty_disk, hostile, kills, llm_faults, programs, soak


def test_disk_that_fails_anywhere_tears_nothing_and_says_so(tmp_path: Path) -> None:
    outcome = faulty_disk.run(tmp_path, seed=1, rounds=12)
    assert not outcome.failures, outcome
    assert outcome.counts["errors told"] > 5


def test_programs_over_the_native_door_do_as_the_model_says(tmp_path: Path, own_postgres_url: str) -> None:
    databases = {"sqlite": "", "postgres": own_postgres_url}
    outcome = programs.run(tmp_path, databases, seed=1, rounds=4)
    assert not outcome.failures, outcome
    assert outcome.counts["steps"] >= 2 * 4 * 50


def test_nothing_is_left_of_who_is_erased_not_even_in_the_log(tmp_path: Path) -> None:
    outcome = erased.run(tmp_path, {"sqlite": ""}, seed=1, rounds=60)
    assert not outcome.failures, outcome


def test_language_model_that_fails_or_lies_drops_nothing_in_silence(tmp_path: Path) -> None:
    outcome = llm_faults.run(tmp_path, {"sqlite": ""}, seed=1, rounds=8)
    assert not outcome.failures, outcome
    assert outcome.counts["faults"] > 20


@pytest.mark.timeout(300)
def test_kills_of_a_server_lose_nothing_and_tear_nothing(tmp_path: Path) -> None:
    outcome = kills.run(tmp_path, {"sqlite": ""}, seed=1, rounds=2, models="off")
    assert not outcome.failures, outcome
    assert outcome.counts["kills"] == 2


def test_hostile_calls_show_nobody_what_is_not_theirs(tmp_path: Path) -> None:
    outcome = hostile.run(tmp_path, {"sqlite": ""}, seed=1, rounds=200)
    assert not outcome.failures, outcome


def test_load_that_lasts_leaves_no_thread_and_no_descriptor_behind(tmp_path: Path) -> None:
    outcome = soak.run(tmp_path, seed=1, minutes=0.1, models="off", strict=False)
    assert not outcome.failures, outcome

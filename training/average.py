"""Averages trained models: the mean of two runs that began with the same base errs less than either."""

from collections.abc import Sequence
from pathlib import Path

import torch

from training.encoder import read_parts, write_parts


def average(models: Sequence[Path], to: Path, shares: Sequence[float] = ()) -> None:
    """The mean by shares that add up to 1, equal ones by default.

    Raises FileNotFoundError, and ValueError where the models are not of one kind.
    """
    states = [read_parts(path.parent, path.name) for path in models]
    if any(state.keys() != states[0].keys() for state in states):
        raise ValueError(f"not of one kind: {', '.join(map(str, models))}")
    by = torch.tensor(list(shares) or [1 / len(states)] * len(states))
    mean = {key: torch.tensordot(by, torch.stack([state[key].float() for state in states]), 1) for key in states[0]}
    write_parts(mean, to.parent, to.name)

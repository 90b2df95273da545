"""Averages trained models: the mean of two runs that began with the same base errs less than either."""

from collections.abc import Sequence
from pathlib import Path

import torch

from training.encoder import read_parts, trained_shape, write_parts


def average(models: Sequence[Path], to: Path) -> None:
    """Raises FileNotFoundError, and ValueError where the models are not of one kind and shape."""
    states = [read_parts(path.parent, path.name) for path in models]
    shapes = {trained_shape(path.parent, path.name) for path in models}
    if len(shapes) != 1 or any(state.keys() != states[0].keys() for state in states):
        raise ValueError(f"not of one kind and shape: {', '.join(map(str, models))}")
    mean = {key: torch.stack([state[key] for state in states]).mean(0) for key in states[0]}
    write_parts(mean, shapes.pop(), to.parent, to.name)

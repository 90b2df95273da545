"""Draws the questions of a step and the passages to compare for each."""

from collections.abc import Collection

import torch
from torch import Tensor

from training.mining import Negatives
from training.tables import Tables


class Sampler:
    """Deterministic for a seed. Every negative is drawn so that it is none of the question's positives.

    Questions of the sources in `without` are never drawn.
    """

    def __init__(self, tables: Tables, negatives: Negatives, seed: int, without: Collection[str] = ()) -> None:
        self.tables = tables
        self.negatives = negatives
        self.device = tables.positives.device
        left_out = torch.tensor([source in without for source in tables.sources], device=self.device)
        self.weights = tables.question_weight.masked_fill(left_out[tables.question_source], 0.0)
        self.generator = torch.Generator(device=self.device).manual_seed(seed)

    def questions(self, count: int) -> Tensor:
        return torch.multinomial(self.weights, count, replacement=False, generator=self.generator)

    def positive(self, questions: Tensor) -> Tensor:
        fitting = self.negatives.answering[questions].float()
        place = torch.multinomial(fitting, 1, generator=self.generator)
        return self.tables.positives[questions].gather(1, place)[:, 0]

    def wrong(self, questions: Tensor, same: int, anywhere: int, neighbours: int, random: int) -> Tensor:
        """A matrix of units, one row for each question; -1 where nothing was found."""
        positive = self.positive(questions)
        drawn = torch.cat(
            [
                self._mined(self.negatives.same_conversation[questions], same),
                self._mined(self.negatives.anywhere[questions], anywhere),
                self._near(positive, neighbours),
                self._random(questions, random),
            ],
            dim=1,
        )
        right = (drawn[:, :, None] == self.tables.positives[questions][:, None, :]).any(2)
        return drawn.masked_fill(right, -1)

    def _mined(self, candidates: Tensor, count: int) -> Tensor:
        """Without replacement, the nearer the likelier."""
        depth = candidates.shape[1]
        nearness = 1.0 / (torch.arange(depth, device=self.device) + 8.0)
        weights = nearness.expand_as(candidates) * (candidates >= 0) + 1e-9
        return candidates.gather(1, torch.multinomial(weights, count, generator=self.generator))

    def _near(self, positive: Tensor, count: int) -> Tensor:
        steps = torch.tensor([-1, 1, -2, 2, -3, 3], device=self.device)[:count]
        near = positive[:, None] + steps
        inside = (near >= 0) & (near < self.tables.unit_count)
        near = near.clamp(0, self.tables.unit_count - 1)
        together = self.tables.unit_conversation[near] == self.tables.unit_conversation[positive][:, None]
        return near.masked_fill(~(inside & together), -1)

    def _random(self, questions: Tensor, count: int) -> Tensor:
        conversation = self.tables.question_conversation[questions]
        start, end = self.tables.conversation_units[conversation], self.tables.conversation_units[conversation + 1]
        share = torch.rand(len(questions), count, generator=self.generator, device=self.device)
        return start[:, None] + (share * (end - start)[:, None]).long()

"""The tagger and the comparer: the encoder of the recall models with other heads."""

import torch
from torch import Tensor, nn

from memorist.models.tagger import OUTPUTS
from memorist.models.values import RULINGS
from training.encoder import LAYERS, WIDTH, Encoder


class TaggingModel(nn.Module):
    """Says something of each sentence of a message, from the mean of its tokens."""

    def __init__(self, layers: int = LAYERS, **options: float) -> None:
        super().__init__()
        self.encoder = Encoder(layers, **options)
        self.dropout = nn.Dropout(0.1)
        self.head = nn.Linear(WIDTH, OUTPUTS)

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor, pooling: Tensor) -> Tensor:
        hidden = self.encoder(ids, mask, types)
        return self.head(self.dropout(pooling.to(hidden.dtype) @ hidden)).float()


class JudgingModel(nn.Module):
    """Says how two facts stand to each other, from the mean of both."""

    def __init__(self, layers: int = LAYERS, **options: float) -> None:
        super().__init__()
        self.encoder = Encoder(layers, **options)
        self.dropout = nn.Dropout(0.1)
        self.head = nn.Linear(WIDTH, len(RULINGS))

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        hidden = self.encoder(ids, mask, types)
        kept = mask.unsqueeze(-1).to(hidden.dtype)
        return self.head(self.dropout((hidden * kept).sum(1) / kept.sum(1))).float()


def mean_of(states: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {key: torch.stack([state[key].float() for state in states]).mean(0) for key in states[0]}

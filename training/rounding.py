"""The arithmetic that is shipped, in training: inputs rounded to bytes by a fixed scale, weights to seven bits.

Whole numbers alone are multiplied, with scales that never depend on the company in a batch, and no sum of two products
of an unsigned byte and a weight leaves sixteen bits: so every processor gives the same result by its fastest way.
"""

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.encoder import Encoder, Layer

LARGEST_WEIGHT = 63
LEVELS = 255
LARGE = 4.0
"""An input is shrunk that is at its largest so many times what the median one is."""
PRODUCTS = ("qkv", "out", "up", "down")


class RoundedLinear(nn.Module):
    """A linear layer that computes in full precision with numbers that whole ones stand for."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias
        self.low, self.high = nn.Parameter(torch.zeros(())), nn.Parameter(torch.zeros(()))
        self.register_buffer("shrunk", torch.ones(linear.in_features))
        """What each input is multiplied with before it is rounded, so that few large ones do not coarsen all others;
        the weights are larger by as much."""
        self.seen: list[Tensor] | None = None

    def forward(self, x: Tensor) -> Tensor:
        if self.seen is not None:
            self.seen.append(x.detach().float().flatten(0, -2))
            return F.linear(x, self.weight, self.bias)
        return F.linear(self._rounded_input(x * self.shrunk), self._rounded_weight(), self.bias)

    @torch.no_grad()
    def take_range(self) -> None:
        """From what was seen; inputs that are far larger than most are shrunk from now on."""
        assert self.seen is not None
        low, high = (torch.stack([function(one, 0) for one in self.seen]) for function in (torch.amin, torch.amax))
        low, high = low.amin(0), high.amax(0)
        largest = torch.maximum(-low, high)
        self.shrunk.copy_((LARGE * largest.median() / largest.clamp(min=1e-6)).clamp(max=1))
        self.weight.div_(self.shrunk)
        self.low.copy_((low * self.shrunk).min().clamp(max=-1e-4))
        self.high.copy_((high * self.shrunk).max().clamp(min=1e-4))
        self.seen = None

    def scale_and_zero(self) -> tuple[Tensor, Tensor]:
        """What one level of the input is worth, and which level stands for 0."""
        low, high = self.low.clamp(max=-1e-4), self.high.clamp(min=1e-4)
        scale = (high - low) / LEVELS
        return scale, _whole(-low / scale).clamp(0, LEVELS)

    def _rounded_input(self, x: Tensor) -> Tensor:
        scale, zero = self.scale_and_zero()
        return (_whole(x / scale + zero).clamp(0, LEVELS) - zero) * scale

    def _rounded_weight(self) -> Tensor:
        scale = self.weight.detach().abs().amax(1, keepdim=True).clamp(min=1e-8) / LARGEST_WEIGHT
        return _whole(self.weight / scale) * scale


def _whole(x: Tensor) -> Tensor:
    """Rounded, with the gradient of what was not."""
    return x + (x.round() - x).detach()


def round_encoder(encoder: Encoder) -> None:
    """Make its products compute in rounded numbers from now on."""
    for layer in encoder.layers:
        layer.gelu = "tanh"
        for name in PRODUCTS:
            setattr(layer, name, RoundedLinear(getattr(layer, name)))


def products(encoder: Encoder) -> Iterator[RoundedLinear]:
    for layer in encoder.layers:
        assert isinstance(layer, Layer)
        yield from (getattr(layer, name) for name in PRODUCTS)


def set_ranges(encoder: Encoder, run: Callable[[], object]) -> None:
    """Take the ranges of inputs from what `run()` shows."""
    for product in products(encoder):
        product.seen = []
    run()
    for product in products(encoder):
        product.take_range()

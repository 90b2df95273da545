"""How many tokens a model really counts for what we estimate: learned from the counts that come with its answers."""

import threading
from collections import OrderedDict

_MOST = 1000
"""Conversations whose ratio is known; the model's own is used for others."""
_PLAUSIBLE = (0.4, 4.0)
"""Ratios beyond which a count is no count of the whole prompt."""
_LEAST = 200
"""Tokens of an estimate below which what surrounds the texts counts for too much."""


class Calibration:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ratios: OrderedDict[tuple[str, str], float] = OrderedDict()

    def learn(self, model: str, session: str, estimated: int, counted: int) -> None:
        """A model counted so many tokens in a prompt of a conversation. A count of 0 is none."""
        if estimated < _LEAST or not _PLAUSIBLE[0] <= counted / estimated <= _PLAUSIBLE[1]:
            return
        with self._lock:
            for key in ((model, session), (model, "")):
                self._ratios[key] = counted / estimated
                self._ratios.move_to_end(key)
            while len(self._ratios) > _MOST:
                self._ratios.popitem(last=False)

    def tokens(self, model: str, session: str, estimated: int) -> int:
        """What the model will count where we estimate so much; the estimate itself while nothing is known."""
        with self._lock:
            ratio = self._ratios.get((model, session)) or self._ratios.get((model, ""), 1.0)
        return round(estimated * ratio)

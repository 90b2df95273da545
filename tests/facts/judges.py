"""Judges that say what a test wants."""

from collections.abc import Callable, Sequence

from memorist.facts.judges import LocalJudge
from memorist.facts.values import Ruling, Verdict
from memorist.memories.values import Memory
from memorist.models.comparer import LocalComparer
from memorist.models.embedder import LocalEmbedder


class ScriptedJudge:
    """Says what a function of the two texts says; counts how often it was asked."""

    name = "scripted"

    def __init__(self, rule: Callable[[str, str], Ruling | Exception], *, is_local: bool = True) -> None:
        self._rule = rule
        self.is_local = is_local
        self.asked: list[tuple[str, str]] = []

    def judge(self, pairs: Sequence[tuple[Memory, Memory]]) -> list[Verdict]:
        return [self._judge(new, old) for new, old in pairs]

    def _judge(self, new: Memory, old: Memory) -> Verdict:
        self.asked.append((new.content, old.content))
        said = self._rule(new.content, old.content)
        if isinstance(said, Exception):
            raise said
        return Verdict(said, f"because it is {said}", 0.8)


def contradicting(*, is_local: bool = True) -> ScriptedJudge:
    return ScriptedJudge(lambda *_: Ruling.CONTRADICTS, is_local=is_local)


_COMPARER = LocalComparer()
_EMBEDDER = LocalEmbedder()


def local_judge() -> LocalJudge:
    """The one that ships, with one copy of its weights for all tests."""
    return LocalJudge(_COMPARER, _EMBEDDER)

"""What the words of two facts say, as a value."""

from enum import StrEnum, auto


class ValueChange(StrEnum):
    """What the words of two facts say of the older one."""

    ANOTHER = auto()
    """There is one value of this at a time, and the newer one names another."""
    DENIED = auto()
    """The newer one says the same with a not, or without it."""
    RESTATED = auto()
    """The newer one says again all that the older one says, and a part of it, or all, otherwise."""
    PART = auto()
    """The newer one says a part of it otherwise, and nothing of the rest."""
    LIKELY = auto()
    """There seems to be another value, but what the two name may be something else."""
    UNCERTAIN = auto()
    """So it seems, but they may be of two people, or the one may lie in the other."""
    BESIDE = auto()
    """They begin alike, and say different things: both can be true."""
    ONE_OF_MANY = auto()
    """There may be many of these."""
    APART = auto()
    """They are about different matters."""

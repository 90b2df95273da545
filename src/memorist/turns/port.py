"""What a store keeps of turns."""

from datetime import datetime
from typing import Protocol

from memorist.platform.values import OwnerFilter
from memorist.turns.values import Turn, TurnEvent, TurnFigures


class TurnReads(Protocol):
    """Turns and their events."""

    def get(self, turn_id: str) -> Turn | None: ...

    def page(self, owner: OwnerFilter, before_id: str | None, limit: int) -> list[Turn]:
        """Turns of a slice, newest first."""
        ...

    def figures(self, owner: OwnerFilter, since: datetime, most: int) -> list[TurnFigures]:
        """What those of the newest `most` turns of a slice took that began since a moment, newest first."""
        ...

    def events(self, turn_id: str, after: int, limit: int) -> list[TurnEvent]: ...

    def last_event(self, turn_id: str) -> int:
        """How many events a turn has."""
        ...

    def was_told_what_is_erased(self, turn_id: str) -> bool:
        """Whether what a turn's model was told has been erased since."""
        ...

    def lost(self, now: datetime, limit: int) -> list[Turn]:
        """Turns that run, and that nobody works on any more."""
        ...


class TurnWrites(TurnReads, Protocol):
    """The same in a transaction that writes."""

    def insert(self, turn: Turn) -> None: ...

    def append_event(self, turn_id: str, event: TurnEvent) -> None: ...

    def hold(self, turn_id: str, runner: str, until: datetime) -> bool:
        """Go on working on a turn. False where it is over, or another has taken it."""
        ...

    def attend(self, turn_id: str, until: datetime) -> None:
        """Say that somebody listens to a turn."""
        ...

    def take(self, turn_id: str, runner: str, now: datetime, until: datetime) -> bool:
        """Take over a turn that nobody works on. False where somebody does."""
        ...

    def finish(self, turn: Turn) -> bool:
        """Note how a turn ended. False where it is over, or another has taken it."""
        ...

    def lock(self, turn_id: str) -> bool:
        """Let nobody else add events to a turn until this transaction ends. False where there is no such turn."""
        ...

    def drop_unkept(self, before: datetime) -> int:
        """Remove turns without a session that began by then, with their events. Returns how many went."""
        ...

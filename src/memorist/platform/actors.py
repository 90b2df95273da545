"""Who stands beside a change of a memory, in the events that tell its history."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memorist.platform.values import Event, Principal


def actor_of(principal: Principal) -> str:
    """Whose name stands beside a change: the user's, else the agent's, else the credential's role."""
    return principal.user or principal.agent or principal.role


def event_by(
    principal: Principal, memory_id: str, event_type: str, at: datetime, payload: Mapping[str, Any] | None = None
) -> Event:
    return Event(memory_id, event_type, principal.source, at, actor_of(principal), payload or {})

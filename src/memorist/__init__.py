"""Long-term memory for AI agents.

    from memorist import Memorist

    with Memorist.open("./memories") as m:
        ada = m.user("ada", agent="coder")
        ada.remember("Deploys happen on Fridays only.", category="project")

Names are imported when first used, so that `import memorist` and the command line stay fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from memorist.version import __version__

__all__ = [
    "AsyncMemorist",
    "Draft",
    "Event",
    "Kind",
    "Memorist",
    "MemoristError",
    "Memory",
    "Principal",
    "Role",
    "__version__",
]

_HOMES = {
    "AsyncMemorist": "memorist.surfaces.library",
    "Draft": "memorist.memories.values",
    "Event": "memorist.platform.values",
    "Kind": "memorist.memories.values",
    "Memorist": "memorist.surfaces.library",
    "MemoristError": "memorist.errors",
    "Memory": "memorist.memories.values",
    "Principal": "memorist.platform.values",
    "Role": "memorist.platform.values",
}

if TYPE_CHECKING:
    from memorist.errors import MemoristError
    from memorist.memories.values import Draft, Kind, Memory
    from memorist.platform.values import Event, Principal, Role
    from memorist.surfaces.library import AsyncMemorist, Memorist


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'memorist' has no attribute {name!r}")

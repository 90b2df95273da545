"""What one principal can do, each verb described once: its name, arguments and answer, how it is done in this process,
and what asks a server for it. The library and the clients take their methods from here.
"""

from memorist.verbs.awaited import AsyncVerbs
from memorist.verbs.blocking import Verbs

__all__ = ["AsyncVerbs", "Verbs"]

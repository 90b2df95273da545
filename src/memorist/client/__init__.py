"""A client of a Memorist server, with the verbs of the library: `Client`, and `AsyncClient` to be awaited.

with Client("http://127.0.0.1:8377", api_key="mst_live_…") as memory:
    memory.remember_fact("Deploys happen on Fridays only.")
    for hit in memory.recall("when do we deploy?").hits:
        print(hit.excerpt)
"""

from memorist.client.clients import AsyncClient, Client
from memorist.client.exchange import Retries
from memorist.client.values import (
    RemoteDocument,
    RemoteDocumentPage,
    RemoteDoubt,
    RemoteDoubtPage,
    RemoteExtracted,
    RemoteFactVersion,
    RemoteHit,
    RemoteMemory,
    RemotePage,
    RemoteRecalled,
    RemoteRemembered,
    RemoteStoredDocument,
    RemoteToolOutput,
    RemoteTurn,
    RemoteTurnEvent,
    RemoteTurnPage,
)

__all__ = [
    "AsyncClient",
    "Client",
    "RemoteDocument",
    "RemoteDocumentPage",
    "RemoteDoubt",
    "RemoteDoubtPage",
    "RemoteExtracted",
    "RemoteFactVersion",
    "RemoteHit",
    "RemoteMemory",
    "RemotePage",
    "RemoteRecalled",
    "RemoteRemembered",
    "RemoteStoredDocument",
    "RemoteToolOutput",
    "RemoteTurn",
    "RemoteTurnEvent",
    "RemoteTurnPage",
    "Retries",
]

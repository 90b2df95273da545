"""A client of a Memorist server, with the verbs of the library: `Client`, and `AsyncClient` to be awaited.

with Client("http://127.0.0.1:8377", api_key="mst_live_…") as memory:
    memory.remember("Deploys happen on Fridays only.")
    for hit in memory.recall("when do we deploy?").hits:
        print(hit.excerpt)
"""

from memorist.client.clients import AsyncClient, Client
from memorist.client.exchange import Retries

__all__ = ["AsyncClient", "Client", "Retries"]

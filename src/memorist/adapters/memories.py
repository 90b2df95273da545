"""What an adapter remembers with: the library's handle in this process, or a client of a server."""

from memorist.client import Client
from memorist.surfaces.library import Handle

Memories = Handle | Client
"""Both have the same verbs."""

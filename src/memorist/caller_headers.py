"""What a request of ours says about its caller: the key, and for whom it acts."""

import re

from memorist.errors import Unauthenticated
from memorist.platform import validation

_KEY = re.compile(r"[!-~]+")


def caller_headers(
    api_key: str, *, user: str | None = None, agent: str | None = None, session: str | None = None
) -> list[tuple[bytes, bytes]]:
    """As bytes: names may be of any script. What surrounds a key, as the end of the line of its file, is left out.

    Raises Unauthenticated, which does not quote it, for a key that no header can hold, or InvalidField.
    """
    headers = []
    if key := api_key.strip():
        if not _KEY.fullmatch(key):
            raise Unauthenticated("An API key is one word of plain characters, and what is given here is not.")
        headers.append((b"Authorization", f"Bearer {key}".encode()))
    for name, value in (("user", user), ("agent", agent), ("session", session)):
        if value is not None:
            headers.append((f"X-Memorist-{name.title()}".encode(), validation.identifier(name, value).encode()))
    return headers

"""Addresses of databases, as they may be shown."""

import re

MASK = "********"


def without_password(text: str) -> str:
    """A text as it may be shown or logged, whatever addresses of databases it quotes.

    By pattern rather than by parsing: passwords are also in addresses that nobody can parse.
    """
    masked = re.sub(r"(://[^:/@\s]*):.*@", rf"\1:{MASK}@", text)
    return re.sub(r"(password=)[^&\s]+", rf"\1{MASK}", masked)

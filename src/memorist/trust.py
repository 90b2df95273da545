"""Whom a client of ours trusts."""

import ssl
from pathlib import Path

from memorist.errors import InvalidSetting


def trusting(ca_file: str) -> ssl.SSLContext:
    """What a client trusts: the authorities of this file too. Raises InvalidSetting."""
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(Path(ca_file).expanduser())
    except (OSError, ssl.SSLError) as error:
        raise InvalidSetting(f"The certificates in {ca_file} cannot be read: {error}.", field="ca_file") from error
    return context

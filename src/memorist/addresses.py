"""Addresses: of databases, as they may be shown, and which are this machine's own."""

import re

MASK = "********"


def without_password(text: str) -> str:
    """A text as it may be shown or logged, whatever addresses of databases it quotes.

    By pattern rather than by parsing: passwords are also in addresses that nobody can parse.
    """
    masked = re.sub(r"(://[^:/@\s]*):.*@", rf"\1:{MASK}@", text)
    return re.sub(r"(password=)[^&\s]+", rf"\1{MASK}", masked)


def is_loopback(host: str) -> bool:
    """Whether only this machine is reached by that name or number."""
    if host == "localhost":
        return True
    import ipaddress  # Hooks read settings, and should not wait for it.

    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def network_of(address: str) -> str:
    """Whom an address stands for: whoever has one of version 6 has 2^64 of them."""
    if ":" not in address:
        return address
    import ipaddress

    try:
        ip = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    # A socket of both versions shows one of version 4 so.
    return str(ip.ipv4_mapped or ipaddress.ip_network((ip, 64), strict=False))

"""TLS in the server: the certificate and its key, read anew when their files change, and handshakes within limits."""

import asyncio
import ssl
import time
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memorist.addresses import is_loopback
from memorist.errors import InvalidSetting
from memorist.secrets.logs import redacting_logger
from memorist.settings import Settings

_log = redacting_logger("memorist.http")

_SOON_S = 14 * 86_400
_EXPIRED, _NOT_YET = 10, 9
_FOR_A_YEAR = (b"strict-transport-security", b"max-age=31536000")


class Tls:
    """A certificate with its chain, and its private key, as PEM files."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Raises InvalidSetting where they cannot be used. What may still be meant is only warned of."""
        self._certificate = certificate
        self._key = key
        self._seen = self._state()
        self.context = self._read()
        for warning in self.warnings():
            _log.warning("%s", warning)

    @classmethod
    def of(cls, settings: Settings) -> "Tls | None":
        """That of the settings; None where they name none. Raises InvalidSetting."""
        if not settings.tls_cert and not settings.tls_key:
            return None
        for given, field, other in (("tls_cert", "tls_key", "key"), ("tls_key", "tls_cert", "certificate")):
            if not getattr(settings, field):
                raise InvalidSetting(f"{given} is set and {field} is not: TLS needs the {other} too.", field=field)
        return cls(Path(settings.tls_cert).expanduser(), Path(settings.tls_key).expanduser())

    def renew(self) -> bool:
        """Use what is in the files from the next connection on, where they changed; whether it is new.

        A pair that does not fit, as while one of two files is written, is told once, and the old one stays in use.
        """
        seen = self._state()
        if seen == self._seen:
            return False
        self._seen = seen
        try:
            self._read()
            self.context.load_cert_chain(self._certificate, self._key)
        except (InvalidSetting, OSError) as error:
            _log.warning("the old certificate stays in use: %s", error)
            return False
        _log.info("the certificate was read anew")
        for warning in self.warnings():
            _log.warning("%s", warning)
        return True

    def warnings(self) -> list[str]:
        """What clients will complain about, or others should not be able to do."""
        found = []
        if self._key.stat().st_mode & 0o007:
            found.append(f"Everybody on this machine may read {self._key}: `chmod 600 {self._key}`.")
        told = _lifetime(self.context, self._certificate)
        if told:
            found.append(f"The certificate {self._certificate} {told}.")
        return found

    def _state(self) -> tuple[tuple[int, int, int], ...]:
        found = []
        for path in (self._certificate, self._key):
            try:
                status = path.stat()
            except OSError:
                found.append((0, 0, 0))
            else:
                found.append((status.st_ino, status.st_mtime_ns, status.st_size))
        return tuple(found)

    def _read(self) -> ssl.SSLContext:
        for path, field in ((self._certificate, "tls_cert"), (self._key, "tls_key")):
            try:
                text = path.read_bytes()
            except OSError as error:
                raise InvalidSetting(f"{path} cannot be read: {error.strerror}.", field=field) from error
            wanted = b"CERTIFICATE" if field == "tls_cert" else b"PRIVATE KEY"
            if b"-----BEGIN " not in text or wanted + b"-----" not in text:
                raise InvalidSetting(f"{path} holds no {wanted.decode().lower()} as PEM.", field=field)
            if b"ENCRYPTED" in text:
                raise InvalidSetting(f"{path} is encrypted with a password. Decrypt it first.", field=field)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.set_alpn_protocols(["http/1.1"])
        try:
            context.load_cert_chain(self._certificate, self._key)
        except ssl.SSLError as error:
            why = "" if error.reason == "KEY_VALUES_MISMATCH" else f" ({error.reason or error})"
            told = f"The key {self._key} does not fit the certificate {self._certificate}{why}."
            raise InvalidSetting(told, field="tls_key") from error
        return context


class TlsGate(SSLProtocol):
    """A connection until its handshake is done, and the encryption around it afterwards."""

    def __init__(self, behind: asyncio.Protocol, loop: asyncio.AbstractEventLoop, tls: Tls, seconds: float) -> None:
        """`behind` takes over once the handshake is done, for which there are so many seconds."""
        nobody: Any = None
        timeout: Any = seconds  # Its stubs know whole seconds only.
        super().__init__(loop, behind, tls.context, nobody, server_side=True, ssl_handshake_timeout=timeout)
        self._raw: asyncio.BaseTransport | None = None
        self.on_made: Callable[[], None] = lambda: None
        self.on_lost: Callable[[], None] = lambda: None

    def connection_made(self, transport: Any) -> None:
        self._raw = transport
        self.on_made()
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self.on_lost()
        super().connection_lost(exc)

    def give_up(self) -> None:
        """Make room for another."""
        if isinstance(self._raw, asyncio.Transport):
            self._raw.abort()


def lasting(settings: Settings) -> list[tuple[bytes, bytes]]:
    """The header that has browsers insist on TLS; not on loopback, where it would hold for all ports of the machine."""
    return [_FOR_A_YEAR] if settings.tls_cert and not is_loopback(settings.host) else []


def _lifetime(server: ssl.SSLContext, certificate: Path) -> str:
    """What is wrong with the time of a certificate, found by a handshake with ourselves; '' where nothing is."""
    client = ssl.create_default_context(cafile=certificate)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (client.wrap_bio(to_client, to_server), server.wrap_bio(to_server, to_client, server_side=True))
    for end in (*ends, *ends):
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLCertVerificationError as error:
            return {_EXPIRED: "has expired", _NOT_YET: "is not valid yet"}.get(error.verify_code, "")
        except ssl.SSLError:
            return ""
    told = ends[0].getpeercert() or {}
    left = ssl.cert_time_to_seconds(str(told["notAfter"])) - time.time() if "notAfter" in told else _SOON_S
    return f"expires in {max(0, int(left // 86_400))} days" if left < _SOON_S else ""

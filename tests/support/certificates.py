"""An authority of our own, and certificates for the loopback that it signs."""

import ipaddress
from datetime import timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from memorist.times import SystemClock

_DAY = timedelta(days=1)


class Authority:
    """Signs certificates for 127.0.0.1 and localhost."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("An authority for tests")
        now = SystemClock().now()
        made = (
            x509.CertificateBuilder(self._name, self._name, self._key.public_key(), x509.random_serial_number())
            .not_valid_before(now - 900 * _DAY)
            .not_valid_after(now + 900 * _DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.file = folder / "ca.pem"
        self.file.write_bytes(made.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, *, days: float = 90, into: tuple[Path, Path] | None = None) -> tuple[Path, Path]:
        """A certificate that ends in so many days, and its key, as files; with the key for nobody else to read."""
        key = ec.generate_private_key(ec.SECP256R1())
        now = SystemClock().now()
        hosts = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
        own = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        made = (
            x509.CertificateBuilder(self._name, _name(name), key.public_key(), x509.random_serial_number())
            .not_valid_before(now - 400 * _DAY)
            .not_valid_after(now + days * _DAY)
            .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
            .add_extension(own, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        certificate, secret = into or (self.folder / f"{name}.pem", self.folder / f"{name}.key")
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        for path, content in ((certificate, made.public_bytes(serialization.Encoding.PEM)), (secret, private)):
            path.write_bytes(content)
            path.chmod(0o600)
        return certificate, secret


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

"""Encrypting what a tenant has. Pure.

A tenant has data keys, and each of them a number. What was encrypted says with which. A data key is kept wrapped by a
master key, which is never stored here: who has the database without it has nothing but ids, names of owners and times.
"""

import base64
import binascii
import hmac
import os
import re
import shlex
import struct
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV

from memorist.errors import EncryptionKeyError, InvalidSetting, StoreCorrupt
from memorist.platform.values import SEALED_TEXT

MASTER_BYTES = 32
DATA_BYTES = 32
SECRET_BYTES = DATA_BYTES + 64
"""Of a tenant's key: the data key, and what equal values are encrypted with, which is the same in all of its keys."""

EQUAL_MARK = "\n\ue001"
BYTES_MARK = b"\x00\xee\x80\x80seal"
_NUMBER = struct.Struct(">Q")
_NONCE = 12
# Ids say nothing, and erasure looks for them inside of texts; and this field of `meta` tells who may read a row.
_TOLD = re.compile(r'(?:mem|tout)_[0-7][0-9A-HJKMNP-TV-Z]{25}|"quotes"')
_COMMAND_S = 30


class MasterKeys:
    """The first wraps; the others only unwrap, so that keys can be changed one after the other."""

    def __init__(self, keys: Iterable[bytes]) -> None:
        self._ciphers = {hmac.digest(key, b"memorist master key", "sha256").hex()[:16]: AESGCM(key) for key in keys}
        self.name = next(iter(self._ciphers))
        """What the first is called: it says nothing of the key."""

    @classmethod
    def parse(cls, text: str, source: str) -> "MasterKeys":
        """Keys of 32 bytes in Base64, the current one first, between blanks. Raises InvalidSetting; shows no key."""
        try:
            keys = [base64.b64decode(part, validate=True) for part in text.split()]
        except (binascii.Error, ValueError):
            keys = []
        if not keys or any(len(key) != MASTER_BYTES for key in keys):
            raise InvalidSetting(
                f"{source} must give {MASTER_BYTES} bytes in Base64, as `openssl rand -base64 {MASTER_BYTES}` prints "
                "them; of several, the current one first."
            )
        return cls(keys)

    def require(self, names: Iterable[str]) -> None:
        """Raises EncryptionKeyError where one of these is not here."""
        if missing := sorted(set(names) - self._ciphers.keys()):
            raise EncryptionKeyError(
                f"The database is encrypted with another key (its name is {missing[0]}; the one that is set is "
                f"{self.name}). Set the key that it was encrypted with, or add it on a line after the current one. "
                "Nothing was changed."
            )

    def wrap(self, tenant: str, number: int, secret: bytes) -> bytes:
        nonce = os.urandom(_NONCE)
        return nonce + self._ciphers[self.name].encrypt(nonce, secret, _bound_to(tenant, number))

    def unwrap(self, tenant: str, number: int, wrapped: bytes, name: str) -> bytes:
        self.require([name])
        try:
            return self._ciphers[name].decrypt(wrapped[:_NONCE], wrapped[_NONCE:], _bound_to(tenant, number))
        except InvalidTag as error:
            raise EncryptionKeyError(f"Key {number} of the tenant {tenant} is damaged. Restore a backup.") from error


def read_master_keys(file: str, text: str, command: str) -> MasterKeys:
    """From whichever is given. Raises InvalidSetting."""
    if file:
        try:
            return MasterKeys.parse(Path(file).expanduser().read_text("utf-8"), f"The file {file}")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidSetting(
                f"encryption_key_file: {file} cannot be read ({type(error).__name__}).", field="encryption_key_file"
            ) from error
    if text:
        return MasterKeys.parse(text, "encryption_key")
    try:
        done = subprocess.run(shlex.split(command), capture_output=True, timeout=_COMMAND_S, check=True, text=True)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        how = f"exit status {status}" if (status := getattr(error, "returncode", None)) else type(error).__name__
        raise InvalidSetting(
            f"encryption_key_command failed: {how}. Run it by hand to see why.", field="encryption_key_command"
        ) from None  # What the command said may hold a secret.
    return MasterKeys.parse(done.stdout, "encryption_key_command")


class UnknownKey(Exception):
    """Something was encrypted with a key that is not among those at hand."""


class TenantKeys:
    """The keys of one tenant; the newest encrypts. `is_complete`: nothing is left that was stored in plain text."""

    def __init__(self, secrets: Mapping[int, bytes], *, is_complete: bool) -> None:
        self.number = max(secrets)
        self.is_complete = is_complete
        self._ciphers = {number: AESGCM(secret[:DATA_BYTES]) for number, secret in secrets.items()}
        matching = secrets[self.number][DATA_BYTES:]
        self._digests = hmac.new(matching, digestmod="sha256")
        self._matching = AESSIV(matching)

    def seal(self, value: Any) -> Any:
        """A text or bytes, encrypted; '' and None as they are. A text names in plain what its erasure looks for."""
        if not value:
            return value
        nonce = os.urandom(_NONCE)
        cipher = self._ciphers[self.number]
        if isinstance(value, bytes):
            head = BYTES_MARK + _NUMBER.pack(self.number)
            return head + nonce + cipher.encrypt(nonce, value, head)
        told = "".join(f" {one}" for one in sorted(set(_TOLD.findall(value))))
        body = nonce + cipher.encrypt(nonce, value.encode(), told.encode())
        return f"{SEALED_TEXT}{self.number}:{base64.b64encode(body).decode()}{told}"

    def match(self, value: Any) -> Any:
        """A text or a number, the same for the same; '', 0 and None as they are."""
        if not value:
            return value
        if isinstance(value, int):
            digest = self._digests.copy()
            digest.update(str(value).encode())
            return int.from_bytes(digest.digest()[:8]) >> 1
        return EQUAL_MARK + base64.b64encode(self._matching.encrypt(value.encode(), None)).decode()

    def open(self, value: Any) -> Any:
        """What was encrypted; anything else as it is. Raises StoreCorrupt."""
        return self._opened(value)[0]

    def open_known(self, value: Any) -> Any:
        """The same; raises UnknownKey where the key may be one that was made, or dropped, since these were read."""
        return self._opened(value, is_sure=False)[0]

    def is_current(self, value: Any) -> bool:
        """Whether it is encrypted with the newest key, or needs not be."""
        return not value or self._opened(value)[1] == self.number

    def _opened(self, value: Any, *, is_sure: bool = True) -> tuple[Any, int | None]:
        """The plain value, and the number of the key."""
        try:
            if isinstance(value, bytes):
                return self._open_bytes(value)
            if isinstance(value, str) and value.startswith(EQUAL_MARK):
                sealed = binascii.a2b_base64(value[len(EQUAL_MARK) :], strict_mode=True)
                return self._matching.decrypt(sealed, None).decode(), self.number
            if isinstance(value, str) and value.startswith(SEALED_TEXT):
                number, _, sealed_text = value[len(SEALED_TEXT) :].partition(":")
                body, blank, told = sealed_text.partition(" ")
                plain = self._decrypt(int(number), binascii.a2b_base64(body, strict_mode=True), (blank + told).encode())
                return plain.decode(), int(number)
        except (InvalidTag, KeyError, ValueError) as error:
            if not is_sure and isinstance(error, KeyError):
                raise UnknownKey from error
            # Until all is encrypted, it may be somebody's text that happens to look like that.
            if self.is_complete:
                raise StoreCorrupt(
                    "Something encrypted was changed, or its key is gone. Restore a backup with `memorist backup "
                    "restore`."
                ) from error
        return value, None

    def _open_bytes(self, value: bytes) -> tuple[bytes, int | None]:
        if not value.startswith(BYTES_MARK):
            return value, None
        at = len(BYTES_MARK) + _NUMBER.size
        (number,) = _NUMBER.unpack_from(value, len(BYTES_MARK))
        return self._decrypt(number, value[at:], value[:at]), number

    def _decrypt(self, number: int, body: bytes, beside: bytes) -> bytes:
        return self._ciphers[number].decrypt(body[:_NONCE], body[_NONCE:], beside)


def _bound_to(tenant: str, number: int) -> bytes:
    return f"{tenant}:{number}".encode()

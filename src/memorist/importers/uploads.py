"""Files that were sent to be imported: kept in a folder until they are, or for a day."""

import hashlib
import json
import os
import platform
import shutil
import time
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from memorist.errors import Invalid, MemoristError, NotFound, PayloadTooLarge, StoreError
from memorist.ids import new_id, parse_id
from memorist.importers.files import unpacking
from memorist.platform.values import Principal

_KEPT_FOR_S = 86_400.0
_MOST_OF_ONE = 5
_ABOUT = "about.json"
_LONGEST_NAME = 60
_READ_IN_ARCHIVES = (".json", ".md")
_MOST_UNPACKED = 4 << 30


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that waits. `source` is whose export it was found to be, '' before that, and `total` how much it holds."""

    id: str
    tenant: str
    user: str
    agent: str
    name: str
    source: str = ""
    total: int = 0
    is_begun: bool = False


class UploadFolder:
    """Only the process's own user reads what is in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.folder_id = hashlib.sha256(f"{platform.node()}:{folder.absolute()}".encode()).hexdigest()[:12]
        """Tells this folder from that of another server on the same database."""

    def add(self, principal: Principal, name: str, content: BinaryIO) -> Upload:
        """Keep a file. Raises Invalid where it is empty, PayloadTooLarge where its archive is, or StoreError where
        there is no room. Of one user's, the oldest that wait go.
        """
        self.tidy()
        self._make_room(principal)
        upload = Upload(new_id("upl"), principal.tenant, principal.user or "", principal.agent or "", _file_name(name))
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self._folder / upload.id).mkdir(mode=0o700)
            with self.path(upload).open("xb") as file:
                shutil.copyfileobj(content, file)
                size = file.tell()
            self.note(upload)
            if not size:
                raise Invalid("This file is empty.", field="file")
            self._check_archive(upload)
        except OSError as error:
            self.remove(upload.id)
            raise StoreError(f"The file cannot be kept here: {error.strerror}.") from error
        except MemoristError:
            self.remove(upload.id)
            raise
        return upload

    def path(self, upload: Upload) -> Path:
        return self._folder / upload.id / upload.name

    def note(self, upload: Upload) -> None:
        """Keep what is known about it, and the file for a day from now."""
        folder = self._folder / upload.id
        (folder / _ABOUT).write_text(json.dumps(asdict(upload)), "utf-8")
        os.utime(folder)

    def get(self, principal: Principal, upload_id: str) -> Upload:
        """One of the caller's own. Raises NotFound or InvalidId."""
        upload = self._read(self._folder / parse_id("upl", upload_id))
        whose = (principal.tenant, principal.user or "", principal.agent or "")
        if upload is None or (upload.tenant, upload.user, upload.agent) != whose:
            raise NotFound("This file is no longer here. Send it again.")
        return upload

    def remove(self, upload_id: str) -> None:
        shutil.rmtree(self._folder / upload_id, ignore_errors=True)

    def forget(self, tenant: str, user: str | None) -> None:
        """Remove what a user sent, or anybody of the tenant."""
        for upload in self._all():
            if upload.tenant == tenant and user in (None, upload.user):
                self.remove(upload.id)

    def tidy(self) -> None:
        """Remove what is older than a day."""
        oldest = time.time() - _KEPT_FOR_S
        for one in self._folders():
            if _changed_at(one) < oldest:
                self.remove(one.name)

    def _make_room(self, principal: Principal) -> None:
        whose = (principal.tenant, principal.user or "")
        own = [one for one in self._all() if (one.tenant, one.user) == whose and not one.is_begun]
        for upload in own[: max(0, len(own) - _MOST_OF_ONE + 1)]:
            self.remove(upload.id)

    def _all(self) -> list[Upload]:
        return [upload for one in self._folders() if (upload := self._read(one)) is not None]

    def _folders(self) -> list[Path]:
        return sorted(self._folder.glob("upl_*")) if self._folder.is_dir() else []

    def _read(self, folder: Path) -> Upload | None:
        try:
            about: dict[str, Any] = json.loads((folder / _ABOUT).read_text("utf-8"))
            return Upload(**about)
        except (OSError, ValueError, TypeError):
            return None

    def _check_archive(self, upload: Upload) -> None:
        path = self.path(upload)
        if not zipfile.is_zipfile(path):
            return
        with unpacking(path) as archive:
            size = sum(one.file_size for one in archive.infolist() if one.filename.endswith(_READ_IN_ARCHIVES))
        if size > _MOST_UNPACKED:
            raise PayloadTooLarge(f"What is in this archive is larger than {_MOST_UNPACKED >> 30} GB.")


def _file_name(name: str) -> str:
    """The name without what a path or a terminal would take for more than a name; its ending stays."""
    plain = "".join(sign if sign.isalnum() or sign in "._- " else "_" for sign in name.strip())
    return plain[-_LONGEST_NAME:].lstrip(". ").replace(_ABOUT, f"_{_ABOUT}") or "file"


def _changed_at(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0

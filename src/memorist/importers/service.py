"""Importing a file that was sent: looked through first, then stored by a job that says how far it is."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from memorist.errors import Conflict, Invalid, InvalidField, MemoristError, StoreUnavailable
from memorist.importers import PARSERS, Source, candidates
from memorist.importers.files import export_lines
from memorist.importers.items import Found, SkippedItem, Taken
from memorist.importers.recognition import sample
from memorist.importers.storing import Report, preview, store
from memorist.importers.uploads import Upload, UploadFolder
from memorist.memories.service import Memories
from memorist.platform import access
from memorist.platform.jobs import Jobs
from memorist.platform.loop import Loop
from memorist.platform.values import Job, Principal
from memorist.ports import Writer
from memorist.transfer.service import ImportReport, Transfer
from memorist.transfer.values import IMPORTING

OWN = "memorist"
"""The source of Memorist's own exports."""
_EXAMPLES = 5
_LONGEST_EXAMPLE = 200
_TIDY_EVERY_S = 3600.0
_TOLD = 1000
"""So many of what was left out are told with their places; all are counted by the reason."""
# Why rows of an export of ours are left out.
_LEFT_OUT = {
    "conflicting": "Its name or text belongs to another memory here, or its document is newer here.",
    "shared": "Everybody shares it, and only an admin writes those.",
    "erased": "It was erased here, and stays so.",
    "incomplete": "It is cut off: lines at its end are missing.",
    "policy_left": "A retention policy is set by an admin's import alone, where there is none yet and no memory.",
}


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What an import did, would do, or did so far."""

    source: str
    total: int
    imported: int = 0
    already_there: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    """How many were left out, by the reason."""
    skipped: tuple[tuple[str, str], ...] = ()
    """The first of them: where each stands, and why."""

    @property
    def left_out(self) -> int:
        return sum(self.reasons.values())

    @property
    def seen(self) -> int:
        return self.imported + self.already_there + self.left_out


@dataclass(frozen=True, slots=True)
class ImportPreview:
    """What is in a file that was sent, and what importing it would do."""

    upload: Upload
    outcome: ImportOutcome
    conversations: int
    documents: int
    examples: tuple[str, ...]


class Imports:
    def __init__(
        self, memories: Memories, transfer: Transfer, jobs: Jobs, folder: Path, *, background: bool = True
    ) -> None:
        self._memories = memories
        self._transfer = transfer
        self._jobs = jobs
        self._uploads = UploadFolder(folder)
        self._loop = Loop("uploads", self._uploads.tidy, _TIDY_EVERY_S, background=background)

    def start(self) -> None:
        """For servers: remove files that nobody imported for a day, now and then, in the background, until closed."""
        self._loop.start()

    def close(self) -> None:
        self._loop.close()

    def take(self, principal: Principal, name: str, content: BinaryIO, source: str | None = None) -> ImportPreview:
        """Keep a file to be imported, and say what is in it; nothing is stored. `source` is whose export it is; by
        default that is seen by its look. All of it is read, so that a file that is broken anywhere is not kept.

        Raises Invalid, PayloadTooLarge, Forbidden or StoreError.
        """
        access.require(principal, access.Action.WRITE)
        upload = self._uploads.add(principal, name, content)
        path = self._uploads.path(upload)
        try:
            whose = _known_source(path) if not source else _named_source(source)
            upload = replace(upload, source=whose)
            told = self._looked_through(principal, upload)
            upload = replace(upload, total=told.outcome.total)
            self._uploads.note(upload)
        except BaseException as error:
            self._uploads.remove(upload.id)
            if isinstance(error, MemoristError):
                # Where the file is kept is of no use to who sent it.
                error.message = error.message.replace(f"{path.parent}/", "")
            raise
        return replace(told, upload=upload)

    def begin(self, principal: Principal, upload_id: str) -> Job:
        """Import a file that was taken, in the background; once, however often it is asked for.

        Raises NotFound, InvalidId, Forbidden or StoreError.
        """
        access.require(principal, access.Action.WRITE)
        upload = self._uploads.get(principal, upload_id)
        self._uploads.note(replace(upload, is_begun=True))
        payload = {
            "upload": upload.id,
            "place": self._uploads.folder_id,
            "name": upload.name,
            "source": upload.source,
            "total": upload.total,
        }
        return self._jobs.promise(principal, IMPORTING, payload, key=upload.id)

    def drop(self, principal: Principal, upload_id: str) -> None:
        """Let go of a file that was taken and is not to be imported. Raises NotFound or InvalidId."""
        self._uploads.remove(self._uploads.get(principal, upload_id).id)

    def work(self, job: Job) -> Any:
        """Do the job: what is there already is left alone, so that it may be done twice. Raises MemoristError."""
        if job.payload["place"] != self._uploads.folder_id:
            raise StoreUnavailable("Another server on this database has the file, and imports it.")
        upload = self._uploads.get(job.principal, str(job.payload["upload"]))
        outcome = ImportOutcome(upload.source, upload.total)
        for report in self._reports(job.principal, upload, storing=True):
            outcome = outcome_of(upload, report)
            if not self._jobs.note(job, _record(outcome)):
                raise Conflict("This import was stopped.")

        def finish(_: Writer) -> Mapping[str, Any]:
            self._uploads.remove(upload.id)
            return _record(outcome)

        return finish

    def forget(self, tenant: str, user: str | None) -> None:
        """Remove the files that a user sent who is erased, or that anybody of the tenant did."""
        self._uploads.forget(tenant, user)

    def _looked_through(self, principal: Principal, upload: Upload) -> ImportPreview:
        if principal.user is None and upload.source != OWN:
            raise InvalidField(
                "These memories need somebody whose they are. Choose a user under “Whose memories”.", field="user"
            )
        look = _Look()
        report: Report | ImportReport = Report()
        for report in self._reports(principal, upload, look):  # noqa: B007
            pass
        outcome = outcome_of(upload, report)
        outcome = replace(outcome, total=outcome.seen)
        return ImportPreview(upload, outcome, len(look.sessions), look.documents, tuple(look.examples))

    def _reports(
        self, principal: Principal, upload: Upload, look: "_Look | None" = None, *, storing: bool = False
    ) -> Iterator[Report | ImportReport]:
        look = look or _Look()
        path = self._uploads.path(upload)
        if upload.source == OWN:
            with path.open("rb") as file:
                lines = look.at_lines(export_lines(file))
                yield from (self._transfer.import_ if storing else self._transfer.preview)(principal, lines)
        else:
            found = look.at_found(PARSERS[Source(upload.source)](path))
            yield from (store if storing else preview)(self._memories, principal, found)


class _Look:
    """What passes by while a file is read: examples, conversations and documents."""

    def __init__(self) -> None:
        self.examples: list[str] = []
        self.sessions: set[str] = set()
        self.documents = 0

    def at_found(self, found: Iterable[Found]) -> Iterator[Found]:
        for one in found:
            if isinstance(one, Taken):
                self._example(one.draft.content)
                if one.draft.session is not None:
                    self.sessions.add(one.draft.session)
            yield one

    def at_lines(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self.documents += line.startswith('{"document"')
            if len(self.examples) < _EXAMPLES and line.startswith('{"memory"'):
                try:
                    self._example(str(json.loads(line)["memory"]["content"]))
                except (ValueError, LookupError, TypeError, RecursionError):
                    pass  # What is wrong with it is said by who reads it next.
            yield line

    def _example(self, text: str) -> None:
        if len(self.examples) < _EXAMPLES:
            short = " ".join(text.split())
            self.examples.append(short if len(short) <= _LONGEST_EXAMPLE else f"{short[: _LONGEST_EXAMPLE - 1]}…")


def outcome_of(upload: Upload, report: Report | ImportReport) -> ImportOutcome:
    if isinstance(report, ImportReport):
        reasons = {reason: count for name, reason in _LEFT_OUT.items() if (count := getattr(report, name))}
        skipped: list[SkippedItem] = []
    else:
        reasons = dict(report.reasons.most_common())
        skipped = report.skipped
    told = tuple((one.where, one.reason) for one in islice(skipped, _TOLD))
    return ImportOutcome(upload.source, upload.total, report.imported, report.already_there, reasons, told)


def outcome_from(job: Job) -> ImportOutcome:
    """How far an import is, or how it ended."""
    payload, result = job.payload, job.result or {}
    return ImportOutcome(
        str(payload.get("source", "")),
        int(payload.get("total", 0)),
        int(result.get("imported", 0)),
        int(result.get("already_there", 0)),
        dict(result.get("reasons", {})),
        tuple((str(where), str(reason)) for where, reason in result.get("skipped", ())),
    )


def _record(outcome: ImportOutcome) -> dict[str, Any]:
    return {
        "imported": outcome.imported,
        "already_there": outcome.already_there,
        "reasons": dict(outcome.reasons),
        "skipped": [list(one) for one in outcome.skipped],
    }


def _known_source(path: Path) -> str:
    file = sample(path)
    found = candidates(file)
    if len(found) == 1:
        return found[0] or OWN
    if found:
        raise Invalid(f"This may be an export of {' or of '.join(map(str, found))}. Say which, and send it again.")
    raise Invalid(f"This is no export that is known here: it looks like {file}.", field="file")


def _named_source(source: str) -> str:
    if source != OWN and source not in set(Source):
        raise InvalidField.of("source", f"must be one of {', '.join((OWN, *Source))}.")
    return source

"""What several processes of one server counted: whichever is asked for it asks the others, and shows the sum."""

import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from memorist.errors import MemoristError
from memorist.secrets.logs import redacting_logger

_log = redacting_logger(__name__)

_PATIENCE_S = 1.0
_PAUSE_S = 0.1
# What is no sum of what each of them has.
_TAKEN = {"process_start_time_seconds": min, "memorist_index_lag_seconds": max}


class Siblings:
    """Each process answers on a socket in a folder that only its user may enter."""

    def __init__(self, folder: Path, number: int, own: Callable[[], bytes]) -> None:
        """`own`: what this process counted. Raises OSError where there can be no socket, as its path is too long."""
        self._path = folder / f"{number}.metrics"
        self._own = own
        self._closed = threading.Event()
        self._path.unlink(missing_ok=True)  # That of the process whose place this one takes.
        self._listener = socket.socket(socket.AF_UNIX)
        try:
            self._listener.bind(str(self._path))
            self._listener.listen()
        except OSError:
            self._listener.close()
            raise
        threading.Thread(target=self._answer, name="memorist-siblings", daemon=True).start()

    def texts(self) -> Iterator[str]:
        """What each of the others counted; one that does not answer within a second is left out."""
        for path in sorted(self._path.parent.glob("*.metrics")):
            if path != self._path:
                with suppress(OSError, UnicodeDecodeError), socket.socket(socket.AF_UNIX) as asking:
                    asking.settimeout(_PATIENCE_S)
                    asking.connect(str(path))
                    with asking.makefile("rb") as file:
                        text = file.read().decode()
                    if text.endswith("\n"):  # One that ended in the middle of a line tells nothing.
                        yield text

    def close(self) -> None:
        self._closed.set()
        self._path.unlink(missing_ok=True)
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _answer(self) -> None:
        while not self._closed.is_set():
            try:
                asked, _ = self._listener.accept()
            except OSError:  # It was closed, or too many files are open.
                self._closed.wait(_PAUSE_S)
                continue
            try:
                with asked:
                    asked.settimeout(_PATIENCE_S)
                    asked.sendall(self._own())
            except (OSError, RuntimeError, ValueError, MemoristError) as error:  # Whoever asks next is answered.
                _log.warning("what was counted here is not added up: %s", error)


def summed(own: bytes, others: Iterable[str]) -> bytes:
    """One text of several. What only the first shows is of the database, and not added up."""
    families: dict[str, Metric] = {}
    values: dict[str, dict[tuple[str, frozenset[tuple[str, str]]], Sample]] = {}
    for text in (own.decode(), *others):
        for family in text_string_to_metric_families(text):
            families.setdefault(family.name, family)
            known = values.setdefault(family.name, {})
            for sample in family.samples:
                key = sample.name, frozenset(sample.labels.items())
                before = known.get(key)
                known[key] = sample if before is None else _together(before, sample)
    for name, family in families.items():
        family.samples = list(values[name].values())
    registry = CollectorRegistry()
    registry.register(_Fixed(list(families.values())))
    return generate_latest(registry)


def _together(one: Sample, other: Sample) -> Sample:
    take = _TAKEN.get(one.name)
    value = one.value + other.value if take is None else take(one.value, other.value)
    return one._replace(value=value)


class _Fixed:
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families

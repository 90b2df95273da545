"""What the local models share: the tokenizer, the table of word vectors and an onnxruntime session."""

import io
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from memorist.models.fair_share import AT_LEISURE, BACKGROUND, COMPUTING, WHOSE, background_threads, cores
from memorist.models.files import FOLDER, read_weights
from memorist.models.tokens import Tokenizer, Tokens, read_tokenizer

# The library reports its use to its maker unless it is told not to, before it is imported. Nothing leaves this machine.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
import onnxruntime  # type: ignore[import-untyped]

LONGEST = 256
"""Tokens that a model reads at most. A longer text is cut: see `passages.windows`."""

BATCH_TOKENS = 1024
"""Padded tokens in one run: enough to keep the cores busy, few enough to stay in their caches."""

BULK_TOKENS = 256
"""The same where each thread has a batch of its own."""

_CHARACTERS = 40_000
"""Characters that are cut into tokens in one go."""

_BULK = 8
"""Batches from which on each thread computes its own: two together take a quarter longer for the same."""

T = TypeVar("T")


_MOST_THREADS = 8
"""More of them for one batch gain little."""

_TOKENS_A_THREAD = 32
"""Fewer are computed sooner than another thread is woken; two always are worth it."""

_TOKENS_A_RUN = 5
"""What a run costs by itself for each thread: as much as so many tokens that are computed with the others."""


def default_threads() -> int:
    return min(_MOST_THREADS, cores())


class LocalModel:
    """One network of the weights folder. Nothing is read before the first use; safe to use from many threads."""

    file: str
    words: str = "english"
    """Which tokenizer and table of word vectors it reads: the names of files in the weights folder."""
    computes_in_bulk = False
    """Whether it is ever asked for very much at once, for which it then has a network of its own."""
    at_first: int | None = None
    """So many threads, where there are as many, compute what it is asked first; all of them otherwise."""

    def __init__(self, threads: int | None = None, folder: Path = FOLDER) -> None:
        self.threads = default_threads() if threads is None else threads
        if self.threads < 1:
            raise ValueError("threads must be at least 1")
        self._sizes = (*(size for size in (1, 2, 4) if size < self.threads), self.threads)
        self._folder = folder
        self._lock = threading.Lock()
        self._networks: dict[int, onnxruntime.InferenceSession] = {}

    @property
    def loaded(self) -> bool:
        return bool(self._networks)

    @property
    def session_threads(self) -> int:
        """The threads that the loaded network computes with."""
        return int(self._ready(self.threads).get_session_options().intra_op_num_threads)

    def load(self) -> None:
        """Read and check the weights now rather than at the first use. Raises WeightsDamaged."""
        # The network first: whoever asks meanwhile begins with the words.
        self._ready(min(self.at_first or self.threads, self.threads))
        _shared(self._folder, self.words)

    @cached_property
    def _bulk(self) -> ThreadPoolExecutor:
        """For much at once that somebody waits for."""
        return ThreadPoolExecutor(self.threads, thread_name_prefix="memorist-model")

    def _network(self, threads: int) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Waiting threads sleep: a memory server shares its machine, and is idle most of the time.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # A plan of the memory would be kept for each shape of batch, and every batch has its own: 30 MB for nothing.
        options.enable_mem_pattern = False
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(
            read_weights(self.file, self._folder),
            options,
            providers=["CPUExecutionProvider"],
            # What it makes one operator of, adding and then norming, takes four times as long as the two.
            disabled_optimizers=["SkipLayerNormFusion"],
        )

    def _ready(self, threads: int) -> onnxruntime.InferenceSession:
        """A network whose so many threads compute one batch together: they are its own, so each number has one."""
        with self._lock:
            if threads not in self._networks:
                self._networks[threads] = self._network(threads)
            return self._networks[threads]

    def _run(self, inputs: Sequence[str] | Sequence[tuple[str, str]], more: "More | None" = None) -> Iterator["Ran"]:
        """What the network says of the inputs, batch by batch, shortest first so that little is padded.

        `more` makes what the network is fed beside the tokens.
        """
        shared = _shared(self._folder, self.words)
        whose = WHOSE.get()  # Not known on the threads of a pool.
        turn: Callable[[Sequence[int]], AbstractContextManager[int]] = partial(COMPUTING.taking, whose)
        nobody_waits = whose in {BACKGROUND, AT_LEISURE}
        if nobody_waits:
            turn = _alone
        encodings: list[Tokens] = []
        for some in _pieces(inputs):
            with turn((1,)):
                encodings += shared.tokenizer.encode_all(some)
        order = sorted(range(len(encodings)), key=lambda index: len(encodings[index]))

        def compute(sizes: Sequence[int], batch: list[int]) -> Ran:
            read = [encodings[index] for index in batch]
            feed = shared.feed(read)
            if more is not None:
                feed |= more(batch, read)
            most = max(2, sum(map(len, read)) // _TOKENS_A_THREAD)
            with turn([size for size in sizes if size <= most]) as threads:
                network = self._ready(threads)
                wanted = {node.name: feed[node.name] for node in network.get_inputs()}
                return Ran(batch, list(map(len, read)), network.run(None, wanted))

        lengths = [len(encodings[index]) for index in order]
        small = [order[part] for part in batches(lengths, BULK_TOKENS, 1)]
        if nobody_waits:
            at_once = 1 if whose == AT_LEISURE else self.threads
            yield from _in_order(background_threads(), at_once, partial(compute, (1,)), small)
        elif self.computes_in_bulk and self.threads > 1 and len(small) >= _BULK:
            with self._lock:
                threads = self._bulk
            yield from _in_order(threads, self.threads, partial(compute, (1,)), small)
        else:
            for part in batches(lengths, BATCH_TOKENS, self.threads):
                yield compute(self._sizes, order[part])


def _alone(_: Sequence[int]) -> AbstractContextManager[int]:
    """One thread, which waits for nobody."""
    return nullcontext(1)


def _in_order(
    threads: ThreadPoolExecutor, at_once: int, work: Callable[[list[int]], T], items: Sequence[list[int]]
) -> Iterator[T]:
    """The results, with so many computed at once. Of several one more is ready to follow, and no more: others have work
    for the same threads.
    """
    ahead: deque[Future[T]] = deque()
    ready = at_once + 1 if at_once > 1 else 1
    for item in items:
        ahead.append(_submitted(threads, work, item))
        if len(ahead) >= ready:
            yield ahead.popleft().result()
    while ahead:
        yield ahead.popleft().result()


def _submitted(threads: ThreadPoolExecutor, work: Callable[[list[int]], T], item: list[int]) -> Future[T]:
    """Done on the threads or, when the program ends and they take nothing more, here: what was begun is finished."""
    try:
        return threads.submit(work, item)
    except RuntimeError:
        done: Future[T] = Future()
        done.set_result(work(item))
        return done


def _pieces(inputs: Sequence[str] | Sequence[tuple[str, str]]) -> Iterator[list[Any]]:
    """The inputs, as many at a time as have so many characters: others are not to wait for all of them."""
    piece: list[Any] = []
    size = 0
    for one in inputs:
        piece.append(one)
        size += len(one) if isinstance(one, str) else len(one[0]) + len(one[1])
        if size >= _CHARACTERS:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


class Ran(NamedTuple):
    """A batch that was computed."""

    indexes: list[int]
    """Which of the inputs they are."""

    lengths: list[int]
    """How many tokens each has; the others of its rows are padding."""

    results: list[NDArray[np.float32]]
    """The outputs of the network, each with a row for each input."""


More = Callable[[Sequence[int], Sequence[Tokens]], dict[str, NDArray[Any]]]


class _Shared(NamedTuple):
    tokenizer: Tokenizer
    rows: NDArray[np.int8]
    scales: NDArray[np.float32]

    def feed(self, encodings: Sequence[Tokens]) -> dict[str, NDArray[Any]]:
        width = max(len(encoding) for encoding in encodings)
        ids = np.zeros((len(encodings), width), dtype=np.int64)
        mask = np.zeros((len(encodings), width), dtype=np.int32)
        segments = np.zeros((len(encodings), width), dtype=np.float32)
        for row, encoding in enumerate(encodings):
            length = len(encoding)
            ids[row, :length] = encoding.ids
            mask[row, :length] = 1
            segments[row, :length] = encoding.type_ids
        words = self.rows[ids] * self.scales[ids][..., None]
        return {"words": words, "mask": mask, "segments": segments}


_FILES = {
    "english": ("tokenizer.json", "word_rows.npy", "word_scales.npy"),
    "many_languages": ("many_tokenizer.json", "many_rows.npy", "many_scales.npy"),
}


_READING = threading.Lock()


def _shared(folder: Path, words: str) -> _Shared:
    """The tokenizer and the words, one copy for all models that read them."""
    with _READING:  # Models that are loaded side by side read them once.
        return _read(folder, words)


@lru_cache(maxsize=4)
def _read(folder: Path, words: str) -> _Shared:
    tokenizer_file, rows_file, scales_file = _FILES[words]
    tokenizer = read_tokenizer(read_weights(tokenizer_file, folder), LONGEST)
    rows = np.load(io.BytesIO(read_weights(rows_file, folder)))
    scales = np.load(io.BytesIO(read_weights(scales_file, folder)))
    return _Shared(tokenizer, rows, scales)


def batches(lengths: Sequence[int], tokens: int, threads: int) -> Iterator[slice]:
    """Which inputs are computed together, where these are their lengths, ascending: each then takes as long as the
    longest of them, and all together are at most so many tokens. A longer one begins a batch where that costs less than
    the padding of those before it; not where more threads are woken for each.
    """
    start = 0
    for at in range(1, len(lengths)):
        before = at - start
        padding = before * (lengths[at] - lengths[at - 1])
        is_apart = threads <= 2 and padding > _TOKENS_A_RUN * threads
        if is_apart or (before + 1) * lengths[at] > tokens:
            yield slice(start, at)
            start = at
    if lengths:
        yield slice(start, len(lengths))

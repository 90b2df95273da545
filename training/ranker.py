"""Ranks a conversation with Memorist's own recall: its messages are the rows of a shelf, and nothing else is."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memorist import words
from memorist.memories.searchable import Searchable
from memorist.recall.fusion import Fusion, Rows, by_meaning, by_words, first_order, reordered
from memorist.recall.index.postings import PostingLists, Postings, wording
from memorist.recall.question import terms_of
from memorist.recall.ranking import Links, Places, Scores, Threads, best
from training.data import Conversation, Message

METRICS = ("recall@1", "recall@5", "recall@10", "recall@50", "any@5", "mrr")


class Ranker:
    def __init__(self, conversation: Conversation, window_counts: NDArray[np.int64]) -> None:
        """`window_counts`: how many windows each message has."""
        self._lists = posting_lists([packed_terms(message) for message in conversation.messages])
        self._rows = _rows([message.session for message in conversation.messages], window_counts)

    def first(self, question: str, cosines: Scores, fusion: Fusion) -> Scores:
        """Each message's score in the first order; `cosines` are those of its best window."""
        found = wording([self._lists], question_hashes(question))[0]
        by_text = by_words(self._rows, found.bm25, found.coverage, fusion)
        # Which window is the best one does not count for the order.
        meaning = by_meaning(self._rows, cosines, np.zeros(cosines.size, np.int32), fusion)
        return first_order(self._rows, by_text, meaning, fusion)

    def reranked(self, first: Scores, pool: Places, judged: Scores, fusion: Fusion) -> Places:
        """The messages in their final order: the reranker read all of the pool."""
        order = best(first, first.size)
        places = np.concatenate([pool, order[~np.isin(order, pool)]])
        windows = self._rows.windows[places]
        return reordered(places, first[places], np.ones(places.size, np.float32), windows, judged, fusion).places


def posting_lists(packed: Sequence[bytes]) -> PostingLists:
    postings = Postings()
    postings.add(packed)
    postings.settle()
    return postings.view()


def packed_terms(message: Message, text: str | None = None) -> bytes:
    """The terms of a message, or of a part of it, as the index has them."""
    return Searchable(message.text if text is None else text, message.speaker, message.date, context="").terms()


def question_hashes(question: str) -> list[int]:
    return [words.hash_of(term) for term in terms_of(question)]


def measure(order: Places, evidence: Sequence[int]) -> dict[str, float]:
    found = np.isin(order, np.array(evidence))
    ranks = np.flatnonzero(found)
    recall = {f"recall@{k}": float(found[:k].sum()) / len(evidence) for k in (1, 5, 10, 50)}
    return recall | {"any@5": float(found[:5].any()), "mrr": 1.0 / (1 + int(ranks[0])) if len(ranks) else 0.0}


def _rows(sessions: Sequence[str], window_counts: NDArray[np.int64]) -> Rows:
    numbers = {session: number for number, session in enumerate(dict.fromkeys(sessions), start=1)}
    latest: dict[str, int] = {}
    previous = np.full(len(sessions), -1, dtype=np.intp)
    for place, session in enumerate(sessions):
        previous[place] = latest.get(session, -1)
        latest[session] = place
    linked = (previous >= 0) & (previous == np.arange(len(sessions)) - 1)
    threads = Threads.of(np.array([numbers[session] for session in sessions], dtype=np.intp))
    return Rows.of(Links.of(previous, linked.astype(np.float32)), threads, window_counts)

"""Why a memory came back where it did, and why another one did not."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from memorist.memories.values import Memory
from memorist.recall.candidates import Candidates
from memorist.recall.pool import what_is_said
from memorist.recall.ranked import Ranked
from memorist.recall.ranking import Scores
from memorist.recall.values import Hit

_LEFT_OUT = "The memories of its user were not looked at: there are too many users. Ask for that user."
_REPEATS = "It only repeats other memories, and those are found instead."


def explain(ranked: Ranked, place: int) -> dict[str, Any]:
    """Each arm's rank and score, the weights, and what the reranker made of it."""
    scored, candidates = ranked.pool.scored, ranked.pool.scored.candidates
    words, meaning, windows = scored.words, scored.meaning, int(candidates.rows.windows[place])
    explanation: dict[str, Any] = {
        "text": {
            "rank": _rank_of(candidates, words.bm25, place) if words.bm25[place] > 0 else None,
            "bm25": _rounded(words.bm25[place]),
            "coverage": _rounded(words.coverage[place]),
            "with_neighbours": _rounded(words.normal[place]),
        },
        "vector": {
            "rank": _rank_of(candidates, meaning.cosines, place) if windows else None,
            "cosine": _rounded(meaning.cosines[place]) if windows else None,
            "with_neighbours": _rounded(meaning.normal[place]),
            "window": int(meaning.windows[place]),
            "windows": windows,
        },
        "first_stage": {
            "rank": _rank_of(candidates, scored.weighted, place),
            "score": _rounded(scored.scores[place]),
        },
        "weight": _rounded(candidates.weights[place]),
    }
    agreement = scored.agreements.get(place)
    if agreement is not None:
        rank = 1 + sum(other > agreement for other in scored.agreements.values())
        explanation["tokens"] = {"rank": rank, "agreement": round(agreement, 4), "compared": len(scored.agreements)}
    order = ranked.places.tolist()
    if place in order:
        explanation["final_rank"] = order.index(place) + 1
    if ranked.judged is not None and place in ranked.judged:
        judged = ranked.judged[place]
        rank = 1 + sum(other > judged for other in ranked.judged.values())
        normal = round(ranked.spread[place], 4)
        read = len(ranked.judged)
        explanation["reranker"] = {"rank": rank, "score": round(judged, 4), "normalised": normal, "read": read}
    return explanation


def why_not(ranked: Ranked, shown: Sequence[float], hits: Sequence[Hit], memory: Memory) -> dict[str, Any]:
    """Whether a memory came back, and what kept it from that. `shown` are the scores of those that were ranked."""
    candidates = ranked.pool.scored.candidates
    rank = next((rank for rank, hit in enumerate(hits, start=1) if hit.memory.id == memory.id), None)
    if rank is not None:
        return {"id": memory.id, "recalled": True, "reason": f"It is number {rank} of the answer."}
    place = candidates.ids.place_of(memory.id)
    asked = candidates.asked
    if place is None and asked.leaves_out and memory.user not in asked.users:
        reason: str | None = _LEFT_OUT
    elif place is None:
        reason = "It is not in the index. Run `memorist index rebuild`."
    else:
        reason = _REPEATS if memory.repeats else candidates.refusal(place)
    if place is None or reason is not None:
        return {"id": memory.id, "recalled": False, "reason": reason}
    explanation = explain(ranked, place)
    said = what_is_said(memory)
    same = next((hit.memory.id for hit in hits if what_is_said(hit.memory) == said), None)
    score = dict(zip(ranked.places.tolist(), shown, strict=True)).get(place)
    least = asked.least
    if same is not None:
        reason = f"{same} says the same, and stands for it."
    elif score is not None and score < least:
        reason = f"Its score {score:.3f} is below the least that counts, {least:.3f}."
    else:
        number = explanation.get("final_rank") or explanation["first_stage"]["rank"]
        reason = f"Others fit better: it is number {number}, and {len(hits)} came back."
    return {"id": memory.id, "recalled": False, "reason": reason, "explanation": explanation}


def _rank_of(candidates: Candidates, scores: Scores, place: int) -> int:
    return 1 + int(np.count_nonzero((scores > scores[place]) & candidates.wanted))


def _rounded(score: np.float32) -> float:
    return round(float(score), 4)

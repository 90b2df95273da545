"""What the core can be told when it is made."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memorist.composing.values import BUDGET_TOKENS
from memorist.facts.port import Judge
from memorist.memories.policy import Policy
from memorist.models.port import Embedder, Llm, Reranker, Tagger
from memorist.platform.backups import BackupPlan
from memorist.recall.index.snapshot_folder import SnapshotFolder
from memorist.recall.values import Weights
from memorist.turns.limits import Toolbox, TurnLimits
from memorist.watching import Watch


@dataclass(frozen=True, slots=True)
class Options:
    """What the core can be told. The models are made when they are first needed; without them, keywords alone count."""

    embedder: Callable[[], Embedder | None] = lambda: None
    reranker: Callable[[], Reranker | None] = lambda: None
    weights: Weights = Weights()
    min_score: float = 0.0
    recall_budget_ms: float = 0
    index_inline: int = 8
    index_memory_bytes: int = 512 << 20
    index_folder: SnapshotFolder | None = None
    lacks_index_folder: bool = False
    """Whether indexes are saved nowhere only because no folder was named."""
    tool_output_preview: int = 4000
    context_tokens: int = BUDGET_TOKENS
    check_interval_s: float = 0
    backups: BackupPlan | None = None
    judge: Callable[[], Judge | None] = lambda: None
    judge_top_k: int = 5
    judge_threshold: float = 0.7
    policy: Policy = Policy()
    observation_days: float = 14
    turn_events_days: float = 30
    purge_at_once: int = 5000
    sweep_interval_s: float = 0
    redact: bool = True
    session_hours: float = 168
    recall_history: int = 20
    audit: str = "all"
    audit_days: float = 365
    transcript_roots: tuple[Path, ...] = ()
    llm: Callable[[], Llm | None] = lambda: None
    extraction_llm: Callable[[], Llm | None] = lambda: None
    extractor: str = "auto"
    extraction_answer_tokens: int = 4096
    tagger: Callable[[], Tagger | None] = lambda: None
    toolbox: Callable[[Any], Toolbox | None] = lambda _: None
    """Of the core that is made with these."""
    turn_limits: TurnLimits = TurnLimits()
    uploads: Path = Path(tempfile.gettempdir()) / "memorist-uploads"
    watch: Watch = Watch()
    is_brief: bool = False
    """Whether it is made for one command or hook, which does nothing that can be left to those that last."""

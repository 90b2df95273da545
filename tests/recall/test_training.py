"""Training measures its models in the order that recall gives."""

import random
from datetime import UTC, datetime

import numpy as np
import pytest

from memorist.ingestion.service import Message
from memorist.models.passages import spoken_date
from memorist.platform.values import Principal
from memorist.recall.fusion import FUSION
from tests.recall.conftest import OpenCore, ask
from tests.support.models import WordEmbedder, WordReranker
from training.data import Conversation, Question, cut_into_units, write_out
from training.data import Message as Told
from training.evaluate import judge
from training.ranker import Ranker

WORDS = ["tea", "train", "tax", "river", "owl", "oak", "piano", "salt", "kettle", "garden", "night", "money"]
MORNING = datetime(2024, 5, 8, 9, tzinfo=UTC)


def told(rng: random.Random, number: int) -> Told:
    text = " ".join(rng.choices(WORDS, k=rng.randint(3, 20)))
    return Told(rng.choice(("Ada", "Mel")), spoken_date(MORNING), f"s{number // 7}", text)


def test_a_conversation_is_ranked_as_recall_ranks_it(open_with: OpenCore, ada: Principal) -> None:
    rng = random.Random(5)
    messages = [told(rng, number) for number in range(30)]
    questions = [Question(" ".join(rng.sample(WORDS, 3)), (0,)) for _ in range(6)]
    conversation = Conversation("made up", messages, questions)
    embedder, reranker = WordEmbedder(), WordReranker()
    core = open_with(embedder, reranker)
    for session in dict.fromkeys(message.session for message in messages):
        spoken = [
            Message("user", message.text, message.speaker, MORNING)
            for message in messages
            if message.session == session
        ]
        core.ingestion.add_messages(ada, session, spoken)
    list(core.indexer.finish(ada.tenant))
    fusion = FUSION.elsewhere()  # The reranker of tests is not the local one.
    judged = judge(conversation, embedder, reranker, fusion)
    ranker = Ranker(conversation, judged.window_counts)
    number_of = {message.text: number for number, message in enumerate(messages)}
    for number, question in enumerate(questions):
        first = ranker.first(question.text, judged.dense[number], fusion)
        recalled = ask(core, ada, question.text, top_k=20, min_score=0.0, explain=True)
        found = [number_of[hit.memory.content] for hit in recalled.hits]
        explained = [hit.explanation["first_stage"]["score"] for hit in recalled.hits if hit.explanation]
        # A byte a dimension moves a cosine a little.
        assert explained == pytest.approx(first[found].tolist(), abs=0.02)
        assert len(set(found) & set(judged.pools[number].tolist())) >= 18
        order = ranker.reranked(first, judged.pools[number], judged.reranker[number], fusion)
        ranks = {place: rank for rank, place in enumerate(order.tolist())}
        assert np.abs([ranks[place] - rank for rank, place in enumerate(found)]).mean() < 1
    assert len(cut_into_units([conversation])) == len(messages)
    assert write_out([conversation], cut_into_units([conversation])[1], "embedded") in embedder.embedded

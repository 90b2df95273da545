"""What reads sentences that are not English: it learns, and what is written says what was learned."""

import json
import shutil
from pathlib import Path

import numpy as np

from memorist.models.embedder import OtherLanguages
from memorist.models.files import FOLDER, MANIFEST
from memorist.models.other_tags import FILE, Floats, OtherTags
from training.knowledge.data import LANGUAGES, SESSIONS, load
from training.knowledge.sentences import Labelled, fit, labelled, write

EMBEDDER = OtherLanguages(threads=2)


def test_the_data_is_as_large_as_its_card_says() -> None:
    sessions = load(LANGUAGES)
    assert len(sessions) == 171
    assert len({one["lang"] for one in sessions}) == 14
    assert not {one["id"] for one in sessions} & {one["id"] for one in load(SESSIONS)}


def test_some_networks_learn_and_are_written_as_one(tmp_path: Path) -> None:
    rows = labelled(load(LANGUAGES)[:24], EMBEDDER)
    assert len(rows.vectors) == len(rows.wanted) == len(rows.weights) > 250
    assert set(rows.weights.tolist()) == {3.0}
    networks = [fit(rows, seed, hidden=16, epochs=60) for seed in (1, 2)]
    for name in (MANIFEST, "many_embedder.onnx", "many_rows.npy", "many_scales.npy", "many_tokenizer.json"):
        shutil.copy(FOLDER / name, tmp_path)
    write(networks, tmp_path)
    assert FILE in json.loads((tmp_path / MANIFEST).read_text())
    said = ["Ich wohne in Kiel.", "Danke, das hilft!"]
    alone = np.mean([_outputs(one, EMBEDDER.read(said).vectors) for one in networks], axis=0)
    written = OtherTags(EMBEDDER, tmp_path).of(said)
    assert np.allclose(written, alone, atol=0.02)
    # It knows what it learned.
    likely = _outputs(networks[0], rows.vectors)[:, 0] > 0
    assert np.mean(likely == (rows.wanted[:, 0] > 0)) > 0.7


def test_a_sentence_counts_three_times_where_it_is_not_english() -> None:
    rows = labelled(load(SESSIONS)[:2], EMBEDDER)
    assert isinstance(rows, Labelled)
    assert set(rows.weights.tolist()) == {1.0}


def _outputs(network: list[Floats], vectors: Floats) -> Floats:
    found: Floats = np.maximum(vectors @ network[0] + network[1], 0) @ network[2] + network[3]
    return found

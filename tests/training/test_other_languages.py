"""The embedder of other languages is trained, and the mean of two runs is exported as it is shipped.

Needs torch, as tests/training/test_chain.py says.
"""

import os
from pathlib import Path

import numpy as np
import pytest

if os.environ.get("MEMORIST_TRAINING_TESTS") == "1":
    import torch
else:
    torch = pytest.importorskip("torch", reason="training needs torch: pip install -r training/requirements.txt")

from memorist.models.embedder import OtherLanguages
from memorist.models.files import FOLDER
from training import languages
from training.data import Conversation, Message, Question
from training.encoder import save_trained
from training.manifest import write_manifest

pytestmark = [pytest.mark.training, pytest.mark.timeout(600)]

THINGS = ["piano", "garden", "bicycle", "camera", "novel", "puppy", "kitchen", "violin"]


def told() -> list[Conversation]:
    english = [Message("Ada", f"{day} May 2023", "1", f"I bought a {thing}.") for day, thing in enumerate(THINGS, 1)]
    german = [Message("Ada", "8 May 2023", "1", f"Ich habe heute ein {thing} gekauft.") for thing in THINGS]
    asked = [Question("Was ist mit dem garden?", (1,)), Question("When did Ada get a novel?", (4,))]
    return [Conversation("synth", english, []), Conversation("own de", german, asked)]


def test_runs_are_trained_averaged_and_exported(tmp_path: Path) -> None:
    stages = [languages.Recipe(2, 1e-4, english=4, questions=2, wrong=2)] * 2
    runs = []
    for seed in (1, 2):
        torch.manual_seed(1)
        model = languages.with_words(FOLDER, layers=1)
        languages.run(told(), model, FOLDER, stages, seed)
        runs.append(tmp_path / str(seed))
        save_trained(model, runs[-1], languages.NAME)
    to = tmp_path / "mean"
    languages.averaged(runs, (0.4, 0.6), FOLDER, to, layers=1)
    for name in ("many_rows.npy", "many_scales.npy", "many_tokenizer.json"):
        (to / name).symlink_to(FOLDER / name)
    write_manifest(to)
    vectors = OtherLanguages(1, to).read(["Ich habe einen Hund.", "我有一只狗"]).vectors
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(2), abs=1e-3)

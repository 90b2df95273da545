"""The tagger and the comparer: their data, that they learn, and that what is exported says what was trained."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tokenizers import Tokenizer  # noqa: E402

from memorist.models.files import FOLDER  # noqa: E402
from memorist.models.tagger import OUTPUTS, pair_of, pooling  # noqa: E402
from memorist.models.values import RULINGS, Passage  # noqa: E402
from training.knowledge.data import PAIRS, SESSIONS, examples, load, pairs, split  # noqa: E402
from training.knowledge.export import comparer_graph, tagger_graph  # noqa: E402
from training.knowledge.models import JudgingModel, TaggingModel  # noqa: E402
from training.knowledge.run import augmented, limited, unlabelled  # noqa: E402
from training.knowledge.train import Recipe, judging_loss, tagged, tagging_loss, train  # noqa: E402
from training.rounding import round_encoder, set_ranges  # noqa: E402
from training.torch_models import padded  # noqa: E402

EXAMPLES = list(examples(load(SESSIONS)))
ROWS = pairs(load(PAIRS))
TOKENIZER = limited(Tokenizer.from_file(str(FOLDER / "tokenizer.json")))


def small(kind: type) -> torch.nn.Module:
    torch.manual_seed(1)
    model = kind(1)
    for value in model.parameters():
        torch.nn.init.normal_(value, std=0.05)
    model.encoder.word_rows.random_(-60, 60)
    model.encoder.word_scales.fill_(0.001)
    return model


def test_the_data_is_as_large_and_varied_as_its_card_says() -> None:
    assert len({session["id"] for session in load(SESSIONS)}) == 954
    kept = [label for example in EXAMPLES for label in example.labels if label.importance]
    assert len(kept) > 7_500
    assert 0.3 < len(kept) / sum(len(example.labels) for example in EXAMPLES) < 0.7
    assert len(ROWS) == 19_846
    assert {row.label for row in ROWS} == set(range(len(RULINGS)))


def test_families_are_held_back_together() -> None:
    kept, held = split(ROWS, 0.1, 1)
    assert len(kept) + len(held) == len(ROWS)
    assert not {row.older for row in kept} & {row.older for row in held}


def test_pairs_turned_round_and_of_one_family_are_added() -> None:
    rows = [row for row in ROWS if row.source == "P1"]
    turned = augmented(rows)[len(rows) :]
    assert {row.label for row in turned} == {0, 1, 2}
    assert len(unlabelled(rows)) > 500


def test_each_sentence_is_the_mean_of_its_own_tokens() -> None:
    text = "I moved to Rome. It rains."
    passage = Passage(text, [(0, 16), (17, 26)], "Ada", "Tom: Hi!")
    (encoding,) = TOKENIZER.encode_batch([pair_of(passage)])
    rows = pooling(passage, encoding)
    words = [[encoding.tokens[token] for token in np.flatnonzero(row)] for row in rows]
    assert words == [["i", "moved", "to", "rome", "."], ["it", "rains", "."]]
    assert rows.sum(1) == pytest.approx([1, 1])


def test_both_learn_what_they_are_shown() -> None:
    tagger, shown = small(TaggingModel), EXAMPLES[:32]
    loss = tagging_loss(tagger, TOKENIZER)
    before = float(loss(shown, None).detach())
    train(tagger, shown, loss, Recipe(epochs=6, rate=1e-3, batch=16), 1)
    assert float(loss(shown, None).detach()) < before
    comparer, rows = small(JudgingModel), ROWS[:32]
    loss = judging_loss(comparer, TOKENIZER)
    train(comparer, rows, loss, Recipe(epochs=2, rate=1e-3, batch=16), 1)


@pytest.mark.parametrize("kind", [TaggingModel, JudgingModel])
def test_what_is_exported_says_what_was_trained(kind: type) -> None:
    import onnxruntime

    model = small(kind).eval()
    examples_ = EXAMPLES[:4]
    encodings = TOKENIZER.encode_batch([pair_of(one.passage) for one in examples_])
    ids, mask, types = padded(encodings, torch.device("cpu"))
    round_encoder(model.encoder)
    with torch.no_grad():
        set_ranges(model.encoder, lambda: model.encoder(ids, mask, types))
    graph = tagger_graph(model) if kind is TaggingModel else comparer_graph(model)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    words = model.encoder.word_rows[ids].float() * model.encoder.word_scales[ids].unsqueeze(-1)
    feed = {"words": words.numpy(), "mask": mask.int().numpy(), "segments": types.float().numpy()}
    with torch.no_grad():
        if kind is TaggingModel:
            wanted = tagged(model, TOKENIZER, examples_).numpy()
            weights = np.zeros((*wanted.shape[:2], ids.shape[1]), dtype=np.float32)
            for row, (one, encoding) in enumerate(zip(examples_, encodings, strict=True)):
                own = pooling(one.passage, encoding)
                weights[row, : own.shape[0], : own.shape[1]] = own
            feed["pooling"] = weights
            assert wanted.shape[-1] == OUTPUTS
        else:
            wanted = model(ids, mask, types).numpy()
    (found,) = session.run(None, feed)
    assert found == pytest.approx(wanted, abs=0.02)

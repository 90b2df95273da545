"""The trained models at full precision behind the same two calls as the shipped ones."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from memorist.models.files import FOLDER
from training.encoder import EmbeddingModel, RerankingModel, load_trained, load_words, trained_layers

TOKENIZER = FOLDER / "tokenizer.json"
LIMIT = 256


class TorchEmbedder:
    def __init__(self, model: EmbeddingModel, batch: int = 256) -> None:
        self.model, self.batch = model, batch
        self.tokenizer = _tokenizer()

    @torch.no_grad()
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.model.eval()
        device = next(self.model.parameters()).device
        encodings = self.tokenizer.encode_batch(list(texts))
        order = sorted(range(len(texts)), key=lambda place: len(encodings[place].ids))
        vectors = np.zeros((len(texts), 384), dtype=np.float32)
        for start in range(0, len(order), self.batch):
            chosen = order[start : start + self.batch]
            ids, mask, _ = padded([encodings[place] for place in chosen], device)
            vectors[chosen] = self.model(ids, mask).cpu().numpy()
        return vectors


class TorchReranker:
    def __init__(self, model: RerankingModel) -> None:
        self.model = model
        self.tokenizer = _tokenizer()

    @torch.no_grad()
    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        self.model.eval()
        device = next(self.model.parameters()).device
        encodings = self.tokenizer.encode_batch([(query, passage) for passage in passages])
        return self.model(*padded(encodings, device)).cpu().tolist()


def load_embedder(trained: Path, words: Path = FOLDER, name: str = "embedder") -> TorchEmbedder:
    model = EmbeddingModel(trained_layers(trained, name))
    load_words(model.encoder, words)
    load_trained(model, trained, name)
    return TorchEmbedder(model.to(device()))


def load_reranker(trained: Path, words: Path = FOLDER, name: str = "reranker") -> TorchReranker:
    model = RerankingModel(trained_layers(trained, name))
    load_words(model.encoder, words)
    load_trained(model, trained, name)
    return TorchReranker(model.to(device()))


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LIMIT, strategy="longest_first")
    return tokenizer


def padded(encodings: Sequence, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    width = max(len(encoding.ids) for encoding in encodings)
    ids = np.zeros((len(encodings), width), dtype=np.int64)
    mask = np.zeros((len(encodings), width), dtype=bool)
    types = np.zeros((len(encodings), width), dtype=np.int64)
    for row, encoding in enumerate(encodings):
        ids[row, : len(encoding.ids)] = encoding.ids
        mask[row, : len(encoding.ids)] = True
        types[row, : len(encoding.ids)] = encoding.type_ids
    return tuple(torch.from_numpy(array).to(device) for array in (ids, mask, types))  # type: ignore[return-value]

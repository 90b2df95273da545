"""Trains what the embedder says of single tokens: `python -m training.tokens --data FILE --out FILE`.

The embedder stays as it is shipped. A product reads the states of its tokens after three of its layers and makes 128
numbers of each, and what the token counts where it asks. How well a passage answers is what each token of the question
agrees with best in it, added up; of a passage only the signs of the numbers are kept. The product follows the
reranker's scores of each question's list.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from memorist.models.files import FOLDER
from memorist.recall.fusion import FUSION
from training.data import FORMS, load_training
from training.encoder import WIDTH, EmbeddingModel, Encoder, RerankingModel
from training.manifest import write_manifest
from training.mining import autocast, mine
from training.sampling import Sampler
from training.shipped import load_shipped, shipped_head
from training.tables import Tables, build_tables, mask_of, with_cls
from training.torch_models import TOKENIZER, device
from training.train import rerank_units

TRAINED = Path(__file__).parent / "token_head.safetensors"
"""What a run of the defaults gave, which the shipped embedder has."""
TAPS = (2, 4, 6)
"""The layers after which it reads the states: early ones know the words, late ones what they mean here."""
BITS = 128
QUESTIONS = 96
RATE = 1e-3
WARM_UP = 100
GOLD = 0.3
"""What the answer itself counts beside the reranker's 1."""
BARE = 0.1
"""The share of the steps that read turns without what is around them."""


class TokenHead(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(WIDTH * len(TAPS), BITS)
        self.weigh = nn.Linear(WIDTH * len(TAPS), 1)
        self.scale = nn.Parameter(torch.tensor(3.0).log())
        nn.init.normal_(self.project.weight, std=0.03)
        for parameter in (self.project.bias, self.weigh.weight, self.weigh.bias):
            nn.init.zeros_(parameter)

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """The numbers of each token, as a direction, and what it counts in a question."""
        numbers = self.project(F.dropout(states, 0.1, self.training))
        return F.normalize(numbers, dim=-1), F.softplus(self.weigh(states)).squeeze(-1)

    def agreement(self, asked: Tensor, weights: Tensor, told: Tensor, known: Tensor) -> Tensor:
        """The scores of lists of passages: `asked` has [questions, tokens, bits], `told` a list for each question, and
        `known` which tokens there are.
        """
        products = torch.einsum("qmd,qwld->qwml", asked, _signs(told)).float()
        best = products.masked_fill(~known[:, :, None, :], -1.0).amax(-1)
        return (best * weights[:, None, :]).sum(-1) * self.scale.exp()


def _signs(numbers: Tensor) -> Tensor:
    """As they are kept. The gradient is that of the numbers."""
    kept = torch.where(numbers >= 0, 1.0, -1.0) / BITS**0.5
    return numbers + (kept - numbers).detach()


def token_states(encoder: Encoder, ids: Tensor, mask: Tensor, taps: Sequence[int] = TAPS) -> Tensor:
    """The states of all tokens after some of the layers, one beside the other; of padding zeros."""
    x = encoder._begin(ids, None).flatten(0, 1).index_select(0, mask.flatten().nonzero().squeeze(1))
    starts = F.pad(mask.sum(1).cumsum(0), (1, 0)).int()
    found = []
    for number, layer in enumerate(encoder.layers, start=1):
        x = layer.packed(x, starts, ids.shape[1])
        if number in taps:
            found.append(x)
    states = torch.cat(found, dim=-1).float()
    spread = torch.zeros(*mask.shape, states.shape[-1], device=states.device)
    spread[mask] = states
    return spread


def train(
    head: TokenHead,
    encoder: Encoder,
    reranker: RerankingModel,
    tables: Tables,
    sampler: Sampler,
    steps: int,
    questions: int,
) -> None:
    optimizer = torch.optim.AdamW(head.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / WARM_UP) * (1 - step / steps)
    )
    choose = torch.Generator().manual_seed(1)
    started, shown, every = time.monotonic(), 0.0, max(1, steps // 10)
    for step in range(steps):
        form = "bare" if torch.rand((), generator=choose) < BARE else "embedded"
        loss = _loss(head, encoder, reranker, tables, sampler, form, questions)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(head.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        shown += float(loss.detach())
        if (step + 1) % every == 0:
            spent = time.monotonic() - started
            print(f"  step {step + 1} of {steps}, loss {shown / every:.4f}, {spent:.0f} s", flush=True)
            shown = 0.0


def drawn(sampler: Sampler, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Questions, the units of each with its answer first, and which of these there are not."""
    questions = sampler.questions(count)
    wrong = sampler.wrong(questions, same=14, anywhere=3, neighbours=2, random=2)
    units = torch.cat([sampler.positive(questions)[:, None], wrong], dim=1)
    return questions, units.clamp(min=0), units < 0


def _loss(
    head: TokenHead, encoder: Encoder, reranker: RerankingModel, tables: Tables, sampler: Sampler, form: str, count: int
) -> Tensor:
    questions, units, empty = drawn(sampler, count)
    told, told_mask = with_cls(*tables.passages[form].take(units.flatten(), room=1))
    asked, lengths = tables.questions.take(questions)
    asked_mask = mask_of(lengths, asked.shape[1])
    with torch.no_grad(), autocast(units.device):
        read = "bare" if form == "bare" else "reranked"
        wanted = rerank_units(reranker, tables, questions, units, read).float().masked_fill(empty, -1e4)
        told_states, asked_states = token_states(encoder, told, told_mask), token_states(encoder, asked, asked_mask)
    numbers, _ = head(told_states)
    asking, weights = head(asked_states)
    numbers, known = numbers.view(*units.shape, *numbers.shape[1:]), told_mask.view(*units.shape, -1)
    scores = head.agreement(asking, weights * asked_mask, numbers, known).masked_fill(empty, -1e4)
    answer = torch.zeros(count, dtype=torch.long, device=units.device)
    return F.cross_entropy(scores, wanted.softmax(1)) + GOLD * F.cross_entropy(scores, answer)


def add_to_graph(model: onnx.ModelProto, head: TokenHead, taps: Sequence[int] = TAPS) -> None:
    """Let the graph of an embedder say of each token its numbers and what it counts. Its vectors stay as they are."""
    graph = model.graph
    layers = [node for node in graph.node if node.op_type == "LayerNormalization"][2::2]
    weight = torch.cat([head.project.weight, head.weigh.weight]).T.detach().numpy()
    bias = torch.cat([head.project.bias, head.weigh.bias]).detach().numpy()
    graph.initializer.append(numpy_helper.from_array(weight.astype(np.float16), "token_weight"))
    graph.initializer.append(numpy_helper.from_array(bias.astype(np.float32), "token_bias"))
    graph.node.extend(
        [
            helper.make_node("Concat", [layers[tap - 1].output[0] for tap in taps], ["token_states"], axis=2),
            helper.make_node("Cast", ["token_weight"], ["token_weight_float"], to=TensorProto.FLOAT),
            helper.make_node("MatMul", ["token_states", "token_weight_float"], ["token_products"]),
            helper.make_node("Add", ["token_products", "token_bias"], ["tokens"]),
        ]
    )
    graph.output.append(helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["batch", "length", BITS + 1]))


def add_to(folder: Path, head: TokenHead, name: str = "embedder", taps: Sequence[int] = TAPS) -> None:
    """Write an embedder of a folder of weights anew, with the head, and the manifest."""
    path = folder / f"{name}.onnx"
    model = onnx.load(path)
    if any(output.name == "tokens" for output in model.graph.output):
        raise ValueError(f"{path} has a token head already; export it anew first")
    add_to_graph(model, head, taps)
    path.write_bytes(model.SerializeToString())
    write_manifest(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="what to train on; without it --out is read")
    parser.add_argument("--out", type=Path, default=TRAINED, help="the head, as a safetensors file")
    parser.add_argument("--weights", type=Path, default=FOLDER, help="the embedder and the reranker that it follows")
    parser.add_argument("--add-to", type=Path, help="folder of weights whose embedder gets the head")
    parser.add_argument("--steps", type=int, default=4100)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    arguments = parser.parse_args()
    head = TokenHead()
    if arguments.data is not None:
        torch.manual_seed(11)
        torch.set_float32_matmul_precision("high")
        tables = build_tables(load_training(arguments.data), TOKENIZER, FORMS, device())
        embedder, reranker = shipped(arguments.weights)
        sampler = Sampler(tables, mine(embedder, tables, text=FUSION.text), seed=11)
        head.to(device()).train()
        train(head, embedder.encoder, reranker, tables, sampler, arguments.steps, arguments.questions)
        save_head(head, arguments.out)
    load_head(head.cpu(), arguments.out)
    if arguments.add_to is not None:
        add_to(arguments.add_to, head)


def save_head(head: TokenHead, path: Path) -> None:
    save_file({name: tensor.half().cpu().contiguous() for name, tensor in head.state_dict().items()}, path)


def load_head(head: TokenHead, path: Path) -> None:
    head.load_state_dict({name: tensor.float() for name, tensor in load_file(path).items()})


def shipped(folder: Path) -> tuple[EmbeddingModel, RerankingModel]:
    embedder, reranker = EmbeddingModel(), RerankingModel()
    load_shipped(embedder.encoder, "embedder", folder)
    load_shipped(reranker.encoder, "reranker", folder)
    shipped_head(reranker.head, "reranker", folder)
    for model in (embedder, reranker):
        model.to(device()).eval().requires_grad_(False)
        for layer in model.encoder.layers:
            layer.gelu = "tanh"  # As it is exported.
    return embedder, reranker


if __name__ == "__main__":
    main()

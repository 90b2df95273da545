"""Everything tokenized once, as tensors on the device: a batch is then only an index."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from training.data import SOURCE_WEIGHTS, Conversation, cut_into_units, write_out
from training.ranker import packed_terms, question_hashes

PASSAGE_TOKENS, QUESTION_TOKENS = 160, 64
CLS, SEP = 101, 102
MOST_EVIDENCE = 12


@dataclass(frozen=True)
class Rows:
    """Token rows of unequal length, padded with zeros."""

    tokens: Tensor
    lengths: Tensor

    def take(self, index: Tensor, room: int = 0) -> tuple[Tensor, Tensor]:
        """Rows cut to the longest; their width plus `room` is a multiple of 8, which attention kernels want."""
        lengths = self.lengths[index]
        width = min(int(lengths.max() + room + 7) // 8 * 8, self.tokens.shape[1]) - room
        return self.tokens[index, :width].long(), lengths


@dataclass(frozen=True)
class Tables:
    """`passages[form]` are token rows with a closing [SEP]; `questions` are rows with [CLS] and [SEP]."""

    passages: dict[str, Rows]
    questions: Rows
    unit_conversation: Tensor
    unit_message: Tensor
    conversation_units: Tensor
    question_conversation: Tensor
    question_weight: Tensor
    question_source: Tensor
    """Numbers in `sources`."""
    sources: Sequence[str]
    positives: Tensor
    unit_terms: Sequence[bytes]
    """The words of each unit as the index has them."""
    question_terms: Sequence[Sequence[int]]

    @property
    def unit_count(self) -> int:
        return len(self.unit_conversation)


def build_tables(
    conversations: Sequence[Conversation], tokenizer: Path, forms: Sequence[str], device: torch.device
) -> Tables:
    encode = Tokenizer.from_file(str(tokenizer))
    encode.no_padding()
    encode.no_truncation()
    units = cut_into_units(conversations)
    message_starts = np.cumsum([0] + [len(conversation.messages) for conversation in conversations])
    unit_conversation = np.array([unit.conversation for unit in units])
    unit_message = np.array([message_starts[unit.conversation] + unit.message for unit in units])
    unit_starts = np.searchsorted(unit_conversation, np.arange(len(conversations) + 1))

    sources = sorted({conversation.source for conversation in conversations})
    questions, owners, weights, origins, positives = [], [], [], [], []
    for number, conversation in enumerate(conversations):
        for question in conversation.questions:
            wanted = message_starts[number] + np.array(question.evidence)
            own = np.arange(unit_starts[number], unit_starts[number + 1])
            found = own[np.isin(unit_message[own], wanted)][:MOST_EVIDENCE]
            questions.append(question.text)
            owners.append(number)
            weights.append(SOURCE_WEIGHTS.get(conversation.source, 1.0))
            origins.append(sources.index(conversation.source))
            positives.append(np.pad(found, (0, MOST_EVIDENCE - len(found)), constant_values=-1))

    def tensor(values: object) -> Tensor:
        return torch.as_tensor(np.asarray(values), device=device)

    return Tables(
        passages={
            form: _rows(encode, [write_out(conversations, unit, form) for unit in units], PASSAGE_TOKENS, False, device)
            for form in forms
        },
        questions=_rows(encode, questions, QUESTION_TOKENS, True, device),
        unit_conversation=tensor(unit_conversation),
        unit_message=tensor(unit_message),
        conversation_units=tensor(unit_starts),
        question_conversation=tensor(owners),
        question_weight=tensor(weights).float(),
        question_source=tensor(origins),
        sources=sources,
        positives=tensor(np.stack(positives)),
        unit_terms=[packed_terms(conversations[unit.conversation].messages[unit.message], unit.text) for unit in units],
        question_terms=[question_hashes(question) for question in questions],
    )


def with_cls(tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Passage rows as the embedder reads them, and their mask."""
    ids = torch.cat([torch.full_like(tokens[:, :1], CLS), tokens], dim=1)
    return ids, mask_of(lengths + 1, ids.shape[1])


def paired(question: tuple[Tensor, Tensor], passage: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Question and passage in one row, as the reranker reads them: ids, mask and segment."""
    (asked, asked_lengths), (told, told_lengths) = question, passage
    width = int((asked_lengths + told_lengths).max() + 7) // 8 * 8
    place = torch.arange(width, device=asked.device)[None, :]
    start = asked_lengths[:, None]
    in_question = place < start
    mask = place < start + told_lengths[:, None]
    left = asked.gather(1, place.clamp(max=asked.shape[1] - 1).expand(len(asked), -1))
    right = told.gather(1, (place - start).clamp(0, told.shape[1] - 1))
    ids = torch.where(in_question, left, right) * mask
    return ids, mask, (mask & ~in_question).long()


def mask_of(lengths: Tensor, width: int) -> Tensor:
    return torch.arange(width, device=lengths.device)[None, :] < lengths[:, None]


def _rows(encode: Tokenizer, texts: Sequence[str], limit: int, opened: bool, device: torch.device) -> Rows:
    table = np.zeros((len(texts), limit), dtype=np.int16)
    lengths = np.zeros(len(texts), dtype=np.int64)
    chunk = 20_000
    for start in range(0, len(texts), chunk):
        # Cut by characters first: no token is longer than the text it comes from.
        batch = [text[: limit * 12] for text in texts[start : start + chunk]]
        for offset, encoding in enumerate(encode.encode_batch_fast(batch, add_special_tokens=False)):
            ids = encoding.ids[: limit - 2]
            row = [CLS, *ids, SEP] if opened else [*ids, SEP]
            table[start + offset, : len(row)] = row
            lengths[start + offset] = len(row)
    return Rows(torch.from_numpy(table).to(device), torch.from_numpy(lengths).to(device))

"""Examples as padded tensors: encoding by kind, and batches of like lengths in a reproducible
order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from zoo.recipe.tasks import Example, TaskData

IGNORED = -100
"""Label of positions that are not scored: subwords inside a word, padding, special tokens."""

POOL = 40  # batches whose examples are sorted by length together, then shuffled


@dataclass(frozen=True)
class Encoded:
    """One example as ids. `extra` holds the kind's own fields, scalars or lists.

    sequence: labels. words, text: labels a subword. arcs: word_starts, heads a word. span:
    start_positions, end_positions, and for scoring only (not batched) the context's character
    `offsets` a subword, None outside the context.
    """

    ids: list[int]
    extra: dict[str, Any]
    offsets: list[tuple[int, int] | None] | None = None
    source: Example | None = None


def encode_task(
    tokenizer: Any, task: TaskData, examples: Sequence[Example], max_length: int
) -> list[Encoded]:
    """Encode examples exactly as the tokenizer encodes them for anyone else; longer ones are cut at
    `max_length`."""
    encoders = {
        "sequence": _encode_sequence,
        "words": _encode_words,
        "arcs": _encode_arcs,
        "span": _encode_span,
        "text": _encode_text,
    }
    return [encoders[task.kind](tokenizer, example, max_length) for example in examples]


def _encode_sequence(tokenizer: Any, example: Example, max_length: int) -> Encoded:
    encoding = tokenizer(example.text, example.pair, truncation=True, max_length=max_length)
    return Encoded(encoding["input_ids"], {"labels": example.label}, source=example)


def _first_subwords(
    tokenizer: Any, words: Sequence[str], max_length: int
) -> tuple[list[int], list[int]]:
    """Return (ids, place of each word's first subword); -1 for a word cut off or without any."""
    encoding = tokenizer(
        list(words), is_split_into_words=True, truncation=True, max_length=max_length
    )
    starts = [-1] * len(words)
    for place, word in enumerate(encoding.word_ids()):
        if word is not None and starts[word] < 0:
            starts[word] = place
    return encoding["input_ids"], starts


def _encode_words(tokenizer: Any, example: Example, max_length: int) -> Encoded:
    ids, starts = _first_subwords(tokenizer, example.words, max_length)
    labels = [IGNORED] * len(ids)
    for start, label in zip(starts, example.labels, strict=True):
        if start >= 0:
            labels[start] = label
    return Encoded(ids, {"labels": labels}, source=example)


def _encode_arcs(tokenizer: Any, example: Example, max_length: int) -> Encoded:
    ids, starts = _first_subwords(tokenizer, example.words, max_length)
    cut = max((place for place, start in enumerate(starts) if start >= 0), default=-1) + 1
    starts = [
        max(start, 0) for start in starts[:cut]
    ]  # a word without subwords borrows the first token
    heads = [head if head <= cut else IGNORED for head in example.labels[:cut]]
    return Encoded(ids, {"word_starts": starts, "heads": heads}, source=example)


def _encode_span(tokenizer: Any, example: Example, max_length: int) -> Encoded:
    encoding = tokenizer(
        example.text,
        example.pair,
        truncation="only_second",
        max_length=max_length,
        return_offsets_mapping=True,
    )
    sides = encoding.sequence_ids()
    offsets = [
        tuple(pair) if side == 1 else None
        for pair, side in zip(encoding["offset_mapping"], sides, strict=True)
    ]
    start = end = 0  # no answer, or cut off: the first token
    if example.answers:
        first, last = example.starts[0], example.starts[0] + len(example.answers[0])
        inside = [
            place
            for place, pair in enumerate(offsets)
            if pair and pair[0] < last and pair[1] > first
        ]
        reaches = any(pair and pair[1] >= last for pair in offsets)
        if inside and reaches:
            start, end = inside[0], inside[-1]
    return Encoded(
        encoding["input_ids"], {"start_positions": start, "end_positions": end}, offsets, example
    )


def _encode_text(tokenizer: Any, example: Example, max_length: int) -> Encoded:
    """Encode a text with its end, which is predicted too; its beginning is not."""
    encoding = tokenizer(example.text, truncation=True, max_length=max_length - 1)
    ids = [*encoding["input_ids"], tokenizer.eos_token_id]
    return Encoded(ids, {"labels": [IGNORED, *ids[1:]]}, source=example)


PADDING = {"word_starts": -1, "labels": IGNORED, "heads": IGNORED}


def collate(batch: Sequence[Encoded], pad: int) -> dict[str, Tensor]:
    """Pad a batch into tensors: `input_ids`, `attention_mask`, and the kind's own fields."""
    tensors = {"input_ids": _padded([item.ids for item in batch], pad)}
    tensors["attention_mask"] = _padded([[1] * len(item.ids) for item in batch], 0)
    for name in batch[0].extra:
        values = [item.extra[name] for item in batch]
        tensors[name] = (
            _padded(values, PADDING[name]) if isinstance(values[0], list) else torch.tensor(values)
        )
    return tensors


def _padded(rows: Sequence[Sequence[int]], filler: int) -> Tensor:
    out = np.full((len(rows), max(map(len, rows))), filler, dtype=np.int64)
    for place, row in enumerate(rows):
        out[place, : len(row)] = row
    return torch.from_numpy(out)


def training_order(lengths: Sequence[int], batch: int, seed: int, epoch: int) -> list[list[int]]:
    """Draw one epoch's batches of example indices: random, but of similar lengths; a function of
    (seed, epoch)."""
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths))
    batches: list[list[int]] = []
    for start in range(0, len(order), batch * POOL):
        pool = sorted(
            order[start : start + batch * POOL].tolist(), key=lambda index: lengths[index]
        )
        batches += [pool[place : place + batch] for place in range(0, len(pool), batch)]
    return [batches[place] for place in rng.permutation(len(batches))]


def scoring_batches(
    items: Sequence[Encoded], batch: int, pad: int
) -> Iterator[tuple[list[int], dict[str, Tensor]]]:
    """Yield (indices, tensors) in order of length, each item once."""
    order = sorted(range(len(items)), key=lambda index: len(items[index].ids))
    for start in range(0, len(order), batch):
        chosen = order[start : start + batch]
        yield chosen, collate([items[index] for index in chosen], pad)

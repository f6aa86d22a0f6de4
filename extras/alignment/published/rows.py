"""Sentence vectors of the code published with BERT-INN: averaged over padding, with dropout on.

Every sentence is padded to the same length and its states are averaged over all positions: for
short sentences, most of the mean is padding. The published code computes evaluation rows in
training mode, so that each has a new dropout mask, and the rows for training networks in evaluation
mode. Here one pass gives both means, with and without padding, because real positions do not attend
to padding.

References: arXiv 2305.14555; its code, github.com/twinkle0331/BERT-similarity,
`run_hidden_similarity.py`.
Deviations: models trained without dropout (the included ones) get BERT's rate, `RATE`, because the
paper's models are BERTs. Sentences are lists of words. A model with fewer positions than `length`
is padded to its longest input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from core.maths.seeding import seeded
from core.models import longest_text
from core.models.loading.memory import borrow_model
from core.models.loading.tokenizers import Tokenizer
from core.runs.encoding import identified, key_of
from core.runs.store import current_store
from core.studies.task_kit import Value, Words, tick
from extras.alignment.published.spec import BATCH

if TYPE_CHECKING:
    from torch import nn

RATE = 0.1  # BERT's dropout rate
VERSION = 1  # raise it when the same arguments give other rows


def sentence_rows(
    ref: str, identity: str, sentences: Words, length: int, dropout: bool, seed: int
) -> dict[str, Float[np.ndarray, "layer sentence d_model"]]:
    """Compute one vector per sentence, padded or truncated to `length` subwords, in every layer, or
    read them from the store: `padded`, the mean over all positions, and `real`, over those without
    padding, including special tokens; float32, and layer 0 is the embeddings."""
    key = key_of(
        "alignment.sentence_rows",
        VERSION,
        identified(identity),
        sentences,
        length,
        dropout,
        seed if dropout else 0,
    )

    def compute() -> Value:
        return _read(ref, identity, sentences, length, dropout, seed)

    return current_store().get_or_compute(key, compute)[0]


def _read(
    ref: str, identity: str, sentences: Words, length: int, dropout: bool, seed: int
) -> Value:
    import torch

    from core.models.loading.layers import Batch, states

    padded, real = [], []
    with borrow_model(ref, device="cpu") as loaded:
        ids, mask = _encoded(loaded.tokenizer, sentences, min(length, longest_text(ref)))
        for start in range(0, len(ids), BATCH):
            tick(start / len(ids), "computing states of padded sentences")
            some = slice(start, start + BATCH)
            batch = Batch(torch.from_numpy(ids[some]), torch.from_numpy(mask[some]), [])
            with ExitStack() as drawing:
                if dropout:
                    drawing.enter_context(seeded(int(key_of(seed, identity, start)[:15], 16)))
                    drawing.enter_context(dropping(loaded.model))
                hidden = states(loaded.model, batch)
            weights = batch.mask[None, :, :, None].to(hidden.dtype)
            padded.append(hidden.mean(2).numpy())
            real.append(((hidden * weights).sum(2) / weights.sum(2)).numpy())
    return {"padded": np.concatenate(padded, axis=1), "real": np.concatenate(real, axis=1)}


def _encoded(
    tokenizer: Tokenizer, sentences: Sequence[Sequence[str]], length: int
) -> tuple[np.ndarray, np.ndarray]:
    """Pad to ids and mask, (sentence, length)."""
    encoded = [encoding.ids for encoding in tokenizer.encode(sentences, longest=length)]
    ids = np.full((len(encoded), length), tokenizer.pad or 0, dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, subwords in enumerate(encoded):
        ids[row, : len(subwords)], mask[row, : len(subwords)] = subwords, 1
    return ids, mask


@contextmanager
def dropping(model: nn.Module) -> Iterator[None]:
    """Turn dropout on within a block: at the model's rates, or at `RATE` where it was trained
    without dropout."""
    from torch import nn

    layers = [module for module in model.modules() if isinstance(module, nn.Dropout)]
    rates = [layer.p for layer in layers]
    try:
        for layer in layers:
            layer.p = layer.p or RATE
        model.train()
        yield
    finally:
        model.eval()
        for layer, rate in zip(layers, rates, strict=True):
            layer.p = rate

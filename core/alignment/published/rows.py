"""Rows as the code published with BERT-INN takes them: one vector a sentence, averaged over padding, under dropout.

Every sentence is padded to one length and its states are averaged over all positions: where sentences are short, most
of the mean is padding. The code reads the rows that it evaluates in training mode, so that each is another draw of
dropout; those that it trains networks on are read in evaluation mode. Both means come from one pass here, since real
positions attend to no padding.

References: arXiv 2305.14555; its code, github.com/twinkle0331/BERT-similarity, `run_hidden_similarity.py`.
Deviations: models trained without dropout (those of the box) get BERT's own rate, `RATE`: theirs are BERTs. Sentences
come as words. A model that reads fewer positions than asked for is padded to as many as it reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from core.models import locate
from core.models.files import checkpoints
from core.models.loading.construction import seeded
from core.models.loading.memory import borrow_model
from core.runs.encoding import identified, key_of
from core.runs.runner import tick
from core.runs.store import Value, current_store
from core.vectors.pairs import Words

if TYPE_CHECKING:
    from torch import nn

    from core.models.loading.tokenizers import Tokenizer

RATE = 0.1  # of dropout in a BERT
BATCH = 64  # sentences of one pass, as in the code
VERSION = 1  # raised when the same arguments give other rows


@dataclass(frozen=True)
class SentenceRows:
    """One vector a sentence in every layer, float32; layer 0 is the embedding output.

    Attributes:
        padded: Mean over all positions, padding included.
        real: Mean over the positions that are not padding, special tokens included.
    """

    padded: Float[np.ndarray, "layer sentence d_model"]
    real: Float[np.ndarray, "layer sentence d_model"]


def sentence_rows(ref: str, identity: str, sentences: Words, length: int, dropout: bool, seed: int) -> SentenceRows:
    """Rows of a model, from the store where they are there.

    Args:
        ref: The model.
        identity: What its vectors depend on, for the key.
        sentences: Words of each sentence; what is longer than `length` is cut.
        length: Subwords that every sentence is padded to.
        dropout: Whether dropout is on.
        seed: Of the dropout.

    Raises:
        ModelError: If the model cannot be loaded, or keeps its layers where they are not found.
    """
    key = key_of(
        "alignment.sentence_rows", VERSION, identified(identity), sentences, length, dropout, seed if dropout else 0
    )

    def compute() -> Value:
        return _read(ref, identity, sentences, length, dropout, seed)

    value, _ = current_store().get_or_compute(key, compute, waiting=lambda: tick(0.0))
    return SentenceRows(value["padded"], value["real"])


def _read(ref: str, identity: str, sentences: Words, length: int, dropout: bool, seed: int) -> Value:
    import torch

    from core.models.loading.layers import Batch, states

    padded, real = [], []
    with borrow_model(ref, device="cpu") as loaded:
        longest = min(length, checkpoints.longest_input(checkpoints.read_config(locate(ref))))
        ids, mask = _encoded(loaded.tokenizer, sentences, longest)
        for start in range(0, len(ids), BATCH):
            tick(start / len(ids), "reading padded sentences")
            some = slice(start, start + BATCH)
            batch = Batch(torch.from_numpy(ids[some]), torch.from_numpy(mask[some]), [])
            drawn = seeded(int(key_of(seed, identity, start)[:15], 16)) if dropout else nullcontext()
            with drawn, dropping(loaded.model) if dropout else nullcontext():
                hidden = states(loaded.model, batch)
            kept = batch.mask[None, :, :, None].to(hidden.dtype)
            padded.append(hidden.mean(2).numpy())
            real.append(((hidden * kept).sum(2) / kept.sum(2)).numpy())
    return {"padded": np.concatenate(padded, axis=1), "real": np.concatenate(real, axis=1)}


def _encoded(tokenizer: Tokenizer, sentences: Sequence[Sequence[str]], length: int) -> tuple[np.ndarray, np.ndarray]:
    """Padded ids and mask, (sentence, length)."""
    encoded = [encoding.ids for encoding in tokenizer.encode(sentences, longest=length)]
    ids = np.full((len(encoded), length), tokenizer.pad or 0, dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, subwords in enumerate(encoded):
        ids[row, : len(subwords)], mask[row, : len(subwords)] = subwords, 1
    return ids, mask


@contextmanager
def dropping(model: nn.Module) -> Iterator[None]:
    """A block in which the model drops out: at its own rates, at `RATE` where it was trained without dropout."""
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

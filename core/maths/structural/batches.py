"""Batches as in the published code with less padding: shuffled each epoch, packed by length.

A batch holds sentences of any length, as from the published code's shuffling loader. Within a batch
sentences of about the same length are packed together and padded to a multiple of STEP words, which
changes no sum. (Fixed batches of similar lengths lowered the depth probe's root accuracy by 2 to 3
points.) Depths are errors of single words, which follow one another without padding. The padded
trees are made once, and several batches are gathered together: at the width of the included models
calls of torch are half of the work, and two threads that make many of them hold each other up.

Reference: the published code's `data.py` (a shuffling loader, batches of 20). Deviations: the order
in a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from core.errors import ShapeError
from core.maths.structural.probe import PADDING

STEP = 4  # words, to a multiple of which sentences are padded
TOGETHER = 16  # batches that are gathered at once
GATHERED = 2**22  # but not more numbers than this, unless one batch has more


@dataclass(frozen=True)
class ProbeData:
    """Sentences as a probe sees them.

    Attributes:
        vectors: Word vectors of all sentences, concatenated, with a word's layers contiguous (so
            that gathering a batch reads whole rows); float32, or float16 to halve the memory.
        gold: For each sentence the tree distances (target, word, word) or depths (target, word),
            integers; a target is one set of trees over the same sentences, such as one of the
            control trees. -1 where a word is left out; the same words in every target.
    """

    vectors: Float[Tensor, "item layer d_model"]
    gold: Sequence[Int[np.ndarray, "target ..."]]

    def __post_init__(self) -> None:
        if not self.gold:
            raise ShapeError("A probe needs at least one sentence; there are none.")
        words = sum(target.shape[-1] for target in self.gold)
        if self.vectors.ndim != 3 or len(self.vectors) != words:
            raise ShapeError(
                f"Vectors {tuple(self.vectors.shape)} do not fit trees over {words} words."
            )
        if len({len(target) for target in self.gold}) > 1:
            raise ShapeError("All sentences need the same number of targets.")

    @property
    def lengths(self) -> Int[np.ndarray, " sentence"]:
        """Words in each sentence."""
        return np.array([target.shape[-1] for target in self.gold], dtype=np.int64)

    @property
    def targets(self) -> int:
        """Sets of trees over the sentences."""
        return len(self.gold[0])


@dataclass(frozen=True)
class Block:
    """Sentences of similar length, padded to one; or, for depths, all words of a batch.

    Attributes:
        gold: (target, sentence, word, word), or (target, item); -1 is padding.
        weights: Of a pair or a word in the batch's mean loss; 0 where padded.
    """

    gold: Float[Tensor, ...]
    weights: Float[Tensor, ...]

    @property
    def items(self) -> int:
        """Words, padding included."""
        return self.gold.shape[1] * (self.gold.shape[2] if self.gold.ndim == 4 else 1)


@dataclass(frozen=True)
class Batch:
    """Indices of the words to read (0 where padded), blocks in the same order, the number of
    sentences."""

    words: Int[Tensor, " item"]
    blocks: tuple[Block, ...]
    sentences: int


@dataclass(frozen=True)
class _Shelf:
    """All sentences that are padded to one length: words (sentence, word), gold as in `Block`, and
    weights of pairs in a sentence's mean error."""

    words: Int[np.ndarray, "sentence word"]
    gold: Int[Tensor, "target sentence word word"]
    weights: Float[Tensor, "sentence word word"]


class Packer:
    """Packs one set of sentences into batches, each epoch anew.

    Args:
        data: The sentences.
        size: Sentences of a batch.
        device: Where batches are used.
        precision: Of their gold and weights.
    """

    def __init__(
        self,
        data: ProbeData,
        size: int,
        device: str = "cpu",
        precision: torch.dtype = torch.float64,
    ) -> None:
        self.size, self.device, self.precision = size, device, precision
        self.lengths = data.lengths
        self.starts = np.cumsum(self.lengths) - self.lengths
        self.pairs = data.gold[0].ndim == 3
        self.depths = np.zeros((0, 0)) if self.pairs else np.concatenate(data.gold, axis=1)
        widest = int(self.lengths.max())
        entries = len(data.gold[0]) * size * (widest**2 if self.pairs else widest)
        self.together = max(1, min(TOGETHER, GATHERED // entries))
        padded = np.minimum(-(-self.lengths // STEP) * STEP, widest)
        widths, self.shelf = np.unique(padded, return_inverse=True)
        self.place = np.zeros(len(self.lengths), dtype=np.int64)
        self.shelves: list[_Shelf] = []
        for number, width in enumerate(widths if self.pairs else ()):
            sentences = np.flatnonzero(self.shelf == number)
            self.place[sentences] = np.arange(len(sentences))
            self.shelves.append(self._padded(data, sentences, int(width)))

    def __len__(self) -> int:
        """Number of batches per epoch."""
        return -(-len(self.lengths) // self.size)

    def epoch(self, rng: np.random.Generator | None = None, skip: int = 0) -> Iterator[Batch]:
        """All sentences once, in an order drawn from `rng`; shortest first without one. `skip`:
        batches left out."""
        order = (
            np.argsort(self.lengths, kind="stable")
            if rng is None
            else rng.permutation(len(self.lengths))
        )
        starts = range(skip * self.size, len(order), self.size)
        batches = [order[start : start + self.size] for start in starts]
        for start in range(0, len(batches), self.together):
            yield from self.pack(batches[start : start + self.together])

    def pack(self, batches: Sequence[Int[np.ndarray, " sentence"]]) -> Sequence[Batch]:
        """These sentences, an array for each batch."""
        return self._pack_pairs(batches) if self.pairs else self._pack_words(batches)

    def _pack_pairs(self, batches: Sequence[np.ndarray]) -> list[Batch]:
        """Batches of a block for each length."""
        words: list[list[np.ndarray]] = [[] for _ in batches]
        blocks: list[list[Block]] = [[] for _ in batches]
        shelves, sizes = [self.shelf[batch] for batch in batches], list(map(len, batches))
        for number in np.unique(np.concatenate(shelves)):
            shelf = self.shelves[number]
            rows = [
                self.place[batch[of == number]] for batch, of in zip(batches, shelves, strict=True)
            ]
            counts = list(map(len, rows))
            every = self._sent(np.concatenate(rows))
            shares = self._sent(np.repeat(sizes, counts)).view(-1, 1, 1)
            gold = shelf.gold.index_select(1, every).to(self.precision).split(counts, 1)
            weights = shelf.weights.index_select(0, every).div_(shares).to(self.precision)
            for batch, weighed in enumerate(weights.split(counts)):
                if counts[batch]:
                    words[batch].append(shelf.words[rows[batch]].ravel())
                    blocks[batch].append(Block(gold[batch], weighed))
        return [
            Batch(self._sent(np.concatenate(read)), tuple(of), size)
            for read, of, size in zip(words, blocks, sizes, strict=True)
        ]

    def _pack_words(self, batches: Sequence[np.ndarray]) -> list[Batch]:
        """Batches of one block."""
        sentences, sizes = np.concatenate(batches), list(map(len, batches))
        lengths = self.lengths[sentences]
        first = np.repeat(self.starts[sentences] - (np.cumsum(lengths) - lengths), lengths)
        words = first + np.arange(len(first))
        gold = self.depths[:, words]
        weights = (gold[0] != PADDING) / np.repeat(lengths * np.repeat(sizes, sizes), lengths)
        counts = [int(self.lengths[batch].sum()) for batch in batches]
        blocks = map(
            Block,
            self._sent(gold).to(self.precision).split(counts, 1),
            self._sent(weights).to(self.precision).split(counts),
        )
        parts = zip(self._sent(words).split(counts), blocks, sizes, strict=True)
        return [Batch(read, (block,), size) for read, block, size in parts]

    def _padded(self, data: ProbeData, sentences: np.ndarray, width: int) -> _Shelf:
        """These sentences, padded to `width` words."""
        lengths, step = self.lengths[sentences], np.arange(width)
        words = np.where(step < lengths[:, None], self.starts[sentences, None] + step, 0)
        gold = np.full((len(data.gold[0]), len(sentences), width, width), PADDING, dtype=np.int16)
        for row, (sentence, n) in enumerate(zip(sentences, lengths, strict=True)):
            gold[:, row, :n, :n] = data.gold[sentence]
        # neither padding nor a word without a place in the tree
        weights = (gold[0] != PADDING) / np.square(lengths)[:, None, None]
        return _Shelf(words, self._sent(gold), self._sent(weights))

    def _sent(self, array: np.ndarray) -> Tensor:
        """An array where batches are used."""
        return torch.from_numpy(array).to(self.device)

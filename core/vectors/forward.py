"""Forward passes: sentences of words in, vectors of words out, from every layer at once.

Sentences are tokenised as lists of words, sorted by length into batches of about as many tokens,
and padded only within a batch. Each word's vector is the mean of its subwords' (the fast
tokenizer's word ids say which), with special tokens and padding left out. Layer 0 is the embedding
output; the last layer is the model's own output, including the final norm of decoders.

Deviations: tokenizers that mark the beginning of a word by the space before it, and add none
themselves (byte-level ones and Gemma's), get one before every word, including the first, so that a
word is cut the same at any position. Of an encoder-decoder, the encoder is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from core.models.loading.reading import PASSED

if TYPE_CHECKING:
    import torch

    from core.models import LoadedModel
    from core.models.loading.tokenizers import Tokenizer

CPU_BUDGET = 256 * 768  # numbers in one layer's output: 256 tokens at BERT-base width
CPU_MOST = 2048  # tokens: larger batches do not speed up narrow models
GPU_BUDGET = 16_384  # tokens
LONG = 64  # tokens of a text from which fewer are batched


@dataclass(frozen=True)
class Subwords:
    """A sentence cut into subwords by a tokenizer.

    Attributes:
        ids: Token ids with special tokens; of a sentence longer than any model reads, only the
            first.
        words: Index of the word that each token belongs to; -1 for special tokens.
        length: Words in the sentence.
        subwords: Tokens of the whole sentence.
    """

    ids: list[int]
    words: list[int]
    length: int
    subwords: int

    @property
    def inside(self) -> list[int]:
        """List the token ids without special tokens."""
        return [token for token, word in zip(self.ids, self.words, strict=True) if word >= 0]

    @property
    def pieces(self) -> np.ndarray:
        """Count the subwords of each word, (word,)."""
        return np.bincount([word for word in self.words if word >= 0], minlength=self.length)


@dataclass(frozen=True)
class SentenceVectors:
    """The vectors of one sentence from one forward pass.

    Attributes:
        words: float32 (layer, word, d_model); zeros for a word without subwords.
        pieces: int (word,), number of subwords of each word; 0 if the tokenizer removes it.
        cls: float32 (layer, d_model) of the classification token; None where there is none.
        mean: float32 (layer, d_model), mean over the words that have subwords.
    """

    words: np.ndarray
    pieces: np.ndarray
    cls: np.ndarray | None
    mean: np.ndarray


def cut_sentences(tokenizer: Tokenizer, sentences: Sequence[Sequence[str]]) -> list[Subwords]:
    """Cut sentences into subwords, with the word that each belongs to; nothing is padded or cut
    off. Raises ModelError if the tokenizer fails, or takes too much memory or time."""
    encodings = tokenizer.encode(sentences, spaced=True)
    return [
        Subwords(encoding.ids, encoding.words, len(words), encoding.subwords)
        for encoding, words in zip(encodings, sentences, strict=True)
    ]


def cut_pair(
    tokenizer: Tokenizer, first: Sequence[str], second: Sequence[str]
) -> tuple[Subwords, list[int] | None]:
    """Join two texts to one sequence, as the tokenizer joins a pair, with the second's words
    numbered after the first's; and the segment of each subword, None if the tokenizer has none."""
    (encoding,) = tokenizer.encode([first], [second], spaced=True)
    shift = {0: 0, 1: len(first)}
    words = [
        -1 if word < 0 or side < 0 else word + shift[side]
        for word, side in zip(encoding.words, encoding.sides, strict=True)
    ]
    return Subwords(
        encoding.ids, words, len(first) + len(second), encoding.subwords
    ), encoding.segments


def plan_batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Batch sentences by length, with at most `budget` tokens including padding; a longer sentence
    is a batch of its own. The longest come first, so that memory peaks early."""
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batches and (len(batches[-1]) + 1) * lengths[batches[-1][0]] <= budget:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def plan_whole_batches(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Batch texts that run through a whole model, longest first: `most` at once of up to `LONG`
    tokens; longer ones among themselves and fewer, so that one of them does not pad all others."""
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    long = sum(length > LONG for length in lengths)
    batches = plan_batches([lengths[index] for index in order[:long]], most * LONG)
    return [
        *([order[place] for place in batch] for batch in batches),
        *(order[start : start + most] for start in range(long, len(order), most)),
    ]


def token_budget(device: str, d_model: int) -> int:
    """Choose the tokens of one batch: as fit a processor's caches, or fill an accelerator."""
    return min(CPU_MOST, max(64, CPU_BUDGET // d_model)) if device == "cpu" else GPU_BUDGET


def pass_budget(*models: LoadedModel) -> int:
    """Choose the tokens of one batch that runs through whole models, one after the other: many
    where each pass reads the layers from the disk."""
    width = max(loaded.info.d_model for loaded in models)
    budget = token_budget(models[0].device, width)
    if any(loaded.layerwise for loaded in models):
        return max(budget, PASSED // width)
    return budget


def plan(loaded: LoadedModel, sentences: Sequence[Subwords]) -> list[list[int]]:
    """Batch the sentences that a model reads, by index."""
    budget = token_budget(loaded.device, loaded.info.d_model)
    return plan_batches([len(sentence.ids) for sentence in sentences], budget)


def read_sentences(
    loaded: LoadedModel,
    sentences: Sequence[Subwords],
    donor: LoadedModel | None = None,
) -> Iterator[list[tuple[int, SentenceVectors]]]:
    """Run the model over the sentences and yield (index of the sentence, its vectors), a batch at a
    time; with a `donor` of the same shape, vectors are outputs of its layers, each on what the same
    layer of `loaded` reads."""
    import torch

    for batch in plan(loaded, sentences):
        with torch.inference_mode():
            vectors = _read_batch(loaded, [sentences[index] for index in batch], donor)
        yield list(zip(batch, vectors, strict=True))


def _read_batch(
    loaded: LoadedModel, batch: list[Subwords], donor: LoadedModel | None
) -> list[SentenceVectors]:
    hidden = _hidden_states(loaded, batch, donor)
    pooling = Pooling.of(loaded, batch, hidden[0].shape[1])
    return pooling.split([pooling.pool(states) for states in hidden])


@dataclass(frozen=True)
class Pooling:
    """Word vectors from the states of one batch's subwords.

    Attributes:
        batch: Its sentences.
        starts: First word of each sentence among the words of the batch, and their number.
        pieces: int (word,), subwords of each word.
        at, into: Places of subwords in the flattened (sentence, subword) grid, and their words.
        with_cls: Whether each sentence begins with a classification token.
    """

    batch: list[Subwords]
    starts: np.ndarray
    pieces: np.ndarray
    at: torch.Tensor
    into: torch.Tensor
    with_cls: list[bool]

    @staticmethod
    def of(loaded: LoadedModel, batch: list[Subwords], width: int) -> Pooling:
        """Find the places of a batch's words in a grid of `width` places for each sentence."""
        import torch

        starts = np.concatenate([[0], np.cumsum([sentence.length for sentence in batch])])
        owners = np.full((len(batch), width), -1)
        for row, sentence in enumerate(batch):
            owners[row, : len(sentence.words)] = sentence.words
        places = np.flatnonzero(owners >= 0)
        slots = (starts[:-1, None] + owners).ravel()[places]
        pieces = np.bincount(slots, minlength=int(starts[-1]))
        token = loaded.tokenizer.cls
        with_cls = [
            token is not None and sentence.ids[0] == token and sentence.words[0] < 0
            for sentence in batch
        ]
        at, into = (torch.from_numpy(numbers).to(loaded.device) for numbers in (places, slots))
        return Pooling(batch, starts, pieces, at, into, with_cls)

    def pool(self, states: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
        """Average one layer's states (sentence, subword, d_model) over the subwords of each word:
        float32 (word, d_model), zeros for a word without; and the state of each sentence's first
        token."""
        import torch

        counts = torch.from_numpy(np.maximum(self.pieces, 1).astype(np.float32)).to(states.device)
        words = torch.zeros(
            len(self.pieces), states.shape[-1], dtype=torch.float32, device=states.device
        )  # named, since loading a model elsewhere in double precision changes the default
        words.index_add_(0, self.into, states.flatten(0, 1)[self.at].float())
        words.div_(counts[:, None])
        return words.cpu().numpy(), states[:, 0].float().cpu().numpy()

    def split(self, layers: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[SentenceVectors]:
        """Split what `pool` returned of each layer into sentences."""
        words = np.stack([pooled for pooled, _ in layers])
        vectors = []
        for index, (low, high) in enumerate(pairwise(self.starts)):
            of_sentence, count = words[:, low:high], self.pieces[low:high]
            mean = of_sentence.sum(1) / max(
                1, int((count > 0).sum())
            )  # words without subwords are zeros
            cls = np.stack([first[index] for _, first in layers]) if self.with_cls[index] else None
            vectors.append(SentenceVectors(of_sentence, count, cls, mean))
        return vectors


def _hidden_states(
    loaded: LoadedModel, batch: list[Subwords], donor: LoadedModel | None
) -> tuple[torch.Tensor, ...]:
    """Compute all layers' states (sentence, subword, d_model)."""
    ids, mask = padded(loaded, [sentence.ids for sentence in batch])
    options = {"input_ids": ids, "attention_mask": mask, "return_dict": True}
    # transformers hooks the layers at the first such request: not while others stand in for them
    options["output_hidden_states"] = donor is None
    read = reader(loaded.info.family, **options)
    states: tuple[torch.Tensor, ...] = (
        read(loaded.model).hidden_states if donor is None else _applied(loaded, donor, read)
    )
    return states


def reader(family: str, **given: Any) -> Callable[[Any], Any]:
    """Make a function that runs a model, or the encoder of one with two stacks, on one batch."""
    if family == "encoder-decoder":
        return lambda model: model.get_encoder()(**given)
    return lambda model: model(**given, **({"use_cache": False} if family == "decoder" else {}))


def _applied(
    loaded: LoadedModel, donor: LoadedModel, read: Callable[[Any], Any]
) -> tuple[torch.Tensor, ...]:
    """Compute the outputs of the donor's layers on the model's own inputs, its final norm
    included."""
    from core.models.loading.layers import apply_layers, calls_of, final_norm

    *lower, top = apply_layers(calls_of(loaded.model, read), donor.model, read)
    return (*lower, final_norm(donor.model)(top))


def padded(
    loaded: LoadedModel, sentences: Sequence[Sequence[int]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Pad sentences of token ids to the longest: ids and mask, (sentence, subword)."""
    config = loaded.model.config
    pad = config.pad_token_id  # RoBERTa counts positions from it
    readable = isinstance(pad, int) and 0 <= pad < config.vocab_size
    ids, mask = pad_ids(sentences, pad if readable else 0)
    return ids.to(loaded.device), mask.to(loaded.device)


def pad_ids(sentences: Sequence[Sequence[int]], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Pad sentences of token ids with an id: ids and mask, (sentence, subword)."""
    return pad_rows(sentences, pad), pad_rows([[1] * len(each) for each in sentences], 0)


def pad_rows(rows: Sequence[Sequence[int]], pad: int) -> torch.Tensor:
    """Put rows of whole numbers into one tensor, (row, longest), filled up with `pad`; it has one
    column at least."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    tensors = [torch.tensor(row or [pad], dtype=torch.long) for row in rows]
    return pad_sequence(tensors, batch_first=True, padding_value=pad)

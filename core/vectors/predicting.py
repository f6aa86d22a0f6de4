"""Losses of language models on sentences: each subword masked once, or each predicted from those
before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.errors import CorpusError, ModelError, not_finite
from core.models.loading.language_models import (
    head_of,
    load_on_head,
    prediction_kind,
    predicts,
)
from core.models.sizes import Size
from core.vectors.forward import cut_sentences, pad_ids, pad_rows

if TYPE_CHECKING:
    import torch

    from core.models.loading.layers import Batch
    from core.models.loading.model import LoadedModel

EVERY = 7  # subwords between two that are masked at once
BATCH = 32  # sentences
PREDICTING = 1.2e-8  # processor seconds per token and word of the vocabulary
Asked = tuple[tuple["Batch", "torch.Tensor"], ...]
"""Batches, and the right answer at each place, -1 where nothing is asked."""


def times_read(sizes: Mapping[str, Size], *refs: str) -> int:
    """Count how often a sentence is read to ask for each of its subwords, by the head of the first
    of these models that has one."""
    kinds = (predicts(sizes[ref].architecture) for ref in refs)
    return 1 if next(filter(None, kinds), "masked") == "causal" else EVERY


def ask_masked(loaded: LoadedModel, words: Sequence[Sequence[str]], first: int = 0) -> Asked:
    """Mask every subword of a sentence once, from its word `first` on, one in `EVERY` at a time."""
    import torch

    from core.models.loading.layers import Batch

    mask = int(loaded.tokenizer.mask or 0)
    asked = []
    for ids, there, scored, places in pad_sentences(loaded, words, first):
        longest = ids.shape[1]
        for start in range(min(EVERY, longest)):
            hidden = scored & (torch.arange(longest) % EVERY == start)
            answers = torch.where(hidden, ids, -1)
            asked.append((Batch(ids.masked_fill(hidden, mask), there, places), answers))
    return tuple(asked)


def ask_following(loaded: LoadedModel, words: Sequence[Sequence[str]], first: int = 0) -> Asked:
    """Ask at every subword of a sentence for the one after it, from its word `first` on."""
    import torch

    from core.models.loading.layers import Batch

    asked = []
    for ids, there, scored, places in pad_sentences(loaded, words, first):
        answers = torch.full_like(ids, -1)
        answers[:, :-1] = torch.where(scored[:, 1:], ids[:, 1:], -1)
        asked.append((Batch(ids, there, places), answers))
    return tuple(asked)


ASK: Mapping[str, Callable[..., Asked]] = {"masked": ask_masked, "causal": ask_following}


def open_to_ask(ref: str, base: str) -> tuple[LoadedModel, Callable[..., Asked]]:
    """Open a model with a head that predicts tokens, the base's where it has none, and choose how
    it is asked. Raises ModelError as `load_on_head` and `way_to_ask` do."""
    loaded = load_on_head(ref, base)
    return loaded, way_to_ask(ref, base, loaded)


def way_to_ask(ref: str, base: str, loaded: LoadedModel) -> Callable[..., Asked]:
    """Choose how a model that `load_on_head` opened is asked for its tokens. Raises ModelError if
    its tokenizer has no mask that a masked model needs."""
    kind = prediction_kind(ref if head_of(ref) else base)
    if kind == "masked" and loaded.tokenizer.mask is None:
        raise ModelError(
            f"The tokenizer of {ref} has no mask, so its masked tokens cannot be predicted: "
            "choose another model."
        )
    return ASK[kind]


def check_halves(sentences: Sequence[Sequence[str]]) -> None:
    """Raise CorpusError for a text that cannot be halved: one half is fitted on, the other read."""
    if len(sentences) < 2:
        raise CorpusError(
            "The text has a single sentence, but half of the sentences are fitted on and the other "
            "half are read: use a longer text."
        )


def check_losses(ref: str, losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a model's losses; raises ModelError where they are not finite."""
    if not np.isfinite(losses).all():
        raise not_finite(f"The predictions of {ref}")
    return losses


def count_answers(asked: Asked, sentences: int) -> NDArray[np.int64]:
    """Count the subwords of each sentence that are asked for, (sentence,)."""
    tokens = np.zeros(sentences, dtype=np.int64)
    for batch, answers in asked:
        np.add.at(tokens, batch.sentences, (answers >= 0).sum(1).numpy())
    return tokens


def sum_losses(model: Any, asked: Asked, sentences: int) -> NDArray[np.float64]:
    """Sum the losses of each sentence's answers in nats, (sentence,); NaN where the model's
    predictions are not finite."""
    import torch

    from core.models.loading.layers import logits_of, run_model

    lost = np.zeros(sentences)
    for batch, answers in asked:
        place, asked_for = torch.nonzero(answers >= 0, as_tuple=True)
        logits = logits_of(run_model(model, batch))[place, asked_for].float()
        nats = torch.nn.functional.cross_entropy(
            logits, answers[place, asked_for], reduction="none"
        )
        np.add.at(lost, np.array(batch.sentences)[place.numpy()], nats.double().numpy())
    return lost


def pad_sentences(
    loaded: LoadedModel, words: Sequence[Sequence[str]], first: int = 0
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor, list[int]]]:
    """Ids, mask, and which subwords are of a word from `first` on, each (sentence, subword), of
    sentences of similar length; and the sentences."""
    tokenizer = loaded.tokenizer
    cut = cut_sentences(tokenizer, words)
    order = sorted(range(len(cut)), key=lambda number: len(cut[number].ids))
    for start in range(0, len(order), BATCH):
        places = order[start : start + BATCH]
        kept = [cut[number].ids[: tokenizer.longest] for number in places]
        words_of = [cut[number].words[: tokenizer.longest] for number in places]
        ids, there = pad_ids(kept, tokenizer.pad or 0)
        yield ids, there, pad_rows(words_of, -1) >= first, places

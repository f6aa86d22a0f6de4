"""Log-likelihoods of sentences: pseudo-log-likelihood of masked models, log-likelihood of causal
ones.

A masked model predicts each token with that token masked, and with the tokens of the same word
behind it masked as well; otherwise the end of a rare word would give its beginning away. The
sentence's score is the sum over its tokens. A causal model predicts each token from those before
it; the first needs a token that begins the sentence, and is not scored where the tokenizer has
none.

Reference:
    Salazar, Liang, Nguyen & Kirchhoff 2020, ACL, Masked Language Model Scoring.
    Kauf & Ivanova 2023, ACL, A Better Way to Do Masked Language Model Scoring (within words).
Deviations: none; the scores are those of minicons with PLL_metric="within_word_l2r" for masked
models, and for causal ones with bos_token=True where the tokenizer adds no first token itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from core.errors import ModelError
from core.maths.progress import tick
from core.models.loading.language_models import Kind
from core.models.loading.layers import body_of, logits_of
from core.models.loading.model import LoadedModel
from core.models.loading.reading import LOGITS
from core.vectors.forward import Subwords, cut_sentences, pass_budget


def score_words(
    loaded: LoadedModel, kind: Kind, sentences: Sequence[Sequence[str]]
) -> NDArray[np.float64]:
    """Compute the log-likelihood of each word of each sentence, in nats, (sentence, word); 0 beyond
    a sentence's end. Raises ModelError if a masked model's tokenizer has no mask token, or a
    sentence is too long."""
    cut = cut_sentences(loaded.tokenizer, sentences)
    longest = max((len(sentence.ids) for sentence in cut), default=0) + 1
    if longest > loaded.tokenizer.longest:
        raise ModelError(
            f"{loaded.info.ref} reads {loaded.tokenizer.longest} tokens, "
            f"and a sentence has {longest}: choose a model that reads more."
        )
    shape = (len(cut), max((sentence.length for sentence in cut), default=0))
    if kind == "causal":
        return _causal(loaded, cut, shape)
    if loaded.tokenizer.mask is None:
        raise ModelError(
            f"The tokenizer of {loaded.info.ref} has no mask token, "
            "so no token can be predicted from its context: choose another model."
        )
    return _predicted(loaded, masked_rows(cut, loaded.tokenizer.mask), shape)


def masked_rows(
    sentences: Sequence[Subwords], mask: int
) -> Iterator[tuple[list[int], tuple[int, int, int, int]]]:
    """Mask every token of every sentence in turn, with the tokens of its word behind it; yield what
    the model reads, and the token that it predicts: place, id, number of the sentence and of the
    word."""
    for number, sentence in enumerate(sentences):
        for place, word in enumerate(sentence.words):
            if word < 0:
                continue
            hidden = [
                mask if at >= place and owner == word else token
                for at, (token, owner) in enumerate(zip(sentence.ids, sentence.words, strict=True))
            ]
            yield hidden, (place, sentence.ids[place], number, word)


def _predicted(
    loaded: LoadedModel,
    masked: Iterable[tuple[list[int], tuple[int, int, int, int]]],
    shape: tuple[int, int],
) -> NDArray[np.float64]:
    """Sum the log-probabilities of masked tokens over each word."""
    total, asked = np.zeros(shape), [*masked]
    ids = [hidden for hidden, _ in asked]
    about = torch.tensor([token for _, token in asked], dtype=torch.long).reshape(-1, 4)
    places, targets = about[:, 0], about[:, 1]
    owners = about[:, 2:].T.numpy()
    with _one_place(loaded.model) as looked_at:
        for rows in _batches(loaded, ids):
            looked_at["places"] = places[rows].to(loaded.device)
            logits = _logits(loaded.model, _tensor(loaded, [ids[row] for row in rows]))
            chances = _log_chance(logits[:, 0], targets[rows].to(loaded.device))
            np.add.at(total, tuple(owners[:, rows]), chances.cpu().numpy())
    return total


def _causal(
    loaded: LoadedModel, cut: Sequence[Subwords], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """Sum the log-probabilities of each word's tokens, given those before them."""
    begin = loaded.tokenizer.bos
    ids, words = [], []
    for sentence in cut:
        added = [begin] if begin is not None and sentence.ids[0] != begin else []
        ids.append([*added, *sentence.ids])
        words.append([*[-1] * len(added), *sentence.words])
    total = np.zeros(shape)
    for rows in _batches(loaded, ids):
        read = _tensor(loaded, [ids[row] for row in rows])
        logits = _logits(loaded.model, read)[:, :-1]
        chances = _log_chance(logits, read[:, 1:]).cpu().numpy()
        owners = np.array([words[row][1:] for row in rows], dtype=np.int64)
        within, token = np.nonzero(owners >= 0)
        np.add.at(total, (np.array(rows)[within], owners[within, token]), chances[owners >= 0])
    return total


def _batches(loaded: LoadedModel, ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Rows of equal length, so that nothing is padded, as many as fit into the caches; of a model
    whose layers are on the disk, as many as have room for their logits."""
    lengths = np.array([len(row) for row in ids])
    budget, done = pass_budget(loaded), 0
    if loaded.layerwise:
        budget = min(budget, LOGITS // loaded.info.vocabulary)
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        each = max(1, budget // int(length))
        for first in range(0, len(rows), each):
            tick(done / len(ids), "scoring sentences")
            yield rows[first : first + each].tolist()
            done += each


def _tensor(loaded: LoadedModel, ids: list[list[int]]) -> Tensor:
    return torch.tensor(ids).to(loaded.device)


def _logits(model: nn.Module, ids: Tensor) -> Tensor:
    """Run the model; its predictions of tokens, (row, place, token)."""
    with torch.inference_mode():
        return logits_of(model(input_ids=ids, attention_mask=torch.ones_like(ids)))


def _log_chance(logits: Tensor, targets: Tensor) -> Tensor:
    """The log-probability of each target, in the shape of `targets`."""
    numbers = logits.float()
    chosen = numbers.gather(-1, targets[..., None])[..., 0]
    return chosen - numbers.logsumexp(-1)


@contextmanager
def _one_place(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Hand the head one state of each row, because it costs as much as several layers: that at the
    `places` of the predicted tokens, which are to be set before each batch."""
    looked_at: dict[str, Tensor] = {}

    def only(module: nn.Module, inputs: Any, output: Any) -> Any:
        states = output[0]
        rows = torch.arange(len(states), device=states.device)
        output["last_hidden_state"] = states[rows, looked_at["places"]][:, None]
        return output

    with body_of(model).register_forward_hook(only):
        yield looked_at

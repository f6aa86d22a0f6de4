"""What the head of a language model says of a state that is not its last, or of a difference.

The model itself runs its head: it is entered above its last layer, one state a row, so that final
norm, matrix, bias and caps are its own, and the lens at the top layer is the output.

References: nostalgebraist 2020 (logit lens); Belrose et al. 2023 (tuned lens); Minder et al. 2025
(lens on the mean difference of states). Deviations: differences are averaged over the first five
places, where Minder et al. read each; what the head says of no state at all is subtracted from what
it says of a difference, which leaves out the biases; the maps of the tuned lens are ridge
regressions onto the states of the last layer, where Belrose et al. train them on the predictions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from core.errors import not_finite
from core.maths.maps.linear import Ridge
from core.models.loading.layers import (
    Batch,
    answers_in_tuples,
    enter,
    layer_list,
    logits_of,
    run_model,
    run_seen,
)
from core.vectors.predicting import Asked

FIRST = 5  # places of a sentence that are averaged beside all of them
HELD = 2**22  # numbers of a block of logits
HELD_OUT = 5  # of so many states one chooses the penalty
HALVES = 2
BITS = float(np.log(2))


@dataclass(frozen=True)
class Head:
    """A model's head, applied to single states.

    Attributes:
        model: With its head.
        layers: How many layers it has.
        in_tuple: See `answers_in_tuples`.
        tokens: How many it can predict.
    """

    model: Any
    layers: int
    in_tuple: bool
    tokens: int

    @classmethod
    def of(cls, model: Any) -> Head:
        """Look how the model's layers answer. Raises ModelError if they cannot be told apart."""
        single = Batch(torch.zeros(1, 1, dtype=torch.long), torch.ones(1, 1, dtype=torch.long), [])
        tokens = logits_of(run_model(model, single)).shape[-1]
        return cls(model, len(layer_list(model)), answers_in_tuples(model, single), tokens)

    @property
    def block(self) -> int:
        """How many states are read at once."""
        return max(1, HELD // self.tokens)

    def read(self, states: Float[Tensor, "row width"]) -> Float[Tensor, "row token"]:
        """Compute the logits of states that stand before the final norm."""
        ids = torch.zeros(len(states), 1, dtype=torch.long)
        batch = Batch(ids, torch.ones_like(ids), [])
        output = enter(self.model, batch, self.layers, states[:, None], in_tuple=self.in_tuple)
        return logits_of(output)[:, 0].float()

    def read_differences(
        self, differences: Float[ndarray, "row width"]
    ) -> Iterator[Float[ndarray, "row token"]]:
        """Compute what the head says of differences beyond what it says of nothing, in blocks."""
        nothing = self.read(torch.zeros(1, differences.shape[1]))
        for start in range(0, len(differences), self.block):
            block = torch.from_numpy(differences[start : start + self.block]).float()
            yield (self.read(block) - nothing).numpy()


@dataclass(frozen=True)
class Read:
    """What a model computed where a token is asked for.

    Attributes:
        states: Of each layer, embeddings first, (place, width); the last before the final norm.
        logits: Its output, (place, token).
        sentences: Of each place.
        places: Where it stands in its sentence.
        answers: The token that is there in the text.
    """

    states: list[Tensor]
    logits: Tensor
    sentences: Int[ndarray, " place"]
    places: Int[ndarray, " place"]
    answers: Int[ndarray, " place"]


def read_asked(model: Any, asked: Asked) -> Iterator[Read]:
    """Read the states of all layers wherever a token is asked for, a batch at a time; raises
    ModelError where they are not finite."""
    for batch, answers in asked:
        row, place = torch.nonzero(answers >= 0, as_tuple=True)
        if len(row):
            states, output = run_seen(model, batch)
            if not all(bool(state.isfinite().all()) for state in states):
                raise not_finite("Some states")
            yield Read(
                [state[row, place].float() for state in states],
                logits_of(output)[row, place].float(),
                np.array(batch.sentences)[row.numpy()],
                place.numpy(),
                answers[row, place].numpy(),
            )


def fit_maps(model: Any, asked: Asked) -> list[Ridge]:
    """Fit an affine map from the states of each layer below the last to those of the last, on a
    text that nothing else is read of; one place in HELD_OUT chooses the penalties."""
    reads = list(read_asked(model, asked))
    layers = [torch.cat(parts).numpy() for parts in zip(*(r.states for r in reads), strict=True)]
    held = np.arange(len(layers[-1])) % HELD_OUT == 0
    last, chosen = layers[-1][~held], layers[-1][held]
    return [
        Ridge().fit(layer[~held], last, (layer[held], chosen) if np.ptp(layer, 0).any() else None)
        for layer in layers[:-1]  # masked tokens may have one embedding
    ]


def through(maps: Sequence[Ridge], layer: int, states: Tensor) -> Tensor:
    """Map states of a layer to the last one's; those of the last are left as they are."""
    if layer == len(maps):
        return states
    return torch.from_numpy(maps[layer].transform(states.numpy())).float()


def seen_through(head: Head, states: Tensor, final: Tensor) -> tuple[Tensor, Tensor]:
    """Compare the lens on states (place, width), before the final norm, with the output's log
    probabilities (place, token): KL(output || lens) in bits, and the lens' most likely token, each
    (place,)."""
    lost, tops = [], []
    for start in range(0, len(states), head.block):
        log_p = head.read(states[start : start + head.block]).log_softmax(1)
        true = final[start : start + head.block]
        lost.append((true.exp() * (true - log_p)).sum(1).clamp_min(0) / BITS)
        tops.append(log_p.argmax(1))
    return torch.cat(lost), torch.cat(tops)


def measure_lenses(head: Head, maps: Sequence[Ridge], asked: Asked) -> dict[str, Any]:
    """Compare both lenses with the output at every layer: `sentence`, `place` and `answer`, the
    token of the text, (place,); `kl`, `top`, the lens' most likely token, and `same`, whether that
    is the output's, (lens, layer, place); `first`, the first layer where it is, (lens, place)."""
    names = ("sentence", "place", "answer", "kl", "top", "same")
    parts = []
    for read in read_asked(head.model, asked):
        final = read.logits.log_softmax(1)
        seen = [
            [
                seen_through(head, through(maps, layer, state) if tuned else state, final)
                for layer, state in enumerate(read.states)
            ]
            for tuned in (False, True)
        ]
        lost = np.array([[kl.numpy() for kl, _ in lens] for lens in seen])
        tops = np.array([[top.numpy() for _, top in lens] for lens in seen])
        same = tops == final.argmax(1).numpy()
        parts.append((read.sentences, read.places, read.answers, lost, tops, same))
    value: dict[str, Any] = {
        name: np.concatenate(each, -1)
        for name, each in zip(names, zip(*parts, strict=True), strict=True)
    }
    same = value["same"]
    return value | {"first": np.where(same.any(1), same.argmax(1), same.shape[1] - 1)}


def sum_states(
    model: Any,
    padded: Sequence[tuple[Tensor, Tensor, Tensor, list[int]]],
    *,
    skip_first: bool,
) -> tuple[Float[ndarray, "half group layer width"], Int[ndarray, "half group"]]:
    """Sum the states of words' subwords over halves of a text, sentence by sentence in turn, of the
    FIRST places and of all; and count them. `skip_first` leaves out the first place, a decoder's
    sink."""
    sums: Any = 0.0
    counts = np.zeros((HALVES, 2), dtype=np.int64)
    for ids, there, inside, chosen in padded:
        states, _ = run_seen(model, Batch(ids, there, chosen))
        counted = inside.clone()
        counted[:, 0] &= not skip_first
        groups = (counted & (counted.cumsum(1) <= FIRST), counted)
        stacked = torch.stack(states).float()  # layer sentence subword width
        half = (torch.tensor(chosen) % HALVES)[:, None]
        places = [[group & (half == part) for group in groups] for part in range(HALVES)]
        sums = sums + np.array(
            [[stacked[:, each].double().sum(1).numpy() for each in part] for part in places]
        )
        counts += np.array([[int(each.sum()) for each in part] for part in places])
    return sums, counts


def raise_words(
    first: Head, second: Head, asked: Asked, most: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Compare the logits of a base and its fine-tune, batch by batch, wherever a token is asked
    for: sentence of each place (place,), the `most` raised tokens (place, token), and the sum over
    places of all logits' differences, each less its mean (token,)."""
    tokens = min(first.tokens, second.tokens)  # rows beyond are padding
    reads = (read_asked(head.model, asked) for head in (first, second))
    for before, after in zip(*reads, strict=True):
        raised = after.logits[:, :tokens] - before.logits[:, :tokens]
        raised -= raised.mean(1, keepdim=True)
        top = raised.topk(min(most, tokens), dim=1).indices
        yield before.sentences, top.numpy(), raised.double().sum(0).numpy()

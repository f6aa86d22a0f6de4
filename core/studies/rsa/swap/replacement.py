"""The kinds of layer swap: which layers each one runs, and how many answers of the fine-tune's head
are right.

    below      layers 0 to k are the donor's, the rest the fine-tune's
    above      layers 0 to k are the fine-tune's, the rest the donor's
    layer      layer k alone is the donor's
    only       layer k alone is the fine-tune's
    truncated  the head reads the fine-tune's state at layer k
    removed    layer k passes its input on unchanged

Layers below a swap are run once for all kinds, and the fine-tune's once for all donors. At layer 0,
the embeddings, two kinds are equal: only the donor's layer 0 is the same as the donor's layers 0 to
0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from core.maths.progress import tick
from core.models.loading.layers import Batch, layer_list, run_seen, state_list
from core.studies.rsa.swap.interventions import MOST_KEPT
from core.studies.rsa.swap.layer_changes import Pair
from core.vectors.examples import Encoded, hits

Layers = list["nn.Module | None"]
Hits = NDArray[np.int64]
Look = Callable[[int, str, int, Any], None]
# the kind that this one equals at this layer
EQUAL_KINDS = {("layer", 0): "below", ("only", 0): "above"}


class Work:
    """The batches that a fine-tune is scored on, with its own states, which do not depend on the
    donor, and the layers to swap, all where none is given."""

    def __init__(
        self, pair: Pair, batches: Sequence[Batch], encoded: Encoded, layers: Sequence[int] = ()
    ) -> None:
        self.pair, self.batches, self.encoded = pair, batches, encoded
        self.layers = tuple(layers) or tuple(range(len(pair.layers) + 1))
        self._kept: dict[int, tuple[list[Tensor], Any]] = {}

    def own(self, number: int) -> tuple[list[Tensor], Any]:
        """Compute the fine-tune's states of a batch, each (sentence, subword, d_model), and its
        output."""
        states = self._kept.get(number)
        if states is None:
            states = run_seen(self.pair.task.model, self.batches[number])
            if sum(state.nbytes for state in states[0]) * len(self.batches) <= MOST_KEPT:
                self._kept[number] = states
        return states

    def run(
        self, donor: nn.Module, ways: Sequence[str], look: Look | None = None
    ) -> dict[str, Hits]:
        """Count the fine-tune's right answers under every swap with a donor.

        Args:
            donor: A model of the same shape.
            ways: Kinds of swap; "removed" has no layer 0.
            look: Called for each swap with number of the batch, way, layer, output.

        Returns:
            By way, (layer, sentence); -1 where there is no such swap.
        """
        blocks, theirs = self.pair.layers, list(layer_list(donor))
        hits_by_way = {
            way: np.full((len(blocks) + 1, len(self.encoded.total)), -1, dtype=np.int64)
            for way in ways
        }
        for number, batch in enumerate(self.batches):
            tick(number / len(self.batches), f"batch {number + 1} of {len(self.batches)}")
            ours, donor_states = self.own(number)[0], states_of(donor, batch)
            for way in ways:
                for layer in self.layers:
                    twin = EQUAL_KINDS.get((way, layer))
                    if twin in ways or (way == "removed" and layer == 0):
                        continue
                    output = self.pair.run(
                        batch, *built(way, layer, ours, donor_states, blocks, theirs)
                    )
                    hits_by_way[way][layer, batch.sentences] = hits(self.encoded, batch, output)
                    if look is not None:
                        look(number, way, layer, output)
        for (way, layer), twin in EQUAL_KINDS.items():
            if way in ways and twin in ways:
                hits_by_way[way][layer] = hits_by_way[twin][layer]
        return hits_by_way


def states_of(donor: nn.Module, batch: Batch) -> list[Tensor]:
    """Compute a donor's states, each (sentence, subword, d_model), without the places of words."""
    return state_list(donor, replace(batch, starts=None))


def built(
    way: str,
    layer: int,
    ours: list[Tensor],
    donor_states: list[Tensor],
    blocks: list[nn.Module],
    theirs: list[nn.Module],
) -> tuple[Tensor, Layers]:
    """Give the state that enters and the layers that it goes through; those below the swap have
    been run already."""
    below: Layers = [None] * layer
    if way == "below":
        return donor_states[layer], [*below, *blocks[layer:]]
    if way == "above":
        return ours[layer], [*below, *theirs[layer:]]
    if way == "truncated":
        return ours[layer], [None] * len(blocks)
    if way == "removed":
        return ours[layer - 1], [*below, *blocks[layer:]]
    mine, rest, states = (
        (theirs, blocks, ours) if way == "layer" else (blocks, theirs, donor_states)
    )
    if layer == 0:  # the embeddings alone
        return (donor_states if way == "layer" else ours)[0], list(rest)
    return states[layer - 1], [*below[1:], mine[layer - 1], *rest[layer:]]


def untouched(way: str, layer: int, unchanged: NDArray[np.bool_]) -> bool:
    """Whether a swap takes nothing from the base that differs from the fine-tune's own."""
    taken = {
        "below": unchanged[: layer + 1],
        "above": unchanged[layer + 1 :],
        "layer": unchanged[layer : layer + 1],
    }
    return way in taken and bool(taken[way].all())

"""The kinds of layer swap: which layers each one runs, how many answers of the fine-tune's head are
right, and the self-tests.

    below      layers 0 to k are the donor's, the rest the fine-tune's
    above      layers 0 to k are the fine-tune's, the rest the donor's
    layer      layer k alone is the donor's
    only       layer k alone is the fine-tune's
    truncated  the head reads the fine-tune's state at layer k
    removed    layer k passes its input on unchanged

Layers below a swap are run once for all kinds, and the fine-tune's once for all donors. Kinds that
come to the same run once: at layer 0, "layer" is "below"; at the top, "above" one layer lower.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from core.errors import ModelError
from core.maths.arrays import Value
from core.maths.progress import tick
from core.models.loading.layers import Batch, body_of, layer_list, run_seen
from core.studies.rsa.swap.interventions import BASE_WAYS, MOST_KEPT, TESTED
from core.studies.rsa.swap.layer_changes import Pair, first_of_batch
from core.vectors.examples import Encoded, hits

# of the largest logit, or of 1 where all are smaller (a head adds up terms that are larger than
# their sum): what another order of additions may change, and no self-test may exceed
ROUNDING = 1e-4
Layers = list["nn.Module | None"]
Hits = NDArray[np.int64]
States = Mapping[int, Tensor]
Look = Callable[[str, int, Any, Any], None]


class Work:
    """The batches that a fine-tune is scored on, with its own states, which do not depend on the
    donor, and the layers to swap, all where none is given.

    `right` (sentence,) are its own right answers, of the batches that have run.
    """

    def __init__(
        self, pair: Pair, batches: Sequence[Batch], encoded: Encoded, layers: Sequence[int] = ()
    ) -> None:
        self.pair, self.batches, self.encoded = pair, batches, encoded
        self.layers = tuple(layers) or tuple(range(len(pair.layers) + 1))
        self.right = np.zeros(len(encoded.total), dtype=np.int64)
        self._kept: dict[int, tuple[States, Any]] = {}

    def own(self, number: int) -> tuple[States, Any]:
        """Compute the fine-tune's states of a batch at and below the layers to swap, each
        (sentence, subword, d_model), and its output."""
        if number in self._kept:
            return self._kept[number]
        batch = self.batches[number]
        states, output = run_seen(self.pair.task.model, batch)
        self.right[batch.sentences] = hits(self.encoded, batch, output)
        read = {place for layer in self.layers for place in (layer - 1, layer) if place >= 0}
        ours = {place: states[place] for place in read}
        if sum(state.nbytes for state in ours.values()) * len(self.batches) <= MOST_KEPT:
            self._kept[number] = ours, output
        return ours, output

    @property
    def tested(self) -> Batch:
        """The longest sentences, on which self-tests run: see `TESTED`."""
        parameters = sum(weight.numel() for weight in self.pair.task.model.parameters())
        longest = self.batches[0]
        return first_of_batch(longest, max(1, int(TESTED / parameters / longest.ids.shape[1])))

    def run(
        self,
        donor: nn.Module,
        ways: Sequence[str],
        look: Look | None = None,
        *,
        layers: Sequence[int] = (),
    ) -> dict[str, Hits]:
        """Count the fine-tune's right answers under every swap with a donor of the same shape, by
        way, (layer, sentence), -1 where there is no such swap. `look` is called for each with way,
        layer, output and the fine-tune's own output."""
        blocks, theirs = self.pair.layers, list(layer_list(donor))
        hits_by_way = {
            way: np.full((len(blocks) + 1, len(self.encoded.total)), -1, dtype=np.int64)
            for way in ways
        }
        for number, batch in enumerate(self.batches):
            tick(number / len(self.batches), f"batch {number + 1} of {len(self.batches)}")
            (ours, plain), donor_states = self.own(number), states_of(donor, batch)
            counted: dict[Hashable, Hits] = {}
            for way in ways:
                for layer in layers or self.layers:
                    if way == "removed" and layer == 0:
                        continue
                    entering = built(way, layer, ours, donor_states, blocks, theirs)
                    same = same_run(*entering)
                    if same not in counted:
                        output = self.pair.run(batch, *entering)
                        counted[same] = hits(self.encoded, batch, output)
                        if look is not None:
                            look(way, layer, output, plain)
                    hits_by_way[way][layer, batch.sentences] = counted[same]
        return hits_by_way

    def with_base(self, origin: nn.Module) -> Value:
        """Count right answers under `BASE_WAYS` and of the fine-tune, and run the two self-tests
        that need the base; raises ModelError if one fails."""
        pair, frozen = self.pair, [0.0]

        def look(way: str, layer: int, output: Any, plain: Any) -> None:
            if untouched(way, layer, pair.unchanged):
                frozen.append(
                    differ(pair, f"swapping unchanged layers ({way} {layer})", output, plain)
                )

        theirs, longest = list(layer_list(origin)), self.batches[0]
        base = states_of(origin, longest)
        whole = differ(
            pair, "the whole base as donor", pair.run(longest, base[0], theirs),
            pair.run(longest, base[len(theirs)], [None] * len(theirs)),
        )  # fmt: skip
        scored = self.run(origin, BASE_WAYS, look)
        checks = {"whole_difference": whole, "frozen_difference": max(frozen)}
        return {**scored, "own": self.right, **checks}

    def into_itself(self) -> float:
        """Measure the largest difference with a copy of the fine-tune as donor; raises ModelError
        if it is more than rounding."""
        pair, batch = self.pair, self.tested
        twin = copy.deepcopy(body_of(pair.task.model))
        blocks, theirs = pair.layers, list(layer_list(twin))
        states, plain = run_seen(pair.task.model, batch)
        ours, twin_states = dict(enumerate(states)), states_of(twin, batch)
        swaps = [
            built(way, layer, ours, twin_states, blocks, theirs)
            for way in ("below", "above", "layer", "only")
            for layer in self.layers
        ]
        return max(
            differ(pair, "a copy of the model as donor", pair.run(batch, *swap), plain)
            for swap in {same_run(*swap): swap for swap in swaps}.values()
        )


def states_of(donor: nn.Module, batch: Batch) -> States:
    """Compute a donor's states, each (sentence, subword, d_model), without the places of words."""
    return dict(enumerate(run_seen(donor, replace(batch, starts=None))[0]))


def same_run(entering: Tensor, layers: Layers) -> Hashable:
    """Tell by the state that enters and the layers whether two swaps come to the same."""
    return id(entering), *map(id, layers)


def built(
    way: str,
    layer: int,
    ours: States,
    donor_states: States,
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


def differ(pair: Pair, what: str, given: Any, expected: Any) -> float:
    """Measure the largest difference of two outputs' logits. Raises ModelError if it is more than
    rounding or an answer differs, so that no score of this pair can be trusted."""
    left, right = (
        output if isinstance(output, torch.Tensor) else output.logits
        for output in (given, expected)
    )
    if torch.equal(left, right):
        return 0.0
    difference = float((left - right).abs().max())
    largest = float(right[right > torch.finfo(right.dtype).min].abs().max())
    rounding = ROUNDING * max(1.0, largest)
    if difference > rounding or not torch.equal(left.argmax(-1), right.argmax(-1)):
        raise ModelError(
            f"Layers of {pair.task.ref} cannot be swapped reliably: a self-test ({what}) "
            f"should not change its output but changes a logit by {difference:.2g}. "
            "Choose a BERT-like model."
        )
    return difference

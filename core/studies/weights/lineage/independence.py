"""The task of the test of independence: units of two models matched, and the orders compared.

The rows of a feed-forward layer's first matrix are matched between two models. In two that were
trained independently they match in a random order. Where somebody has permuted the units since,
that order is random, too; but the second matrix, or the gate, then has the same one.

The task's value holds `models`, those compared; `pairs` (pair, 2), their numbers; `related`
(pair,), whether two are of one tree; `trees`, how many there are; `units` (layer,), how many were
matched; `order` and `matched` (pair, layer), rank correlations of the places and of the two
matchings; `agreeing` (pair, layer), the share of units that both match alike; `order_log_p` and
`matched_log_p` (pair,), combined over layers; `left_out`, pairs of reference and reason.

Reference: Zhu et al. 2025. Deviations: see `core.maths.independence`; of wide layers, some units of
the first model are matched to all of the second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from core.errors import ModelError
from core.maths.independence import (
    LEAST_UNITS,
    compare_units,
    layers_log_p,
)
from core.maths.spectra import forests
from core.maths.spectra.products import (
    HELD,
    cosines_from,
    distances_from,
    multiply_models,
    norms_of,
)
from core.models.changes import share_start
from core.studies.task_kit import Cost, Size, Value, compute_pieces, costs, key_of, pure, span, tick
from core.studies.weights.lineage.tasks import HEADER, Opened, Place, of_readable, read_place

VERSION = 1  # raised when what is kept of a pair changes
MOST_UNITS = 256  # of a layer that are matched
MOST_LAYERS = 48  # of a model that are compared
MOST_TREES = 12  # of which every two are compared
FIRST, SECOND, GATE = "ff1", "ff2", "gate"
MATCHED = 4.5e-8  # processor seconds per number of a matrix that is matched
Block = tuple[Place, Place]
Pair = tuple[int, int]
NOT_COMPARED: Value = {
    **{name: np.zeros((0, 1)) for name in ("order", "matched", "agreeing")},
    **{f"{name}_log_p": np.zeros(0) for name in ("order", "matched")},
    **{"models": [], "pairs": np.zeros((0, 2), np.int64), "related": np.zeros(0, np.bool_)},
    **{"units": np.zeros(1, np.int64), "trees": 0, "left_out": []},
}


def _cost(sizes: Mapping[str, Size], models: Sequence[str], **_: Any) -> Cost:
    """Estimate matching each model with its nearest, as if a quarter of them began trees."""
    here = [sizes[ref] for ref in models]
    if not here:  # none was found, as the study says when it runs
        return Cost(0.0, 0.0, torch=False)
    widest = max(here, key=lambda size: size.d_model)
    numbers = costs.WIDER * widest.d_model**2
    trees = min(MOST_TREES, 1 + len(here) // 8)
    pairs = max(len(here) - trees, 0) + trees * (trees - 1) / 2
    layers = 2 * min(widest.layers, MOST_LAYERS)
    seconds = HEADER * len(here) + numbers * layers * (costs.READ * len(here) + MATCHED * pairs)
    return Cost(seconds, max(HELD, 6 * numbers) * costs.DOUBLE, torch=False)


@pure("weights.independence", cost=_cost)
def compare_orders(models: tuple[str, ...], identities: tuple[str, ...]) -> Value:
    """Compare the orders in which units match, in trees of models (joined by the first matrix of
    the middle layer) and between the first models of the trees: "order" and "matched" (pair,
    layer), rank correlations, of the places and of the two matchings. Raises ModelError."""
    value = of_readable(models, identities, (), _compare_all)
    return value | {
        f"{name}_log_p": np.array([layers_log_p(row, value["units"]) for row in value[name]])
        for name in ("order", "matched")
    }


def _compare_all(opened: Sequence[Opened], places: Sequence[Place], names: Sequence[str]) -> Value:
    """Compare the orders in all layers; `names` are the identities of the models."""
    blocks = _blocks(opened[0], places)
    with span(0.0, 0.1):
        pairs, related, trees = _choose_pairs(opened, blocks[len(blocks) // 2][0])
    keys = [
        key_of("lineage orders", VERSION, list(names), [list(each) for each in block])
        for block in blocks
    ]
    with span(0.1, 1.0):
        parts = compute_pieces(keys, lambda number: _compare_block(opened, blocks[number], pairs))
    return {
        **{name: np.stack([part[name] for part in parts], axis=1)
           for name in ("order", "matched", "agreeing")},
        "units": np.array([part["units"] for part in parts]),
        "pairs": np.array(pairs),
        "related": np.array(related),
        "trees": trees,
    }  # fmt: skip


def _blocks(opened: Opened, places: Sequence[Place]) -> list[Block]:
    """Find the first matrix of each feed-forward layer, and the gate or the second beside it.
    Raises ModelError if there is none."""
    checkpoint, slots = opened
    blocks: list[Block] = []
    for family, layer in places:
        part, _, role = family.rpartition(" ")
        partner = next(
            ((name, layer) for role in (GATE, SECOND)
             if ((name := f"{part} {role}".strip()), layer) in slots),
            None,
        )  # fmt: skip
        if role != FIRST or partner is None:
            continue
        slot = slots[family, layer]
        if slot.shape(checkpoint.entries[slot.tensor].shape)[0] >= LEAST_UNITS:
            blocks.append(((family, layer), partner))
    if not blocks:
        raise ModelError(
            f"{checkpoint.ref} has no feed-forward layers of the usual form, and units of "
            "feed-forward layers are compared: choose models of another architecture."
        )
    spread = np.linspace(0, len(blocks) - 1, min(len(blocks), MOST_LAYERS)).round().astype(int)
    return [blocks[number] for number in spread]


def _choose_pairs(opened: Sequence[Opened], place: Place) -> tuple[list[Pair], list[bool], int]:
    """Choose the pairs to compare, and say which are of one tree, and how many trees there are."""

    def read() -> Any:
        for number, each in enumerate(opened):
            tick(number / len(opened), each[0].ref)
            yield read_place(each, place)

    products, _ = multiply_models(read(), len(opened), 0)
    norms = norms_of(products)
    forest = forests.span_models(
        distances_from(products, norms), share_start(cosines_from(products, norms))
    )
    joined = [
        (number, beside)
        for number, neighbours in enumerate(forest.neighbours)
        for beside in neighbours
        if number < beside
    ]
    apart = list(combinations(sorted(min(tree) for tree in forest.trees)[:MOST_TREES], 2))
    return joined + apart, [True] * len(joined) + [False] * len(apart), len(forest.trees)


def _compare_block(opened: Sequence[Opened], block: Block, pairs: Sequence[Pair]) -> Value:
    """Match the units of one layer in every pair."""
    checkpoint, slots = opened[0]
    largest = max(int(np.prod(checkpoint.entries[slots[place].tensor].shape)) for place in block)

    @lru_cache(maxsize=max(2, HELD // (2 * largest)))
    def read(number: int) -> tuple[np.ndarray, np.ndarray]:
        first, second = (read_place(opened[number], place) for place in block)
        return first, second if block[1][0].endswith(GATE) else second.T

    orders = []
    for done, (first, second) in enumerate(pairs):
        tick(done / len(pairs), f"{opened[first][0].ref} and {opened[second][0].ref}")
        orders.append(compare_units(read(first), read(second), MOST_UNITS))
    return {
        name: np.array([getattr(each, name) for each in orders])
        for name in ("order", "matched", "agreeing")
    } | {"units": orders[0].units}

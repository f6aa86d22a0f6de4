"""The pure tasks of the map of models: angles between all layers of all models, and the shape of
each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.errors import ShapeError
from core.maths.similarity.angles import Space, between
from core.maths.spectra.shape import BLOCKS, MEASURES, shape_intervals
from core.maths.statistics import bootstrap_interval, sentence_counts, sentence_labels
from core.options.layer_numbers import layers_of
from core.studies.task_kit import Cost, Size, Value, as_identified, costs, extract, pure, span, tick
from core.vectors.activations import Activations
from core.vectors.pairs import LEAST_ITEMS, Items, in_common
from core.vectors.sinks import TABLE, words_without_sinks

SHAPE = "shape"  # role of tasks
PARTS = 2  # tasks, which run side by side
CLOUDS = 20  # resamples of which all angles are kept
EIGEN = 4e-10  # processor seconds per cubed width for eigenvalues
CUBED, SQUARED = 1.7e-9, 1e-10  # processor seconds per cubed width; per item and squared width


def _cost(
    sizes: Mapping[str, Size], models: tuple[str, ...], items: Items, part: int, **_: Any
) -> Cost:
    states = [len(layers_of((), sizes[ref].layers)) for ref in models]
    width = max(sizes[ref].d_model for ref in models)
    points, numbers = sum(states), items.count * width
    pairs = points * (points + 1) / 2 / PARTS
    return Cost(
        pairs * width**2 * (CUBED * width + SQUARED * items.count),
        (points + 4) * numbers * costs.DOUBLE,
        shared=costs.reading(sizes, models, items.sentences),
    )


@pure("spaces.angles", version=2, guard=as_identified, cost=_cost)
def measure_angles(
    models: tuple[str, ...],
    identities: tuple[str, ...],
    items: Items,
    part: int,
    draws: int,
    seed: int,
    sinks: str = "",
) -> Value:
    """Compute the angles between the layers of models, on the words that all of them read: this
    part's rows of the matrix, as `_measured` returns them. Raises ModelError if a model cannot be
    loaded, ShapeError if too few words are shared."""
    with span(0.0, 0.3):
        keep, left_out = _kept(models, items, sinks)
    read = []
    for place, ref in enumerate(models):
        with span(0.3 + 0.2 * place / len(models), 0.3 + 0.2 * (place + 1) / len(models)):
            read.append(extract(ref, items.sentences, keep=keep))
    value = _measured(read, part, draws, seed)
    value["notices"] = list(
        dict.fromkeys(notice for activations in read for notice in activations.notices)
    )
    return value | ({TABLE: left_out} if left_out else {})


def _kept(
    models: Sequence[str], items: Items, sinks: str
) -> tuple[Sequence[Sequence[int]], Value | None]:
    """The words whose vectors are read, and which attention sinks are left out."""
    if not sinks:
        return items.kept, None
    readings: list[tuple[str, dict[str, Any]]] = [(ref, {}) for ref in models]
    return words_without_sinks(items.sentences, items.kept, sinks, *readings)


def _shape_cost(sizes: Mapping[str, Size], /, model: str, items: Items, **_: Any) -> Cost:
    size = sizes[model]
    layers, width = len(layers_of((), size.layers)), size.d_model
    return Cost(
        layers * (BLOCKS + 1) * width**2 * (EIGEN * width + SQUARED * items.count / BLOCKS),
        items.count * width * (size.layers + 5) * costs.DOUBLE,
        shared=costs.reading(sizes, (model,), items.sentences),
    )


@pure("spaces.shape", guard=as_identified, cost=_shape_cost)
def measure_shape(model: str, identity: str, items: Items, sinks: str = "") -> Value:
    """Measure the shape of a model's spaces, on the words of a text: `layer` (layer,), and each of
    `shape.MEASURES` (layer, 3), value and ends. Raises ModelError if the model cannot be loaded."""
    with span(0.0, 0.3):
        keep, _ = _kept((model,), items, sinks)
    with span(0.3, 0.6):
        read = extract(model, items.sentences, keep=keep)
    group, _ = sentence_labels(read.sentence)
    layers = layers_of((), len(read.vectors) - 1)
    rows = []
    for place, layer in enumerate(layers):
        tick(0.6 + 0.4 * place / len(layers), f"shape of layer {layer}")
        rows.append(shape_intervals(read.vectors[layer], group))
    shapes = {name: np.array([row[name] for row in rows]) for name in MEASURES}
    return {"layer": np.array(layers), **shapes}


def _measured(read: Sequence[Activations], part: int, draws: int, seed: int) -> Value:
    """Measure the `rows` of one part in degrees: `angles`, `low`, `high` (row, point), NaN left of
    the diagonal; the first CLOUDS resamples (`cloud`) and all those of `pairs` of one layer;
    `chance` (row,), a last layer's angle to the next model's with its words in another order."""
    shared = in_common(read)
    items = len(shared[0].sentence)
    if items < LEAST_ITEMS:
        raise ShapeError(
            f"The models read {items} words in common, and {LEAST_ITEMS} are needed: "
            "use shorter sentences or more of them."
        )
    group, sentences = sentence_labels(shared[0].sentence)
    rng = np.random.default_rng(seed)
    counts, order = sentence_counts(sentences, draws, rng), rng.permutation(items)
    once = np.arange(items), np.ones((1, items), dtype=np.int64)
    points = [
        (place, number)
        for place, activations in enumerate(shared)
        for number in layers_of((), len(activations.vectors) - 1)
    ]
    owner, layer = (np.array(each) for each in zip(*points, strict=True))
    spaces = [Space.of(shared[place].vectors[number], group, counts) for place, number in points]
    last = np.flatnonzero(np.diff(owner, append=-1)).tolist()
    rows = range(part, len(spaces), PARTS)
    angles = np.full((len(rows), len(spaces)), np.nan)
    low, high = angles.astype(np.float32), angles.astype(np.float32)
    cloud = np.full((min(CLOUDS, draws), *angles.shape), np.nan, dtype=np.float16)
    pairs, pair_draws, chance = [], [], np.full(len(rows), np.nan)
    for number, row in enumerate(rows):
        tick(0.5 + 0.5 * number / len(rows), f"space {row + 1} of {len(spaces)}")
        for column in range(row, len(spaces)):
            value, drawn = between(spaces[row], spaces[column])
            angles[number, column], cloud[:, number, column] = value, drawn[: len(cloud)]
            low[number, column], high[number, column] = bootstrap_interval(value, drawn)
            if column > row and layer[column] == layer[row]:
                pairs.append((row, column))
                pair_draws.append(drawn.astype(np.float32))
        if row in last:
            shuffled = Space.of(spaces[last[(last.index(row) + 1) % len(last)]].rows[order], *once)
            chance[number] = between(Space.of(spaces[row].rows, *once), shuffled)[0]
    return {
        "model": owner,
        "layer": layer,
        "rows": np.array(rows),
        "angles": angles,
        "low": low,
        "high": high,
        "cloud": cloud,
        "pairs": np.array(pairs).reshape(-1, 2),
        "pair_draws": np.array(pair_draws).reshape(-1, draws).T,
        "chance": chance,
        "items": items,
    }

"""The pure tasks of the alignment study: maps between two models, layer by layer or between
layers.

The value of a pair holds for every method m, by direction (0 maps `one` into `other`, 1 maps back)
and layer unless another shape is given:

- `m/nmse`, `m/l2`, `m/r2`, `m/retrieval`, `m/inverse` (direction, part, subset, layer): scores of
  training and test rows, on each of `scoring.SUBSETS`;
- `m/error` (direction, 2, layer, unit): squared error of seen and of unseen test rows, and `spread`
  like it, for all methods;
- `m/penalty`, where one was chosen; `m/reach`, of maps from the static window;
- `m/mapped` (direction, layer, point, 2), and for all methods `target_points`, and `source_points`
  where the widths are equal;
- of networks `m/steps` (check,), `m/training` and `m/validation` (direction, check, layer), and
  `m/converged`;
- `m/left_out`, how many training rows were left out to bound memory; `m/refused`, the reason, where
  a method does not fit the shapes.

Besides, it holds `layers`, `rows` (how many are of training), `units` (numbers of the words or
sentences of test rows), `d_one`, `d_other`, `notices`, and where they were looked for `sinks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from core.errors import ShapeError
from core.maths.evaluation.costs import NETWORKS as TRAINED
from core.maths.evaluation.costs import PRODUCTS, fitting
from core.maths.evaluation.judging import Judge, by_direction, by_layer, fit_each
from core.maths.evaluation.scoring import rows_for, unexplained
from core.maths.evaluation.split import Parts, split_rows
from core.maths.maps.moments import Moments, check_pairs, moments, space_of
from core.maths.maps.registry import METHODS, NETWORKS, make_aligner
from core.studies.task_kit import Cost, Size, Value, Words, as_identified, costs, pure, span, tick
from core.vectors.pairs import Items, extract_pair

GROUP = 2**25  # bytes of both models' rows, in single precision, that are mapped at once
SLOWEST = ("inn",)  # trains as long as all other maps take together
PARTS = 2  # tasks among which its layers are shared out, one for each core
STORED_BYTES = 25_000  # bytes stored per map and layer
# Bytes per number of both models: of all layers, which are read, and of those mapped at once, by
# networks and by other maps.
READ, TRAINING, MAPPING = 6.8, 30.0, 20.0
GRIDDED = 6  # products of a row per map of a layer into a layer; decompositions are shared
LAYERED = ("layers", "spread", "source_points", "target_points")  # beside what a method returns
NO_PART = -1  # the part of a task that maps all layers


def pair_cost(
    sizes: Mapping[str, Size],
    one: str,
    other: str,
    sentences: Words,
    items: str,
    methods: tuple[str, ...],
    layers: tuple[int, ...],
    part: int = NO_PART,
    fit: Callable[..., float] = fitting,
    **_: Any,
) -> Cost:
    """Estimate what it takes to fit these maps in both directions, at all of these layers."""
    (width, states), rows = costs.shape_of(sizes, one, other), costs.rows_of(sentences, items)
    mapped = (len(layers) or states) / (1 if part == NO_PART else PARTS)
    numbers = 2 * rows * width
    at_once = max(1.0, min(len(layers) or states, GROUP // (numbers * costs.SINGLE)))
    held = TRAINING if any(name in TRAINED for name in methods) else MAPPING
    return Cost(
        fit(methods, width, rows, 2 * mapped),
        numbers * (READ * states + held * at_once),
        STORED_BYTES * len(methods) * mapped,
        costs.reading(sizes, (one, other), sentences),
    )


@pure("alignment.pair", version=5, guard=as_identified, cost=pair_cost)
def align_pair(
    one: str,
    other: str,
    one_identity: str,
    other_identity: str,
    sentences: Words,
    items: str,
    split: str,
    methods: tuple[str, ...],
    layers: tuple[int, ...],
    seed: int,
    sinks: str = "",
    part: int = NO_PART,
) -> Value:
    """Fit each method at these layers (all where empty) in both directions on training rows, and
    score it on test rows. Raises ShapeError if the split leaves too few rows."""
    with span(0.0, 0.2):
        x, y, parts, remarks = read_pair(one, other, sentences, items, split, seed, sinks=sinks)
    asked = asked_layers(layers, len(x))
    places = np.arange(len(asked))
    if part != NO_PART:
        places = np.array_split(places, PARTS)[part]
    fits: list[Value] = []
    # A few layers at a time: what maps of all layers of a wide model need does not fit in memory.
    groups = layer_groups(len(places), x[:1].nbytes + y[:1].nbytes)
    for number, rows in enumerate(groups):
        group = places[rows]
        at = asked[group]
        with span(0.2 + 0.8 * number / len(groups), 0.2 + 0.8 * (number + 1) / len(groups)):
            fits.append(_fit_group(x[at], y[at], parts, methods, seed, group.tolist(), len(asked)))
    return described(x, y, parts, asked[places], remarks) | by_layer(fits)


def maps_by_task(methods: Iterable[str]) -> dict[tuple[str, ...], str]:
    """Share maps out among tasks, and name these: one for each map that is slow, one for those of
    the static window, one for all others."""
    kinds = {name: METHODS[name].kind for name in methods}
    slow: dict[tuple[str, ...], str] = {
        (name,): METHODS[name].label for name, kind in kinds.items() if kind == "non-linear"
    }
    quick = tuple(name for name, kind in kinds.items() if kind in ("control", "linear"))
    static = tuple(name for name, kind in kinds.items() if kind == "static")
    tasks = {**slow, quick: "linear maps and controls", static: "static window"}
    return {names: label for names, label in tasks.items() if names}


def joined_roles(values: Mapping[Any, Value]) -> dict[Any, Value]:
    """Join the values of the parts of one role, whose roles end in the part's number; a role of
    which a part is missing is left out.

    Example:
        >>> values = {("inn", part): {"layers": np.array([part]), "rows": 9} for part in (0, 1)}
        >>> joined_roles(values)
        {('inn',): {'layers': array([0, 1]), 'rows': 9}}
    """
    joined: dict[Any, Value] = {}
    for role, value in values.items():
        if not isinstance(role[-1], int):
            joined[role] = value
        elif role[-1] == 0:
            roles = [(*role[:-1], part) for part in range(PARTS)]
            parts = [values[each] for each in roles if each in values]
            layered = [
                {name: part[name] for name in part if "/" in name or name in LAYERED}
                for part in parts
            ]
            if len(parts) == PARTS:
                joined[role[:-1]] = value | by_layer(layered)
    return joined


def _grid_cost(
    sizes: Mapping[str, Size], one: str, other: str, sentences: Words, items: str, **_: Any
) -> Cost:
    width, rows = max(sizes[one].d_model, sizes[other].d_model), costs.rows_of(sentences, items)
    maps = (sizes[one].layers + 1) * (sizes[other].layers + 1)
    return Cost(
        maps * PRODUCTS * GRIDDED * rows * width**2,
        READ * 2 * rows * width * (min(sizes[one].layers, sizes[other].layers) + 1),
        shared=costs.reading(sizes, (one, other), sentences),
    )


@pure("alignment.layers", version=3, guard=as_identified, cost=_grid_cost)
def align_layers(
    one: str,
    other: str,
    one_identity: str,
    other_identity: str,
    sentences: Words,
    items: str,
    split: str,
    method: str,
    seed: int,
    sinks: str = "",
) -> Value:
    """Map every layer of `one` into every layer of `other` by one linear method: `nmse` (source
    layer, target layer) on test rows."""
    with span(0.0, 0.4):
        x, y, parts, remarks = read_pair(
            one, other, sentences, items, split, seed, match_layers=False, sinks=sinks
        )
    train, held, test = parts.train, parts.validation, parts.test
    nmse = np.zeros((len(x), len(y)))
    spaces = [space_of(target[train]) for target in y]
    for row, source in enumerate(x):
        tick(0.4 + 0.6 * row / len(nmse), f"layer {row} into every layer")
        space = space_of(source[train])  # its decomposition serves every target
        for column, target in enumerate(y):
            sums = moments(source[train], target[train], space, spaces[column])
            aligner = make_aligner(method, seed)
            aligner.fit_known(source[train], target[train], (source[held], target[held]), sums)
            mapped = aligner.transform(source[test])
            nmse[row, column] = unexplained(mapped, target[test], target[train].mean(0))
    return {"nmse": nmse, **remarks}


def read_pair(
    one: str,
    other: str,
    sentences: Words,
    items: str,
    split: str,
    seed: int,
    match_layers: bool = True,
    sinks: str = "",
) -> tuple[np.ndarray, np.ndarray, Parts, Value]:
    """Read the rows of both models, their split, and what a task says beside its numbers."""
    paired = extract_pair(one, other, Items(sentences, (), items), match_layers, sinks=sinks)
    parts = split_rows(sentences, paired.sentence, paired.word, split, seed)
    return paired.base, paired.compared, parts, paired.remarks


def layer_groups(layers: int, size: int) -> list[np.ndarray]:
    """Group the places of layers that are mapped at once, where the rows of one take `size` bytes.

    Example:
        >>> [group.tolist() for group in layer_groups(3, GROUP // 2)]
        [[0, 1], [2]]
    """
    at_once = max(1, GROUP // max(size, 1))
    return np.array_split(np.arange(layers), -(-layers // at_once))


def _fit_group(
    x: np.ndarray,
    y: np.ndarray,
    parts: Parts,
    methods: tuple[str, ...],
    seed: int,
    numbers: list[int],
    layers: int,
) -> Value:
    """Fit and score every method on some of all `layers` in both directions; `numbers` are their
    places among all."""
    train = parts.train
    check_pairs(x[:, train], y[:, train])
    stacked = tuple(name for name in methods if name in NETWORKS and x.shape[-1] == y.shape[-1])
    others = tuple(name for name in methods if name not in stacked)
    share = len(others) / len(methods)
    value: Value = {}
    if others:  # the second direction uses the decompositions of the first
        linear = any(METHODS[name].kind in ("control", "linear") for name in others)
        sums = moments(x[:, train], y[:, train]) if linear else None
        with span(0.0, share / 2):
            there = _fit_all(x, y, parts, others, seed, numbers, sums)
        with span(share / 2, share):
            back = _fit_all(y, x, parts, others, seed, numbers, sums.swapped if sums else None)
        value |= by_direction([there, back], len(x))
    if stacked:  # the networks of both directions train in one bank
        with span(share, 1.0):
            of_both = [*numbers, *(layers + number for number in numbers)]
            source, target = np.concatenate([x, y]), np.concatenate([y, x])
            fit = _fit_all(source, target, parts, stacked, seed, of_both)
            value |= by_direction([fit], len(x))
    return value


def _fit_all(
    x: np.ndarray,
    y: np.ndarray,
    parts: Parts,
    methods: tuple[str, ...],
    seed: int,
    numbers: list[int],
    sums: Moments | None = None,
) -> Value:
    """Fit and score every method from x to y; as `align_pair`, without a direction."""
    judge = Judge(y, parts)
    value: Value = {"target_points": judge.points(y[:, judge.shown])}
    if x.shape[-1] == y.shape[-1]:
        value["source_points"] = judge.points(x[:, judge.shown])
    for name, aligner in fit_each(methods, seed, x, y, parts, value, sums=sums, numbers=numbers):
        value |= judge.scores(name, aligner, rows_for(aligner, x, parts.types))
    return value


def described(
    x: np.ndarray, y: np.ndarray, parts: Parts, layers: np.ndarray, remarks: Value
) -> Value:
    """Describe what every task of a pair returns beside its maps."""
    return {
        "layers": layers,
        "rows": len(parts.train),
        "units": np.unique(parts.unit[parts.test]),
        "d_one": int(x.shape[-1]),
        "d_other": int(y.shape[-1]),
        **remarks,
    }


def asked_layers(layers: tuple[int, ...], depth: int) -> np.ndarray:
    """Give the requested layers, or all where none was requested. Raises ShapeError if there is no
    such layer."""
    if any(not 0 <= layer < depth for layer in layers):
        raise ShapeError(
            f"These models have layers 0 to {depth - 1}; "
            f"{', '.join(map(str, layers))} were requested: choose others."
        )
    return np.asarray(layers or range(depth), dtype=np.int64)


def at_layers(rows: np.ndarray, layers: np.ndarray) -> np.ndarray:
    """Take the rows of these layers, (layer, row, d); no copy where they are all, in order.

    Example:
        >>> rows = np.zeros((2, 3, 1))
        >>> at_layers(rows, np.array([0, 1])) is rows, at_layers(rows, np.array([1])).shape
        (True, (1, 3, 1))
    """
    return rows if np.array_equal(layers, np.arange(len(rows))) else rows[layers]

"""The pure tasks of the alignment study: maps between two models, layer by layer or between
layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from core.alignment.maps.linear import Aligner, LinearAligner, Moments, moments
from core.alignment.maps.registry import METHODS, make_aligner
from core.alignment.seeds.protocol import Parts, rows_for, score, split_rows
from core.errors import ShapeError
from core.models.identity import as_identified
from core.runs.runner import span, tick
from core.runs.store import Value
from core.runs.tasks import pure
from core.vectors.pairs import Items, Words, extract_pair

if TYPE_CHECKING:
    from core.alignment.maps.curves import Curve

SHOWN = 120  # rows kept for the projection of the space
COLUMNS = ("nmse", "l2", "r2", "retrieval", "inverse")


@pure("alignment.pair", version=3, guard=as_identified)
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
) -> Value:
    """Fit each method at each layer in both directions on training rows, score it on test rows.

    Direction 0 maps `one` into `other`, direction 1 `other` into `one`. Where both have the same
    width, all layers of both directions are fitted in one batched product.

    Returns:
        For each method m: `m/nmse`, `m/l2`, `m/r2`, `m/retrieval`, `m/inverse` (direction, part,
        subset, layer) for the training and the test rows and `protocol.WORDS`; `m/error`
        (direction, 2, layer, unit) for seen and unseen test rows; for networks `m/steps` (check,),
        `m/training`, `m/validation` (direction, check, layer) and `m/converged` (direction, layer);
        `m/mapped` (direction, layer, point, 2); `m/left_out`, the number of training rows left out
        to bound memory; `m/refused` with the reason where the method does not fit the shapes. Also
        `spread` like `m/error`, `source_points` where the widths are equal, `target_points`,
        `layers`, `rows` (training rows), `units` (numbers of the test rows' words or sentences),
        `d_one`, `d_other`, `notices` and, where attention sinks were looked for, `sinks`.

    Raises:
        ModelError: If a model cannot be loaded.
        ShapeError: If the split leaves too few rows.
    """
    with span(0.0, 0.2):
        x, y, parts, said = read_pair(one, other, sentences, items, split, seed, sinks=sinks)
    chosen = chosen_layers(layers, len(x))
    x, y = x[chosen], y[chosen]  # single precision; computations convert what they need to double
    value = described(x, y, parts, chosen, said)
    if x.shape[-1] == y.shape[-1]:
        stacks = [(np.concatenate([x, y]), np.concatenate([y, x]))]
    else:
        stacks = [(x, y), (y, x)]
    del x, y  # the stacks hold them
    fits = []
    for number, (sources, targets) in enumerate(stacks):
        with span(0.2 + 0.8 * number / len(stacks), 0.2 + 0.8 * (number + 1) / len(stacks)):
            fits.append(_fit_all(sources, targets, parts, methods, seed))
    return value | by_direction(fits, len(chosen))


@pure("alignment.layers", version=3, guard=as_identified)
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
    """Map every layer of `one` into every layer of `other` by one linear method.

    Returns:
        `nmse` (source layer, target layer) on test rows; not symmetric, because a map has a
        direction.
    """
    with span(0.0, 0.4):
        x, y, parts, said = read_pair(
            one, other, sentences, items, split, seed, match_layers=False, sinks=sinks
        )
    train, held, test = parts.train, parts.validation, parts.test
    nmse = np.zeros((len(x), len(y)))
    for row, source in enumerate(x):
        tick(0.4 + 0.6 * row / len(nmse), f"layer {row} into every layer")
        for column, target in enumerate(y):
            aligner = make_aligner(method, seed)
            aligner.fit(source[train], target[train], (source[held], target[held]))
            spread = ((target[test] - target[train].mean(0)) ** 2).sum()
            error = ((aligner.transform(source[test]) - target[test]) ** 2).sum()
            nmse[row, column] = error / max(float(spread), 1e-300)
    return {"nmse": nmse, **said}


def fit_each(
    methods: tuple[str, ...],
    seed: int,
    x: np.ndarray,
    y: np.ndarray,
    parts: Parts,
    value: Value,
    *,
    sums: Moments | None = None,
    low: float = 0.0,
    high: float = 1.0,
) -> Iterator[tuple[str, Any]]:
    """Fit each method to paired rows, one after another, and give its name and aligner.

    Args:
        methods: Names in the registry.
        seed: Of networks and samples.
        x, y: Paired rows, (layer, row, d).
        parts: The split.
        value: Where "m/refused" is set, with the reason, for a method m that does not fit the
            shapes.
        sums: Moments of the training rows, so that linear maps need no further pass over the rows;
            computed where None.
        low, high: Fractions of the task between which the methods are fitted.
    """
    step, train, held = (high - low) / len(methods), parts.train, parts.validation
    for number, name in enumerate(methods):
        with span(low + step * number, low + step * (number + 1)):
            tick(0.0, METHODS[name].label)
            aligner = make_aligner(name, seed)
            try:
                given = rows_for(aligner, x, parts.types)
                validation = (given[:, held], y[:, held])
                if (
                    sums is not None
                    and isinstance(aligner, LinearAligner)
                    and METHODS[name].kind == "linear"
                ):
                    aligner.fit_moments(sums, validation)
                else:
                    aligner.fit(given[:, train], y[:, train], validation)
            except ShapeError as error:
                value[f"{name}/refused"] = str(error)
                continue
        yield name, aligner


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
    """Rows of both models, their split, and what a task says beside its numbers (`Paired.said`)."""
    paired = extract_pair(one, other, Items(sentences, (), items), match_layers, sinks=sinks)
    parts = split_rows(sentences, paired.sentence, paired.word, split, seed)
    return paired.base, paired.compared, parts, paired.said


def _fit_all(
    x: np.ndarray, y: np.ndarray, parts: Parts, methods: tuple[str, ...], seed: int
) -> Value:
    """Fit and score every method on stacked layers; outputs as in `align_pair`, with the stack for
    direction, layer."""
    sums = moments(x[:, parts.train], y[:, parts.train])
    judge = Judge(y, parts)
    value: Value = {"target_points": judge.points(y[:, judge.shown])}
    if x.shape[-1] == y.shape[-1]:
        value["source_points"] = judge.points(x[:, judge.shown])
    for name, aligner in fit_each(methods, seed, x, y, parts, value, sums=sums):
        value |= judge.scores(name, aligner, rows_for(aligner, x, parts.types))
    return value


def described(x: np.ndarray, y: np.ndarray, parts: Parts, chosen: np.ndarray, said: Value) -> Value:
    """What every task of a pair returns beside its maps: layers, rows, units, widths and what
    `read_pair` says."""
    return {
        "layers": chosen,
        "rows": len(parts.train),
        "units": np.unique(parts.unit[parts.test]),
        "d_one": int(x.shape[-1]),
        "d_other": int(y.shape[-1]),
        **said,
    }


class Judge:
    """Scores fitted maps on the rows of one target.

    Args:
        y: Rows of the target, (layer, row, d).
        parts: Their split.
    """

    def __init__(self, y: np.ndarray, parts: Parts) -> None:
        self.y, self.parts = y, parts
        test = parts.test
        self.mean = y[:, parts.train].mean(1, keepdims=True, dtype=np.float64)
        self.shown = test[np.linspace(0, len(test) - 1, min(SHOWN, len(test))).astype(np.int64)]
        tested = y[:, test].astype(np.float64)
        self._axes = np.linalg.svd(tested - tested.mean(1, keepdims=True), full_matrices=False)[2]
        self._axes = self._axes[:, :2].swapaxes(-1, -2)

    def points(self, rows: np.ndarray) -> np.ndarray:
        """Rows on the target's first two principal components, float32."""
        return cast(np.ndarray, ((rows - self.mean) @ self._axes).astype(np.float32))

    def scores(self, name: str, aligner: Aligner, given: np.ndarray) -> Value:
        """What `align_pair` returns of one map, for the rows that it is given, (layer, row, d)."""
        parts = self.parts
        scores = [
            score(
                aligner,
                given[:, rows],
                self.y[:, rows],
                parts.unit[rows],
                parts.seen(rows),
                self.mean,
            )
            for rows in (parts.train, parts.test)
        ]
        value: Value = {
            f"{name}/{column}": np.stack([getattr(part, column) for part in scores])
            for column in COLUMNS
        }
        value[f"{name}/error"], value["spread"] = scores[1].error, scores[1].spread
        value[f"{name}/mapped"] = self.points(aligner.transform(given[:, self.shown]))
        if aligner.left_out:
            value[f"{name}/left_out"] = aligner.left_out
        curve: Curve | None = getattr(aligner, "curve", None)
        if curve is not None:
            value[f"{name}/steps"], value[f"{name}/converged"] = curve.steps, curve.converged
            value[f"{name}/training"], value[f"{name}/validation"] = (
                curve.training,
                curve.validation,
            )
        return value


LAYER_AXIS = {
    "training": -1,
    "validation": -1,
    "converged": -1,
    "mapped": 0,
    "source_points": 0,
    "target_points": 0,
    "spectrum": -2,
    "planted_spectrum": -2,
}


def by_direction(fits: list[Value], layers: int) -> Value:
    """Turn stacks of both directions (or one value for each direction) into arrays with a leading
    direction."""
    value: Value = {}
    for name in {name: None for fit in fits for name in fit}:
        present = [fit[name] for fit in fits if name in fit]
        column = name.rpartition("/")[2]
        if column in ("refused", "left_out"):
            value[name] = present[0]
        elif column == "steps":
            value[name] = max(present, key=len)
        elif len(present) == len(fits):
            axis = LAYER_AXIS.get(column, -2 if column in ("error", "spread") else -1)
            if len(fits) == 1:
                split = np.split(np.asarray(present[0]), [layers], axis=axis)
            else:
                split = [np.asarray(value) for value in present]
            value[name] = np.stack(
                _padded(split) if column in ("training", "validation") else split
            )
    return value


def _padded(curves: list[np.ndarray]) -> list[np.ndarray]:
    """Curves (check, layer) padded to the same length with NaN."""
    longest = max(map(len, curves))
    return [
        np.pad(curve, ((0, longest - len(curve)), (0, 0)), constant_values=np.nan)
        for curve in curves
    ]


def chosen_layers(layers: tuple[int, ...], depth: int) -> np.ndarray:
    """The requested layers as indices, or all of them where none was requested.

    Raises:
        ShapeError: If the models have no such layer.
    """
    if any(not 0 <= layer < depth for layer in layers):
        raise ShapeError(
            f"These models have layers 0 to {depth - 1}; {', '.join(map(str, layers))} were "
            "requested: choose others."
        )
    return np.asarray(layers or range(depth), dtype=np.int64)

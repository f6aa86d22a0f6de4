"""Every map of a pair: fitted one after another, and judged on the rows of its target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from core.errors import ShapeError
from core.maths.arrays import Value
from core.maths.evaluation.scoring import Target, rows_for, score, spaced
from core.maths.evaluation.split import Parts
from core.maths.maps.linear import Aligner
from core.maths.maps.moments import RCOND, TINY, Moments, moments
from core.maths.maps.registry import METHODS, make_aligner
from core.maths.progress import span, tick

if TYPE_CHECKING:
    from core.maths.maps.fitting import Curve

SHOWN = 120  # rows kept for the projection of the space
COLUMNS = ("nmse", "l2", "r2", "retrieval", "inverse")
DECOMPOSED = 256  # rows or dimensions up to which all principal components are computed
# Numbers of a layer's training rows that a map is judged on: where wide not all of 10,000
# rows, because most of a wide map's scores would be spent on rows that it has seen.
JUDGED = 2**21


def fit_each(
    methods: tuple[str, ...],
    seed: int,
    x: np.ndarray,
    y: np.ndarray,
    parts: Parts,
    value: Value,
    *,
    sums: Moments | None = None,
    numbers: Sequence[int] = (),
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
        sums: Moments of the training rows, which all methods share; computed where None.
        numbers: Of the layers in the whole study; see `Aligner.numbers`.
        low, high: Fractions of the task between which the methods are fitted.
    """
    step, train, held = (high - low) / len(methods), parts.train, parts.validation
    for number, name in enumerate(methods):
        with span(low + step * number, low + step * (number + 1)):
            tick(0.0, METHODS[name].label)
            aligner = make_aligner(name, seed)
            aligner.numbers = numbers
            try:
                given = rows_for(aligner, x, parts.types)
                rows = given[:, train], y[:, train], (given[:, held], y[:, held])
                if aligner.from_moments:
                    sums = sums or moments(rows[0], rows[1])
                    aligner.fit_known(*rows, sums)
                else:
                    aligner.fit(*rows)
            except ShapeError as error:
                value[f"{name}/refused"] = str(error)
                continue
        yield name, aligner


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
        self.trained = parts.train[spaced(len(parts.train), JUDGED // y.shape[-1])]
        self.shown = test[spaced(len(test), SHOWN)]
        self._axes = np.stack([leading_axes(layer[test]) for layer in y])

    @cached_property
    def targets(self) -> tuple[Target, Target]:
        """The training rows that maps are judged on, and the test rows."""
        train, test = (
            Target(self.y[:, rows], self.parts.unit[rows], self.parts.seen(rows), self.mean)
            for rows in (self.trained, self.parts.test)
        )
        return train, test

    def points(self, rows: np.ndarray) -> np.ndarray:
        """Rows on the target's first two principal components, float32."""
        return cast(np.ndarray, ((rows - self.mean) @ self._axes).astype(np.float32))

    def scores(
        self, name: str, aligner: Aligner, given: np.ndarray | Callable[[np.ndarray], np.ndarray]
    ) -> Value:
        """What `align_pair` returns of one map.

        Args:
            name: The method.
            aligner: Fitted.
            given: The aligner's input, (layer, row, d), or what makes it for some rows.
        """

        def at(rows: np.ndarray) -> np.ndarray:
            return given(rows) if callable(given) else given[:, rows]

        scores = [
            score(aligner, at(rows), target)
            for rows, target in zip((self.trained, self.parts.test), self.targets, strict=True)
        ]
        value: Value = {
            f"{name}/{column}": np.stack([getattr(part, column) for part in scores])
            for column in COLUMNS
        }
        value[f"{name}/error"], value["spread"] = scores[1].error, scores[1].spread
        value[f"{name}/mapped"] = self.points(aligner.transform(at(self.shown)))
        if aligner.left_out:
            value[f"{name}/left_out"] = aligner.left_out
        if aligner.penalty is not None:
            value[f"{name}/penalty"] = aligner.penalty
        curve: Curve | None = getattr(aligner, "curve", None)
        if curve is not None:
            value[f"{name}/steps"], value[f"{name}/converged"] = curve.steps, curve.converged
            value[f"{name}/training"], value[f"{name}/validation"] = (
                curve.training,
                curve.validation,
            )
        return value


def leading_axes(rows: np.ndarray) -> np.ndarray:
    """The first two principal components of rows, in columns, (d, 2).

    Example:
        >>> rows = np.array([[0.0, 3, 0], [0, -3, 0], [1, 0, 0], [-1, 0, 0]])
        >>> np.abs(leading_axes(rows)).tolist()
        [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
    """
    from scipy.linalg import eigh

    centred = rows - rows.mean(0, dtype=np.float64)
    count, width = centred.shape
    if min(count, width) <= DECOMPOSED:
        return np.linalg.svd(centred, full_matrices=False)[2][:2].T
    product = centred @ centred.T if count < width else centred.T @ centred
    values, vectors = eigh(product, subset_by_index=[len(product) - 2, len(product) - 1])
    least = max(RCOND * float(values[-1]), TINY)  # what is smaller is rounding, and may be negative
    leading: np.ndarray = vectors[:, ::-1]
    if count < width:
        leading = centred.T @ (leading / np.sqrt(np.maximum(values[::-1], least)))
    return leading


LAYER_AXIS = {
    "training": -1,
    "validation": -1,
    "converged": -1,
    "mapped": 0,
    "source_points": 0,
    "target_points": 0,
    "error": -2,
    "spread": -2,
    "spectrum": -2,
    "planted_spectrum": -2,
}


def by_direction(fits: list[Value], layers: int) -> Value:
    """Turn stacks of both directions (or one value for each direction) into arrays with a leading
    direction."""
    if len(fits) == 1:
        fits = _halves(fits[0], layers)
    return _joined(fits, lambda name, parts: np.stack(parts))


def by_layer(fits: list[Value], *, directed: bool = True) -> Value:
    """Join the values of groups of layers, which have a leading direction or none."""

    def join(name: str, parts: list[np.ndarray]) -> np.ndarray:
        axis = layer_axis(name)
        return np.concatenate(parts, axis=axis + 1 if directed and axis >= 0 else axis)

    return _joined(fits, join)


def layer_axis(name: str) -> int:
    """The axis of a value's array that numbers layers, without a direction."""
    return LAYER_AXIS.get(name.rpartition("/")[2], -1)


def _halves(fit: Value, layers: int) -> list[Value]:
    """The value of each direction of a stack of both."""
    halves: list[Value] = [{}, {}]
    for name, part in fit.items():
        if _of_all_layers(name):
            halves[0][name] = halves[1][name] = part
        else:
            split = np.split(np.asarray(part), [layers], axis=layer_axis(name))
            halves[0][name], halves[1][name] = split
    return halves


def _joined(fits: list[Value], join: Callable[[str, list[np.ndarray]], np.ndarray]) -> Value:
    """Values by name, those of layers joined; what one of the fits lacks is left out."""
    value: Value = {}
    for name in {name: None for fit in fits for name in fit}:
        present = [fit[name] for fit in fits if name in fit]
        if name.endswith("/steps"):
            value[name] = max(present, key=len)
        elif _of_all_layers(name):
            value[name] = present[0]
        elif len(present) == len(fits):
            parts = [np.asarray(part) for part in present]
            long = name.endswith(("/training", "/validation"))
            value[name] = join(name, _padded(parts) if long else parts)
    return value


def _of_all_layers(name: str) -> bool:
    return name.rpartition("/")[2] in ("refused", "left_out", "steps")


def _padded(curves: list[np.ndarray]) -> list[np.ndarray]:
    """Curves (..., check, layer) padded to the same length with NaN."""
    longest = max(curve.shape[-2] for curve in curves)
    return [
        np.pad(
            curve,
            [(0, 0)] * (curve.ndim - 2) + [(0, longest - curve.shape[-2]), (0, 0)],
            constant_values=np.nan,
        )
        for curve in curves
    ]

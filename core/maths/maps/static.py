"""Kernel ridge regression from the static window: what a model's embedding table predicts before
any layer has run.

The rows are the same at every layer and only the targets differ, so that one factorisation serves
all layers. Width of the window, kernel (linear, which is ridge regression, or Gaussian of several
widths) and penalty are chosen for each layer on the validation rows, as `core.maths.maps.kernel`
chooses them: on a sample, then the penalty on all rows.

    f(x) = mean_y + sum_i k(x, x_i) a_i,    a = (K + penalty I)^-1 (y - mean_y)

Reference: Saunders, Gammerman & Vovk 1998. Deviations: as in `core.maths.maps.kernel`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, cast

import numpy as np
from jaxtyping import Float

from core.maths.maps.kernel import (
    FINER,
    PENALTIES,
    SEARCHED,
    predict,
    sample_rows,
    solve,
    squared_distances,
)
from core.maths.maps.linear import Aligner, hold_out
from core.maths.maps.moments import RCOND, Rows, check_pairs
from core.maths.progress import tick

LINEAR = 0.0  # the width that stands for the linear kernel
WIDTHS = (LINEAR, 0.25, 0.5, 1.0, 2.0, 4.0)  # of the median squared distance


@dataclass(frozen=True)
class _Kernel:
    """A kernel on the first `columns` of the rows, relative to training rows."""

    rows: Float[np.ndarray, "row d"]
    columns: int
    width: float
    unit: float

    def __call__(self, x: Float[np.ndarray, "other d"]) -> Float[np.ndarray, "other row"]:
        x = x[:, : self.columns]
        if self.width == LINEAR:
            return cast(np.ndarray, x @ self.rows.T / np.float32(self.unit))
        squared = squared_distances(x, self.rows)
        return np.exp(squared * np.float32(-1.0 / (self.width * self.unit)))


class StaticKernel(Aligner):
    """One source for all layers, a kernel and a penalty for each.

    Args:
        columns: How many of the source's columns each width of the window takes.
        seed: Of the rows that the choice is made on.

    Attributes:
        read: How many columns each layer's map reads, after a fit.
        penalty: Of each layer's map, after a fit.
    """

    def __init__(self, columns: Sequence[int], seed: int = 0) -> None:
        self.columns, self.seed = tuple(columns), seed

    def fit(self, x: Rows, y: Rows, validation: tuple[Rows, Rows] | None = None) -> Self:
        """Fit on paired training rows, of which `x` is the same at every layer; validation rows
        choose.

        Args:
            x: (layer, row, d), a broadcast of (row, d).
            y: (layer, row, d_target).
            validation: The same of other rows.

        Raises:
            ShapeError: If rows do not pair up, there are fewer than two, or values are not finite.
        """
        x, y = np.asarray(x), np.asarray(y)
        check_pairs(x, y)
        x, y, (held_x, held_y) = hold_out(x, y, validation)
        fitted, searched, checked = sample_rows(x.shape[-2], held_x.shape[-2], self.seed)
        self.left_out = x.shape[-2] - len(fitted)
        self.mean_x = x[0].mean(0, dtype=np.float64)
        self.mean_y = y.mean(1, keepdims=True, dtype=np.float64)
        rows, held = self._centred(x[0][fitted]), self._centred(held_x[0][checked])
        targets = _side_by_side(y[:, fitted] - self.mean_y)
        wanted = _side_by_side(held_y[:, checked] - self.mean_y)
        choices = self._choose(rows[searched], targets[searched], held, wanted, len(y))
        self.maps: list[tuple[_Kernel, np.ndarray, list[int]]] = []
        self.read = np.array([columns for columns, *_ in choices])
        self.penalty = np.empty(len(y))
        width = y.shape[-1]
        for number, choice in enumerate(sorted(set(choices))):
            tick(0.5 + 0.5 * number / len(set(choices)), "static window")
            kernel = _kernel_of(rows, choice[0], choice[1])
            layers = [layer for layer, of_layer in enumerate(choices) if of_layer == choice]
            columns = np.concatenate(
                [np.arange(layer * width, (layer + 1) * width) for layer in layers]
            )
            inside, across = kernel(rows), kernel(held)
            finer = [choice[2] * factor for factor in FINER]
            errors = [
                _errors(
                    predict(inside, across, targets[:, columns], penalty),
                    wanted[:, columns],
                    len(layers),
                )
                for penalty in finer
            ]
            best = np.argmin(errors, axis=0)
            self.penalty[layers] = np.array(finer)[best]
            weights = np.empty((len(layers), len(rows), width), dtype=np.float32)
            for penalty in np.unique(best):
                of = np.flatnonzero(best == penalty)
                mine = np.concatenate([columns[at * width : (at + 1) * width] for at in of])
                solved = solve(inside, targets[:, mine], finer[penalty])
                weights[of] = solved.reshape(len(rows), -1, width).transpose(1, 0, 2)
            self.maps.append((kernel, weights, layers))
        return self

    def transform(self, x: Rows) -> Rows:
        """Source rows into the target space, (layer, row, d_target)."""
        rows = self._centred(np.asarray(x)[0])
        mapped = np.empty((len(self.mean_y), len(rows), self.mean_y.shape[-1]))
        for kernel, weights, layers in self.maps:
            across = kernel(rows)
            for layer, of_layer in zip(layers, weights, strict=True):
                mapped[layer] = across @ of_layer
        mapped += self.mean_y
        return mapped

    def _choose(
        self,
        rows: np.ndarray,
        targets: np.ndarray,
        held: np.ndarray,
        wanted: np.ndarray,
        layers: int,
    ) -> list[tuple[int, float, float]]:
        """Columns, width and penalty of each layer, by the error on the validation rows."""
        tried, errors = [], []
        for number, columns in enumerate(self.columns):
            for place, width in enumerate(WIDTHS):
                tick(0.5 * (number + place / len(WIDTHS)) / len(self.columns), "static window")
                kernel = _kernel_of(rows, columns, width)
                inside, across = kernel(rows), kernel(held)
                for penalty in PENALTIES:
                    tried.append((columns, width, penalty))
                    errors.append(
                        _errors(predict(inside, across, targets, penalty), wanted, layers)
                    )
        return [tried[place] for place in np.argmin(errors, axis=0)]

    def _centred(self, x: np.ndarray) -> np.ndarray:
        return cast(np.ndarray, (x - self.mean_x).astype(np.float32))


def _kernel_of(rows: np.ndarray, columns: int, width: float) -> _Kernel:
    """A kernel in units of the mean squared norm, or of the median squared distance."""
    rows = rows[:, :columns]
    some = rows[:SEARCHED]
    if width == LINEAR:
        unit = float((some**2).sum(1).mean())
    else:
        unit = float(np.median(squared_distances(some, some)))
    return _Kernel(rows, columns, width, max(unit, float(np.finfo(np.float32).tiny)))


def _side_by_side(y: np.ndarray) -> np.ndarray:
    """(layer, row, d) as (row, layer * d), float32."""
    return cast(np.ndarray, y.transpose(1, 0, 2).reshape(y.shape[1], -1).astype(np.float32))


def _errors(predicted: np.ndarray, wanted: np.ndarray, layers: int) -> np.ndarray:
    """Squared error of each layer."""
    return cast(np.ndarray, ((predicted - wanted) ** 2).sum(0).reshape(layers, -1).sum(-1))


def reduced(
    rows: Float[np.ndarray, "row d"], train: np.ndarray, width: int
) -> Float[np.ndarray, "row width"]:
    """Rows on the leading principal components of the training rows, as float32; all of them where
    d is no larger.

    Example:
        >>> rows = np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 3.0, 0], [0, -3.0, 0]])
        >>> np.abs(reduced(rows, np.arange(4), 1)).ravel().tolist()
        [0.0, 0.0, 3.0, 3.0]
    """
    centred = (rows - rows[train].mean(0, dtype=np.float64)).astype(np.float64)
    if rows.shape[1] > width:
        trained = centred[train]
        if len(train) < rows.shape[1]:  # as many components as rows: from their inner products
            values, sides = np.linalg.eigh(trained @ trained.T)
            values, sides = values[::-1][:width], sides[:, ::-1][:, :width]
            there = values > RCOND * values[0]
            axes = trained.T @ (sides[:, there] / np.sqrt(values[there]))
        else:
            axes = np.linalg.eigh(trained.T @ trained)[1][:, ::-1][:, :width]
        centred = centred @ axes
    return cast(np.ndarray, centred.astype(np.float32))


def near_columns(
    window: Float[np.ndarray, "row w"], train: np.ndarray, width: int
) -> Float[np.ndarray, "row d"]:
    """The window reduced to a layer's width, so that it does not outweigh the layer by its
    dimensions, in units of its norm over the training rows.

    Example:
        >>> near_columns(np.eye(4, 6), np.arange(4), 2).shape
        (4, 2)
    """
    near = reduced(window, train, width)
    near /= _norm(near[train])
    return near


def beside(
    states: Float[np.ndarray, "layer row d"], near: Float[np.ndarray, "row w"], train: np.ndarray
) -> Float[np.ndarray, "layer row both"]:
    """Each layer's rows with the window's beside them (`near_columns`), both of one mean squared
    norm over the training rows.

    Example:
        >>> beside(np.eye(4, 2)[None], np.eye(4, 2), np.arange(4)).shape
        (1, 4, 4)
    """
    both = np.empty((*states.shape[:2], states.shape[-1] + near.shape[-1]), dtype=np.float32)
    for layer, rows in enumerate(states):
        centred = rows - rows[train].mean(0, dtype=np.float64)
        both[layer] = np.concatenate([centred / _norm(centred[train]), near], axis=1)
    return both


def _norm(rows: np.ndarray) -> float:
    return float(
        np.sqrt(max((rows.astype(np.float64) ** 2).sum(1).mean(), np.finfo(np.float64).tiny))
    )

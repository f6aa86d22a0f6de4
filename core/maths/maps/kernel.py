"""Kernel ridge regression with a Gaussian kernel: a non-linear map without an architecture or a
training schedule.

    f(x) = mean_y + sum_i exp(-|x - x_i|^2 / (width * median |x_i - x_j|^2)) a_i
    a = (K + penalty I)^-1 (y - mean_y)

Width and penalty are chosen for each layer on the validation rows: both are searched on a sample of
the training rows, then the penalty is refined on all of them, since the ratio of noise to signal
hardly depends on the number of rows.

Reference: Saunders, Gammerman & Vovk 1998. Deviations: at most `MOST_ROWS` training rows, sampled
uniformly at random, because the kernel matrix grows with their square; in float32, which the
penalties keep well conditioned.
"""

from __future__ import annotations

from typing import Self, cast

import numpy as np
from jaxtyping import Float, Int

from core.maths.maps.linear import Aligner, hold_out
from core.maths.maps.moments import Rows, check_pairs
from core.maths.progress import checkpoint, tick

WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0, 16.0)  # of the median squared distance
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0)
FINER = (0.3, 1.0, 3.0)  # times the chosen penalty, on all rows
SEARCHED = 800  # training rows that width and penalty are chosen on
MOST_ROWS = 4_000  # 64 MB of kernel
FORM = "alignment.kernel/1"  # version of the checkpoint
CHUNK = 500  # rows processed at once, to bound the memory of float64 intermediates

Single = Float[np.ndarray, "row d"]


class KernelRidge(Aligner):
    """Gaussian kernel ridge regression, with a width and a penalty for each layer."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, x: Rows, y: Rows, validation: tuple[Rows, Rows] | None = None) -> Self:
        """Fit on paired training rows; validation rows choose width and penalty.

        Raises:
            ShapeError: If rows do not pair up, there are fewer than two, or values are not finite.
        """
        x, y = np.asarray(x), np.asarray(y)
        check_pairs(x, y)
        x, y, (held_x, held_y) = hold_out(x, y, validation)
        self.flat = x.ndim == 2
        fitted, searched, checked = sample_rows(x.shape[-2], held_x.shape[-2], self.seed)
        self.left_out = x.shape[-2] - len(fitted)
        self.layers = []
        stacks = [rows[None] if self.flat else rows for rows in (x, y, held_x, held_y)]
        keeper = checkpoint(FORM)
        state = keeper.find() or {}
        for number, (a, b, c, d) in enumerate(zip(*stacks, strict=True)):
            tick(number / len(stacks[0]), "kernel ridge")
            layer = _Layer(a[fitted], b[fitted])
            if f"{number}/weights" in state:
                layer.restore(state[f"{number}/weights"], *state[f"{number}/chosen"])
            else:
                layer.fit(b[fitted], c[checked], d[checked], searched)
                state |= {f"{number}/weights": layer.weights, f"{number}/chosen": layer.choices}
            self.layers.append(layer)
            if keeper.due:
                keeper.keep(state)
        self.penalty = np.array([layer.penalty for layer in self.layers])
        return self

    def transform(self, x: Rows) -> Rows:
        """Map source rows into the target space."""
        rows = np.asarray(x)[None] if self.flat else np.asarray(x)
        mapped = np.stack(
            [layer.map(layer_rows) for layer, layer_rows in zip(self.layers, rows, strict=True)]
        )
        return mapped[0] if self.flat else mapped


class _Layer:
    """The map of one layer: training rows, their weights, width and penalty."""

    def __init__(self, x: Single, y: Single) -> None:
        self.mean_x, self.mean_y = x.mean(0, dtype=np.float64), y.mean(0, dtype=np.float64)
        self.rows = self._centred(x)

    @property
    def choices(self) -> list[float]:
        """Median squared distance, width and penalty."""
        return [self.unit, self.width, self.penalty]

    def restore(self, weights: np.ndarray, unit: float, width: float, penalty: float) -> None:
        """Restore the weights and choices of an earlier `fit`."""
        self.weights, self.unit, self.width, self.penalty = np.array(weights), unit, width, penalty

    def fit(self, y: Single, held_x: Single, held_y: Single, searched: np.ndarray) -> None:
        """Choose width and penalty on the validation rows and solve for the weights."""
        targets = (y - self.mean_y).astype(np.float32)
        held, wanted = self._centred(held_x), (held_y - self.mean_y).astype(np.float32)
        some = self.rows[searched]
        inside, across = squared_distances(some, some), squared_distances(held, some)
        self.unit = max(float(np.median(inside)), float(np.finfo(np.float32).tiny))
        errors = {}
        for width in WIDTHS:
            kernel, seen = self._kernel(inside, width), self._kernel(across, width)
            for penalty in PENALTIES:
                errors[width, penalty] = _error(
                    predict(kernel, seen, targets[searched], penalty), wanted
                )
        self.width, coarse = min(errors, key=lambda pair: errors[pair])
        kernel = self._kernel(squared_distances(self.rows, self.rows), self.width)
        seen = self._kernel(squared_distances(held, self.rows), self.width)
        finer = [coarse * factor for factor in FINER]
        weights = [solve(kernel, targets, penalty) for penalty in finer]
        best = int(np.argmin([_error(seen @ each, wanted) for each in weights]))
        self.penalty, self.weights = finer[best], weights[best]

    def map(self, x: Single) -> np.ndarray:
        """Map rows into the target space, in chunks."""
        rows = self._centred(x)
        parts = [
            self._kernel(squared_distances(rows[start : start + CHUNK], self.rows), self.width)
            @ self.weights
            for start in range(0, len(rows), CHUNK)
        ]
        return cast(np.ndarray, np.concatenate(parts).astype(np.float64) + self.mean_y)

    def _centred(self, x: Single) -> np.ndarray:
        return cast(np.ndarray, (x - self.mean_x).astype(np.float32))

    def _kernel(self, squared: np.ndarray, width: float) -> np.ndarray:
        return np.exp(squared * np.float32(-1.0 / (width * self.unit)))


def sample_rows(
    rows: int, held: int, seed: int
) -> tuple[Int[np.ndarray, " kept"], Int[np.ndarray, " searched"], Int[np.ndarray, " checked"]]:
    """Draw the rows of a fit: those kept, those of them searched on, the validation rows checked.

    Example:
        >>> kept, searched, checked = sample_rows(5_000, 900, seed=0)
        >>> len(kept), len(searched), len(checked), bool((np.diff(kept) > 0).all())
        (4000, 800, 800, True)
    """
    rng = np.random.default_rng(seed)
    fitted = np.sort(rng.permutation(rows)[:MOST_ROWS])
    searched = np.sort(rng.permutation(len(fitted))[:SEARCHED])
    return fitted, searched, np.sort(rng.permutation(held)[:SEARCHED])


def squared_distances(a: Single, b: Single) -> Float[np.ndarray, "row other"]:
    """Compute the squared Euclidean distances of every row of `a` from every row of `b`, float32.

    Sums are in float64, in chunks: in float32 the difference of two large norms would be rounding
    error and the kernel no longer positive definite.

    Example:
        >>> squared_distances(np.float32([[0, 0]]), np.float32([[3, 4], [1, 0]])).tolist()
        [[25.0, 1.0]]
    """
    squared = np.empty((len(a), len(b)), dtype=np.float32)
    columns = b.astype(np.float64)
    norms = (columns**2).sum(-1)
    for start in range(0, len(a), CHUNK):
        rows = a[start : start + CHUNK].astype(np.float64)
        squared[start : start + CHUNK] = np.maximum(
            (rows**2).sum(-1)[:, None] + norms - 2 * rows @ columns.T, 0.0
        )
    return squared


def solve(
    kernel: Float[np.ndarray, "row row"], targets: Float[np.ndarray, "row d"], penalty: float
) -> Float[np.ndarray, "row d"]:
    """Weights of the training rows: (kernel + penalty I)^-1 targets.

    Example:
        >>> weights = solve(np.eye(2, dtype=np.float32), np.float32([[2], [4]]), 1.0)
        >>> weights.round(5).ravel().tolist()
        [1.0, 2.0]
    """
    from scipy.linalg import cho_factor, cho_solve

    penalised = kernel.copy()
    penalised[np.diag_indices(len(kernel))] += np.float32(penalty)
    factor = cho_factor(penalised, lower=True, overwrite_a=True, check_finite=False)
    return cast(np.ndarray, cho_solve(factor, targets, check_finite=False))


def predict(
    kernel: Float[np.ndarray, "row row"],
    seen: Float[np.ndarray, "other row"],
    targets: Float[np.ndarray, "row d"],
    penalty: float,
) -> Float[np.ndarray, "other d"]:
    """Predict other rows, whose kernel with the training rows is `seen`: seen (kernel + penalty
    I)^-1 targets.

    The smaller of the two products is made first, because a choice needs no weights.

    Example:
        >>> rows = np.eye(2, dtype=np.float32)
        >>> predict(rows, rows[:1], np.float32([[2], [4]]), 1.0).round(5).tolist()
        [[1.0]]
    """
    if len(seen) < targets.shape[1]:
        smoother: np.ndarray = solve(kernel, seen.T, penalty).T
        predicted: np.ndarray = smoother @ targets
    else:
        predicted = seen @ solve(kernel, targets, penalty)
    return predicted


def _error(predicted: np.ndarray, wanted: np.ndarray) -> float:
    return float(((predicted - wanted) ** 2).sum())

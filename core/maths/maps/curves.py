"""Training curves of many networks: the error of each at every check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import Tensor

from core.maths.arrays import Value


@dataclass(frozen=True)
class Curve:
    """Normalised mean squared error at each check: (check, network), NaN once a network has
    converged; steps (check,).

    `converged` (network,) marks the networks that converged before the schedule's last step.
    """

    steps: Float[np.ndarray, " check"]
    training: Float[np.ndarray, "check network"]
    validation: Float[np.ndarray, "check network"]
    converged: Float[np.ndarray, " network"]


class Checks:
    """The errors of the networks at each check."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.training: list[np.ndarray] = []
        self.validation: list[np.ndarray] = []

    def add(self, step: int, training: Tensor, validation: Tensor) -> None:
        """Add a check: the errors of every network, NaN once it has converged."""
        self.steps.append(step)
        self.training.append(training.numpy())
        self.validation.append(validation.numpy())

    def curves(self) -> dict[str, np.ndarray]:
        """The checks as arrays, by name."""
        return {
            "steps": np.asarray(self.steps),
            "training": np.stack(self.training),
            "validation": np.stack(self.validation),
        }

    def restore(self, state: Value) -> None:
        """Resume from what `curves` returned."""
        self.steps = list(state["steps"])
        self.training, self.validation = list(state["training"]), list(state["validation"])


def joined(curves: Sequence[Curve]) -> Curve:
    """Join the curves of portions; one that ended earlier is NaN at the later checks.

    Example:
        >>> once = Curve(np.array([0]), np.ones((1, 1)), np.ones((1, 1)), np.array([True]))
        >>> twice = Curve(np.array([0, 5]), np.ones((2, 1)), np.ones((2, 1)), np.array([True]))
        >>> joined([once, twice]).validation.tolist()
        [[1.0, 1.0], [nan, 1.0]]
    """
    longest = max(curves, key=lambda curve: len(curve.steps))

    def filled(values: np.ndarray) -> np.ndarray:
        missing = len(longest.steps) - len(values)
        return np.pad(values, ((0, missing), (0, 0)), constant_values=np.nan)

    return Curve(
        steps=longest.steps,
        training=np.concatenate([filled(curve.training) for curve in curves], axis=1),
        validation=np.concatenate([filled(curve.validation) for curve in curves], axis=1),
        converged=np.concatenate([curve.converged for curve in curves]),
    )

"""The aligners there are, by name: how each is made, what it is called, whether it has an inverse.

A method is added by an entry here; forms, command line, tables and charts read this registry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from core.alignment.cca import Cca, Pwcca, Svcca
from core.alignment.linear import Aligner, Identity, LinearAligner, Moments, Ols, Procrustes, Ridge, Rows
from core.errors import SpecError


@dataclass(frozen=True)
class Method:
    """One aligner.

    Attributes:
        label: What charts call it.
        make: A fresh aligner for a random seed.
        kind: "control", "closed form" or "network"; networks are trained and take their time.
        note: One clause for the page.
    """

    label: str
    make: Callable[[int], Aligner]
    kind: str
    note: str


class Shuffled(LinearAligner):
    """Ridge regression on broken pairs: each row is paired with another one's partner. Its error should be 1."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, x: Rows, y: Rows, validation: tuple[Rows, Rows] | None = None) -> Self:
        """Fit on pairs broken by one permutation, the validation pairs too."""
        rng = np.random.default_rng(self.seed)
        y = np.asarray(y)
        if validation is not None:
            held = np.asarray(validation[1])
            validation = (validation[0], held[..., rng.permutation(held.shape[-2]), :])
        return super().fit(x, y[..., rng.permutation(y.shape[-2]), :], validation)

    def _solve(self, found: Moments, validation: tuple[Rows, Rows] | None) -> np.ndarray:
        return Ridge().fit_moments(found, validation).weight


def _inn(seed: int) -> Aligner:
    from core.alignment.nonlinear import Inn, Schedule

    return Inn(schedule=Schedule(seed=seed))


def _mlp(seed: int) -> Aligner:
    from core.alignment.nonlinear import Mlp, Schedule

    return Mlp(schedule=Schedule(learning_rate=1e-3, seed=seed))


METHODS: dict[str, Method] = {
    "identity": Method("identity", lambda seed: Identity(), "control", "no map: the vectors as they are"),
    "shuffled": Method("shuffled pairs", Shuffled, "control", "ridge regression on pairs that were broken"),
    "procrustes": Method("Procrustes", lambda seed: Procrustes(), "closed form", "a rotation or reflection"),
    "procrustes-scaled": Method(
        "Procrustes, scaled", lambda seed: Procrustes(scale=True), "closed form", "a rotation and one scale"
    ),
    "ols": Method("least squares", lambda seed: Ols(), "closed form", "any linear map"),
    "ridge": Method("ridge", lambda seed: Ridge(), "closed form", "any linear map, its size penalised"),
    "cca": Method("CCA", lambda seed: Cca(), "closed form", "least squares of reduced rank"),
    "svcca": Method("SVCCA", lambda seed: Svcca(), "closed form", "CCA between leading principal components"),
    "pwcca": Method("PWCCA", lambda seed: Pwcca(), "closed form", "CCA on the directions of most weight"),
    "inn": Method("invertible network", _inn, "network", "Procrustes, then affine coupling blocks: a bijection"),
    "mlp": Method("plain network", _mlp, "network", "ridge plus two layers: need not be a bijection"),
}
DEFAULT_METHODS = ("identity", "shuffled", "procrustes", "ols", "ridge", "cca", "svcca", "pwcca", "inn", "mlp")


def make_aligner(name: str, seed: int = 0) -> Aligner:
    """A fresh aligner by its name in the registry.

    Raises:
        SpecError: If there is none of that name; the message lists what there is.
    """
    if name not in METHODS:
        raise SpecError(f"There is no alignment method {name!r}; choose from {', '.join(METHODS)}.")
    return METHODS[name].make(seed)

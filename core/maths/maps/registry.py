"""The registry of aligners: how each is made, its label and its colour.

Add an aligner with an entry here; forms, command line, tables and charts read this registry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.errors import SpecError
from core.maths.maps.cca import Cca, Pwcca, Svcca
from core.maths.maps.controls import Lookup, Shuffled
from core.maths.maps.kernel import KernelRidge
from core.maths.maps.linear import Aligner, Identity, Ols, Procrustes, Ridge
from core.maths.maps.static import StaticKernel
from core.maths.plugins import Registry


@dataclass(frozen=True)
class Method:
    """One aligner.

    Attributes:
        label: Its name in charts and sentences.
        make: Makes an unfitted aligner from a random seed.
        kind: "control", "linear", "non-linear" (slow, so each is a task of its own) or "static" (it
            reads the source's layer 0 through a window, see `core.vectors.window`).
        note: What it is, in one clause.
        colour: Its colour in every chart.
    """

    label: str
    make: Callable[[int], Aligner]
    kind: str
    note: str
    colour: str = "#444444"


def _inn(seed: int) -> Aligner:
    from core.maths.maps.nonlinear import Inn

    return Inn(seed=seed)


def _mlp(seed: int) -> Aligner:
    from core.maths.maps.nonlinear import Mlp

    return Mlp(seed=seed)


_HOUSE: dict[str, Method] = {
    "identity": Method(
        "identity (no map)",
        lambda seed: Identity(),
        "control",
        "the source vectors unchanged",
        "#8C8C8C",
    ),
    "shuffled": Method(
        "shuffled pairs",
        Shuffled,
        "control",
        "ridge regression on randomly paired vectors",
        "#B8B8B8",
    ),
    "lookup": Method(
        "per-word average",
        lambda seed: Lookup(),
        "control",
        "the word's mean target vector, which ignores the source model",
        "#5F5F5F",
    ),
    "procrustes": Method(
        "Procrustes", lambda seed: Procrustes(), "linear", "a rotation or reflection", "#56B4E9"
    ),
    "procrustes-scaled": Method(
        "Procrustes, scaled",
        lambda seed: Procrustes(scale=True),
        "linear",
        "a rotation with one scale",
        "#7AA6C2",
    ),
    "ols": Method("least squares", lambda seed: Ols(), "linear", "any linear map", "#0072B2"),
    "ridge": Method(
        "ridge", lambda seed: Ridge(), "linear", "any linear map, with an L2 penalty", "#004B75"
    ),
    "cca": Method("CCA", lambda seed: Cca(), "linear", "reduced-rank least squares", "#009E73"),
    "svcca": Method(
        "SVCCA",
        lambda seed: Svcca(),
        "linear",
        "CCA of the leading principal components",
        "#66C2A5",
    ),
    "pwcca": Method(
        "PWCCA",
        lambda seed: Pwcca(),
        "linear",
        "CCA of the directions with the most projection weight",
        "#B3A100",
    ),
    "kernel": Method(
        "kernel ridge",
        KernelRidge,
        "non-linear",
        "any smooth map, with a Gaussian kernel",
        "#8B3A9E",
    ),
    "inn": Method(
        "invertible network",
        _inn,
        "non-linear",
        "Procrustes, then affine coupling blocks: a bijection",
        "#D55E00",
    ),
    "mlp": Method(
        "MLP",
        _mlp,
        "non-linear",
        "ridge plus a two-layer network: need not be a bijection",
        "#CC79A7",
    ),
    "static-word": Method(
        "static word",
        lambda seed: StaticKernel((), seed),
        "static",
        "the word's own vector of layer 0: no layer was run",
        "#A6761D",
    ),
    "static-window": Method(
        "static window",
        lambda seed: StaticKernel((), seed),
        "static",
        "layer 0 of the word and its neighbours: no layer was run",
        "#8F6A1E",
    ),
    "state-and-window": Method(
        "state and window",
        KernelRidge,
        "static",
        "kernel ridge on the state with the static window beside it",
        "#A0522D",
    ),
}
METHODS = Registry("maps", Method, _HOUSE)
STATIC = tuple(name for name, method in METHODS.items() if method.kind == "static")
DEFAULT_METHODS = tuple(name for name, method in _HOUSE.items() if method.kind != "static")
OF_STATES = tuple(n for n, method in METHODS.items() if method.kind in ("linear", "non-linear"))
LINEAR = tuple(name for name, method in METHODS.items() if method.kind == "linear")
NON_LINEAR = tuple(name for name, method in METHODS.items() if method.kind == "non-linear")
NETWORKS = ("inn", "mlp")  # trained step by step


def make_aligner(name: str, seed: int = 0) -> Aligner:
    """Make an unfitted aligner by its name in the registry.

    Raises:
        SpecError: If the registry has no such name; the message lists the names.

    Example:
        >>> import numpy as np
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> make_aligner("ols").fit(x, 2 * x + 1).transform(np.array([[4.0,
        ...     2.0]])).round(6).tolist()
        [[9.0, 5.0]]
    """
    if name not in METHODS:
        raise SpecError(f"methods has no map {name!r}; choose from {', '.join(METHODS)}.")
    return METHODS[name].make(seed)

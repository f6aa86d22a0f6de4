"""Processor time of alignment maps: linear maps, CCA, and training. `python -m
benchmarks.alignment`

The data are synthetic: two spaces in the shape of a pair of models, with canonical correlations
that decrease from .98. Processor times (of all threads) depend less on other load than wall-clock
times. `lstsq` and scikit-learn's CCA are timed on one layer and extrapolated; that CCA computes its
components one by one and is timed on the first few, which favours it, since later ones take longer.
Training is timed on a few steps and extrapolated.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np

from core.maths.maps.cca import canonical_directions
from core.maths.maps.linear import Ols, Procrustes, Ridge
from core.maths.maps.moments import Moments, Space, moments

LAYERS, ROWS, WIDTH = 7, 5_000, 384
CORRELATIONS = (
    0.98,
    0.85,
    0.7,
)  # the components that scikit-learn is timed on; the others are below .6
STEPS = 30  # of the networks
WIDTHS = (128, 384, 768)


def pair(layers: int, rows: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw two spaces with known canonical correlations, each (layer, row, d)."""
    rng = np.random.default_rng(0)
    planted = np.concatenate([CORRELATIONS, np.linspace(0.6, 0.0, width - len(CORRELATIONS))])
    one = rng.normal(size=(layers, rows, width))
    two = planted * one + np.sqrt(1 - planted**2) * rng.normal(size=one.shape)
    bases = [rng.normal(size=(width, width)) / np.sqrt(width) for _ in range(2)]
    return one @ bases[0], two @ bases[1]


def lstsq(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Least squares of one layer on centred rows: the mapped rows."""
    centred, mean = x - x.mean(0), y.mean(0)
    weight: np.ndarray = np.linalg.lstsq(centred, y - mean, rcond=None)[0]
    return np.asarray(centred @ weight + mean)


def timed(work: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    """Measure the processor time of a call; return it with the call's result."""
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def show(
    what: str, ours: float, theirs: float | None = None, difference: float | None = None
) -> None:
    """Print one line of the table."""
    ratio = f"{theirs / ours:>8.1f}x" if theirs is not None else " " * 9
    apart = f"{difference:.0e}" if difference is not None else ""
    other = f"{theirs:>9.2f}" if theirs is not None else " " * 9
    print(f"| {what:<52} | {ours:>8.2f} | {other} | {ratio} | {apart:>10} |", flush=True)


def closed_forms() -> None:
    """All layers of a pair at once, beside a loop of `lstsq` and scikit-learn's CCA."""
    from sklearn.cross_decomposition import CCA

    x, y = pair(LAYERS, ROWS, WIDTH)
    ours, mapped = timed(lambda: Ols().fit(x, y).transform(x))
    theirs, reference = timed(lambda: lstsq(x[0], y[0]))
    show(
        "least squares by itself, and mapping; lstsq",
        ours,
        LAYERS * theirs,
        float(np.abs(mapped[0] - reference).max()),
    )
    cost = timed(lambda: moments(x, y).xy)[0]
    show("moments, shared by all closed forms", cost)
    known = moments(x, y)

    def fresh() -> Moments:  # without the decompositions of an earlier line
        x, y = (Space(side.mean, side.covariance) for side in (known.x, known.y))
        return Moments(known.rows, x, y, known.xy)

    ours = timed(lambda: Ols().fit_moments(fresh()).weight)[0]
    show("least squares from the moments; lstsq", ours, LAYERS * theirs)
    ours, found = timed(lambda: canonical_directions(moments(x, y)).correlations)
    slow = CCA(n_components=len(CORRELATIONS), max_iter=1_000, tol=1e-10)
    theirs, scores = timed(lambda: np.stack(slow.fit(x[0], y[0]).transform(x[0], y[0])))
    reference = np.array(
        [np.corrcoef(scores[0, :, k], scores[1, :, k])[0, 1] for k in range(len(CORRELATIONS))]
    )
    apart = float(np.abs(found[0, : len(CORRELATIONS)] - reference).max())
    show("CCA by itself; scikit-learn's", ours, LAYERS * theirs * WIDTH / len(CORRELATIONS), apart)
    held = (x[:, :500], y[:, :500])
    show("Procrustes from the moments", timed(lambda: Procrustes().fit_moments(fresh()).weight)[0])
    show(
        "ridge of 17 penalties from the moments",
        timed(lambda: Ridge().fit_moments(fresh(), held).weight)[0],
    )


def training_cost(width: int, steps: int, layers: int) -> float:
    """Seconds to fit the networks of so many layers for so many steps, their starts included."""
    from core.maths.maps.bank import Schedule
    from core.maths.maps.nonlinear import Inn

    x, y = pair(layers, 2_000, width)
    held = (x[:, :200], y[:, :200])
    inn = Inn(schedule=Schedule(steps=steps, check_every=1_000))
    return timed(lambda: inn.fit(x, y, held).start.weight)[0]


def training() -> None:
    """1,000 steps of the invertible networks of all layers, together and one after another, from a
    few of them."""
    training_cost(8, 2, 1)  # the first steps of a process import and allocate
    for width in WIDTHS:
        together, alone = (
            max(training_cost(width, STEPS, layers) - training_cost(width, 0, layers), 0.0)
            / STEPS
            * 1_000
            for layers in (LAYERS, 1)
        )
        show(f"invertible network, d = {width}, 1,000 steps; in turn", together, alone * LAYERS)


def main() -> None:
    """Print the table."""
    shape = f"{LAYERS} layers x {ROWS:,} rows x {WIDTH}"
    print(f"{shape}, float64; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    print(
        f"| {'processor seconds, all layers of a pair':<52} |     ours |    theirs |     ratio | "
        f"difference |"
    )
    print(f"|{'-' * 54}|---------:|----------:|----------:|-----------:|")
    closed_forms()
    training()


if __name__ == "__main__":
    main()

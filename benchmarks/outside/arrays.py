"""Angles, erasure and orders of units, by the app and by others."""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import patch

import numpy as np

from benchmarks.outside.inputs import MASKED, Numbers, sentences
from benchmarks.outside.merges import read_tensors


def spaces(small: bool) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Pairs of spaces of the same items: random ones of several widths, and included models'."""
    from core.studies.probes.trees.tasks import read_vectors

    rng = np.random.default_rng(0)
    pairs = []
    for items, first, second in [(30, 5, 5), (30, 5, 8), (300, 64, 64), (40, 64, 32)]:
        x = rng.normal(size=(items, first)) + 3
        y = x[:, :second] @ rng.normal(size=(min(first, second), second))
        pairs.append((f"{items} {first} {second}", x, y + rng.normal(size=y.shape)))
    if small:
        return pairs[:2]
    layers, words = range(7), sentences(small)
    base, _ = read_vectors("zoo:seed-0", words, layers)
    for other in ("zoo:seed-1", "zoo:parse-0", "zoo:decoder-0"):
        states, _ = read_vectors(other, words, layers)
        for layer in layers:
            ours, theirs = (each[:, layer].astype(np.float64) for each in (base, states))
            pairs.append((f"{other} {layer}", ours, theirs))
    return pairs


def our_angles(small: bool) -> Numbers:
    """Angles of spaces, in degrees."""
    from core.maths.similarity.angles import angle

    return {name: np.array([angle(x, y)]) for name, x, y in spaces(small)}


def netrep_angles(small: bool) -> Numbers:
    from netrep.metrics import LinearMetric

    metric = LinearMetric(alpha=1.0, score_method="angular")
    return {
        name: np.degrees([metric.fit_score(np.asarray(x), np.asarray(y))])
        for name, x, y in spaces(small)
    }


def clouds(small: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """Vectors, and maps whose projections are erased."""
    from core.studies.probes.trees.tasks import read_vectors

    rng = np.random.default_rng(1)
    pairs = [(rng.normal(size=(60, 6)) @ rng.normal(size=(6, 6)) + 1, rng.normal(size=(2, 6)))]
    if not small:
        states, _ = read_vectors(MASKED, sentences(small), range(7))
        pairs += [
            (states[:, layer].astype(np.float64), rng.normal(size=(8, states.shape[2])))
            for layer in range(7)
        ]
    return pairs


def our_erasure(small: bool) -> Numbers:
    """Vectors without a subspace, as `probe removal` erases it."""
    from core.maths.erasure import fit_eraser, measure_states

    return {
        str(number): fit_eraser(*measure_states(x), rows)(x)
        for number, (x, rows) in enumerate(clouds(small))
    }


def leace_erasure(small: bool) -> Numbers:
    import torch
    from concept_erasure import LeaceEraser

    erased = {}
    for number, (x, rows) in enumerate(clouds(small)):
        vectors, concept = torch.from_numpy(x), torch.from_numpy(x @ rows.T)
        plain = {"shrinkage": False, "constrain_cov_trace": False}
        erased[str(number)] = LeaceEraser.fit(vectors, concept, **plain)(vectors).numpy()
    return erased


def unit_rows(small: bool) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """First matrices of feed-forward layers, less the mean of each row, after which a cosine is a
    correlation, in double precision, because a match can hang on a last digit: a changed copy, a
    stranger, and included decoders."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(24, 10))
    pairs = [("copy", rows, rows + 0.7 * rng.normal(size=rows.shape))]
    pairs.append(("stranger", rows, rng.normal(size=rows.shape)))
    if not small:
        from core.models.describing import locate

        one, *others = (read_tensors(locate(f"zoo:decoder-{number}")) for number in range(3))
        for name in (name for name in sorted(one) if "mlp.up_proj" in name):
            pairs += [
                (f"{name} {number}", one[name], other[name])
                for number, other in enumerate(others, 1)
            ]
    wide = [(name, x.astype(np.float64), y.astype(np.float64)) for name, x, y in pairs]
    return [(name, x - x.mean(1)[:, None], y - y.mean(1)[:, None]) for name, x, y in wide]


def our_independence(small: bool) -> Numbers:
    """Logarithms of two-sided p-values of matched orders."""
    from core.maths.independence import compare_units, order_log_p

    found = {}
    for name, x, y in unit_rows(small):
        orders = compare_units((x, x), (y, y), len(x))
        above = order_log_p(orders.order, orders.units)
        found[name] = np.log([2]) + min(above, np.log1p(-np.exp(above)))
    return found


def tracing_independence(small: bool) -> Numbers:
    import torch
    from tracing.statistics.csu import csw_sp_layer

    found = {}
    with patch.object(torch.Tensor, "to", lambda self, *where: self):  # it asks for a GPU
        for name, *pair in unit_rows(small):
            models = [
                SimpleNamespace(
                    state_dict=lambda rows=rows: {"up": torch.from_numpy(rows).double()}
                )
                for rows in pair
            ]
            found[name] = np.log([csw_sp_layer(*models, "up")])
    return found

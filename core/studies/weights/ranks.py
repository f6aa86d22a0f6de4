"""Tables of matrices: singular values of every update, their ranks, and trends over depth; how the
updates of two fine-tunes of one base compare; and what is stated of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy import ndarray

from core.maths.arrays import Value
from core.maths.spectra.nulls import (
    null_energy_rank,
    null_entropy_rank,
    null_projector_distance,
    null_stable_rank,
)
from core.maths.spectra.registry import Features, relative_norms, relative_size
from core.maths.spectra.spectra import (
    energy_rank,
    entropy_rank,
    relative_change,
    stable_rank,
    stack_spectra,
)
from core.maths.spectra.trends import KINDS, Trend, fit_trend
from core.results.numbers import MINUS
from core.studies.text_kit import (
    Estimate,
    Statement,
    estimate_of,
    layers_in_words,
    listed,
    short_names,
    text_of,
)

COSINE, APART, SIZE, MOST = "cosine", "distance of projectors", "changed by", "changed most"
OF_A_PAIR = (COSINE, APART, SIZE, MOST)
RANKED, LOWER, NOT_LOWER = "rank", "of lower rank", "not of lower rank"
OF_RANKS = (RANKED, LOWER, NOT_LOWER)
GAUSSIAN = "Gaussian matrix of the same shape"
FALLS, RISES, BENDS = "falls with depth", "rises with depth", "follows a parabola"
NO_TREND = "a constant"
OF_TRENDS = (FALLS, RISES, BENDS, NO_TREND)
CHANCE = "chance"
THRESHOLDS = (0.9, 0.95, 0.99)
RANK_COLUMNS = [
    *("model", "family", "layer", "threshold", "rank", "null_rank", "stable_rank"),
    *("null_stable_rank", "entropy_rank", "null_entropy_rank", "relative_norm", "of"),
]


@dataclass(frozen=True)
class Spectra:
    """Singular values of every matrix.

    Attributes:
        matrices: A row per matrix: model, of, family, layer (1 is the first above the embeddings),
            rows, columns, relative_norm, ranks.
        values: Singular values, falling, shape (matrix, value), in the rows' order.
    """

    matrices: pd.DataFrame
    values: Float[ndarray, "matrix value"]


def build_spectra(features: Mapping[str, Features], weights: Mapping[str, Value]) -> Spectra:
    """Collect the singular values and ranks of all updates, and of measured weights.

    Example:
        >>> weights = {"places": [["Wq", 0]], "shapes": [[2, 2]], "values": [np.array([2.0, 2.0])]}
        >>> spectra = build_spectra({}, {"zoo:a": weights})
        >>> spectra.matrices[["family", "layer",
        ...     "stable_rank"]].to_numpy().tolist(), spectra.values.tolist()
        ([['Wq', 1, 2.0]], [[2.0, 2.0]])
    """
    updates = [
        (ref, "delta", family, layer + 1, *shape, relative)
        for ref, model in features.items()
        for family, layer, shape, relative in zip(
            model.families, model.layers, model.shapes, relative_norms(model), strict=True
        )
    ]
    measured = [
        (ref, "weights", family, layer + 1, *shape, np.nan)
        for ref, value in weights.items()
        for (family, layer), shape in zip(value["places"], value["shapes"], strict=True)
    ]
    spectra = [model.values for model in features.values()]
    spectra += [value["values"] for value in weights.values()]
    values = stack_spectra([row for each in spectra for row in each])
    columns = ["model", "of", "family", "layer", "rows", "columns", "relative_norm"]
    matrices = pd.DataFrame([*updates, *measured], columns=columns)
    if len(matrices):
        shapes = list(zip(matrices["rows"], matrices["columns"], strict=True))
        nulls = {shape: null_entropy_rank(*shape) for shape in set(shapes)}
        matrices = matrices.assign(
            stable_rank=stable_rank(values),
            entropy_rank=entropy_rank(values),
            null_stable_rank=[null_stable_rank(*shape) for shape in shapes],
            null_entropy_rank=[nulls[shape] for shape in shapes],
        )
    return Spectra(matrices, values)


def layer_sizes(model: Features) -> dict[int, float]:
    """Norm of each layer's update over that of the base's matrices, by layer from 0.

    Example:
        >>> moved, size, sides = np.array([3.0, 4.0]), np.array([6.0, 8.0]), (np.eye(2), np.eye(2))
        >>> model = Features(("Wq", "Wk"), (0, 0), ((2, 2), (2, 2)), np.ones((2, 2)), moved, size,
        ...     sides, sides, sides)
        >>> layer_sizes(model)
        {0: 0.5}
    """
    squares = pd.DataFrame({"delta": model.delta_norms**2, "weight": model.weight_norms**2})
    by_layer = squares.groupby(np.array(model.layers), sort=False).sum()
    sizes = relative_change(by_layer["delta"], by_layer["weight"])
    return dict(zip(by_layer.index.tolist(), sizes.tolist(), strict=True))


def build_ranks(spectra: Spectra, threshold: float) -> pd.DataFrame:
    """Build the table of ranks at the threshold and at 90, 95 and 99 % of energy, with nulls.

    Example:
        >>> weights = {"places": [["Wq", 0]], "shapes": [[2, 2]], "values": [np.array([3.0, 1.0])]}
        >>> build_ranks(build_spectra({}, {"zoo:a": weights}), 0.8)[["threshold",
        ...     "rank"]].to_numpy().tolist()
        [[0.8, 1.0], [0.9, 1.0], [0.95, 2.0], [0.99, 2.0]]
    """
    if not len(spectra.matrices):
        return pd.DataFrame(columns=RANK_COLUMNS)
    frames = [rank_at(spectra, each) for each in sorted({*THRESHOLDS, threshold})]
    return pd.concat(frames, ignore_index=True)[RANK_COLUMNS]


def rank_at(spectra: Spectra, threshold: float) -> pd.DataFrame:
    """Add `threshold`, `rank` and `null_rank` to the table of matrices.

    Example:
        >>> weights = {"places": [["Wq", 0]], "shapes": [[2, 2]], "values": [np.array([3.0, 1.0])]}
        >>> rank_at(build_spectra({}, {"zoo:a": weights}), 0.9)[["rank",
        ...     "null_rank"]].to_numpy().tolist()
        [[1, 2]]
    """
    ranks = energy_rank(spectra.values, threshold)
    shapes = list(zip(spectra.matrices["rows"], spectra.matrices["columns"], strict=True))
    nulls = {shape: null_energy_rank(*shape, threshold) for shape in set(shapes)}
    return spectra.matrices.assign(
        threshold=threshold, rank=ranks, null_rank=[nulls[shape] for shape in shapes]
    )


def build_trends(spectra: Spectra, threshold: float) -> pd.DataFrame:
    """Fit a trend of the rank over layers to the layers' means, for each family.

    A frozen matrix has rank 0, which is left out of the means. No trend is tested, see `trends`.

    Example:
        >>> spectra = np.tri(5)  # ranks 1 to 5, layer by layer
        >>> weights = {"places": [["Wq", n] for n in range(5)], "shapes": [[5, 5]] * 5,
        ...     "values": spectra}
        >>> trend = build_trends(build_spectra({}, {"zoo:a": weights}), 1.0)
        >>> trend.loc[0, "kind"], float(trend.loc[0, "r2"])
        ('linear', 1.0)
    """
    columns = [
        "of",
        "family",
        "kind",
        "equation",
        "r2",
        *(f"aicc_{kind}" for kind in KINDS),
        "coefficients",
    ]
    rows = []
    if len(spectra.matrices):
        ranks = rank_at(spectra, threshold)
        for (of, family), group in ranks[ranks["rank"] > 0].groupby(["of", "family"], sort=False):
            means = group.groupby("layer", as_index=False)["rank"].mean()
            trend = fit_trend(means["layer"].to_numpy(float), means["rank"].to_numpy(float))
            if trend is not None:
                words = (of, family, trend.kind, f"rank = {equation_of(trend)}")
                aicc = (trend.aicc[kind] for kind in KINDS)
                rows.append((*words, trend.r2, *aicc, list(trend.coefficients)))
    return pd.DataFrame(rows, columns=columns)


def equation_of(trend: Trend) -> str:
    """Write a trend with its fit: "12.1 + 3.4 × layer, R² = .93", or "12.1, no trend"."""
    if trend.kind == "constant" or np.isnan(trend.r2):
        return formula_of(trend)
    return f"{formula_of(trend)}, R² = {text_of(trend.r2)}"


def formula_of(trend: Trend) -> str:
    """Write a trend: "12.1 + 3.4 × layer", or "12.1, no trend"."""
    text = text_of(trend.coefficients[0], "measure")
    if trend.kind == "constant":
        return f"{text}, no trend"
    for power, coefficient in enumerate(trend.coefficients[1:], start=1):
        sign = MINUS if coefficient < 0 else "+"
        size, square = text_of(abs(coefficient), "measure"), "²" if power == 2 else ""
        text += f" {sign} {size} × layer{square}"
    return text


def state_ranks(of: str, threshold: float, ranks: pd.DataFrame) -> tuple[Statement, ...]:
    """State the median rank, of deltas where there are "both", and its ratio to a Gaussian
    matrix's; nothing if none was measured."""
    of = "weights" if of == "weights" else "delta"
    rows = ranks[(ranks["threshold"] == threshold) & (ranks["of"] == of) & (ranks["rank"] > 0)]
    if rows.empty:
        return ()
    ratio = float((rows["rank"] / rows["null_rank"]).median())
    rank = Statement(of, RANKED, Estimate(float(rows["rank"].median()), kind="whole"))
    verdict = LOWER if ratio < 1 else NOT_LOWER
    return rank, Statement(of, verdict, Estimate(ratio, kind="per cent"), baseline=GAUSSIAN)


def rank_sentence(statements: Sequence[Statement], threshold: float) -> str:
    """Compare the ranks with a Gaussian matrix's; "" if none was measured."""
    ranks = [each for each in statements if each.verdict in OF_RANKS]
    if not ranks:
        return ""
    rank, ratio = ranks
    many, matrix = (
        ("Weight updates", "update") if rank.subject == "delta" else ("Weight matrices", "matrix")
    )
    verb = "have lower rank" if ratio.verdict == LOWER else "do not have lower rank"
    return (
        f"{many} {verb} than noise: the median {matrix} needs {rank.number.value_text} "
        f"directions for {text_of(threshold, 'setting')} of its energy, "
        f"{ratio.number.value_text} of what a Gaussian matrix needs."
    )


def state_trends(of: str, trends: pd.DataFrame) -> tuple[Statement, ...]:
    """State which trend AICc chooses for the rank of each family, in deltas where there are "both";
    none is tested."""
    of = "weights" if of == "weights" else "delta"
    forms = {"constant": NO_TREND, "quadratic": BENDS}
    return tuple(
        Statement(
            str(row.family),
            forms.get(str(row.kind), RISES if row.coefficients[-1] > 0 else FALLS),
        )
        for row in trends[trends["of"] == of].itertuples()
    )


def state_pair(
    features: Mapping[str, Features], distances: Mapping[str, ndarray], rank: int
) -> tuple[Statement, ...]:
    """State how the updates of two fine-tunes of one base compare; nothing of more models or
    fewer."""
    if len(features) != 2:
        return ()
    first, second = features
    moved = np.all([model.delta_norms > 0 for model in features.values()], axis=0)
    shapes = [features[first].shapes[place] for place in np.flatnonzero(moved)]
    cosine = 1 - float(distances["delta"][0, 1]) ** 2 / 2
    stated = [
        Statement(first, COSINE, Estimate(cosine), (), second),
        Statement(first, APART, Estimate(float(distances["projector"][0, 1])), (), second),
        Statement(CHANCE, APART, Estimate(null_projector_distance(shapes, rank))),
    ]
    for ref, model in features.items():
        whole, sizes = relative_size(model), layer_sizes(model)
        most = max(sizes, key=lambda layer: sizes[layer])
        size, largest = (
            estimate_of({"relative_delta": each}, "relative_delta") for each in (whole, sizes[most])
        )
        stated += [Statement(ref, SIZE, size), Statement(ref, MOST, largest, (most + 1,))]
    return tuple(stated)


def pair_sentence(statements: Sequence[Statement]) -> str:
    """Compare the updates of two fine-tunes, beside chance; "" without statements of a pair."""
    pair = [each for each in statements if each.verdict in OF_A_PAIR]
    if not pair:
        return ""
    cosine, apart, chance, *sizes = pair
    names = short_names((cosine.subject, cosine.baseline))
    changes = [
        f"{names[size.subject]} changes the weights by {size.number.text} of their norm, most in "
        f"{layers_in_words(most.layers)} ({most.number.text})"
        for size, most in zip(sizes[::2], sizes[1::2], strict=True)
    ]
    return (
        f"The updates of {listed([*names.values()])} have a cosine of {cosine.number.text} (chance "
        f"0) and projectors {apart.number.text} apart (chance {chance.number.text}): "
        f"{listed(changes)}."
    )

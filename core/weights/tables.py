"""The study's tables: tidy frames from distances, labels and spectra."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.runs.store import Value
from core.weights.clustering import chance_information, cluster_models, score_clusters
from core.weights.members import Member
from core.weights.neighbours import Prediction, calc_neighbour_shares, predict_labels
from core.weights.nulls import null_energy_rank, null_entropy_rank, null_stable_rank
from core.weights.spectra import energy_rank, entropy_rank, stable_rank
from core.weights.trends import fit_trend
from core.weights.vectors import VECTORS, Features, relative_norms

if TYPE_CHECKING:
    import pandas as pd

    from core.weights.spec import WeightsSpec

THRESHOLDS = (0.9, 0.95, 0.99)
MOST_NEIGHBOURS = 10
INFORMATION_DRAWS = 200
RANK_COLUMNS = ["model", "family", "layer", "threshold", "rank", "null_rank", "stable_rank"]
FURTHER_COLUMNS = ["null_stable_rank", "entropy_rank", "null_entropy_rank", "relative_norm", "of"]


@dataclass(frozen=True)
class Scored:
    """How labels, neighbours and clusters agree.

    Attributes:
        k: Neighbours that headline and predictions use; 0 where nothing can be scored.
        neighbours: For the vector asked for: k, share, chance, p_value.
        vectors: For every vector and k: the same, with the permuted band and the clusters' scores.
        clusters: Cluster of each model by the vector asked for; -1 for an outlier.
        predictions: Of each labelled model, by its place.
        notices: What could not be scored and why.
    """

    k: int
    neighbours: pd.DataFrame
    vectors: pd.DataFrame
    clusters: ndarray
    predictions: Mapping[int, Prediction]
    notices: tuple[str, ...]


@dataclass(frozen=True)
class Spectra:
    """Every matrix's singular values.

    Attributes:
        matrices: One row a matrix: model, of, family, layer, rows, columns, relative_norm and its ranks.
        values: Singular values, falling, shape (matrix, value), in the rows' order.
    """

    matrices: pd.DataFrame
    values: Float[ndarray, "matrix value"]


def score(spec: WeightsSpec, labels: Sequence[str], distances: Mapping[str, ndarray]) -> Scored:
    """Neighbour shares for every vector, clusters and predictions for the one asked for.

    Models without a label take part in maps and clusters and in no score.
    """
    import pandas as pd

    places = [place for place, label in enumerate(labels) if label]
    known = [labels[place] for place in places]
    chosen = distances[spec.vector]
    clusters = _cluster(spec, chosen, len(set(known)))
    reason = _why_not(known, len(labels))
    columns = ["k", "share", "chance", "p_value"]
    if reason.startswith("No score"):
        empty = pd.DataFrame(columns=["vector", "gauge_safe", *columns])
        return Scored(0, pd.DataFrame(columns=columns), empty, clusters, {}, (reason,))
    sizes = [known.count(label) for label in set(known)]
    most = min(MOST_NEIGHBOURS, len(known) - 1)
    k = min(spec.neighbours or max(1, min(size for size in sizes if size > 1) - 1), len(known) - 1)
    frames = []
    for vector, matrix in distances.items():
        inner = matrix[np.ix_(places, places)]
        rng = np.random.default_rng(spec.seed)
        shares = calc_neighbour_shares(inner, known, max(most, k), spec.permutations, rng)
        found = _cluster(spec, matrix, len(set(known)))[places].tolist()
        agreement, information = score_clusters(known, found)
        frames.append(
            pd.DataFrame(
                {
                    "vector": vector,
                    "gauge_safe": VECTORS[vector].gauge_safe,
                    "k": shares.k,
                    "share": shares.share,
                    "chance": shares.chance,
                    "p_value": shares.p_value,
                    "null_low": shares.low,
                    "null_high": shares.high,
                    "ari": agreement,
                    "nmi": information,
                    "nmi_chance": chance_information(known, found, INFORMATION_DRAWS, rng),
                }
            )
        )
    vectors = pd.concat(frames, ignore_index=True)
    neighbours = vectors.loc[vectors["vector"] == spec.vector, columns].reset_index(drop=True)
    guesses = predict_labels(chosen[np.ix_(places, places)], known, k)
    predictions = {
        place: Prediction(guess.predicted, guess.votes, places[guess.nearest], guess.distance)
        for place, guess in zip(places, guesses, strict=True)
    }
    return Scored(k, neighbours, vectors, clusters, predictions, (reason,) if reason else ())


def build_models(
    members: Sequence[Member],
    labels: Sequence[str],
    features: Mapping[str, Features],
    distances: Float[ndarray, "model model"],
    scored: Scored,
    points: Float[ndarray, "model 2"],
) -> pd.DataFrame:
    """The main table: a row a model, with label, cluster, nearest neighbour, size of its delta, place on the map."""
    import pandas as pd

    rows = []
    for place, member in enumerate(members):
        others = [other for other in range(len(members)) if other != place]
        nearest = min(others, key=lambda other: distances[place, other], default=None)
        model = features[member.ref]
        guess = scored.predictions.get(place)
        rows.append(
            {
                "model": member.ref,
                "label": labels[place],
                "task": member.task,
                "data": member.data,
                "base": member.base,
                "cluster": int(scored.clusters[place]),
                "nearest": members[nearest].ref if nearest is not None else None,
                "distance": float(distances[place, nearest]) if nearest is not None else np.nan,
                "predicted": guess.predicted if guess else None,
                "correct": guess.predicted == labels[place] if guess else None,
                "relative_delta": float(np.linalg.norm(model.delta_norms) / np.linalg.norm(model.weight_norms)),
                "x": float(points[place, 0]),
                "y": float(points[place, 1]),
            }
        )
    return pd.DataFrame(rows)


def build_predictions(members: Sequence[Member], labels: Sequence[str], scored: Scored) -> pd.DataFrame:
    """Leave one out: what each model's neighbours say its label is."""
    import pandas as pd

    columns = ["model", "label", "predicted", "votes", "correct", "nearest", "distance"]
    rows = [
        (
            members[place].ref,
            labels[place],
            guess.predicted,
            guess.votes,
            guess.predicted == labels[place],
            members[guess.nearest].ref,
            guess.distance,
        )
        for place, guess in scored.predictions.items()
    ]
    return pd.DataFrame(rows, columns=columns)


def build_distances(refs: Sequence[str], distances: Mapping[str, ndarray]) -> pd.DataFrame:
    """A row a pair of models, a column a vector."""
    import pandas as pd

    first, second = np.triu_indices(len(refs), 1)
    names = np.asarray(refs, dtype=object)
    columns: dict[str, Any] = {"model": names[first], "other": names[second]}
    return pd.DataFrame(columns | {vector: matrix[first, second] for vector, matrix in distances.items()})


def build_spectra(features: Mapping[str, Features], weights: Mapping[str, Value]) -> Spectra:
    """Singular values of every delta (and of every model's own weights, where measured), with what is read off them."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    spectra: list[ndarray] = []
    for ref, model in features.items():
        relative = relative_norms(model)
        for place, (family, layer, shape) in enumerate(zip(model.families, model.layers, model.shapes, strict=True)):
            rows.append(_row(ref, "delta", family, layer, shape, float(relative[place])))
            spectra.append(model.values[place])
    for ref, value in weights.items():
        for (family, layer), shape, values in zip(value["places"], value["shapes"], value["values"], strict=True):
            rows.append(_row(ref, "weights", str(family), int(layer), tuple(shape), np.nan))
            spectra.append(values)
    values = np.zeros((len(spectra), max((len(spectrum) for spectrum in spectra), default=0)))
    for place, spectrum in enumerate(spectra):
        values[place, : len(spectrum)] = spectrum
    matrices = pd.DataFrame(rows)
    if len(matrices):
        matrices["stable_rank"] = stable_rank(values)
        matrices["entropy_rank"] = entropy_rank(values)
        shapes = list(zip(matrices["rows"], matrices["columns"], strict=True))
        matrices["null_stable_rank"] = [null_stable_rank(*shape) for shape in shapes]
        nulls = {shape: null_entropy_rank(*shape) for shape in set(shapes)}
        matrices["null_entropy_rank"] = [nulls[shape] for shape in shapes]
    return Spectra(matrices, values)


def build_ranks(spectra: Spectra, threshold: float) -> pd.DataFrame:
    """Rank of every matrix at the threshold and at 90, 95 and 99 % of the energy, beside its null."""
    import pandas as pd

    if not len(spectra.matrices):
        return pd.DataFrame(columns=[*RANK_COLUMNS, *FURTHER_COLUMNS])
    frames = [rank_at(spectra, each) for each in sorted({*THRESHOLDS, threshold})]
    return pd.concat(frames, ignore_index=True)[[*RANK_COLUMNS, *FURTHER_COLUMNS]]


def rank_at(spectra: Spectra, threshold: float) -> pd.DataFrame:
    """The matrices' table with `threshold`, `rank` and `null_rank`."""
    ranks = energy_rank(spectra.values, threshold)
    shapes = list(zip(spectra.matrices["rows"], spectra.matrices["columns"], strict=True))
    nulls = {shape: null_energy_rank(*shape, threshold) for shape in set(shapes)}
    return spectra.matrices.assign(threshold=threshold, rank=ranks, null_rank=[nulls[shape] for shape in shapes])


def build_trends(spectra: Spectra, threshold: float) -> pd.DataFrame:
    """For each family, a trend of the rank over layers, through all models' points."""
    import pandas as pd

    columns = ["of", "family", "kind", "equation", "r2", "aic_linear", "aic_quadratic", "coefficients"]
    rows = []
    if len(spectra.matrices):
        for (of, family), group in rank_at(spectra, threshold).groupby(["of", "family"], sort=False):
            trend = fit_trend(group["layer"].to_numpy(float), group["rank"].to_numpy(float))
            if trend is not None:
                numbers = (trend.r2, trend.aic_linear, trend.aic_quadratic, list(trend.coefficients))
                rows.append((of, family, trend.kind, trend.equation(), *numbers))
    return pd.DataFrame(rows, columns=columns)


def _row(
    ref: str, of: str, family: str, layer: int, shape: tuple[int, ...], relative: float
) -> dict[str, str | int | float]:
    return {
        "model": ref,
        "of": of,
        "family": family,
        "layer": layer,
        "rows": int(shape[0]),
        "columns": int(shape[1]),
        "relative_norm": relative,
    }


def _cluster(spec: WeightsSpec, distances: ndarray, labels: int) -> ndarray:
    models = len(distances)
    if models < 2:
        return np.zeros(models, dtype=int)
    return cluster_models(distances, spec.method, min(spec.clusters or max(labels, 2), models))


def _why_not(known: Sequence[str], models: int) -> str:
    """Why nothing (a text that begins with "No score") or not everything can be scored; "" where all can."""
    if len(known) < 3 or len(set(known)) < 2:
        return (
            f"No score: {len(known)} labelled models with {len(set(known))} labels; 3 models and 2 labels are needed."
        )
    if max(known.count(label) for label in known) < 2:
        return "No score: no two models share a label, so no neighbour can; choose other labels."
    if len(known) < models:
        return f"{models - len(known)} of {models} models have no label: they are on the map and in no score."
    return ""

"""Maps of fine-tunes: projections of their distances to two or three dimensions.

Classical MDS of Euclidean distances equals PCA of the vectors behind them: the first two of its
three axes are those of its map in two dimensions. t-SNE and UMAP preserve neighbourhoods, but not
sizes, gaps or directions. Nothing is measured on a map.

References: Torgerson 1952; van der Maaten & Hinton 2008; McInnes et al. 2018; Kruskal 1964
(stress). Deviations: the stress is that of the drawn distances themselves, not of a monotone
function of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ShapeError

METHODS = {"pca": "PCA (multidimensional scaling, MDS)", "tsne": "t-SNE", "umap": "UMAP"}
FEWEST = {"pca": 1, "tsne": 4, "umap": 5}  # models
MOST_AXES = 3  # of classical MDS; t-SNE and UMAP have two


@dataclass(frozen=True)
class ModelMap:
    """Positions of models on two axes, or three for classical MDS.

    Attributes:
        points: Shape (model, axis).
        explained: Share of the squared distances on each axis; NaN for t-SNE and UMAP.
    """

    points: Float[ndarray, "model axis"]
    explained: tuple[float, ...]


def draw_map(distances: Float[ndarray, "model model"], method: str, seed: int = 0) -> ModelMap:
    """Place models so that close models are close: on two axes, or three by classical MDS.

    Args:
        distances: Symmetric, zero diagonal.
        method: "pca", "tsne" or "umap".
        seed: Of t-SNE and UMAP.

    Raises:
        ShapeError: If the method is unknown or there are too few models for it.

    Example:
        >>> apart = np.array([[0, 1, 4, 5], [1, 0, 4, 5], [4, 4, 0, 1], [5, 5, 1, 0]], dtype=float)
        >>> draw_map(apart, "pca").points.shape
        (4, 3)
    """
    if method not in METHODS:
        raise ShapeError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    if len(distances) < FEWEST[method]:
        raise ShapeError(
            f"{METHODS[method]} needs at least {FEWEST[method]} models, got {len(distances)}; "
            "use pca."
        )
    if method == "pca":
        return _scale_classically(distances)
    if not distances.any():  # all equal: no neighbourhood to preserve
        return ModelMap(np.zeros((len(distances), 2)), (np.nan, np.nan))
    points = _run_tsne(distances, seed) if method == "tsne" else _run_umap(distances, seed)
    return ModelMap(points.astype(np.float64), (np.nan, np.nan))


def calc_stress(
    distances: Float[ndarray, "model model"], points: Float[ndarray, "model axis"]
) -> float:
    """Compute the stress of a map: the root of the sum of squared errors of its distances over the
    sum of squared distances. It is 0 if the map keeps every distance.

    Args:
        distances: Symmetric, zero diagonal.
        points: Positions in the units of the distances.

    Example:
        >>> distances = np.array([[0.0, 3.0], [3.0, 0.0]])
        >>> calc_stress(distances, np.array([[0.0, 0.0], [3.0, 0.0]]))
        0.0
        >>> round(calc_stress(distances, np.array([[0.0, 0.0], [2.0, 0.0]])), 2)
        0.33
    """
    pairs = np.triu_indices(len(distances), 1)
    true = distances[pairs]
    drawn = np.linalg.norm(points[pairs[0]] - points[pairs[1]], axis=1)
    size = float(np.linalg.norm(true))
    return float(np.linalg.norm(true - drawn)) / size if size > 0 else 0.0


def _scale_classically(distances: ndarray) -> ModelMap:
    squares = distances**2
    centred = -0.5 * (squares - squares.mean(0) - squares.mean(1)[:, None] + squares.mean())
    eigenvalues, vectors = np.linalg.eigh(centred)
    positive = np.maximum(eigenvalues[::-1][:MOST_AXES], 0.0)
    points = vectors[:, ::-1][:, :MOST_AXES] * np.sqrt(positive)
    # The sign of an axis is arbitrary; a positive largest entry makes reruns equal.
    signs = np.sign(points[np.abs(points).argmax(0), np.arange(points.shape[1])])
    points = points * np.where(signs == 0, 1.0, signs)
    total = float(np.maximum(eigenvalues, 0.0).sum())
    shares = positive / total if total > 0 else np.zeros(len(positive))
    missing = MOST_AXES - len(positive)
    return ModelMap(
        np.pad(points, ((0, 0), (0, missing))), tuple(np.pad(shares, (0, missing)).tolist())
    )


def _run_tsne(distances: ndarray, seed: int) -> ndarray:
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    perplexity = min(30.0, max(2.0, (len(distances) - 1) / 3))
    # Many threads on a few hundred points wait for each other: over 10 s instead of .5 s.
    with threadpool_limits(1):
        model = TSNE(
            metric="precomputed", init="random", perplexity=perplexity, random_state=seed, n_jobs=1
        )
        return np.asarray(model.fit_transform(distances))


def _run_umap(distances: ndarray, seed: int) -> ndarray:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about inverting precomputed distances, and one thread
        from umap import UMAP

        neighbours = min(15, len(distances) - 1)
        # The spectral start needs more eigenvectors than a few models have.
        model = UMAP(
            metric="precomputed", n_neighbors=neighbours, init="random", random_state=seed, n_jobs=1
        )
        return np.asarray(model.fit_transform(distances))

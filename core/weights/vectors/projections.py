"""Maps of fine-tunes: projections of their distances to two dimensions.

Classical MDS of Euclidean distances equals PCA of the vectors behind them; t-SNE and UMAP preserve
neighbourhoods, but not sizes, gaps or directions. Nothing is measured on a map.

References: Torgerson 1952; van der Maaten & Hinton 2008; McInnes et al. 2018. Deviations: none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ShapeError

METHODS = {"pca": "PCA (classical MDS)", "tsne": "t-SNE", "umap": "UMAP"}
FEWEST = {"pca": 1, "tsne": 4, "umap": 5}  # models


@dataclass(frozen=True)
class ModelMap:
    """Positions of models in the plane.

    Attributes:
        points: Shape (model, 2).
        explained: Share of the squared distances on each axis; NaN for t-SNE and UMAP.
    """

    points: Float[ndarray, "model 2"]
    explained: tuple[float, float]


def draw_map(distances: Float[ndarray, "model model"], method: str, seed: int = 0) -> ModelMap:
    """Place models in the plane so that close models are close.

    Args:
        distances: Symmetric, zero diagonal.
        method: "pca", "tsne" or "umap".
        seed: Of t-SNE and UMAP.

    Raises:
        ShapeError: If the method is unknown or there are too few models for it.

    Example:
        >>> apart = np.array([[0, 1, 4, 5], [1, 0, 4, 5], [4, 4, 0, 1], [5, 5, 1, 0]], dtype=float)
        >>> draw_map(apart, "pca").points.shape
        (4, 2)
    """
    if method not in METHODS:
        raise ShapeError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    if len(distances) < FEWEST[method]:
        raise ShapeError(
            f"{METHODS[method]} needs at least {FEWEST[method]} models, got {len(distances)}; use "
            "pca."
        )
    if method == "pca":
        return _scale_classically(distances)
    if not distances.any():  # all equal: no neighbourhood to preserve
        return ModelMap(np.zeros((len(distances), 2)), (np.nan, np.nan))
    points = _run_tsne(distances, seed) if method == "tsne" else _run_umap(distances, seed)
    return ModelMap(points.astype(np.float64), (np.nan, np.nan))


def _scale_classically(distances: ndarray) -> ModelMap:
    models = len(distances)
    squares = distances**2
    centred = -0.5 * (squares - squares.mean(0) - squares.mean(1)[:, None] + squares.mean())
    eigenvalues, vectors = np.linalg.eigh(centred)
    kept = np.maximum(eigenvalues[::-1][:2], 0.0)
    points = vectors[:, ::-1][:, :2] * np.sqrt(kept)
    # The sign of an axis is arbitrary; a positive largest entry makes reruns equal.
    signs = np.sign(points[np.abs(points).argmax(0), np.arange(points.shape[1])])
    points = points * np.where(signs == 0, 1.0, signs)
    total = float(np.maximum(eigenvalues, 0.0).sum())
    shares = kept / total if total > 0 else np.zeros(2)
    return ModelMap(
        np.pad(points, ((0, 0), (0, 2 - points.shape[1]))).reshape(models, 2),
        (shares[0], shares[-1]),
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
        points: ndarray = model.fit_transform(distances)
        return points


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

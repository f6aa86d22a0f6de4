"""Slow, readable definitions of every measure, as the papers write them. Nothing here is shared
with core."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats


def slow_kernel(a: np.ndarray, b: np.ndarray, kernel: str) -> float:
    if kernel == "cosine":
        return float(a @ b / np.sqrt((a @ a) * (b @ b)))
    if kernel == "correlation":
        return float(np.corrcoef(a, b)[0, 1])
    return -float(np.sqrt(np.sum((a - b) ** 2)))


def slow_pairs(x: np.ndarray, kernel: str = "cosine") -> list[float]:
    return [slow_kernel(x[i], x[j], kernel) for i in range(len(x)) for j in range(i + 1, len(x))]


def slow_compare(k: list[float], l: list[float], comparison: str = "pearson") -> float:  # noqa: E741
    if comparison == "pearson":
        return float(np.corrcoef(k, l)[0, 1])
    ranks = stats.rankdata(k), stats.rankdata(l)
    if comparison == "spearman":
        return float(np.corrcoef(*ranks)[0, 1])
    n = len(k)
    return float(12 * np.sum((ranks[0] - (n + 1) / 2) * (ranks[1] - (n + 1) / 2)) / (n**3 - n))


def slow_rsa(
    x: np.ndarray, y: np.ndarray, kernel: str = "cosine", comparison: str = "pearson"
) -> float:
    return slow_compare(slow_pairs(x, kernel), slow_pairs(y, kernel), comparison)


def slow_hsic(k: np.ndarray, l: np.ndarray) -> float:  # noqa: E741
    centre = np.eye(len(k)) - 1.0 / len(k)
    return float(np.trace(k @ centre @ l @ centre))


def slow_unbiased_hsic(k: np.ndarray, l: np.ndarray) -> float:  # noqa: E741
    """Song et al. 2012, equation 5, on n x n matrices."""
    n = len(k)
    k, l = k - np.diag(np.diag(k)), l - np.diag(np.diag(l))  # noqa: E741
    one = np.ones(n)
    first = np.trace(k @ l)
    second = (one @ k @ one) * (one @ l @ one) / ((n - 1) * (n - 2))
    third = 2.0 / (n - 2) * (one @ k @ l @ one)
    return float((first + second - third) / (n * (n - 3)))


def slow_cka(
    x: np.ndarray, y: np.ndarray, hsic: Callable[[np.ndarray, np.ndarray], float] = slow_hsic
) -> float:
    k, l = x @ x.T, y @ y.T  # noqa: E741
    return hsic(k, l) / float(np.sqrt(hsic(k, k) * hsic(l, l)))


def slow_canonical(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Canonical correlations and variables (item, k) of x, by the generalised eigenproblem of
    covariances."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    xx, yy, xy = x.T @ x, y.T @ y, x.T @ y
    values, vectors = np.linalg.eig(np.linalg.inv(xx) @ xy @ np.linalg.inv(yy) @ xy.T)
    order = np.argsort(-values.real)[: min(x.shape[1], y.shape[1])]
    variables = x @ vectors.real[:, order]
    return np.sqrt(np.clip(values.real[order], 0, 1)), variables / np.linalg.norm(variables, axis=0)


def slow_components(x: np.ndarray, share: float = 1.0) -> np.ndarray:
    """Scores on the principal components that hold this share of the variance."""
    centred = x - x.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    values, vectors = values[::-1], vectors[:, ::-1]
    count = next(
        k
        for k in range(1, len(values) + 1)
        if values[:k].sum() >= share * values.sum() * (1 - 1e-12)
    )
    return centred @ vectors[:, :count]


def slow_pwcca(x: np.ndarray, y: np.ndarray) -> float:
    correlations, variables = slow_canonical(x, y)
    neurons = (x - x.mean(axis=0)).T
    weights = [sum(abs(variable @ neuron) for neuron in neurons) for variable in variables.T]
    return float(np.average(correlations, weights=weights))


def slow_procrustes(x: np.ndarray, y: np.ndarray) -> float:
    """1 - d^2 / 2 with d the Procrustes distance between the centred spaces scaled to unit norm."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    width = max(x.shape[1], y.shape[1])
    x, y = (np.pad(a / np.linalg.norm(a), [(0, 0), (0, width - a.shape[1])]) for a in (x, y))
    left, _, right = np.linalg.svd(x.T @ y)
    return 1.0 - float(np.linalg.norm(x @ left @ right - y)) ** 2 / 2.0


def slow_mean_cosine(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean([slow_kernel(a, b, "cosine") for a, b in zip(x, y, strict=True)]))


def slow_mutual_neighbours(x: np.ndarray, y: np.ndarray, k: int = 10) -> float:
    """Shares of the k places by sorting; equally close items share the places that are left."""
    total = 0.0
    for i in range(len(x)):
        shares = []
        for space in (x, y):
            cosines = {
                j: round(slow_kernel(space[i], space[j], "cosine"), 9)
                for j in range(len(x))
                if j != i
            }
            last = sorted(cosines.values(), reverse=True)[k - 1]
            room = k - sum(cosine > last for cosine in cosines.values())
            tied = sum(cosine == last for cosine in cosines.values())
            shares.append(
                {
                    j: 1.0 if cosine > last else room / tied
                    for j, cosine in cosines.items()
                    if cosine >= last
                }
            )
        total += sum(min(share, shares[1].get(j, 0.0)) for j, share in shares[0].items())
    return total / (k * len(x))


REFERENCES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "rsa": slow_rsa,
    "cka": slow_cka,
    "cka-debiased": lambda x, y: slow_cka(x, y, slow_unbiased_hsic),
    "cosine": slow_mean_cosine,
    "cca": lambda x, y: float(slow_canonical(x, y)[0].mean()),
    "svcca": lambda x, y: float(
        slow_canonical(slow_components(x, 0.99), slow_components(y, 0.99))[0].mean()
    ),
    "pwcca": slow_pwcca,
    "procrustes": slow_procrustes,
    "knn": slow_mutual_neighbours,
}

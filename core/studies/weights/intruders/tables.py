"""Tables of the intruder experiment: rows by direction, by matrix, by family.

The threshold is applied here, so another threshold computes nothing.

Reference: none. Deviations: none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from core.maths.arrays import Value
from core.maths.spectra.intruders import direction_p_values
from core.maths.statistics import corrected, permutation_p

RARE = 0.01  # p-value below which a direction is more than chance
DIRECTION_COLUMNS = (
    "model",
    "family",
    "layer",
    "direction",
    "singular_value",
    "cosine",
    "p_value",
    "corrected_p",
    "intruder",
)


def direction_rows(
    value: Value, place: int, row: dict[str, Any], threshold: float, together: np.ndarray
) -> list[dict[str, Any]]:
    """Make a row per leading direction of a matrix; `together` are its p-values from
    `joint_p_values`."""
    seen = np.isfinite(value["cosines"][place])
    if not seen.any():
        return []
    cosines = value["cosines"][place][seen]
    p_values = direction_p_values(cosines, value["null"][place][:, seen])
    columns = zip(value["values"][place][seen], cosines, p_values, together[seen], strict=True)
    return [
        row | {
            "direction": number, "singular_value": float(size), "cosine": float(cosine),
            "p_value": float(p), "corrected_p": float(all_p), "intruder": bool(cosine < threshold),
        }
        for number, (size, cosine, p, all_p) in enumerate(columns, start=1)
    ]  # fmt: skip


def joint_p_values(value: Value, models: int) -> np.ndarray:
    """p-values that hold for all directions of all models, (matrix, direction); NaN without one.

    The lowest cosine of a draw over all matrices counts; then Bonferroni over the models.
    """
    cosines, null = value["cosines"], value["null"]
    every: np.ndarray = np.full(cosines.shape, np.nan)
    seen = np.isfinite(cosines)
    if seen.any():
        drawn = null.transpose(1, 0, 2)[:, seen]
        p_values = direction_p_values(cosines[seen], drawn)
        every[seen] = [corrected(float(p), models) for p in p_values]
    return every


def matrix_row(
    value: Value, place: int, directions: list[dict[str, Any]], null: np.ndarray
) -> dict[str, Any]:
    """Count a matrix's intruders beside those of random updates, `null` (draw,)."""
    count = sum(each["intruder"] for each in directions)
    return {
        "relative_norm": float(value["relative"][place]),
        "intruders": count,
        "rare": sum(each["intruder"] and each["p_value"] < RARE for each in directions),
        "null_mean": float(null.mean()) if directions else 0.0,
        "p_value": permutation_p(count, null) if directions else 1.0,
    }


def family_row(
    value: Value, of_family: np.ndarray, below: np.ndarray, threshold: float
) -> dict[str, Any]:
    """Count the intruders of a family's matrices beside those of random updates: `below` says which
    of their directions are intruders, (matrix, draw, direction)."""
    cosines = value["cosines"][of_family]
    count = int((cosines < threshold).sum())
    null = below[of_family].sum((0, 2))
    low, high = np.quantile(null, (0.025, 0.975))
    turned = value["turned"][of_family].sum(0)
    turned_low, turned_high = np.quantile(turned, (0.025, 0.975))
    return {
        "looked": int(np.isfinite(cosines).sum()),
        "intruders": count,
        "null_mean": float(null.mean()),
        "null_low": float(low),
        "null_high": float(high),
        "p_value": permutation_p(count, null),
        "turned_mean": float(turned.mean()),
        "turned_low": float(turned_low),
        "turned_high": float(turned_high),
        "turned_p": permutation_p(count, turned),
        "turned_draws": len(turned),
    }

"""Tables of the map of models: places on it, angles by layer, and what they are compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from core.maths.similarity.angles import aligned
from core.maths.spectra.projections import calc_stress, draw_map
from core.maths.statistics import bootstrap_interval
from core.models.steps import origin_of, progress_of, run_of

if TYPE_CHECKING:
    import pandas as pd

    from core.maths.arrays import Value

PLACES = ("model", "layer", "steps", "tokens", "x", "y")
CLOUD = ("model", "layer", "draw", "x", "y")
BY_LAYER = ("relation", "layer", "angle", "low", "high", "pairs")
PAIRS = ("model", "layer", "other", "other_layer", "angle", "low", "high")
SEEDS, TUNED, STEPS = "other seeds", "fine-tunes and base", "steps and end"
CHANCE = "words shuffled"
DRAWN = 20  # resamples that are drawn as a cloud


@dataclass(frozen=True)
class Angles:
    """Angles between spaces, in degrees.

    Attributes:
        refs: The models.
        model, layer: Of each space, (space,).
        values: (space, space), symmetric, 0 on the diagonal.
        drawn: The same of each resample of sentences, (draw, space, space).
        chance: Angles of last layers with words in another order.
    """

    refs: tuple[str, ...]
    model: Int[np.ndarray, " space"]
    layer: Int[np.ndarray, " space"]
    values: Float[np.ndarray, "space space"]
    drawn: Float[np.ndarray, "draw space space"]
    chance: Float[np.ndarray, " pair"]

    @classmethod
    def of(cls, refs: Sequence[str], parts: Sequence[Value]) -> Angles:
        """Put the rows of all tasks together."""
        count = len(parts[0]["model"])
        values = np.zeros((count, count))
        drawn = np.zeros((len(parts[0]["drawn"]), count, count), dtype=np.float32)
        for part in parts:
            values[part["rows"]], drawn[:, part["rows"]] = part["angles"], part["drawn"]
        lower = np.tril_indices(count, -1)
        values[lower] = values.T[lower]
        drawn[:, lower[0], lower[1]] = drawn[:, lower[1], lower[0]]
        place = np.arange(count)
        values[place, place], drawn[:, place, place] = 0.0, 0.0
        chance = np.concatenate([np.asarray(part["chance"]) for part in parts])
        return cls(
            tuple(refs), np.asarray(parts[0]["model"]), np.asarray(parts[0]["layer"]), values,
            drawn, chance[np.isfinite(chance)],
        )  # fmt: skip

    def at(self, ref: str, layer: int) -> int:
        """Return the number of a space."""
        mine = (self.model == self.refs.index(ref)) & (self.layer == layer)
        return int(np.flatnonzero(mine)[0])

    @property
    def finite(self) -> bool:
        """Whether no space is constant, so that all can be placed."""
        return bool(np.isfinite(self.values).all())


def relations(refs: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Pair models: bases of different seeds, fine-tunes with their base, steps with their end."""
    origins = {ref: origin_of(ref) for ref in refs}
    ends = [ref for ref in refs if run_of(ref) == ref]
    bases = [ref for ref in ends if origins[ref] == ref]
    return {
        SEEDS: list(combinations(bases, 2)),
        TUNED: [(ref, origins[ref]) for ref in ends if ref != origins[ref] in refs],
        STEPS: [(ref, run_of(ref)) for ref in refs if ref not in ends and run_of(ref) in refs],
    }  # fmt: skip


def place_table(angles: Angles) -> tuple[pd.DataFrame, pd.DataFrame, float]:
    """Place the spaces in two dimensions, by classical scaling.

    Returns:
        PLACES; CLOUD, where resamples lie once they are turned onto the map; the map's stress.
    """
    placed = draw_map(angles.values, "pca").points[:, :2]
    table, rows = _points(angles, placed), []
    for number, drawn in enumerate(angles.drawn[:DRAWN]):
        turned = aligned(draw_map(drawn.astype(np.float64), "pca").points[:, :2], placed)
        rows.append(_points(angles, turned).assign(draw=number))
    import pandas as pd

    cloud = pd.concat(rows, ignore_index=True)[list(CLOUD)]
    return table, cloud, calc_stress(angles.values, placed)


def embedding_table(angles: Angles) -> pd.DataFrame:
    """Place the embeddings alone: PLACES of layer 0."""
    first = np.flatnonzero(angles.layer == 0)
    points = draw_map(angles.values[np.ix_(first, first)], "pca").points[:, :2]
    return _points(angles, points, first)


def _points(
    angles: Angles, points: np.ndarray, spaces: np.ndarray | slice = slice(None)
) -> pd.DataFrame:
    import pandas as pd

    refs = np.array(angles.refs, dtype=object)[angles.model[spaces]]
    progress = {ref: progress_of(str(ref)) for ref in angles.refs}
    table = pd.DataFrame(
        {
            "model": refs,
            "layer": angles.layer[spaces],
            "steps": [progress[ref][0] for ref in refs],
            "tokens": [progress[ref][1] for ref in refs],
            "x": points[:, 0],
            "y": points[:, 1],
        }
    )
    return table.astype({"steps": "Int64", "tokens": "Int64"})


def layer_table(angles: Angles, pairs: Mapping[str, Sequence[tuple[str, str]]]) -> pd.DataFrame:
    """Average the angles of related models by layer, with intervals over sentences: BY_LAYER."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for relation, related in pairs.items():
        for layer in sorted(set(angles.layer.tolist())):
            cells = [
                tuple(angles.at(ref, layer) for ref in pair)
                for pair in related
                if all(_has(angles, ref, layer) for ref in pair)
            ]
            if cells:
                first, second = (np.array(side) for side in zip(*cells, strict=True))
                value = float(angles.values[first, second].mean())
                low, high = bootstrap_interval(value, angles.drawn[:, first, second].mean(1))
                ends = {"low": float(low), "high": float(high), "pairs": len(cells)}
                rows.append({"relation": relation, "layer": layer, "angle": value, **ends})
    return pd.DataFrame(rows, columns=list(BY_LAYER))


def _has(angles: Angles, ref: str, layer: int) -> bool:
    return layer in angles.layer[angles.model == angles.refs.index(ref)]


def pair_table(angles: Angles) -> pd.DataFrame:
    """List the angle of every two spaces, with its interval over sentences: PAIRS."""
    import pandas as pd

    first, second = np.triu_indices(len(angles.values), 1)
    values = angles.values[first, second]
    low, high = bootstrap_interval(values, angles.drawn[:, first, second])
    refs = np.array(angles.refs, dtype=object)
    return pd.DataFrame(
        {
            "model": refs[angles.model[first]],
            "layer": angles.layer[first],
            "other": refs[angles.model[second]],
            "other_layer": angles.layer[second],
            "angle": values,
            "low": low,
            "high": high,
        }
    )

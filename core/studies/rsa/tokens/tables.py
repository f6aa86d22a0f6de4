"""The words of a token map as rows, without those that are attention sinks of a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.maths.arrays import Value
from core.studies.rsa.tokens.questions import OTHER
from core.vectors.sinks import POSITIONS, TABLE


def drawn_words(values: Iterable[Value], words: int) -> NDArray[np.int64]:
    """List the positions of the words that are no attention sink of any model."""
    sinks = {word for value in values for word in value.get(TABLE, {}).get(POSITIONS, ())}
    return np.array([word for word in range(words) if word not in sinks], dtype=np.int64)


def layer_rows(
    ref: str,
    layer: int,
    words: Sequence[str],
    positions: NDArray[np.int64],
    points: NDArray[np.float64],
    given: Sequence[str],
) -> pd.DataFrame:
    """Make one row for each word that is drawn of a model's layer, with its place in question and
    passage, its role, and its point on the map and behind it, (word, 3)."""
    return pd.DataFrame(
        {
            "model": ref,
            "layer": layer,
            "word": list(words),
            "position": positions,
            "role": list(given),
            "highlighted": [role != OTHER for role in given],
            "predicted": np.zeros(len(words), dtype=bool),
            "x": points[:, 0],
            "y": points[:, 1],
            "z": points[:, 2],
        }
    )

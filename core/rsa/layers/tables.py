"""The study's tables, from the outputs of its tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from core.rsa.measures.scoring import CALIBRATED, SCORED, calibrate
from core.runs.store import Value

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("model", "layer", "similarity", "low", "high", "null_low", "null_high")
CURVES = (*COLUMNS, "relative_change", "apart", "scaled", "runs", *CALIBRATED)


def with_calibrated(table: pd.DataFrame) -> pd.DataFrame:
    """Add the similarities calibrated by chance level (CALIBRATED) as the last columns."""
    return table.assign(**calibrate(*(table[name].astype(float) for name in SCORED)))


def curve_rows(values: Mapping[str, Value]) -> pd.DataFrame:
    """Tabulate one row per model and layer."""
    import pandas as pd

    frames = [
        pd.DataFrame(
            {
                "model": ref,
                "layer": np.arange(len(value["similarity"])),
                **{c: value[c] for c in COLUMNS[2:]},
            }
        )
        for ref, value in values.items()
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(COLUMNS))


def grid_rows(grids: Mapping[str, Value]) -> pd.DataFrame:
    """Tabulate one row per model, layer of the base and layer of the model."""
    import pandas as pd

    frames = []
    for ref, value in grids.items():
        matrix = np.asarray(value["similarity"])
        rows, columns = np.indices(matrix.shape)
        cells = {"base_layer": rows.ravel(), "layer": columns.ravel(), "similarity": matrix.ravel()}
        frames.append(pd.DataFrame({"model": ref, **cells}))
    empty = pd.DataFrame(columns=["model", "base_layer", "layer", "similarity"])
    return pd.concat(frames, ignore_index=True) if frames else empty

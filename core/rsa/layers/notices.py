"""What a reader of a study's numbers must see beside them: sentences made from the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from core.models.changes import shares_no_start
from core.results.names import short_name
from core.results.numbers import text_of
from core.rsa.layers.spec import RsaSpec
from core.rsa.measures.registry import MEASURES
from core.runs.store import Value

if TYPE_CHECKING:
    import pandas as pd

MOSTLY_NULL = 0.5
FEW_SENTENCES = 30  # below, bands cover less than they say: benchmarks/coverage.txt
UNEQUAL = 1.5  # weight changes whose sizes differ by more are said to


def measure_notices(spec: RsaSpec, values: Mapping[tuple[str, str], Value]) -> list[str]:
    """What a reader of the numbers must see: items left out, measures that are mostly null, undefined layers.

    Args:
        spec: The study.
        values: Outputs of its tasks, by part and model.
    """
    notices = [notice for value in values.values() for notice in value["notices"]]
    label = MEASURES[spec.measure].label
    scored = {role: value for role, value in values.items() if "low" in value}
    for value in scored.values():
        items, width = int(value["items"]), int(value["d_model"])
        if MEASURES[spec.measure].canonical and items <= width:
            notices.append(
                f"{items:,} items are no more than {width:,} dimensions: {label} of any two spaces is then near 1, and "
                "these numbers say nothing. Sample more words, or choose RSA or debiased CKA."
            )
        elif np.nanmax(np.append(value["null_high"], -1.0)) > MOSTLY_NULL:
            notices.append(
                f"{label} of sentences paired at random is up to {text_of(np.nanmax(value['null_high']))} "
                "here: read each "
                "curve against the grey band, sample more words, or choose RSA or debiased CKA."
            )
        sentences = int(value["sentences"])
        if sentences < 2:
            notices.append("There is only one sentence, so there is no band: it comes from resampling sentences.")
        elif sentences < FEW_SENTENCES:
            notices.append(
                f"With {sentences} sentences the bands may be too narrow: 95 % bands from fewer than {FEW_SENTENCES} "
                "hold the truth less often than they say. Read more sentences."
            )
    for (_, model), value in scored.items():
        flat = np.flatnonzero(np.isnan(value["similarity"])).tolist()
        if flat:
            layers = ", ".join(str(layer) for layer in flat)
            notices.append(f"{short_name(model)}: the items do not vary at layer {layers}: no similarity.")
    return list(dict.fromkeys(notices))


def moved_sizes(table: pd.DataFrame) -> pd.Series[float]:
    """Sizes of the weight changes, of the models that may have been trained from the base."""
    first = table.drop_duplicates("model")
    sizes: pd.Series[float] = first.loc[~first["apart"].map(shares_no_start).astype(bool), "relative_change"].dropna()
    return sizes


def size_notices(spec: RsaSpec, table: pd.DataFrame) -> list[str]:
    """What the sizes of the weight changes leave open."""
    if spec.matched_size:
        return [
            "Weight changes were scaled to the smallest: weights between the base's and the model's, which no training "
            "passed through."
        ]
    sizes = moved_sizes(table)
    if len(sizes) < 2 or sizes.max() < UNEQUAL * sizes.min():
        return []
    return [
        f"The weights did not move equally far ({text_of(sizes.min())} to {text_of(sizes.max())} of their "
        "size): a longer or "
        "faster training may be all there is to a larger change. Matched size compares them with changes of one size."
    ]

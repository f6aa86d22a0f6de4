"""Cosines of the changes of two fine-tunes of one base: of all pairs, and by family and layer of
one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.errors import SpecError
from core.maths.spectra.forests import NONE
from core.maths.spectra.products import change_cosines
from core.studies.weights.lineage.tables import FINE_TUNE, Relatives

SIBLINGS = ("model", "other", "base", "cosine", "permuted_cosine")
CHANGES = (*SIBLINGS[:3], "family", "layer", *SIBLINGS[3:])


def build_siblings(relatives: Relatives) -> pd.DataFrame:
    """Build the table of all pairs with one base: cosine of their changes, most similar first.

    The base is the one on record; of models without one, the parent in the tree.
    """
    bases = [
        recorded if kind == FINE_TUNE else parent
        for recorded, kind, parent in zip(
            relatives.recorded, relatives.kinds, relatives.parents, strict=True
        )
    ]
    rows = []
    for base in dict.fromkeys(number for number in bases if number != NONE):
        cosines, permuted = (
            change_cosines(products.sum(0), relatives.paired.sum(0), base)
            for products in (relatives.paired, relatives.mixed)
        )
        children = [number for number, each in enumerate(bases) if each == base]
        rows += [
            (*(relatives.refs[n] for n in (first, second, base)),
             float(cosines[first, second]), float(permuted[first, second]))
            for place, first in enumerate(children)
            for second in children[place + 1 :]
        ]  # fmt: skip
    table = pd.DataFrame(rows, columns=list(SIBLINGS))
    return table.sort_values("cosine", ascending=False, kind="stable", ignore_index=True)


def build_changes(
    relatives: Relatives,
    siblings: pd.DataFrame,
    pair: Sequence[str],
    places: Sequence[tuple[str, int]],
) -> pd.DataFrame:
    """Build the table of one pair, the one with the most similar changes if none is named: cosine
    of the changes by family and layer, NaN where one of the two did not change a matrix. Raises
    SpecError if the two models have no common base here."""
    chosen = siblings.iloc[:1]
    if pair:
        chosen = siblings[
            siblings["model"].isin(pair) & siblings["other"].isin(pair)
        ]  # a table of pairs has each once
        if chosen.empty:
            raise SpecError(
                f"{pair[0]} and {pair[1]} have no common base among the models that are compared; "
                "choose two fine-tunes of one, and their base among the models."
            )
    if chosen.empty:
        return pd.DataFrame(columns=list(CHANGES))
    row = chosen.iloc[0]
    first, second, base = (relatives.refs.index(row[name]) for name in SIBLINGS[:3])
    cosines, permuted = (
        change_cosines(products, relatives.paired, base)[:, first, second]
        for products in (relatives.paired, relatives.mixed)
    )
    return pd.DataFrame(
        {
            **{name: row[name] for name in SIBLINGS[:3]},
            "family": [family for family, _ in places],
            "layer": [layer + 1 for _, layer in places],
            "cosine": cosines,
            "permuted_cosine": np.where(np.isnan(cosines), np.nan, permuted),
        },
        columns=list(CHANGES),
    )

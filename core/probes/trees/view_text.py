"""What each view of the probe page shows, in a sentence short enough to stand above a chart: made from the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.models import parse_ref
from core.probes.trees.result import best_row
from core.probes.trees.tables import NAMES, POSITION, SELECTIVITY
from core.probes.trees.text import CLEAR
from core.results.estimates import estimate_of
from core.results.names import short_names

if TYPE_CHECKING:
    import pandas as pd

    from core.probes.trees.result import ProbeResult

MOST_NAMED = 2


def scores_sentence(result: ProbeResult, metric: str) -> str:
    """Where the first model's score peaks, how far over its best rival, and how the others differ; "" without scores.

    Args:
        result: Of the probe study.
        metric: One of `NAMES`, or one with `SELECTIVITY` behind it.
    """
    bare = metric.removesuffix(SELECTIVITY)
    best = {ref: row for ref in result.probes if (row := best_row(result.table, ref, bare)) is not None}
    first = next((ref for ref in best if not parse_ref(ref).random), "")
    if not first:
        return ""
    names, layer = short_names(best), int(best[first]["layer"])
    if bare != metric:
        return _selectivity(result, metric, first, names[first], layer)
    text = f"{NAMES[metric]} of {names[first]} is best in layer {layer}: {estimate_of(best[first], 'value').text}"
    text += _margin(result.tables["margins"], first, metric, layer)
    compared = [
        _other(result.tables["differences"], ref, row, names[ref], metric) for ref, row in best.items() if ref != first
    ]
    clauses = [clause for clause in compared if clause][:MOST_NAMED]
    return f"{text}{''.join(f'; {clause}' for clause in clauses)}."


def sentence_line(agreed: int, edges: int, *, parsed: bool, layer: int, name: str) -> str:
    """How many edges of one sentence's tree are predicted."""
    if not edges:
        return "There are no edges to find: a tree needs two words that are not punctuation."
    above = "parse" if parsed else "tree"
    return f"{agreed} of {edges} edges of the {above} are predicted from layer {layer} of {name}."


def _selectivity(result: ProbeResult, metric: str, ref: str, name: str, layer: int) -> str:
    rows = result.table[(result.table["model"] == ref) & (result.table["metric"] == metric)]
    rows = rows[rows["layer"] == layer]
    if rows.empty:
        return ""
    return (
        f"Selectivity of {name} in its best layer, {layer}: {estimate_of(rows.iloc[0], 'value').text} "
        "above what the same "
        "probes reach on trees that mean nothing."
    )


def _margin(margins: pd.DataFrame, ref: str, metric: str, layer: int) -> str:
    """How far above the better of what knows positions alone."""
    here = margins[(margins["model"] == ref) & (margins["metric"] == metric) & (margins["layer"] == layer)]
    if here.empty:
        return ""
    row = here.loc[here["rival_value"].idxmax()]
    rival = "positions alone" if row["rival"] == POSITION else "the untrained model"
    return f", {estimate_of(row, 'margin').direction('above', 'below')} {rival}{_doubt(row, 'margin')}"


def _other(differences: pd.DataFrame, ref: str, row: pd.Series, name: str, metric: str) -> str:
    """How another model differs from the first in its own best layer; "" for an untrained one."""
    here = differences[(differences["model"] == ref) & (differences["metric"] == metric)]
    here = here[here["layer"] == int(row["layer"])]
    if parse_ref(ref).random or here.empty:
        return ""
    gap = here.iloc[0]
    doubt = _doubt(gap, "difference")
    return (
        f"{name} is {estimate_of(gap, 'difference').direction('higher', 'lower')} in its best, "
        f"{int(row['layer'])}{doubt}"
    )


def _doubt(row: pd.Series, what: str) -> str:
    return "" if row["low"] > CLEAR or row["high"] < CLEAR else f" (no clear {what})"

"""The views of the alignment page: their headlines, at most two lines long, and how to read
them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.alignment.maps.registry import METHODS
from core.alignment.seeds.statements import (
    NOTHING,
    best_map,
    judged,
    layer_statements,
    statements_of,
)
from core.alignment.seeds.text import WHICH, gain_sentence, layer_clause, lead_sentence, named
from core.results.estimates import estimate_of
from core.results.names import short_name, short_names
from core.results.numbers import text_of

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

REASON = (
    "Two pretraining seeds may represent words in the same way in different coordinates: if so, a "
    "map fitted on some words predicts the vectors of words that it has not seen."
)
HOW_TO_READ = {
    "By method": (
        "Across is the share of variance left unexplained: 0 is perfect, 1 no better than the "
        "mean. Boxes are pairs and layers, diamonds means."
    ),
    "By layer": (
        "Height is the share of variance left unexplained: 0 is perfect, 1 no better than the "
        "mean. Grey lines are controls, bands 95 %."
    ),
    "What the layers add": (
        "Height is how many points of variance one prediction explains beyond another: 0 is no "
        "gain. Shaded bands are 95 % intervals."
    ),
    "Layer into layer": (
        "Each cell is the share of variance that a linear map from row to column leaves "
        "unexplained: 0 is perfect, 1 no better than the mean."
    ),
    "Pair by pair": (
        "Each cell is the share of variance that the best map from row to column leaves "
        "unexplained: 0 is perfect, 1 no better than the mean."
    ),
    "The space": (
        "Each point is a held-out word, and a grey line joins the word's two vectors: the shorter "
        "the lines after the map, the better it fits."
    ),
    "Training": (
        "Height is the error on validation rows: 0 is perfect, 1 no better than the mean. Step 0 "
        "is the closed-form map that training starts from."
    ),
}


def method_sentence(result: Result) -> str:
    """How much of the variance the best map predicts, compared with ridge and the per-word
    average."""
    tables = result.tables
    facts = statements_of(tables["methods"], tables["layers"], tables["differences"])
    return lead_sentence(facts, judged(tables["methods"])) if facts else ""


def layer_sentence(result: Result) -> str:
    """At which layer the best map's error is lowest and at which it is highest."""
    words = judged(result.tables["methods"])
    best = best_map(result.tables["methods"], words)
    rows = _first(result.tables["layers"], words)
    rows = rows[rows["method"] == best]
    if rows.empty:
        return ""
    if ends := layer_statements(rows, best):
        return f"On {WHICH[words]}, {layer_clause(ends)}."
    row = rows.iloc[0]
    return (
        f"On {WHICH[words]}, the error of {named(best)} at layer {int(row['layer'])} is "
        f"{estimate_of(row, 'nmse').text}."
    )


def gains_sentence(result: Result) -> str:
    """What the layers add to the static window."""
    tables = result.tables
    facts = statements_of(
        tables["methods"], tables["layers"], tables["differences"], tables.get("gains")
    )
    return gain_sentence(facts)


def grid_sentence(result: Result) -> str:
    """How many layers of the first pair's target are predicted best from the same layer of its
    source."""
    grid = result.tables.get("grid")
    if grid is None or grid.empty:
        return ""
    best = grid.loc[grid.groupby("target_layer")["nmse"].idxmin()]
    source, target = list(short_names(result.spec["models"]).values())[:2]
    away = best[best["source_layer"] != best["target_layer"]]
    text = (
        f"By {METHODS[str(result.spec['grid'])].label}, {len(best) - len(away)} of {len(best)} "
        f"layers of {target} are predicted best from the same layer of {source}"
    )
    if away.empty:
        return f"{text}."
    row = away.loc[away["target_layer"].idxmax()]
    same = grid[
        (grid["source_layer"] == row["target_layer"])
        & (grid["target_layer"] == row["target_layer"])
    ]
    layer = int(row["target_layer"])
    beside = f"; from layer {layer}: {text_of(same['nmse'].iloc[0])}" if len(same) else ""
    return (
        f"{text}; layer {layer} is predicted best from layer "
        f"{int(row['source_layer'])} (error {text_of(row['nmse'])}{beside})."
    )


def pairs_sentence(result: Result) -> str:
    """Which directed pair has the lowest error and which the highest, by the best map, averaged
    over layers."""
    words = judged(result.tables["methods"])
    best = best_map(result.tables["methods"], words)
    rows = result.table
    rows = rows[(rows["method"] == best) & (rows["words"] == words) & (rows["split"] == "test")]
    means = rows.groupby(["source", "target"])["nmse"].mean()
    if len(means) < 2:
        return ""
    low, high = means.idxmin(), means.idxmax()
    return (
        f"Of {len(means)} directed pairs, {_arrow(low)} has the lowest error "
        f"({text_of(means[low])}) and {_arrow(high)} the highest ({text_of(means[high])}), "
        f"averaged over layers (map: {METHODS[best].label})."
    )


def space_sentence(result: Result, source: str, target: str, method: str, layer: int) -> str:
    """How well one map at one layer predicts held-out rows."""
    words, rows = judged(result.tables["methods"]), result.table
    rows = rows[
        (rows["source"] == source) & (rows["target"] == target) & (rows["method"] == method)
    ]
    rows = rows[(rows["layer"] == layer) & (rows["words"] == words) & (rows["split"] == "test")]
    if rows.empty:
        return ""
    error = float(rows["nmse"].iloc[0])
    share = "none" if error > 1 - NOTHING else text_of(1 - error, "per cent")
    return (
        f"At layer {layer}, {named(method)} predicts {share} of the variance of "
        f"{short_name(target)}'s vectors from {short_name(source)}'s (error {text_of(error)}, "
        f"{WHICH[words]})."
    )


def training_sentence(result: Result) -> str:
    """How many networks converged."""
    curves = result.tables.get("curves")
    if curves is None or curves.empty:
        return ""
    ended = curves.groupby(["source", "target", "method", "layer"])["converged"].last()
    missing = int((~ended.astype(bool)).sum())
    if not missing:
        return (
            f"All {len(ended)} networks converged: they stopped improving on validation rows at "
            "three learning rates."
        )
    return (
        f"{missing} of {len(ended)} networks had not converged at the last training step, so their "
        "errors may be too high."
    )


def _first(table: pd.DataFrame, words: str) -> pd.DataFrame:
    return table[(table["group"] == "models") & (table["words"] == words)]


def _arrow(pair: tuple[str, str]) -> str:
    return f"{short_name(pair[0])} into {short_name(pair[1])}"

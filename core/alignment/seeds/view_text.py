"""What each view of the alignment page shows, in a sentence short enough to stand above a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.alignment.maps.registry import METHODS, NON_LINEAR
from core.alignment.seeds.text import judged
from core.results.estimates import estimate_of
from core.results.names import short_name
from core.results.numbers import text_of

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

ON = {"unseen": "words never fitted on", "all": "held-out rows"}


def method_sentence(result: Result) -> str:
    """What share of the variance carries over, by the best map, by ridge and by a lookup; whether bending helps."""
    methods, words = result.tables["methods"], judged(result.tables["methods"])
    rows = _first(methods, words).set_index("method")["nmse"]
    best = _best(result)
    if not best:
        return ""
    shares = [f"{METHODS[best].label} carries over {_share(rows[best])} of the variance"]
    shares += [
        f"{METHODS[name].label} {_share(rows[name])}" for name in ("ridge", "lookup") if name in rows and name != best
    ]
    return f"On {ON[words]}, {', '.join(shares)}{_bending(result, words, best)}."


def layer_sentence(result: Result) -> str:
    """Where the spaces are most alike and where least, by the best map."""
    words, best = judged(result.tables["methods"]), _best(result)
    rows = _first(result.tables["layers"], words)
    rows = rows[rows["method"] == best]
    if rows.empty:
        return ""
    low, high = rows.loc[rows["nmse"].idxmin()], rows.loc[rows["nmse"].idxmax()]
    if len(rows) == 1:
        return (
            f"By {METHODS[best].label}, layer {int(low['layer'])} has error {estimate_of(low, 'nmse').text} on "
            f"{ON[words]}."
        )
    return (
        f"By {METHODS[best].label} the spaces are most alike in layer {int(low['layer'])} (error "
        f"{estimate_of(low, 'nmse').text}), least "
        f"in layer {int(high['layer'])} ({estimate_of(high, 'nmse').text}), on {ON[words]}."
    )


def grid_sentence(result: Result) -> str:
    """Whether each layer is predicted best from the same layer of the other model."""
    grid = result.tables.get("grid")
    if grid is None or grid.empty:
        return ""
    best = grid.loc[grid.groupby("target_layer")["nmse"].idxmin()]
    same = best[best["source_layer"] == best["target_layer"]]
    text = f"{len(same)} of {len(best)} layers are predicted best from the same layer of the other model"
    away = best[best["source_layer"] != best["target_layer"]]
    if len(away):
        row = away.loc[away["target_layer"].idxmax()]
        text += (
            f"; layer {int(row['target_layer'])} best from {int(row['source_layer'])} (error {text_of(row['nmse'])})"
        )
    label = METHODS[str(result.spec["grid"])].label if result.spec.get("grid") else "a linear map"
    return f"{text}. By {label}, without bands."


def pairs_sentence(result: Result) -> str:
    """Which pair of models is closest and which farthest, by the best map, as means over layers."""
    words, best = judged(result.tables["methods"]), _best(result)
    rows = result.table
    rows = rows[(rows["method"] == best) & (rows["words"] == words) & (rows["split"] == "test")]
    means = rows.groupby(["source", "target"])["nmse"].mean()
    if len(means) < 2:
        return ""
    low, high = means.idxmin(), means.idxmax()
    return (
        f"Of {len(means)} directed pairs {_arrow(low)} is closest (error {text_of(means[low])}), {_arrow(high)} "
        f"farthest ({text_of(means[high])}): means over layers by {METHODS[best].label}, on {ON[words]}."
    )


def space_sentence(result: Result, source: str, target: str, method: str, layer: int) -> str:
    """How well one map at one layer does on what it was not fitted on."""
    words, rows = judged(result.tables["methods"]), result.table
    rows = rows[(rows["source"] == source) & (rows["target"] == target) & (rows["method"] == method)]
    rows = rows[(rows["layer"] == layer) & (rows["words"] == words) & (rows["split"] == "test")]
    if rows.empty:
        return ""
    label = METHODS[method].label
    return (
        f"Layer {layer} of {short_name(source)} mapped by {label} onto {short_name(target)} misses it by error "
        f"{text_of(float(rows['nmse'].iloc[0]))} on {ON[words]}."
    )


def training_sentence(result: Result) -> str:
    """How many networks stopped because training brought nothing more."""
    curves = result.tables.get("curves")
    if curves is None or curves.empty:
        return ""
    ended = curves.groupby(["source", "target", "method", "layer"])["converged"].last()
    missing = int((~ended.astype(bool)).sum())
    if not missing:
        return f"All {len(ended)} networks were trained until three learning rates had brought no improvement."
    return (
        f"{missing} of {len(ended)} networks had not converged when their steps ran out: their errors are upper bounds."
    )


def _first(table: pd.DataFrame, words: str) -> pd.DataFrame:
    return table[(table["group"] == "models") & (table["words"] == words)]


def _best(result: Result) -> str:
    """The map with the lowest error that is no control; "" where none could be fitted."""
    rows = _first(result.tables["methods"], judged(result.tables["methods"]))
    rows = rows[[METHODS[name].kind != "control" for name in rows["method"]]]
    return "" if rows.empty else str(rows.loc[rows["nmse"].idxmin(), "method"])


def _bending(result: Result, words: str, best: str) -> str:
    """Whether the best map that may bend beats ridge, with its band."""
    rows = result.tables["differences"]
    rows = rows[(rows["group"] == "models") & (rows["other_group"] == "models") & (rows["words"] == words)]
    rows = rows[(rows["other_method"] == "ridge") & rows["method"].isin(NON_LINEAR)]
    if rows.empty:
        return ""
    row = rows.loc[rows["difference"].idxmin()]
    difference = estimate_of(row, "difference")
    which = "the first" if row["method"] == best else METHODS[row["method"]].label
    if not difference.clear:
        return f"; {which} is not told from ridge (error {difference.direction('higher', 'lower')})"
    return f"; {which} {'beats' if row['high'] < 0 else 'is worse than'} ridge by {difference.size}"


def _share(error: float) -> str:
    return text_of(1 - error, "per cent") if error < 0.995 else "nothing"


def _arrow(pair: tuple[str, str]) -> str:
    return f"{short_name(pair[0])} into {short_name(pair[1])}"

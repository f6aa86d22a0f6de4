"""Which measure to trust, in sentences made from the areas under the curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.results.numbers import text_of
from core.rsa.measures.registry import MEASURES

if TYPE_CHECKING:
    import pandas as pd

RIVALS = {"depth": "the layer's number alone", "weights": "size of the weight change"}


def finder_label(name: str) -> str:
    """A measure or a rival as readers know it."""
    return RIVALS[name] if name in RIVALS else MEASURES[name].label


def make_headline(table: pd.DataFrame) -> str:
    """Frozen states under rounding, then planted layers by their answers, each beside its rivals."""
    if table.empty:
        return "No measure could be held against a known truth; the reasons are below."
    whole = table[~table["matched"]]
    parts = []
    frozen = whole[(whole["truth"] == "frozen") & (whole["bits"] == whole["bits"].where(whole["bits"] > 0).min())]
    if len(frozen):
        bits = int(frozen["bits"].iloc[0])
        text = f"Rounded to {bits} bits, frozen layers are told from trained ones with an area of {_range(frozen)}"
        rival = f"{RIVALS['depth']} reaches {_of(frozen, 'depth')}"
        parts.append(f"{text}; {rival}. Among layers of equal depth it is {_range(frozen, 'same_depth')}.")
    planted = whole[whole["truth"] == "planted"]
    if len(planted):
        readings = {name: planted[planted["reading"] == name] for name in ("state", "drop", "answer")}
        parts.append(
            f"Where any layer may have changed, its state says so with {_range(readings['state'])}, its answer to the "
            f"base's state with {_range(readings['answer'])}. Held against the same layer of other models, that answer "
            f"reaches {_range(readings['answer'], 'same_depth')}, and the {RIVALS['weights']} "
            f"{_of(readings['state'], 'weights', 'same_depth')} (over all layers {_of(readings['state'], 'weights')})."
        )
    return " ".join(parts)


def _range(rows: pd.DataFrame, area: str = "auc") -> str:
    """The lowest and the highest area over the measures, named."""
    mine = rows[~rows["finder"].isin(RIVALS)].dropna(subset=[area])
    if mine.empty:
        return "n/a"
    low, high = mine.loc[mine[area].idxmin()], mine.loc[mine[area].idxmax()]
    if text_of(low[area]) == text_of(high[area]):
        return f"{text_of(low[area])} by every measure"
    return " to ".join(f"{text_of(row[area])} ({finder_label(row['finder'])})" for row in (low, high))


def _of(rows: pd.DataFrame, name: str, area: str = "auc") -> str:
    mine = rows[rows["finder"] == name]
    return text_of(float(mine[area].iloc[0])) if len(mine) else "n/a"


CAVEATS = {
    "Equal bit for bit is no test.": (
        "Layers that did not train give the same vectors, and any measure answers 1: the first "
        "column shows it. The others round the fine-tune, so that a measure has something to tell "
        "apart."
    ),
    "In a frozen model depth says it all.": (
        "Lower layers froze and upper ones trained, so the layer's number alone comes near any "
        "measure; at equal depth only layers 3 and 4 of four models are left, eight pairs. "
        "Planted models have no such order."
    ),
    "One threshold does not fit all layers.": (
        "Rounding and changes grow on the way up, each at its own pace. Held against the same "
        "layer of other models (column `same_depth`), a layer is told far more surely than "
        "against the others of its own model."
    ),
    "A state is not a layer.": (
        "What one layer changes is handed on to all above it. A similarity by layer says from "
        "where on a model differs, not which layers were changed; give each layer the base's own "
        "state to see that."
    ),
    "Weights need no measure.": (
        "Where base and fine-tune are both at hand, the size of a layer's weight change says "
        "which layers changed, until it is smaller than the rounding."
    ),
}

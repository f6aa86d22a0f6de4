"""Which measure to trust, in sentences made from the areas under the curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.rsa.layers.text import number
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
    if number(low[area]) == number(high[area]):
        return f"{number(low[area])} by every measure"
    return " to ".join(f"{number(row[area])} ({finder_label(row['finder'])})" for row in (low, high))


def _of(rows: pd.DataFrame, name: str, area: str = "auc") -> str:
    mine = rows[rows["finder"] == name]
    return number(float(mine[area].iloc[0])) if len(mine) else "n/a"

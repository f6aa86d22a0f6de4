"""Through training, in sentences made from the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.results.estimates import estimate_of
from core.results.names import short_names
from core.results.numbers import text_of
from core.rsa.measures.registry import MEASURES

if TYPE_CHECKING:
    import pandas as pd


def make_headline(tables: dict[str, pd.DataFrame], measure: str, end: str) -> str:
    """From the first step to the last: the top layer's similarity, the peak, the loss; another run for scale."""
    table = tables["training"]
    if table.empty:
        return "No step could be compared; the reasons are below."
    models = list(dict.fromkeys(table["model"]))
    first, last = models[0], models[-1]
    names = short_names((end, *models))
    top = int(table["layer"].max())
    label = MEASURES[measure].label
    start, late = (_at(table, model, top) for model in (first, last))
    text = f"{label} of the top layer with the end of training goes from {start} to {late}"
    said = f" From {names[first]} to {names[last]}, compared with {names[end]}"
    unrelated, more = tables.get("others"), ""
    if unrelated is not None and len(unrelated):
        ref = str(unrelated["model"].iloc[0])
        there = _at(unrelated, ref, top)
        beyond = table[table["model"] == last].set_index("layer")["beyond"]
        more = f" Beyond that run it is furthest at layer {int(beyond.idxmax())} (by {text_of(float(beyond.max()))})."
        text += f"; {short_names((end, ref))[ref]}, the end of another run, has {there}"
    losses = tables["loss"]
    mine = losses[losses["model"].isin(models)]
    if len(mine) > 1:
        losses_at = [text_of(float(mine["loss"].iloc[place]), "amount") for place in (0, -1)]
        said += f"; the loss goes from {losses_at[0]} to {losses_at[1]}"
    text = f"{text}.{said}.{more}"
    peaks = tables["peaks"]
    clear = peaks[peaks["clear"]]
    if clear.empty:
        return f"{text} At no step is one layer nearer to its end than every other for certain."
    layers = list(dict.fromkeys(int(layer) for layer in clear["layer"]))
    steps = "every step" if len(clear) == len(peaks) else f"{len(clear)} of {len(peaks)} steps"
    named = f"layer {layers[0]}" if len(layers) == 1 else f"layers {', '.join(map(str, layers))} in turn"
    return f"{text} Nearest to its end for certain is {named}, at {steps}."


def _at(table: pd.DataFrame, model: str, layer: int) -> str:
    """A model's similarity at a layer."""
    return estimate_of(table[(table["model"] == model) & (table["layer"] == layer)].iloc[0], "similarity").text


CAVEATS = {
    "A late step is near the end because it is late.": (
        "What counts is which layers get there first, and how far another run's end (dashed) "
        "comes without any step in common."
    ),
    "Layer 0 is a table of words.": ("It has no layer below it to wait for, so it settles before the others may."),
    "An untrained model is not at 0.": (
        "Its layers are alike where words are; read step 0 beside the null in the tooltip."
    ),
    "Five steps of one run.": ("Bands are over sentences. Another run may pass through its layers in another order."),
}

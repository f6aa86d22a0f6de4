"""What each view of the RSA page shows, in a sentence short enough to stand above a chart: made from the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.models.changes import shares_no_start
from core.results.differences import banded_differences
from core.results.estimates import estimate_of
from core.results.names import short_name, short_names
from core.results.numbers import text_of
from core.rsa.layers.notices import UNEQUAL, moved_sizes
from core.rsa.layers.text import CHANGES, changed_layers, layers_in_words, uncertain_layers, verb_of
from core.rsa.measures.registry import MEASURES

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

NAMED = 3  # models with a clause of their own


def curves_sentence(result: Result) -> str:
    """Which layers each model changes, and what another pretraining seed scores; "" where there is nothing."""
    table = result.table
    models = tuple(dict.fromkeys(table["model"]))
    if not models:
        return ""
    names, label = short_names(models), MEASURES[result.spec["measure"]].label
    clauses: list[str] = []
    mixed = bool(table["apart"].map(shares_no_start).any())
    last = -1  # the layer that was named last is not named again
    for place, model in enumerate(models[:NAMED]):
        said, last = _changes(
            names[model], table[table["model"] == model].sort_values("layer"), label if not place else "", last, mixed
        )
        clauses.append(said)
    text = "; ".join(clauses)
    if len(models) > NAMED:
        rest = [table[table["model"] == model] for model in models[NAMED:]]
        changed = sum(bool(changed_layers(rows)) and verb_of(rows) == CHANGES for rows in rest)
        text += f"; {changed} of {len(models) - NAMED} more change a layer"
    return f"{text}.{_yardstick(result, last)}{_moved(result)}"


def grid_sentence(result: Result) -> str:
    """Whether each layer is most like the same layer of the base, or another; "" without a grid."""
    grid = result.tables.get("grid")
    if grid is None or grid.empty:
        return ""
    base = short_name(str(result.spec["base"]))
    same, moved = [], []
    for model in dict.fromkeys(grid["model"]):
        rows = grid[(grid["model"] == model) & grid["similarity"].notna()]
        best = rows.loc[rows.groupby("layer")["similarity"].idxmax()]
        away = best[best["layer"] != best["base_layer"]]
        if away.empty:
            same.append(short_name(model))
            continue
        top = away.loc[away["layer"].idxmax()]
        stays = rows[(rows["layer"] == top["layer"]) & (rows["base_layer"] == top["layer"])]["similarity"]
        against = f", against {text_of(float(stays.iloc[0]))} with its own" if len(stays) else ""
        moved.append(
            f"{len(away)} of {len(best)} layers of {short_name(model)} are most like another layer of {base}: "
            f"layer {int(top['layer'])} like {int(top['base_layer'])} ({text_of(float(top['similarity']))}{against})"
        )
    parts = moved[:1]
    if len(moved) > 1:
        parts.append(f"so are layers of {len(moved) - 1} more model{'s' if len(moved) > 2 else ''}")
    if same:
        listed = ", ".join(same[:NAMED]) + (f" and {len(same) - NAMED} more" if len(same) > NAMED else "")
        diagonal = f"every layer of {listed} is most like the same layer of {base}"
        parts.append(f"all of {listed} like their own" if moved else diagonal)
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if text.startswith("every") else f"{text}."


def texts_sentence(result: Result) -> str:
    """Whether the two texts differ, by the largest difference that any model has at any layer, with its band.

    The band of a difference is put together from the two curves' own bands (MOVER: Zou & Donner 2008, Statistics in
    Medicine 27), which takes the texts' sentences as drawn independently. It is widened for the number of layers and
    models looked at (Bonferroni, with the quantiles of a normal distribution), since the largest of many is reported.
    """
    table = result.tables.get("domains")
    if table is None or table["corpus"].nunique() < 2:
        return ""
    first, second = dict.fromkeys(table["corpus"])
    pairs = text_differences(table)
    pairs = pairs[pairs["low"].notna()]
    if pairs.empty:
        return "Whether the texts differ cannot be told: there are no bands."
    told = pairs[(pairs["low"] > 0) | (pairs["high"] < 0)]
    row = (told if len(told) else pairs).loc[lambda rows: rows["difference"].abs().idxmax()]
    where = f"{short_name(row['model'])} at layer {int(row['layer'])}"
    difference = estimate_of(row, "difference")
    if told.empty:
        return f"The texts are not shown to differ at any layer: the largest difference, {where}, is {difference.text}."
    return (
        f"The texts differ at {len(told)} of {len(pairs)} points, most for {where}: "
        f"{difference.direction('more', 'less')} similar on {second} than on {first}."
    )


def text_differences(table: pd.DataFrame) -> pd.DataFrame:
    """Second text less first, by model and layer, with bands that hold together.

    Args:
        table: corpus (two of them), model, layer, similarity, low, high.

    Returns:
        model, layer, difference, low, high; layers that both texts could measure.
    """
    first, second = dict.fromkeys(table["corpus"])
    here, away = (table[table["corpus"] == corpus] for corpus in (first, second))
    return banded_differences(here, away, ("model", "layer"), "similarity")


def _changes(name: str, rows: pd.DataFrame, label: str, said_layer: int, mixed: bool) -> tuple[str, int]:
    """One model's clause and the layer it names; the first has verb and measure, with `mixed` all have verbs."""
    measured = rows[rows["similarity"].notna()]
    if measured.empty:
        return f"{name} has no layer that can be compared", said_layer
    layers = layers_in_words(changed_layers(rows), measured["layer"].astype(int).tolist(), uncertain_layers(rows))
    if layers.startswith("every layer from") and layers.endswith(" up"):
        layers = layers.removeprefix("every layer ").removesuffix(" up")
        layers = f"layers {layers} up" if label or mixed else layers
    most = measured.loc[measured["similarity"].idxmin()]
    layer = int(most["layer"])
    place = f" at layer {layer}" if layer != said_layer else ""
    verb, measure = f"{verb_of(rows)} " if label or mixed else "", f"{label} " if label else ""
    return f"{name} {verb}{layers} ({measure}{estimate_of(most, 'similarity').text}{place})", layer


def _yardstick(result: Result, said_layer: int) -> str:
    """What another pretraining seed scores where the models change most; its layer, unless it was named last."""
    references = result.tables.get("references")
    measured = result.table[result.table["similarity"].notna()]
    if references is None or references.empty or measured.empty:
        return ""
    layer = int(measured.loc[measured["similarity"].idxmin(), "layer"])
    there = references[(references["layer"] == layer) & ~references["model"].str.startswith("random:")]
    if there.empty or there["similarity"].isna().all():
        return ""
    return (
        f" Another seed: {text_of(float(there['similarity'].iloc[0]))}{f' at layer {layer}' * (layer != said_layer)}."
    )


def _moved(result: Result) -> str:
    """That the weights moved unequally far, which is a rival of every comparison above."""
    sizes = moved_sizes(result.table)
    if result.spec.get("matched_size") or len(sizes) < 2 or sizes.max() < UNEQUAL * sizes.min():
        return ""
    return f" Weight changes differ: {text_of(float(sizes.min()))} to {text_of(float(sizes.max()))}."

"""The views of the study: what each draws, with its headline and its tables."""

from __future__ import annotations

from functools import partial

from core.results.drawing.panels import Panels
from core.studies.alignment.seeds.charts import draw_grid, method_chart, pair_chart
from core.studies.alignment.seeds.curves import curve_chart, draw_gains, errors_chart, trained
from core.studies.alignment.seeds.space import first_map, mapped_pairs, space_charts
from core.studies.alignment.seeds.spec import AGAIN
from core.studies.alignment.seeds.statements import NOTHING, WINDOW, best_map, judged
from core.studies.alignment.seeds.text import WHICH, gain_sentence, named
from core.studies.alignment.seeds.view_text import (
    grid_sentence,
    layer_sentence,
    method_sentence,
    pairs_sentence,
    training_sentence,
)
from core.studies.kit import PAGE, Chart, Context, Result, View
from core.studies.text_kit import short_name, text_of

METHOD, LAYER, GAINS, GRID = "method", "layer", "gains", "grid"  # keys of views
PAIRS, SPACE, TRAINING = "pairs", "space", "training"


def space_sentence(
    result: Result, source: str = "", target: str = "", method: str = "", layer: int | None = None
) -> str:
    """Say how well one map at one layer predicts held-out rows: the first pair, its first map and
    the top layer, where the reader has not chosen."""
    if not mapped_pairs(result):
        return ""
    source, target, method, layer = _mapped(result, source, target, method, layer)
    words, rows = judged(result.tables["methods"]), result.table
    rows = rows[(rows["source"] == source) & (rows["target"] == target)]
    rows = rows[(rows["layer"] == layer) & (rows["words"] == words) & (rows["split"] == "test")]
    errors = rows.groupby("method")["nmse"].first()
    if method not in errors:
        return ""
    shares = {
        name: "none" if error > 1 - NOTHING else text_of(1 - error, "per cent")
        for name, error in errors.items()
    }
    rivals = {WINDOW: "words alone (static window)", "shuffled": "shuffled words"}
    beside = "".join(f", {text} {shares[name]}" for name, text in rivals.items() if name in shares)
    moves = "does not move" if shares[method] == "none" else "moves"
    return (
        f"At layer {layer}, {named(method)} {moves} {short_name(source)}'s words to "
        f"{short_name(target)}'s and predicts {shares[method]} of their variance "
        f"({WHICH[words]}){beside}."
    )


def draw_method(result: Result, *, context: Context = PAGE) -> dict[str, Chart]:
    """Draw the error by map, if a pair of the first group was aligned."""
    aligned = "models" in _groups(result)
    return {"methods": method_chart(result, context=context)} if aligned else {}


def first_methods(result: Result, chance: str = "lookup") -> Result:
    """Leave the best map, the rival that reads no hidden state or else ridge, and the per-word
    average, or none where chance level is drawn as a line; all that is of a second run stays."""
    methods = result.tables["methods"]
    if methods.empty:
        return result
    rival = WINDOW if WINDOW in set(methods["method"]) else "ridge"
    shown = {best_map(methods, judged(methods)), rival, chance}
    left = {
        name: result.tables[name][
            result.tables[name]["method"].isin(shown)
            | (result.tables[name].get("group", "") == AGAIN)
        ]
        for name in ("alignment", "methods", "layers")
    }
    return result.with_tables(**left)


def draw_layers(result: Result, *, context: Context = PAGE) -> dict[str, Chart]:
    """Draw errors by layer, a chart for each group of models."""
    names = {"models": "layers", "against": "layers-second-group"}
    return {names[group]: errors_chart(result, group, context=context) for group in _groups(result)}


def draw_pairs(result: Result, *, context: Context = PAGE) -> dict[str, Chart]:
    """Draw the error of every pair by the best map."""
    if "models" not in _groups(result):
        return {}
    means = result.tables["methods"]
    return {"pairs": pair_chart(result, best_map(means, judged(means)), context=context)}


def draw_space(
    result: Result,
    source: str = "",
    target: str = "",
    method: str = "",
    layer: int | None = None,
    *,
    context: Context = PAGE,
) -> Panels:
    """Draw the words of a pair before and after a map; choices as for `space_sentence`."""
    if "models" not in _groups(result) or not mapped_pairs(result):
        return Panels([])
    charts = space_charts(result, *_mapped(result, source, target, method, layer), context=context)
    return Panels(charts, inline=True)


def draw_training(result: Result, *, context: Context = PAGE) -> Panels:
    """Draw validation errors, a chart for each network."""
    charts = [curve_chart(result, method, context=context) for method in trained(result)]
    return Panels(charts, names=["training"] * len(charts))


def _mapped(
    result: Result, source: str, target: str, method: str, layer: int | None
) -> tuple[str, str, str, int]:
    """Choose what a reader has not chosen: the first pair, its first map, the top layer."""
    pair = (source, target) if source else mapped_pairs(result)[0]
    top = int(result.table["layer"].max())
    return *pair, method or first_map(result, *pair), top if layer is None else layer


def _groups(result: Result) -> list[str]:
    """List the groups of models of which a pair was aligned; a second run is drawn within the
    first."""
    groups = dict.fromkeys(map(str, result.tables["layers"]["group"]))
    return [group for group in groups if group != AGAIN]


VIEWS = (
    View(METHOD, draw=draw_method, headline=method_sentence, first=first_methods, table="methods"),
    View(
        LAYER,
        draw=draw_layers,
        headline=layer_sentence,
        first=partial(first_methods, chance=""),
        table="layers",
    ),
    View(
        GAINS,
        draw=draw_gains,
        headline=lambda result: gain_sentence(result.statements),
        table="gains",
    ),
    View(GRID, draw=draw_grid, headline=grid_sentence, table="grid"),
    View(PAIRS, draw=draw_pairs, headline=pairs_sentence, table="alignment"),
    View(SPACE, draw=draw_space, headline=space_sentence, table="alignment"),
    View(TRAINING, draw=draw_training, headline=training_sentence, table="curves"),
)

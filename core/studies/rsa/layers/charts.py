"""Charts of the study: layer functions, similarity by layer, layer against layer, two texts.

A chart without panels stretches to its container.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from core.maths.similarity.registry import MEASURES
from core.models.zoo import second_run
from core.results.drawing.curves import HEIGHT, Look, Rule, layer_chart
from core.results.drawing.style import DASHES, GREY, colours_of, shapes_of
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Result,
    heatmap,
    short_names,
    text_of,
    tip_of,
)
from core.studies.rsa.layers.differences import text_differences

GRID = 300
BESIDE = 296  # of one of two texts: its subtitle takes a second line
# panels of the main figure
STATES, FUNCTIONS, RATIOS = "states", "functions", "random_functions"
RANDOM = "random change"


def similarity_chart(result: Result, part: str, *, context: Context = PAGE) -> Chart:
    """Draw one of `parts_of` by layer: what layers compute, compared with random changes or with
    the base, or how similar states are, with chance level in grey and dashed reference models."""
    if part == RATIOS:
        return _compared(
            result.tables[RATIOS], "ratio", "Layer functions, compared with random changes",
            "1: as different as after a random change with the same singular values; bands: 95 %",
            y_title=tip_of("random_functions.ratio").title, rules=[Rule(RANDOM, 1.0)],
            also=["random_similarity"], context=context,
        )  # fmt: skip
    base = str(result.spec["base"])
    name = short_names((base, *dict.fromkeys(result.table["model"])))[base]
    if part == FUNCTIONS:
        return _curves(
            result, result.tables[FUNCTIONS], None, near=True, context=context,
            title=f"Layer functions: outputs on {name}'s own input",
        )  # fmt: skip
    title = f"States: similarity to {name} by layer" if len(parts_of(result)) > 1 else ""
    references = result.tables.get("references")
    return _curves(result, result.table, references, title=title, context=context)


def parts_of(result: Result) -> tuple[str, ...]:
    """List the panels of the main figure: functions where they were compared, beside random changes
    where these were made, as some layers move more than others after any change; then states."""
    functions = (part for part in (RATIOS, FUNCTIONS) if len(result.tables.get(part, ())))
    return (*list(functions)[:1], STATES)


def domains_chart(result: Result, corpus: str, *, context: Context = PAGE) -> Chart:
    """Draw the same curves on one of two texts, with the same axes."""
    table = result.tables["domains"]
    lowest = float(table[["low", "null_low", "similarity"]].min().min())
    rows = table[table["corpus"] == corpus]
    below = "bands: 95 %; in brackets: weight change"  # one line: the panels stand at one height
    return _curves(result, rows, None, lowest, corpus, below=below, context=context)


def difference_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw by layer how much more similar to the base models are on the second text than on the
    first, as the headline compares them."""
    table = result.tables["domains"]
    first, second = dict.fromkeys(table["corpus"])
    return _compared(
        text_differences(table), "difference", f"{second} minus {first}",
        "0: no difference; bands: 95 %, joint",
        rules=[Rule("no difference", 0.0)], context=context,
    )  # fmt: skip


def grid_chart(result: Result, model: str, *, context: Context = PAGE) -> Chart:
    """Draw the similarity of every layer of the base to every layer of another model, as a
    heatmap."""
    table, names = result.tables["grid"], short_names((result.spec["base"], model))
    return heatmap(
        table[table["model"] == model],
        f"{names[model]}, layer against layer",
        x="layer",
        y="base_layer",
        value="similarity",
        x_title=f"Layer of {names[model]}",
        y_title=f"Layer of {names[result.spec['base']]}",
        value_title=MEASURES[result.spec["measure"]].label,
        height=GRID,
        context=context,
    )


def _curves(
    result: Result,
    table: pd.DataFrame,
    references: pd.DataFrame | None,
    lowest: float | None = None,
    title: str = "",
    near: bool = False,
    below: str | None = None,
    *,
    context: Context,
) -> Chart:
    """Draw chance level, bands, references, curves and points, in that order; `near` leaves chance
    level out and ends the axis with the curves, which lie far above it; `below` is the line below
    the title, where the table does not say it."""
    label = MEASURES[result.spec["measure"]].label
    base = str(result.spec["base"])
    compared = tuple(dict.fromkeys(table["model"]))
    names = curve_names(table)
    rows = table.assign(
        name=table["model"].map(names), who=table["model"].map(short_names(compared))
    )
    floor = float(rows[["low", "null_low", "similarity"]].min().min()) if lowest is None else lowest
    looks = {
        names[ref]: Look(colour, shape)
        for ref, colour, shape in zip(
            compared, colours_of(compared).values(), shapes_of(compared).values(), strict=True
        )
    }
    if references is not None and len(references):
        names_by_ref = _reference_names(references, base)
        looks |= {
            name: Look(GREY, "circle", DASHES[number % len(DASHES)], point=False)
            for number, name in enumerate(names_by_ref.values())
        }
        rows = pd.concat([rows, references.assign(name=references["model"].map(names_by_ref))])
    base_name = short_names((base, *compared))[base]
    return layer_chart(
        rows,
        "similarity",
        looks,
        title or f"Similarity to {base_name} by layer",
        _subtitle(table, near) if below is None else below,
        y_title=label,
        ends=(min(0.0, floor - 0.02) if floor == floor else 0.0, 1.0),
        null="" if near else "Chance level (sentences shuffled)",
        also=["null_low"],
        height=BESIDE if title else HEIGHT,
        context=replace(context, zoomed=True) if near else context,
    )


def _compared(
    table: pd.DataFrame, y: str, title: str, below: str, *, context: Context, **more: Any
) -> Chart:
    """Draw a column by layer, a line for each compared model; the axis includes 0."""
    refs = tuple(dict.fromkeys(table["model"]))
    names, colours, shapes = short_names(refs), colours_of(refs), shapes_of(refs)
    looks = {names[ref]: Look(colours[ref], shapes[ref]) for ref in refs}
    rows = table.assign(name=table["model"].map(names), who=table["model"].map(names))
    return layer_chart(
        rows, y, looks, title, below, zero=True, height=BESIDE, context=context, **more
    )


def _reference_names(references: pd.DataFrame, base: str) -> dict[str, str]:
    """Name the reference models: another seed, a second run, random weights."""
    refs = tuple(dict.fromkeys(references["model"]))
    names, again = short_names((base, *refs)), second_run(base)
    return {
        ref: "random weights"
        if ref.startswith("random:")
        else f"{names[ref]}, {'second run' if ref == again else 'another seed'}"
        for ref in refs
    }


def across_of(count: int) -> int:
    """Choose the panels per row: three if that leaves no gap or saves a row, else two."""
    return 3 if count in (3, 5, 6) else 2


def curve_names(table: pd.DataFrame) -> dict[str, str]:
    """Name each curve: short name, and in brackets the runs pooled and the size of the weight
    change."""
    first = table.drop_duplicates("model").set_index("model")
    short = short_names(tuple(first.index))
    return {str(ref): f"{short[str(ref)]}{_size(row)}" for ref, row in first.iterrows()}


def _size(row: Any) -> str:
    parts = [f"{int(row['runs'])} runs"] if row["runs"] > 1 else []
    if row["relative_change"] == row["relative_change"]:
        kept = f"{text_of(row['relative_change'] * row['scaled'])} of " if row["scaled"] < 1 else ""
        parts.append(f"{kept}{text_of(row['relative_change'])}")
    return f" ({', '.join(parts)})" if parts else ""


def _subtitle(table: pd.DataFrame, near: bool = False) -> str:
    chance = "grey band: chance level (sentences shuffled), 95 %"
    if near and table["null_high"].notna().any():
        highest = text_of(float(table["null_high"].max()))
        chance = f"chance level (sentences shuffled): at most {highest}"
    runs = " and runs" if (table["runs"] > 1).any() else ""
    parts = {  # what is drawn, by its column
        "null_low": chance,
        "low": f"bands: 95 %, over sentences{runs}",
        "relative_change": "in brackets: size of the weight change",
    }
    return "; ".join(part for column, part in parts.items() if table[column].notna().any())

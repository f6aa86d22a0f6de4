"""The views of the study, each with the sentence above it: similarity by layer, layer against
layer, two texts."""

from __future__ import annotations

import pandas as pd

from core.models.zoo import second_run
from core.studies.chart_kit import PAGE, Context, Panels, Result
from core.studies.rsa.layers.charts import (
    FUNCTIONS,
    RATIOS,
    across_of,
    difference_chart,
    domains_chart,
    grid_chart,
    parts_of,
    similarity_chart,
)
from core.studies.rsa.layers.differences import (
    OTHER_LAYER,
    SAME_LAYER,
    TEXTS_ALIKE,
    grid_statements,
    measured,
    text_differences,
    text_statement,
)
from core.studies.rsa.layers.notice_text import said
from core.studies.rsa.layers.text import changed_sentences, summarise
from core.studies.text_kit import (
    Statement,
    counted,
    listed,
    short_name,
    text_of,
)
from core.study import View

CURVES, GRID, TEXTS = "curves", "grid", "texts"  # keys of views
NAMED = 3  # models that the grid's sentence names


def draw_curves(result: Result, *, context: Context = PAGE) -> Panels:
    """Draw states, and functions where they were compared."""
    charts = [similarity_chart(result, part, context=context) for part in parts_of(result)]
    return Panels(charts, across=across_of(len(charts)), names=["similarity"] * len(charts))


def curves_sentences(result: Result) -> list[str]:
    """Say which layers changed, by their functions, and where states differ; without
    functions, where the models differ from the base."""
    if result.table.empty:
        return []
    return [*changed_sentences(result.statements), summarise(result.statements)]


def first_curves(result: Result) -> Result:
    """Leave of the reference models the one that the headline compares with: another seed."""
    references = result.tables.get("references")
    if references is None or references.empty:
        return result
    again, refs = second_run(str(result.spec["base"])), references["model"]
    rivals = references[~refs.str.startswith("random:") & (refs != again)]
    return result.with_tables(references=rivals) if len(rivals) else result


def draw_grid(result: Result, *, context: Context = PAGE) -> Panels:
    """Draw a heatmap for each model."""
    models = _each(result, "grid", "model")
    charts = [grid_chart(result, model, context=context) for model in models]
    return Panels(charts, across=across_of(len(models)), names=["grid"] * len(charts))


def grid_sentence(result: Result) -> str:
    """Say by how much each layer is more similar to the same layer of the base than to any other at
    least, or less similar at most; "" without a grid."""
    grid = result.tables.get("grid")
    if grid is None or grid.empty:
        return ""
    # A grid has no chance levels of its own; those of the layers themselves stand for it.
    without = set(result.table["model"]) - set(measured(result.table)["model"])
    grid = grid[~grid["model"].isin(without)]
    statements = grid_statements(grid, str(result.spec["base"]))
    same, moved = (
        [each for each in statements if each.verdict == verdict]
        for verdict in (SAME_LAYER, OTHER_LAYER)
    )
    parts = []
    if same:
        shown = listed([short_name(each.subject) for each in same], NAMED)
        parts.append(
            f"every layer of {shown} is most similar to the same layer"
            + ("" if moved else f", by at least {text_of(min(each.number.value for each in same))}")
        )
    if moved:
        parts.append(_moved(min(moved, key=lambda each: each.number.value), grid))
    if len(moved) > 1:
        parts.append(f"so are layers of {counted(len(moved) - 1, 'more model', 'more models')}")
    return f"Against the base, {'; '.join(parts)}." if parts else ""


def _moved(statement: Statement, grid: pd.DataFrame) -> str:
    """Say how much more similar a layer is to another layer of the base than to the same one."""
    layer = statement.layers[0]
    rows = grid[(grid["model"] == statement.subject) & (grid["layer"] == layer)]
    to = rows.set_index("base_layer")["similarity"]
    return (
        f"layer {layer} of {short_name(statement.subject)} is {statement.number.size} more similar "
        f"to layer {to.idxmax()} ({text_of(to.max())} against {text_of(to[layer])})"
    )


def draw_texts(result: Result, *, context: Context = PAGE) -> Panels:
    """Draw how the texts differ, which the headline is about, and the curves of each."""
    corpora = _each(result, "domains", "corpus")
    charts = [domains_chart(result, corpus, context=context) for corpus in corpora]
    if len(corpora) == 2 and len(text_differences(result.tables["domains"])):
        charts.insert(0, difference_chart(result, context=context))
    return Panels(charts, across=across_of(len(charts)), names=["domains"] * len(charts))


def texts_sentence(result: Result) -> str:
    """Say whether the two texts differ, by the largest difference of any model at any layer. Bands
    of differences take the texts' sentences as drawn independently (MOVER: Zou & Donner 2008) and
    hold for all layers and models together (Bonferroni), as the largest is reported."""
    table = result.tables.get("domains")
    if table is None or table["corpus"].nunique() < 2:
        return ""
    largest = text_statement(table)
    if largest is None:
        return said("texts_unknown")
    where = f"{short_name(largest.subject)} at layer {largest.layers[0]}"
    if largest.verdict == TEXTS_ALIKE:
        return said("texts_alike", largest=largest.number.text, where=where)
    first, second = dict.fromkeys(table["corpus"])
    pairs = text_differences(table).dropna(subset=["low"])
    apart = int(((pairs["low"] > 0) | (pairs["high"] < 0)).sum())
    return (
        f"The texts differ in {apart} of {len(pairs)} comparisons, most for {where}: its "
        f"similarity is {largest.number.direction('higher', 'lower')} on {second} than on {first}."
    )


def _each(result: Result, table: str, column: str) -> list[str]:
    """List the values of a table's column, each once; none without the table."""
    rows = result.tables.get(table)
    return [] if rows is None else list(dict.fromkeys(rows[column]))


VIEWS = (
    View(
        CURVES,
        draw=draw_curves,
        headline=curves_sentences,
        tables=lambda result: {
            name: table
            for name, table in result.tables.items()
            if name in ("similarity", FUNCTIONS, RATIOS)
        },
        first=first_curves,
    ),
    View(GRID, draw=draw_grid, headline=grid_sentence, table="grid"),
    View(TEXTS, draw=draw_texts, headline=texts_sentence, table="domains"),
)

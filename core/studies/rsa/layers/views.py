"""The views of the study: similarity by layer, layer against layer, two texts."""

from __future__ import annotations

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
from core.studies.rsa.layers.differences import text_differences
from core.studies.rsa.layers.text import curves_sentence, grid_sentence, texts_sentence
from core.study import View

CURVES, GRID, TEXTS = "curves", "grid", "texts"  # keys of views


def draw_curves(result: Result, *, context: Context = PAGE) -> Panels:
    """Draw states, and functions where they were compared."""
    charts = [similarity_chart(result, part, context=context) for part in parts_of(result)]
    return Panels(charts, across=across_of(len(charts)), names=["similarity"] * len(charts))


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


def draw_texts(result: Result, *, context: Context = PAGE) -> Panels:
    """Draw how the texts differ, which the headline is about, and the curves of each."""
    corpora = _each(result, "domains", "corpus")
    charts = [domains_chart(result, corpus, context=context) for corpus in corpora]
    if len(corpora) == 2 and len(text_differences(result.tables["domains"])):
        charts.insert(0, difference_chart(result, context=context))
    return Panels(charts, across=across_of(len(charts)), names=["domains"] * len(charts))


def _each(result: Result, table: str, column: str) -> list[str]:
    """List the values of a table's column, each once; none without the table."""
    rows = result.tables.get(table)
    return [] if rows is None else list(dict.fromkeys(rows[column]))


VIEWS = (
    View(
        CURVES,
        draw=draw_curves,
        headline=curves_sentence,
        tables=lambda result: {
            name: table
            for name, table in result.tables.items()
            if name in ("similarity", FUNCTIONS, RATIOS)
        },
        first=first_curves,
    ),
    View(
        GRID,
        draw=draw_grid,
        headline=grid_sentence,
        table="grid",
    ),
    View(
        TEXTS,
        draw=draw_texts,
        headline=texts_sentence,
        table="domains",
    ),
)

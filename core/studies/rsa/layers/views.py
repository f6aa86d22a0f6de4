"""The views of the study, each with the sentence above it: similarity by layer, layer against
layer, two texts."""

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
from core.studies.rsa.layers.differences import (
    IN_PLACE,
    NEAREST,
    OF_VIEWS,
    OTHER_LAYER,
    SAME_LAYER,
    TEXTS_ALIKE,
    TEXTS_APART,
    TEXTS_COMPARED,
    TEXTS_DIFFER,
    text_differences,
    view_statements,
)
from core.studies.rsa.layers.notice_text import said
from core.studies.rsa.layers.text import Facts, changed_sentences, facts_of, summarise
from core.studies.text_kit import counted, listed, short_name
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
    facts = _facts_of_views(result)
    same, moved = ([*facts.get(each, {}).values()] for each in (SAME_LAYER, OTHER_LAYER))
    parts = []
    if same:
        shown = listed([short_name(each.subject) for each in same], NAMED)
        least = min((each.number for each in same), key=lambda number: number.value)
        parts.append(
            f"every layer of {shown} is most similar to the same layer"
            + ("" if moved else f", by at least {least.text}")
        )
    if moved:
        furthest = min(moved, key=lambda each: each.number.value)
        parts.append(_moved(facts, furthest.subject))
    if len(moved) > 1:
        parts.append(f"so are layers of {counted(len(moved) - 1, 'more model', 'more models')}")
    return f"Against the base, {'; '.join(parts)}." if parts else ""


def _moved(facts: Facts, model: str) -> str:
    """Say how much more similar a layer is to another layer of the base than to the same one."""
    gap, to, at = (facts[verdict][model] for verdict in (OTHER_LAYER, NEAREST, IN_PLACE))
    return (
        f"layer {at.layers[0]} of {short_name(model)} is {gap.number.size} more similar "
        f"to layer {to.layers[0]} ({to.number.text} against {at.number.text})"
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
    facts = _facts_of_views(result)
    if TEXTS_COMPARED not in facts:
        return ""
    stated = facts.get(TEXTS_DIFFER) or facts.get(TEXTS_ALIKE)
    if not stated:
        return said("texts_unknown")
    (largest,) = stated.values()
    where = f"{short_name(largest.subject)} at layer {largest.layers[0]}"
    if largest.verdict == TEXTS_ALIKE:
        return said("texts_alike", largest=largest.number.text, where=where)
    (pairs,), (apart,) = (facts[each].values() for each in (TEXTS_COMPARED, TEXTS_APART))
    more = largest.number.direction("higher", "lower")
    return (
        f"The texts differ in {apart.number.text} of {pairs.number.text} comparisons, most for "
        f"{where}: its similarity is {more} on {pairs.subject} than on {pairs.baseline}."
    )


def _facts_of_views(result: Result) -> Facts:
    """Sort what a result states; of one of an earlier version, which states nothing of grid and
    texts, what its tables show of them."""
    facts = facts_of(result.statements)
    if OF_VIEWS.isdisjoint(facts):
        return facts_of(view_statements(result.tables, str(result.spec["base"])))
    return facts


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

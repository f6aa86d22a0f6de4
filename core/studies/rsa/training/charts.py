"""Charts of a training run: similarity to the final model by step, a line per layer, and the
loss."""

from __future__ import annotations

from core.maths.similarity.registry import MEASURES
from core.results.drawing.curves import Rule, graded
from core.results.drawing.style import DASHES
from core.results.drawing.training import loss_chart, rings, step_chart
from core.results.names import short_name, short_names
from core.studies.chart_kit import PAGE, Chart, Context, Result, span_of


def training_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw a line per layer with its band, rings round the most similar layer, other runs as grey
    rules."""
    table, label = result.table, MEASURES[result.spec["measure"]].label
    layers = sorted({int(layer) for layer in table["layer"]})
    last = max(layers)
    rows = table.assign(name=[f"layer {layer:.0f}" for layer in table["layer"]])
    unrelated = result.tables.get("others")
    tops = unrelated[unrelated["layer"] == last] if unrelated is not None else table.iloc[:0]
    names = short_names(tops["model"])
    rules = [
        Rule(f"{names[row.model]}, layer {last}", row.similarity, DASHES[number % len(DASHES)],
             {"step": names[row.model], "layer": last})
        for number, row in enumerate(tops.itertuples())
    ]  # fmt: skip
    grey = "; grey: another run's final model" if rules else ""
    return step_chart(
        rows,
        "similarity",
        f"{label} with the final model",
        graded([f"layer {layer}" for layer in layers], point=False),
        f"Checkpoints compared with the final model, {short_name(str(result.spec['end']))}",
        f"rings: the most similar layer; bands: 95 %, over sentences{grey}",
        ends=span_of(table["low"], table["similarity"], zero=True, top=1.0),
        rules=rules,
        under=[rings(result.tables["peaks"])],
        context=context,
    )


def first_layers(result: Result) -> Result:
    """Leave the embeddings and the top layer, which the headline compares with another run."""
    ends = result.table["layer"].isin((0, result.table["layer"].max()))
    peaks = result.tables["peaks"]
    named = peaks["layer"].isin(result.table.loc[ends, "layer"])
    return result.with_tables(training=result.table[ends], peaks=peaks[named])


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Draw every chart that the result has the numbers for, by file name; the main one first."""
    charts: dict[str, Chart] = {"training": training_chart(result, context=context)}
    if len(result.tables["loss"]) > 1:
        charts["training-loss"] = loss_chart(result.tables["loss"], context=context)
    return charts

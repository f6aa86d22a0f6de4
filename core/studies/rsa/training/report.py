"""Similarity through training in a report: statements, headline and charts: similarity to the final
model by step, a line per layer, and the loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from core.maths.similarity.registry import MEASURES
from core.models.steps import progress_of
from core.results.drawing.curves import Rule, graded
from core.results.drawing.style import DASHES
from core.results.drawing.training import loss_chart, rings, step_chart
from core.studies.chart_kit import PAGE, Chart, Context, Result, span_of
from core.studies.rsa.layers.differences import measured
from core.studies.text_kit import (
    Estimate,
    Statement,
    by_number,
    estimate_of,
    layers_in_words,
    listed,
    sentence_of,
    short_name,
    short_names,
    words_beside,
)

said = words_beside(__file__).sentence
FIRST = "similarity of the first checkpoint's top layer to the final model"
LAST = "similarity of the last checkpoint's top layer to the final model"
OTHER_RUN = "similarity of another run's top layer to the final model"
PASSES = "first checkpoint more similar to the final model than another run is, top layer"
BEFORE = "similarity of the checkpoint before that one"
LOSS_FIRST, LOSS_LAST = "loss of the first checkpoint", "loss of the last checkpoint"
NEAREST = "significantly the layer most similar to the final model"  # at so many checkpoints
NO_NEAREST = "no layer is significantly the most similar to the final model"


def statements_of(tables: Mapping[str, pd.DataFrame], end: str) -> tuple[Statement, ...]:
    """State how similar the first and the last checkpoint are to the final model, compared with
    another run's, how the loss falls, and which layer is nearest."""
    table = tables["training"]
    top = table["layer"].max()
    if measured(table[table["layer"] == top]).empty:
        return ()
    top, models = int(top), list(dict.fromkeys(table["model"]))
    statements = [
        _at(table, model, verdict, top, end)
        for model, verdict in ((models[0], FIRST), (models[-1], LAST))
    ]
    runs = tables.get("others")
    if runs is not None and len(runs):
        statements.append(_at(runs, str(runs["model"].iloc[0]), OTHER_RUN, top, end))
        statements += _passing(table, models, statements[-1].number, top, end)
    losses = tables["loss"][tables["loss"]["model"].isin(models)]
    ends = ((0, LOSS_FIRST), (-1, LOSS_LAST)) if len(losses) > 1 else ()
    statements += [
        Statement(
            str(losses["model"].iloc[place]),
            verdict,
            Estimate(float(losses["loss"].iloc[place]), kind="amount"),
        )
        for place, verdict in ends
    ]
    clear = tables["peaks"][tables["peaks"]["clear"]]
    statements += [
        Statement(
            end,
            NEAREST,
            Estimate(float(len(rows)), kind="whole"),
            (int(layer),),
            "every other layer",
        )
        for layer, rows in clear.groupby("layer")
    ]
    if clear.empty:
        statements.append(Statement(end, NO_NEAREST, baseline="every other layer"))
    return tuple(statements)


def _passing(
    table: pd.DataFrame, models: Sequence[str], other: Estimate, top: int, end: str
) -> list[Statement]:
    """State the first checkpoint whose band lies above another run's, and the one before it;
    nothing where none does."""
    for number, model in enumerate(models):
        passes = _at(table, model, PASSES, top, end)
        if passes.number.low > other.high:
            before = [_at(table, earlier, BEFORE, top, end) for earlier in models[:number][-1:]]
            return [passes, *before]
    return []


def _at(table: pd.DataFrame, model: str, verdict: str, layer: int, end: str) -> Statement:
    """State a model's similarity at a layer."""
    row = table[(table["model"] == model) & (table["layer"] == layer)].iloc[0]
    return Statement(model, verdict, estimate_of(row, "similarity"), (layer,), end)


def make_headline(statements: Sequence[Statement], label: str, steps: int) -> str:
    """Say when the top layer comes to resemble the final model more than another run does, and how
    far it approaches it; then loss and layers."""
    facts = {statement.verdict: statement for statement in statements}
    if FIRST not in facts:
        return ""
    first, last = facts[FIRST], facts[LAST]
    names = short_names(
        dict.fromkeys(s.subject for s in statements if s.verdict not in (NEAREST, NO_NEAREST))
    )
    run = facts.get(OTHER_RUN)
    change = _direction(first.number, last.number)
    beside = (
        f"; another run's final model ({names[run.subject]}) scores {run.number.text}"
        if run
        else ""
    )
    parts = [
        *_when(facts, names, label),
        f"Over training, the top layer's similarity to the final model ({label}) {change}{beside}.",
    ]
    between = f"From {names[first.subject]} to {names[last.subject]}"
    if LOSS_FIRST in facts:
        before, after = (facts[verdict].number for verdict in (LOSS_FIRST, LOSS_LAST))
        verb = "falls" if after.value < before.value else "rises"
        parts.append(f"{between}, the held-out loss {verb} from {before.text} to {after.text}.")
    return " ".join([*parts, _nearest(statements, steps)])


def _when(facts: Mapping[str, Statement], names: Mapping[str, str], label: str) -> list[str]:
    """Say between which steps the run comes to resemble its end more than another run does; nothing
    without another run."""
    if OTHER_RUN not in facts:
        return []
    run = facts[OTHER_RUN]
    rival = f"another run's ({names[run.subject]}: {run.number.value_text})"
    similarity = f"its top layer's similarity to the end ({label})"
    if PASSES not in facts:
        until = _between([facts[LAST].subject], names)
        return [f"It does not until {until}: {similarity} is not above {rival}."]
    passes = facts[PASSES]
    reached = passes.number.text
    if BEFORE not in facts:
        since = _between([passes.subject], names)
        return [f"It does from {since} on: {similarity} is {reached} there, above {rival}."]
    before = facts[BEFORE]
    total = progress_of(passes.baseline)[0]
    of = "" if total is None else f" of {total:,}"
    return [
        f"It does between {_between([before.subject, passes.subject], names)}{of}: {similarity} "
        f"rises from {before.number.value_text} to {reached}, past {rival}."
    ]


def _between(refs: Sequence[str], names: Mapping[str, str]) -> str:
    """Write the steps of checkpoints, "steps 800 and 3,200"; their names where one is not known."""
    steps = [progress_of(ref)[0] for ref in refs]
    numbers = [f"{step:,}" for step in steps if step is not None]
    if len(numbers) < len(refs):
        return listed([names[ref] for ref in refs])
    return f"{by_number(len(refs), 'step', 'steps')} {listed(numbers)}"


def _direction(start: Estimate, end: Estimate) -> str:
    """Say whether the similarity rises, falls, or does neither by more than the bands."""
    if end.low > start.high:
        return f"rises from {start.text} to {end.text}"
    if end.high < start.low:
        return f"falls from {start.text} to {end.text}"
    return f"does not change detectably ({start.text} and {end.text})"


def _nearest(statements: Sequence[Statement], steps: int) -> str:
    """Say which layer is most similar to the final model, and at how many checkpoints."""
    nearest = [statement for statement in statements if statement.verdict == NEAREST]
    if not nearest:
        return said("nowhere")
    clauses = [
        f"at {statement.number.text} of {steps} checkpoints {layers_in_words(statement.layers)}"
        for statement in nearest
    ]
    return sentence_of(
        f"{', '.join(clauses)} is significantly more similar to the final model than every other "
        "layer"
    )


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

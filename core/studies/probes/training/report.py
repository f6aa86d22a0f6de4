"""What probes through training show: statements, sentences made of them, charts by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

import core.results.drawing.training as drawing
from core.maths.statistics import SIGNIFICANT
from core.results.drawing.axes import Plane, span_of
from core.results.drawing.curves import Look, graded
from core.results.drawing.style import BLUE
from core.results.metrics import metric_label, metric_of
from core.studies.kit import PAGE, Chart, Context, Result
from core.studies.probes.trees.charts import baseline_rules
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.probes.trees.statements import BEST, CONTROL_TREES, SIMILAR, compared
from core.studies.probes.trees.tables import CHAIN, OF_CONTROL, POSITION, WINDOW, rows_where
from core.studies.probes.trees.text import CITATIONS as PROBES
from core.studies.probes.trees.text import compared_with
from core.studies.probes.trees.text import make_methods as probes_methods
from core.studies.text_kit import (
    TWO_LINES,
    Estimate,
    Statement,
    estimate_of,
    short_name,
    short_names,
    text_of,
    words_beside,
)

CITATIONS = (*PROBES, "liu2021", "saphra2019")
METRIC = "uuas"
said = words_beside(__file__).sentence
# Verdicts
START = "first step"
MOVES = "best layer is not that of the final model"
STAYS = "best layer is the same at every step"
UNDECIDED = "best layer does not move detectably"
LOSS = "held-out loss"
NOT_CLEAR = "best layer is not significantly better than every other"
LAYER = {MOVES: "moves", STAYS: "stays", UNDECIDED: "undecided"}  # sentences
LOWEST, HIGHEST = "lowest score of any layer", "highest score of any layer"
METRICS = (METRIC, "dspr")
AT_BEST, UNREAL = "best layer", "best layer, control trees"  # names of lines


def statements_of(tables: Mapping[str, pd.DataFrame], metric: str) -> tuple[Statement, ...]:
    """State of one metric the first step's and the final model's best scores, the latter's margins,
    and whether the best layer moves; nothing where no model was probed."""
    best = rows_where(tables["best"], metric=metric)
    if best.empty:
        return ()
    first, last = best.iloc[0], best.iloc[-1]
    final, layer = str(last["model"]), int(last["layer"])
    score = Statement(final, BEST, estimate_of(last, "value"), (layer,), metric=metric)
    if len(best) == 1:
        return (score,)
    start = estimate_of(first, "value")
    margins = rows_where(tables["margins"], model=final, metric=metric, layer=layer)
    above = [
        compared(final, row, "margin", str(row["rival"]), metric) for _, row in margins.iterrows()
    ]
    return (
        Statement(str(first["model"]), START, start, (int(first["layer"]),), metric=metric),
        score,
        *above,
        *_moves(best.iloc[:-1], final, layer, metric),
    )


def loss_statements(loss: pd.DataFrame) -> tuple[Statement, ...]:
    """State the held-out loss of the first step and of the final model, where both have one."""
    ends = loss.iloc[[0, -1] if len(loss) > 1 else []]
    return tuple(
        Statement(str(row["model"]), LOSS, Estimate(float(row["loss"]), kind="amount"))
        for _, row in ends.iterrows()
    )


def stated(result: Result, metric: str) -> tuple[Statement, ...]:
    """What a result states of one metric and of the loss; made of its tables where it does not, as
    those of structural probes are."""
    facts = tuple(each for each in result.statements if each.metric == metric)
    losses = [each for each in result.statements if each.verdict == LOSS]
    return (*(facts or statements_of(result.tables, metric)), *losses)


def _moves(before: pd.DataFrame, final: str, layer: int, metric: str) -> list[Statement]:
    """Whether the best layer of any earlier step is detectably another than the final model's."""
    moved = before[before["ahead_low"] > 0]
    if len(moved):
        return [
            Statement(
                str(row["model"]),
                MOVES,
                estimate_of(row, "ahead"),
                (int(row["layer"]),),
                final,
                metric,
            )
            for _, row in moved.iterrows()
        ]
    same = (before["layer"] == layer).all()
    return [Statement(final, STAYS if same else UNDECIDED, None, (layer,), metric=metric)]


def view_sentences(result: Result, metric: str = METRIC) -> Iterator[str]:
    """The headline of one metric."""
    return make_headline(stated(result, metric), metric)


def make_headline(statements: Sequence[Statement], metric: str = METRIC) -> Iterator[str]:
    """Write the statements in sentences: the change of the score, its layer, the baseline, the
    loss."""
    final = next((each for each in statements if each.verdict == BEST), None)
    if final is None:
        return
    names = short_names(dict.fromkeys(each.subject for each in statements))
    start = next((each for each in statements if each.verdict == START), None)
    if start is None:
        quantity = metric_of(metric).quantity
        yield (
            f"The {quantity} is {final.number.text} for {names[final.subject]} at its "
            f"best layer ({final.layers[0]}); no earlier step could be probed."
        )
        return
    margins = {each.baseline: each for each in statements if each.subject == final.subject}
    change = _change(start, final, margins.get(start.subject), metric, names)
    window = compared_with(margins[WINDOW]) if WINDOW in margins else ""
    whole = f"{change}, {window}." if window else f"{change}."
    fits = len(whole) <= TWO_LINES
    yield whole if fits else f"{change}."
    if window and not fits:
        yield f"{names[final.subject]} is {window}."
    yield from _layer_sentence(statements, final.layers[0], names)
    if POSITION in margins:
        yield f"{names[final.subject]} is {compared_with(margins[POSITION])}."
    losses = [each.estimate for each in statements if each.verdict == LOSS and each.estimate]
    if losses:
        first, last = losses[0].value_text, losses[-1].value_text
        yield f"The held-out loss is {first} nats at the first step and {last} at the end."


def _change(
    start: Statement,
    final: Statement,
    margin: Statement | None,
    metric: str,
    names: Mapping[str, str],
) -> str:
    """How the score at the best layer changes from the first step to the final model, without a
    full stop."""
    quantity = f"The {metric_of(metric).quantity}"
    ends = (
        f"from {start.number.value_text} at {names[start.subject]} to "
        f"{final.number.value_text} at {names[final.subject]}"
    )
    if margin is None:
        return f"{quantity} goes {ends}"
    if margin.verdict == SIMILAR:
        gap = margin.number.direction("higher", "lower")
        return f"{quantity} does not change detectably: it goes {ends} ({gap})"
    verb = "rises" if margin.number.value > 0 else "falls"
    low, high = (each.number.value_text for each in (start, final))
    return (
        f"{quantity} {verb} from {low} at {names[start.subject]} to {high}, by {margin.number.size}"
    )


def _layer_sentence(
    statements: Sequence[Statement], layer: int, names: Mapping[str, str]
) -> Iterator[str]:
    steps = [
        f"{each.layers[0]} at {names[each.subject]}" for each in statements if each.verdict == MOVES
    ]
    for verdict in dict.fromkeys(each.verdict for each in statements):
        if verdict in LAYER:
            yield said(LAYER[verdict], layer=layer, steps=", ".join(steps))


def doubts_of(tables: Mapping[str, pd.DataFrame]) -> tuple[Statement, ...]:
    """State what limits the headline: best layers that are not clear, scores on control trees."""
    best, scores = tables["best"], tables["scores"]
    doubts = [
        Statement(str(row["model"]), NOT_CLEAR, None, (int(row["layer"]),))
        for _, row in rows_where(best, metric=METRIC).iterrows()
        if not row["clear"]
    ]
    control = rows_where(scores, probe=f"distance{OF_CONTROL}", metric=METRIC)
    control = control.dropna(subset="layer")
    if len(control):
        ends = {LOWEST: control["value"].min(), HIGHEST: control["value"].max()}
        doubts += [
            Statement(CONTROL_TREES, verdict, Estimate(float(value), kind="points"))
            for verdict, value in ends.items()
        ]
    return tuple(doubts)


def make_notices(doubts: Sequence[Statement], best: pd.DataFrame) -> list[str]:
    """The statements of `doubts_of` in sentences, and what models and cards do not say."""
    unclear = [
        f"{short_name(each.subject)} ({each.layers[0]})"
        for each in doubts
        if each.verdict == NOT_CLEAR
    ]
    ends = [each.estimate for each in doubts if each.subject == CONTROL_TREES and each.estimate]
    notices = [said("unclear", layers=", ".join(unclear))] if unclear else []
    if ends:
        low, high = ends[0].value_text, ends[-1].value_text
        notices.append(said("control", low=low, high=high))
    return [*notices, *drawing.progress_notices(rows_where(best, metric=METRIC))]


def make_methods(spec: ProbeSpec, treebank: Treebank, models: tuple[str, ...], layers: str) -> str:
    """The methods paragraph of the probe study, with what is added for steps of training."""
    added = said("methods", models=", ".join(models), level=text_of(SIGNIFICANT, "setting"))
    return f"{probes_methods(spec, treebank, (), layers)} {added}"


def best_chart(result: Result, metric: str = METRIC, *, context: Context = PAGE) -> Chart:
    """The best layer of each step with its band and number, control trees dotted, baselines
    grey."""
    best, scores = (
        rows_where(table, metric=metric) for table in (result.tables["best"], result.table)
    )
    layered, learned = scores["layer"].notna(), scores["probe"].str.endswith(OF_CONTROL)
    control = scores[layered & learned].merge(best[["model", "layer"]], on=["model", "layer"])
    plain = scores[~layered & ~learned & scores["model"].isin([CHAIN, POSITION, WINDOW])]
    parts = [best.assign(name=AT_BEST), control.assign(name=UNREAL)]
    looks = {AT_BEST: Look(BLUE)}
    if len(control):
        looks[UNREAL] = Look(BLUE, shape="square", dash=(2, 3), width=1.6)
    below = "numbers: layer; bands: 95 % intervals over sentences and probes"
    below += "; control trees: range of two draws" if (control["probes"] == 2).any() else ""
    return drawing.step_chart(
        pd.concat(parts, ignore_index=True),
        "value",
        metric_label(metric),
        looks,
        f"Best layer of each step, up to {short_name(str(result.spec['end']))}",
        below,
        rules=baseline_rules(plain),
        under=[partial(_numbers, best)],
        context=context,
    )


def layers_chart(result: Result, metric: str = METRIC, *, context: Context = PAGE) -> Chart:
    """Every layer by training step, with a ring at the best of each step."""
    rows = rows_where(result.table, metric=metric, probe="distance").dropna(subset="layer")
    layers = sorted({int(layer) for layer in rows["layer"]})
    return drawing.step_chart(
        rows.assign(name=[f"layer {layer}" for layer in rows["layer"]]),
        "value",
        metric_label(metric),
        graded([f"layer {layer}" for layer in layers], point=False, band=False),
        "Every layer",
        "rings: best layer of the step; bands are in the table",
        ends=span_of(rows["value"]),
        under=[drawing.rings(rows_where(result.tables["best"], metric=metric))],
        context=context,
    )


def draw_training(
    result: Result, metric: str = METRIC, *, context: Context = PAGE
) -> dict[str, Chart]:
    """The best layer in one score, the loss, and every layer."""
    charts = {f"{metric}-best": best_chart(result, metric, context=context)}
    if len(losses := result.tables["loss"]) > 1:
        charts["loss"] = drawing.loss_chart(losses, context=context)
    return charts | {f"{metric}-layers": layers_chart(result, metric, context=context)}


def _numbers(best: pd.DataFrame, plane: Plane, x: dict[str, Any]) -> Chart:
    """The layer's number above each point, for `under` of a `step_chart`."""
    rows, _ = drawing.along_training(best, plane.y, "", (0.0, 1.0), context=plane.context)
    rows = rows.assign(number=[f"{layer:.0f}" for layer in rows["layer"]])
    words = Chart(rows).mark_text(dy=-13, fontSize=plane.context.letter)
    return words.encode(x=x, y=plane.y_of(), text="number:N")

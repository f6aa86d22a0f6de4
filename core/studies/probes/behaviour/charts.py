"""Charts of the study of behaviour: kinds by model, accuracy through training, probes beside."""

from __future__ import annotations

import pandas as pd

from core.results.drawing.curves import Look, Rule, graded
from core.results.drawing.description import points_in_words
from core.results.drawing.labels import free_labels
from core.results.drawing.style import BLUE, BROWN, GREY, heading
from core.results.drawing.training import step_chart
from core.results.names import short_name, short_names
from core.studies.chart_kit import (
    Chart,
    Plane,
    Tip,
    heatmap,
    layered,
    metric_of,
    span_of,
    with_tooltips,
)
from core.studies.kit import PAGE, Context, Result
from core.studies.probes.behaviour.tables import ALL, BIGRAM, longest_run, whole_kind
from core.studies.probes.behaviour.text import CHANCE, NAMES, SCORES
from core.studies.probes.trees.tables import rows_where

HEIGHT, ROW = 244, 24
ACCURACY, ON_PAIRS = metric_of("accuracy").label, metric_of("accuracy", "pairs").label
BIGRAM_NAME = "bigram baseline"


def kinds_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw the accuracy of every model and of the bigrams on every kind of pairs."""
    table = result.table
    names = short_names(dict.fromkeys(table["model"])) | {BIGRAM: BIGRAM_NAME}
    rows = table.assign(
        name=table["model"].map(names), what=table["kind"].map(NAMES.__getitem__)
    ).drop(columns=["steps", "tokens"])
    order = list(dict.fromkeys(rows["name"]))
    below = "share of pairs that are right; 50 % is chance"
    return heatmap(
        rows, "Minimal pairs by kind", below, x="what", y="name", value="value",
        value_title=ACCURACY, ends=(0.0, 100.0), also=["low", "behaviour.pairs"],
        tips=[Tip("name", "Model"), Tip("what", "Kind of pairs")],
        order=(list(dict.fromkeys(rows["what"])), order), height=ROW * len(order), limit=170,
        angle=-30, context=context,
    )  # fmt: skip


def steps_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw accuracy by training step, a line for each kind of pairs; chance and bigrams in grey."""
    table = result.table
    run = longest_run(table["model"])
    rows = table[table["model"].isin(run)].assign(name=table["kind"].map(NAMES.__getitem__))
    bigram = rows_where(table, model=BIGRAM, kind=whole_kind(table))
    several = [name for name in dict.fromkeys(rows["name"]) if name != NAMES[ALL]]
    looks = graded(several, band=False)
    if ALL in set(rows["kind"]):
        looks = {NAMES[ALL]: Look(BROWN, width=3.0)} | looks
    rules = [Rule("chance", CHANCE, (2, 3))]
    for line in bigram.itertuples():
        ends = {"low": line.low, "high": line.high}
        rules.append(Rule(BIGRAM_NAME, line.value, (8, 3, 2, 3), ends))
    return step_chart(
        rows,
        "value",
        ACCURACY,
        looks,
        f"Minimal pairs through training, up to {short_name(run[-1])}",
        "band: 95 % interval over pairs, of all kinds",
        ends=span_of(rows["value"], rows["low"], rows["high"], [CHANCE]),
        rules=rules,
        height=HEIGHT,
        context=context,
    )


def beside_chart(result: Result, metric: str, probe: str, *, context: Context = PAGE) -> Chart:
    """Draw every model as a point: the probe's score at its best layer, and its accuracy on pairs.

    Steps of a run are rings, other models are filled; each has its interval over pairs.
    """
    table = rows_where(result.tables["beside"], metric=metric, probe=probe)
    names, run = short_names(dict.fromkeys(table["model"])), longest_run(table["model"])
    score = SCORES[f"{metric} of {probe}"]
    title = f"{score[0].upper()}{score[1:]}, %"
    low, high = span_of(table["value"], pad=0.12)
    bottom, top = span_of(table["behaviour_low"], table["behaviour_high"], [CHANCE])
    plane = Plane(
        "value", "behaviour", title, ON_PAIRS, bottom, top, (low, high),
        kind="points", height=HEIGHT, x_axis={"tickCount": 5}, context=context,
    )  # fmt: skip
    final = ~table["model"].isin(run[:-1])
    rows = _placed(table.assign(name=table["model"].map(names), final=final), plane)
    tips = (
        *(Tip("name", "Model"), Tip("value", title, "points"), "layer"),
        Tip("behaviour", plane.y_title, plane.kind),
    )
    written, tooltip = with_tooltips(rows.drop(columns=["steps", "tokens"]), tips)
    base = Chart(written.assign(who=written["name"])).encode(x=plane.x_of())
    whiskers = base.mark_rule(color=GREY, opacity=0.6).encode(
        y=plane.y_of("behaviour_low"), y2="behaviour_high:Q"
    )
    steps, others = base.filtered("!datum.final"), base.filtered("datum.final")
    points = [
        steps.mark_point(filled=False, size=80, strokeWidth=2, color=BLUE, opacity=1),
        others.mark_point(filled=True, size=90, color=BLUE, opacity=1),
    ]
    words = base.filtered("datum.named").mark_text(
        fontSize=context.small, dx={"expr": "datum.dx"}, dy={"expr": "datum.dy"}
    )
    layers = [each.encode(y=plane.y_of(), tooltip=tooltip) for each in points]
    chart = layered(whiskers, *layers, words.encode(y=plane.y_of(), text="name:N"))
    what = f"Behaviour beside {score}"
    return chart.properties(
        width="container",
        height=plane.pixels,
        title=heading(what, "each model at its best layer; bars: 95 % intervals over pairs"),
        description=points_in_words(
            rows.rename(columns={"value": "x", "behaviour": "y"}), what, name="name", point="model"
        ),
    )


def _placed(rows: pd.DataFrame, plane: Plane) -> pd.DataFrame:
    """The rows with places of names (dx, dy), and whether a name has room (named)."""
    narrow, letter = plane.context.narrow, plane.context.small
    x = (rows["value"] - plane.x_ends[0]) / (plane.x_ends[1] - plane.x_ends[0]) * narrow
    y = plane.pixels - plane.up(rows["behaviour"])
    widths = rows["name"].str.len() * letter * 0.5
    places = free_labels(x, y, widths, letter, (narrow, plane.pixels), 6.0)
    moved = [place or (a, b) for place, a, b in zip(places, x, y, strict=True)]
    return rows.assign(
        named=[place is not None for place in places],
        dx=[place[0] - a for place, a in zip(moved, x, strict=True)],
        dy=[place[1] - b for place, b in zip(moved, y, strict=True)],
    )


def draw_behaviour(result: Result, *, context: Context = PAGE) -> dict[str, Chart]:
    """Accuracy through training and by kind of pairs, and beside each probe's score."""
    through = longest_run(result.table["model"])
    charts = {"behaviour-steps": steps_chart(result, context=context)} if through else {}
    charts["behaviour-kinds"] = kinds_chart(result, context=context)
    return charts | {
        f"behaviour-{probe}-{metric}": beside_chart(result, metric, probe, context=context)
        for metric, probe in panels(result)
    }


def panels(result: Result) -> list[tuple[str, str]]:
    """List the probes' scores that were set beside behaviour, as (metric, probe)."""
    if "beside" not in result.tables:
        return []
    table: pd.DataFrame = result.tables["beside"]
    return list(dict.fromkeys(zip(table["metric"], table["probe"], strict=True)))

"""Figures of the map of models: the map, angles by layer, and shapes."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.maths.spectra.shape import EFFECTIVE_RANK
from core.models.steps import origin_of, run_of
from core.results.drawing import maps, style
from core.results.drawing.description import points_in_words
from core.results.drawing.maps import MOST_STRESS, Ends, stress_in_words
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Look,
    Result,
    Rule,
    channel,
    labels_of,
    layer_chart,
    layered,
    short_names,
    with_tooltips,
)
from core.studies.rsa.spaces.report import (
    BY_LAYER,
    CHANCE,
    RANK,
    SEEDS,
    STEPS,
    TUNED,
    of_one_base,
    relations,
)

HEIGHT = 205  # of a plot: the first row, with its legend, ends above the fold
ROOM = 5.0  # pixels that a name keeps from a point
TIPS = ("name", "layer", "tokens")
BASES, STEP = "bases", "steps"
LOOKS = {SEEDS: Look(style.BLUE), TUNED: Look(style.ORANGE, "square")}


def draw_spaces(result: Result, *, context: Context = PAGE) -> dict[str, Chart]:
    """Draw the map, mean angles by layer, which stand first where the map distorts them, and shapes
    of this study's result."""
    angles = {"spaces-related": related_chart(result, context=context)}
    placed = {"spaces": map_chart(result, context=context)}
    distorted = result.arrays["stress"].min() > MOST_STRESS
    first = {**angles, **placed} if distorted else {**placed, **angles}
    return {**first, "spaces-shape": shape_chart(result, context=context)}


def first_relations(result: Result) -> Result:
    """Leave seeds and fine-tunes, which the headline is about, and of the shapes those that it
    names."""
    ranked = [each.subject for each in result.statements if each.verdict == RANK]
    related, shape = result.tables["related"], result.tables["shape"]
    asked = related["relation"] != STEPS
    return result.with_tables(related=related[asked], shape=shape[shape["model"].isin(ranked)])


def groups_of(refs: Sequence[str]) -> dict[str, str]:
    """Name what a model is drawn as: a base, a step, or its task; a fine-tune without one as
    itself."""
    names, groups = short_names(refs), {}
    for ref in refs:
        if run_of(ref) != ref:
            groups[ref] = STEP
        elif origin_of(ref) == ref:
            groups[ref] = BASES
        else:
            groups[ref] = style.task_of(ref) or names[ref]
    return groups


def map_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw every layer as a point and every model as a line, with resamples of last layers. On a
    page the large points move from layer to layer and the map can be turned to a third axis."""
    table, cloud = result.tables["spaces"], result.tables["cloud"]
    layers = [rows for _, rows in table.groupby("layer")]
    moves = context.moves and len({tuple(rows["model"]) for rows in layers}) == 1
    last, drawn = (
        rows[rows["layer"] == rows.groupby("model")["layer"].transform("max")]
        for rows in (table, cloud)
    )
    stress = stress_in_words({2: float(result.arrays["stress"][0])}, "Angles by layer")
    below = stress if moves else f"faint: resamples; {stress}"
    stages, dots = (layers, cloud[:0]) if moves else ([last], drawn)
    return _map(table, stages, dots, "Every layer of every model", below, context=context)


def _map(
    table: pd.DataFrame,
    stages: Sequence[pd.DataFrame],
    cloud: pd.DataFrame,
    title: str,
    below: str,
    *,
    context: Context,
) -> Chart:
    """Draw points, joined by lines; those of `stages` large and named, moving from stage to stage.
    The ends of the axes are those of all points."""
    refs = list(dict.fromkeys(table["model"]))
    names, groups = short_names(refs), groups_of(refs)
    table, cloud, *stages = (
        part.assign(name=part["model"].map(names), group=part["model"].map(groups))
        for part in (table, cloud, *stages)
    )
    moves, tall = len(stages) > 1, context.height(HEIGHT)
    frame = [_ends(table[axis]) for axis in ("xyz" if moves else "xy")]
    ends: Ends = maps.FRAME if moves else (frame[0], frame[1])
    kinds = list(dict.fromkeys(table["group"]))
    colours = {groups[ref]: colour for ref, colour in style.colours_of(refs).items()}
    colours |= {BASES: style.BROWN, STEP: style.GREY}
    scale = {"domain": kinds, "range": [colours[kind] for kind in kinds]}
    axis = {"tickCount": 5, "grid": False, **labels_of("degrees")}
    sides = {
        side: channel(f"{side}:Q", title=None, scale={"domain": end, "nice": False}, axis=axis)
        for side, end in zip("xy", ends, strict=True)
    }
    below_it = style.legend(style.columns_for(kinds, context=context), symbolSize=60)
    colour = channel("group:N", title=None, scale=scale, legend=below_it)
    rows, tooltip = with_tooltips(table.assign(who=table["name"]), TIPS)
    layers = []
    if len(cloud):
        dots = Chart(cloud).encode(**sides, color=colour)
        layers.append(dots.mark_point(filled=True, size=12, opacity=0.18))
    base = (maps.turned(rows) if moves else Chart(rows)).encode(**sides, color=colour)
    layers += [
        base.mark_line(strokeWidth=1.2, opacity=0.55).encode(detail="model:N", order="layer:Q"),
        base.mark_point(filled=True, size=28, opacity=0.7).encode(tooltip=tooltip),
    ]
    points = maps.moving(
        [_with_names(stage, table, frame, tall, context) for stage in stages],
        ("named", "room", "told_layer"),
    ).encode(**sides, color=colour)
    size = {"expr": "90 * datum.near"} if moves else 90
    layers.append(points.mark_point(filled=True, size=size, opacity=0.9).encode(tooltip=tooltip))
    layers.append(
        maps.name_layer(points, ends, faded=False, fontSize=context.small, context=context).encode(
            text="name:N"
        )
    )
    description = points_in_words(stages[-1], title, name="name", group="group", point="model")
    chart = layered(*layers).properties(
        width="container", height=tall, title=style.heading(title, below), description=description
    )
    return maps.moved(chart, [frame] * len(stages), len(stages) - 1) if moves else chart


def _with_names(
    rows: pd.DataFrame,
    beside: pd.DataFrame,
    frame: Sequence[list[float]],
    tall: float,
    context: Context,
) -> pd.DataFrame:
    """Points of one layer with the places of their names, over none of the points beside them, and
    the words of their tooltips."""
    rows, _ = with_tooltips(rows.assign(who=rows["name"]), TIPS)
    names = [*rows["name"], *[""] * len(beside)]
    return maps.placed(
        pd.concat([rows, beside]), names, (frame[0], frame[1]), tall, ROOM,
        bold=[False] * len(names), context=context,
    ).head(len(rows))  # fmt: skip


def shape_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw the effective rank by layer of the first base, of its first step, and of its
    fine-tunes."""
    table = result.tables["shape"]
    base, first, tuned = of_one_base(list(dict.fromkeys(table["model"])))
    shown = [base, *first, *tuned]
    names, colours = short_names(shown), style.colours_of(shown)
    looks = {names[ref]: Look(colours[ref]) for ref in shown}
    looks |= {names[base]: Look(style.BROWN, width=3.0)} | {
        names[ref]: Look(style.GREY) for ref in first
    }
    rows = table[table["model"].isin(shown)]
    return layer_chart(
        rows.assign(name=rows["model"].map(names)), EFFECTIVE_RANK, looks,
        "Effective rank by layer",
        "directions that the vectors fill; bands: 95 % intervals over sentences", zero=True,
        height=HEIGHT, context=context,
    )  # fmt: skip


def _ends(values: pd.Series[float]) -> list[float]:
    """The ends of an axis."""
    low, high = float(values.min()), float(values.max())
    margin = 0.08 * max(high - low, 1e-9)
    return [low - margin, high + margin]


def tuned_angles(result: Result) -> pd.DataFrame:
    """Take the angles of each fine-tune and its base by layer, as rows of BY_LAYER; the relation is
    the fine-tune's reference."""
    angles = result.tables["angles"]
    level = angles[angles["layer"] == angles["other_layer"]]
    refs = list(dict.fromkeys(result.tables["spaces"]["model"]))
    tuned = {frozenset(pair): pair[0] for pair in relations(refs)[TUNED]}
    pairs = [frozenset(pair) for pair in zip(level["model"], level["other"], strict=True)]
    level = level.assign(relation=[tuned.get(pair) for pair in pairs], pairs=1)
    return level.dropna(subset=["relation"])[list(BY_LAYER)].sort_values(["relation", "layer"])


def related_chart(result: Result, *, each: bool = False, context: Context = PAGE) -> Chart:
    """Draw the mean angle of related models by layer, and that of shuffled words; with `each`, a
    line for each fine-tune in place of their mean, and no steps of a run."""
    table = result.tables["related"]
    table = table[table["relation"] != CHANCE]
    looks = dict(LOOKS)
    if each:
        tuned = tuned_angles(result)
        refs = list(dict.fromkeys(tuned["relation"]))
        names, colours, shapes = short_names(refs), style.colours_of(refs), style.shapes_of(refs)
        looks = {SEEDS: Look(style.BROWN, width=3.0)}
        looks |= {names[ref]: Look(colours[ref], shapes[ref]) for ref in refs}
        tuned = tuned.assign(relation=tuned["relation"].map(names))
        table = pd.concat([table[table["relation"] == SEEDS], tuned])
    chance = [each for each in result.statements if each.subject == CHANCE]
    rules = [Rule(CHANCE, each.number.value, style.DASHES[0]) for each in chance]
    related = dict.fromkeys(table["relation"])
    looks = {name: looks.get(name, Look(style.GREY, "diamond")) for name in related}
    return layer_chart(
        table.assign(name=table["relation"]), "angle", looks, "Angles by layer",
        "0°: equal but for a rotation; bands: 95 % intervals over sentences", zero=True,
        kind="degrees", rules=rules, line="Pairs", height=HEIGHT, context=context,
    )  # fmt: skip

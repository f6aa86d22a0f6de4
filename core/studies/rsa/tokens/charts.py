"""The token map: words as points, coloured by role, named where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from core.errors import listed
from core.results.drawing import maps, style
from core.results.drawing.description import points_in_words
from core.results.drawing.panels import Panels, share_of_variance
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Result,
    channel,
    labels_of,
    layered,
    short_names,
    text_of,
)
from core.studies.rsa.tokens.questions import ANSWER, HIGHLIGHTED, OTHER, QUESTION, SUPPORTING

LITTLE = 0.5  # of the variance: where two axes explain less, the map can be turned to a third
MAP = 258  # height: words need room, and the map must fit on a screen
ROLE_COLOURS = {
    QUESTION: style.BLUE,
    ANSWER: style.ORANGE,
    SUPPORTING: style.GREEN,
    HIGHLIGHTED: style.ORANGE,
    OTHER: style.GREY,
}


def layers_shown(result: Result) -> list[tuple[int]]:
    """List the layers that files hold the map of; the top layer first."""
    return [(int(layer),) for layer in sorted({*result.tables["tokens"]["layer"]}, reverse=True)]


def draw_maps(
    result: Result,
    layer: int | None = None,
    wanted: str = "",
    ringed: int | None = None,
    *models: str,
    context: Context = PAGE,
) -> Panels:
    """Draw a map for each model (all where none is named) at one layer (None for the top one), with
    words marked that contain one of the wanted parts, separated by commas, and the word at one
    place in question and passage ringed."""
    layer = int(result.table["layer"].max()) if layer is None else layer
    drawn = models or tuple(dict.fromkeys(result.table["model"]))
    charts = [token_chart(result, layer, model, wanted, ringed, context=context) for model in drawn]
    return Panels(charts, inline=True, names=[f"tokens-layer-{layer}"] * len(charts))


def span_rows(result: Result, *choices: object) -> dict[str, pd.DataFrame]:
    """Take the table of answers, if a question was asked."""
    return {name: table for name, table in result.tables.items() if name == "spans"}


def token_chart(
    result: Result,
    layer: int,
    model: str,
    wanted: str = "",
    ringed: int | None = None,
    *,
    context: Context = PAGE,
) -> Chart:
    """Draw the words of one model at one layer, coloured by role; axes have the same directions at
    all layers and the same ends for all models of a layer. On a page the chart holds all layers,
    and words move between them, from this layer at first."""
    table = result.table
    layers = sorted({*table[table["model"] == model]["layer"]}) if context.moves else [layer]
    name = short_names(tuple(dict.fromkeys(table["model"])))[model]
    shares = result.tables["axes"]["explained"].tolist()
    height = context.height(MAP)
    moves = len(layers) > 1
    turns = moves and sum(shares[:2]) < LITTLE
    axes = ("x", "y", "z") if turns else ("x", "y")
    table = table if turns else table.drop(columns="z")
    together = [table[table["layer"] == at] for at in layers]
    frames = [[_ends(words[axis]) for axis in axes] for words in together]
    stages = [
        _with_names(words[words["model"] == model], wanted, frame, height, context=context)
        for words, frame in zip(together, frames, strict=True)
    ]
    rows = stages[0]
    ends = maps.FRAME if moves else (frames[0][0], frames[0][1])
    x, y = (_axis(number, ends[number], shares, turns=turns) for number in range(2))
    colour = _colour(table, context)
    tips = (("word", "Word"), ("role", "Role"), ("position", "Position"))
    tooltip = [channel(f"{column}:N", title=title) for column, title in tips]
    points = maps.moving(stages, ("named", "room", "predicted"))
    marks = points.encode(x=x, y=y, tooltip=tooltip)
    drawn = _words(
        marks, colour, ends, faded=bool(rows["marked"].any()), turns=turns, context=context
    )
    if ringed is not None:
        chosen = points.filtered(f"datum.position === {ringed}")
        drawn.append(chosen.mark_point(size=420, strokeWidth=2, color=style.GREY).encode(x=x, y=y))
    notes = [maps.count_matches(rows["marked"], wanted, "word")]
    # a ring round each word of the model's own answer
    if any(stage["predicted"].any() for stage in stages):
        ring = points.filtered("datum.predicted").mark_point(
            size=260, strokeWidth=2, color=style.PURPLE
        )
        drawn.append(ring.encode(x=x, y=y))
        sure = "" if moves else f" ({_sureness(result.tables['spans'], model, layer)})"
        notes.append(f"purple rings: its answer at this layer{sure}")
    missing = int((~rows["named"]).sum())
    if missing and not notes[0] and not context.zooms:  # a page says how to zoom, below the map
        notes.append(f"{missing} words have no label: point at them to read them")
    what = name if context.moves else f"{name}, layer {layer}"  # a page says the layer beside it
    chart = layered(*maps.zoomed(drawn, context=context)).properties(
        width="container",
        height=height,
        title=style.heading(what, "; ".join(filter(None, notes))),
        description=_in_words(stages, what, shares),
    )
    return maps.moved(chart, frames, layers.index(layer)) if moves else chart


def _sureness(spans: pd.DataFrame, model: str, layer: int) -> str:
    """Write how probable a model's answer at a layer is, and how far it is the true one."""
    given = spans[(spans["model"] == model) & (spans["layer"] == layer)].iloc[0]
    overlap = f", F1 {text_of(given['f1'])}" if np.isfinite(given["f1"]) else ""
    return f"probability {text_of(given['chance'], 'probability')}{overlap}"


def _with_names(
    rows: pd.DataFrame, wanted: str, frame: list[list[float]], height: float, *, context: Context
) -> pd.DataFrame:
    """The words of one layer with the places of their names, the important ones first."""
    rows = rows.assign(marked=maps.matches({"word": rows["word"]}, wanted))
    rows = rows.sort_values(["marked", "highlighted"], ascending=False, kind="stable")
    rows = maps.placed(
        rows, rows["word"], (frame[0], frame[1]), height, 4.0,
        bold=rows["highlighted"], leading=1.05, context=context,
    )  # fmt: skip
    # in the map of every model
    return rows.assign(who=rows["position"].astype(str) + " " + rows["word"])


def _colour(table: pd.DataFrame, context: Context) -> dict[str, Any]:
    """The channel of roles."""
    kinds = [kind for kind in ROLE_COLOURS if (table["role"] == kind).any()]
    shown = style.legend(style.columns_for(kinds, context=context))
    return channel(
        "role:N",
        title=None,
        scale={"domain": kinds, "range": [ROLE_COLOURS[kind] for kind in kinds]},
        legend=shown if table["highlighted"].any() else None,
    )


def _axis(number: int, ends: list[Any], shares: Sequence[float], *, turns: bool) -> dict[str, Any]:
    """The channel of the first or second axis."""
    title = share_of_variance(f"PC {number + 1}", shares[number])
    axis = {"grid": False, "tickCount": 5, **labels_of("share")}
    if turns and number == 0:
        axis["title"] = f"{title}; turned by 90°: PC 3 ({text_of(shares[2], 'per cent')})"
    return channel(
        f"{'xy'[number]}:Q",
        scale={"domain": ends, "nice": False},
        title=title,
        axis=axis,
    )


def _ends(values: pd.Series) -> list[float]:
    """Ends of an axis that the models of a layer fill."""
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 1.0
    return [low - margin, high + margin]


def _words(
    marks: Chart,
    colour: dict[str, Any],
    ends: maps.Ends,
    *,
    faded: bool,
    turns: bool,
    context: Context,
) -> list[Chart]:
    """Points and their names, the highlighted ones last, larger and bold."""
    layers: list[Chart] = []
    for test, size, letter, weight in (
        ("!datum.highlighted", 25, context.small, "normal"),
        ("datum.highlighted", 90, context.letter + 1, "bold"),
    ):
        words = marks.filtered(test)
        near = {"expr": f"{size} * datum.near"}
        points = words.mark_point(filled=True, size=near if turns else size)
        layers.append(points.encode(color=colour, opacity=maps.opacity(0.85, faded=faded)))
        letters: dict[str, Any] = {"fontSize": letter, "fontWeight": weight}
        names = maps.name_layer(words, ends, faded=faded, context=context, **letters)
        layers.append(names.encode(text="word:N"))
    return layers


def _in_words(stages: Sequence[pd.DataFrame], title: str, shares: Sequence[float]) -> str:
    """Describe the map, at its highest layer: words by role, highlighted ones by name, and the
    distances between the roles' centres at each layer."""
    rows = stages[-1]
    axes = listed(
        [share_of_variance(f"PC {number}", part) for number, part in enumerate(shares[:2], start=1)]
    )
    chosen = rows["highlighted"].any()
    through = f" through {len(stages)} layers, here at the highest" if len(stages) > 1 else ""
    words = points_in_words(
        rows,
        f"Token map of {title}{through}: {axes}",
        name="word",
        group="role" if chosen else "",
        point="word",
    )
    named = rows[rows["highlighted"]].groupby("role", sort=False)["word"].agg(", ".join)
    centres = [stage.groupby("role", sort=False)[["x", "y"]].mean() for stage in stages]
    apart = [
        f"{first} and {second} "
        + ", ".join(
            text_of(float(np.hypot(*(of_layer.loc[first] - of_layer.loc[second]))), "measure")
            for of_layer in centres
        )
        for first, second in combinations(centres[0].index, 2)
    ]
    sentences = [f"{role}: {listed}." for role, listed in named.items()]
    if chosen and apart:
        by_layer = " from the lowest layer up" if through else ""
        sentences.append(f"Distances between their centres{by_layer}: {'; '.join(apart)}.")
    return " ".join([words, *sentences])

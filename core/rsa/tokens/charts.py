"""The token map: words as points, coloured by role, named where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import SpecError
from core.results.drawing.context import PAGE, Context
from core.results.drawing.description import points_in_words
from core.results.drawing.labels import free_labels
from core.results.drawing.panels import beside, share_of_variance
from core.results.drawing.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    columns_for,
    heading,
    legend,
)
from core.results.drawing.vega import Chart, channel, layered
from core.results.export import check_chosen
from core.results.names import short_names
from core.results.numbers import label_expr, text_of
from core.rsa.tokens.questions import ANSWER, HIGHLIGHTED, OTHER, QUESTION, SUPPORTING

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

MAP = 258  # height: words need room, and the map must fit on a screen
ROLE_COLOURS = {QUESTION: BLUE, ANSWER: ORANGE, SUPPORTING: GREEN, HIGHLIGHTED: ORANGE, OTHER: GREY}


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Draw the map of every layer, by file name; the top layer first."""
    layers = sorted(set(result.tables["tokens"]["layer"]), reverse=True)
    return {
        f"tokens-layer-{layer}": token_chart(result, int(layer), context=context)
        for layer in layers
    }


def token_chart(
    result: Result, layer: int, model: str | None = None, *, context: Context = PAGE
) -> Chart:
    """Draw the words of the passage at one layer, coloured by role; every layer and model has the
    same axes.

    Args:
        result: Of `tokens.run_tokens`.
        layer: Which layer.
        model: One model's reference, for a chart that stretches; without it, all in one chart.

    Raises:
        SpecError: If there is no such layer or model.
    """
    table = result.need("tokens", "a passage (--passage)")
    if layer not in set(table["layer"]):
        raise SpecError(f"The token map has layers 0 to {table['layer'].max()}, not {layer}.")
    models = tuple(dict.fromkeys(table["model"]))
    if model is not None:
        check_chosen(model, models)
        return token_map(result, table, layer, model, context=context)
    return beside(
        [token_map(result, table, layer, name, context=context) for name in models], context=context
    )


def token_map(
    result: Result, table: pd.DataFrame, layer: int, model: str, *, context: Context = PAGE
) -> Chart:
    """Draw the words of one model at one layer; every layer and model of the table has the same
    axes.

    Args:
        result: Of `tokens.run_tokens`.
        table: Its words.
        layer: Which layer.
        model: The model's reference.
    """
    rows = table[(table["model"] == model) & (table["layer"] == layer)]
    name = short_names(tuple(dict.fromkeys(table["model"])))[model]
    shares = result.tables["axes"]["explained"].tolist()
    reach = float(table[["x", "y"]].abs().to_numpy().max()) * 1.08 or 1.0
    height = context.height(MAP)
    rows = _placed(
        rows.sort_values("highlighted", ascending=False, kind="stable"),
        reach,
        height,
        context=context,
    )
    scale = {"domain": [-reach, reach], "nice": False}
    axis = {"grid": False, "tickCount": 5, "labelExpr": str(label_expr("share"))}
    x = channel("x:Q", scale=scale, title=share_of_variance("PC 1", shares[0]), axis=axis)
    y = channel("y:Q", scale=scale, title=share_of_variance("PC 2", shares[1]), axis=axis)
    kinds = [kind for kind in ROLE_COLOURS if (table["role"] == kind).any()]
    colour = channel(
        "role:N",
        title=None,
        scale={"domain": kinds, "range": [ROLE_COLOURS[kind] for kind in kinds]},
        legend=legend(columns_for(kinds, context=context)) if table["highlighted"].any() else None,
    )
    tips = (("word", "Word"), ("role", "Role"), ("position", "Position"))
    tooltip = [channel(f"{column}:N", title=title) for column, title in tips]
    rows = rows.assign(
        who=rows["position"].astype(str) + " " + rows["word"]
    )  # in the map of every model
    marks = Chart(rows).encode(x=x, y=y, tooltip=tooltip)
    layers = _words(marks, colour, context=context)
    notes = []
    if rows["predicted"].any():  # a ring round each word of the model's own answer
        ring = (
            Chart(rows)
            .filtered("datum.predicted")
            .mark_point(size=260, strokeWidth=2, color=PURPLE)
        )
        layers.append(ring.encode(x=x, y=y))
    if table.loc[table["model"] == model, "predicted"].any():
        notes.append("purple rings: the model's answer at this layer")
    missing = int((~rows["named"]).sum())
    if missing:
        notes.append(f"{missing} words have no label: point at them to read them")
    what = f"{name}, layer {layer}"
    chart = layered(*layers).properties(
        width="container",
        height=height,
        title=heading(what, "; ".join(notes)),
        description=_in_words(rows, what, shares),
    )
    return chart


def _words(marks: Chart, colour: dict[str, Any], *, context: Context) -> list[Any]:
    """Points and their names, the highlighted ones last, larger and bold."""
    layers: list[Any] = []
    offset: dict[str, Any] = {"dx": {"expr": "datum.dx"}, "dy": {"expr": "datum.dy"}}
    for test, size, letter, weight in (
        ("!datum.highlighted", 25, context.small, "normal"),
        ("datum.highlighted", 90, context.letter + 1, "bold"),
    ):
        words = marks.filtered(test)
        layers.append(words.mark_point(filled=True, opacity=0.85, size=size).encode(color=colour))
        letters: dict[str, Any] = {"fontSize": letter, "fontWeight": weight}
        layers.append(
            words.filtered("datum.named").mark_text(**letters, **offset).encode(text="word:N")
        )
    return layers


def _in_words(rows: pd.DataFrame, what: str, shares: Sequence[float]) -> str:
    """Describe the map: words by role, highlighted ones by name, and the distances between the
    roles' centres."""
    axes = " and ".join(
        share_of_variance(f"PC {number}", share) for number, share in enumerate(shares[:2], start=1)
    )
    chosen = rows["highlighted"].any()
    words = points_in_words(
        rows,
        f"Token map of {what}: {axes}",
        name="word",
        group="role" if chosen else "",
        point="word",
    )
    named = rows[rows["highlighted"]].groupby("role", sort=False)["word"].agg(", ".join)
    centres = rows.groupby("role", sort=False)[["x", "y"]].mean()
    apart = [
        f"{first} and {second} "
        f"{text_of(float(np.hypot(*(centres.loc[first] - centres.loc[second]))), 'measure')}"
        for first, second in combinations(centres.index, 2)
    ]
    said = [f"{role}: {listed}." for role, listed in named.items()]
    if chosen and apart:
        said.append(f"Distances between their centres: {'; '.join(apart)}.")
    return " ".join([words, *said])


def _placed(rows: pd.DataFrame, reach: float, height: float, *, context: Context) -> pd.DataFrame:
    """Place each word beside its point (dx, dy, pixels), and say whether there is room (named)."""
    letter = context.letter
    x, y = (rows["x"] / reach + 1) / 2 * context.narrow, (1 - rows["y"] / reach) / 2 * height
    widths = rows["word"].str.len() * letter * np.where(rows["highlighted"], 0.64, 0.48) + 2
    places = free_labels(x, y, widths, letter * 1.05, (context.narrow, height), 4.0)
    there = [place or (a, b) for place, a, b in zip(places, x, y, strict=True)]
    return rows.assign(
        named=[place is not None for place in places],
        dx=[place[0] - a for place, a in zip(there, x, strict=True)],
        dy=[place[1] - b for place, b in zip(there, y, strict=True)],
    )

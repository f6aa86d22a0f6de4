"""The charts of distances: a heatmap of all pairs of models, and the tree of their clustering; the
vote, every model in a row with its distances to the others, of which the nearest name its label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from core.maths.spectra.clustering import build_dendrogram
from core.maths.spectra.neighbours import neighbour_weights
from core.results.drawing.curves import WIDE
from core.results.drawing.description import cells_in_words
from core.results.drawing.heatmaps import MOST_NUMBERED
from core.results.drawing.style import GREY, gradient, heading
from core.results.drawing.vega import Chart, OfWidth, channel, either, layered
from core.studies.chart_kit import PAGE, Context, Result, labels_of, text_of, tip_of, with_tooltips
from core.studies.weights.activations import STATE_VECTORS
from core.studies.weights.clusters.charts.figures import (
    group_channels,
    group_names,
    label_word,
    model_names,
    ordered,
    vector_name,
)
from core.studies.weights.unlabelled import nearest_in_words

DISTANCE = tip_of("distance").title
TREE = 0.25  # width of the tree, in widths of the heatmap
# distance of two models that have nothing in common
ENDS = {
    "projector": 1.0,
    **dict.fromkeys(("delta", "factors", "original", *STATE_VECTORS), 2**0.5),
}
STRIP = 0.03  # width of the coloured strip of labels, in widths of the heatmap
GAP = 0.006  # between heatmap, strip and tree
ROOM = 304  # height with which headline, chart and legend fit 720 pixels
LEAST, MOST = 1.03, 24  # height of a row: at least this times the letters', at most in pixels
VOTE_ROOM, VOTE_ROW = 292, 22  # the same of the vote: of the chart, and of a row at most
MOST_DRAWN = 40  # others drawn in a row of the vote, the nearest ones
MARGIN = 0.09  # of the range of distances, at the left for the model's own mark


def distances_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw all distances as a heatmap, models in the order of the tree on its right."""
    distances = result.arrays[f"distances {result.spec['vector']}"]
    count = len(distances)
    order, joins = build_dendrogram(distances)
    names = model_names(result)[order]
    groups = group_names(result.table["label"], "label")[order]
    right = (1 + 2 * GAP + STRIP + TREE) * count - 0.5
    x_scale = {"domain": [-0.5, right], "nice": False}
    x = channel("x:Q", title=None, scale=x_scale, axis=None)
    y_scale = {"domain": [count - 0.5, -0.5], "nice": False}
    y = channel("y:Q", title=None, scale=y_scale, axis=_names_axis(names))
    cells = _cells(distances[np.ix_(order, order)], names)
    ends = [float(np.nanmin(cells["distance"])), float(np.nanmax(cells["distance"]))]
    if count <= MOST_NUMBERED:  # with many models, readers look at the pattern
        ends = [0.0, ENDS.get(result.spec["vector"], ends[1])]
    heat = _heat(cells, x, y, ends, count <= MOST_NUMBERED, context=context)
    shown = ordered(groups)
    fill = group_channels(shown, context=context)["color"]
    strip = Chart(_strip(groups)).mark_rect().encode(x=x, x2="x2:Q", y=y, y2="y2:Q", fill=fill)
    lines = (
        Chart(_tree_lines(joins, (1 + 2 * GAP + STRIP) * count - 0.5, right))
        .mark_line(color=GREY, strokeWidth=1.5, interpolate="linear")
        .encode(x=x, y=y, detail="join:N", order="step:O")
    )
    what = f"Distances between {vector_name(result)}"
    return (
        layered(*heat, strip, lines)
        .scales(color="independent", fill="independent")
        .properties(
            width="container",
            height=max(context.height(min(MOST * count, ROOM)), LEAST * context.letter * count),
            title=heading(
                what, "ordered by the tree (average linkage); the coloured strip shows labels"
            ),
            description=cells_in_words(
                cells, what, row="model", column="other", value="distance", value_title=DISTANCE
            ),
        )
    )


def vote_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw each scored model as a row of the others by their distance, in the colours of their
    labels: the nearest, which vote, are large; the model's own label is at the left, the label that
    the vote names at the right."""
    k, (vote, *_) = int(result.arrays["k"]), result.tables["votes"].to_dict("records")
    others, scored = _vote_rows(result, k)
    names, groups = list(scored["model"]), ordered(scored["label"])
    low, high = float(others["distance"].min()), float(others["distance"].max())
    span = (high - low) or abs(high) or 1.0
    left, right = low - MARGIN * span, high + 0.02 * span
    longest = max(len(text) for text in scored["named"])
    room = round(WIDE * context.letter * longest + 12)
    across = OfWidth(f"width - {room}", lambda width: round(width - room, 1))
    scale = {"domain": [left, right], "nice": False, "zero": False, "range": [0, across]}
    axis = {"tickCount": 5, "grid": False, **labels_of("share")}
    title = f"{DISTANCE} between updates ({vector_name(result)})"
    rows, tooltip = with_tooltips(others, ("model", "other", "label", "distance"))
    y = channel("model:N", title=None, sort=names, axis={"labelLimit": 160, "ticks": False})
    looks = group_channels(groups, context=context)
    dots = Chart(rows).encode(
        x=channel("distance:Q", title=title, scale=scale, axis=axis), y=y, tooltip=tooltip, **looks
    )
    marks = Chart(scored.assign(distance=left + MARGIN / 3 * span, edge=right)).encode(y=y)
    voting = 130 * context.thin
    layers = [
        dots.mark_point(filled=True).encode(
            size=either("datum.votes", voting, 0.3 * voting),
            opacity=either("datum.votes", 1.0, 0.35),
        ),
        marks.mark_point(filled=True, size=voting, opacity=1).encode(
            x=channel("distance:Q", scale=scale), **looks
        ),
        Chart(scored.head(1).assign(edge=left + 0.7 * MARGIN * span))
        .mark_rule(color=GREY)
        .encode(x=channel("edge:Q", scale=scale)),
        marks.mark_text(align="left", dx=8, fontSize=context.small, color=GREY).encode(
            x=channel("edge:Q", scale=scale), text="named:N"
        ),
    ]
    word = label_word(result)
    what = f"The {word} that the nearest neighbours name"
    score = (
        f"right for {vote['right']} of {vote['models']}, "
        f"by chance for {text_of(vote['expected'], 'amount')}"
    )
    below = f"{score}; large: the {nearest_in_words(k)}, which vote; left: the model's own {word}"
    height = max(
        context.height(min(VOTE_ROW * len(scored), VOTE_ROOM)), LEAST * context.letter * len(scored)
    )
    return layered(*layers).properties(
        width="container", height=height, title=heading(what, below),
        description=f"{what}: {score}. {_mistakes(scored, word)}",
    )  # fmt: skip


def _heat(
    cells: pd.DataFrame,
    x: dict[str, Any],
    y: dict[str, Any],
    ends: Sequence[float],
    numbered: bool,
    *,
    context: Context,
) -> list[Any]:
    """The cells in colours between the ends, with their numbers if wanted."""
    rows, tooltip = with_tooltips(cells, ("model", "other", "distance"))
    rows = rows.assign(
        written=[text_of(value) if value == value else "" for value in cells["distance"]],
        who=cells["model"] + "\n" + cells["other"],
        light=cells["distance"] < ends[0] + 0.4 * (ends[1] - ends[0]),
    )
    colour = channel(
        "distance:Q",
        title=DISTANCE,
        scale={"scheme": "viridis", "reverse": True, "domain": ends, "clamp": True},
        legend=gradient(DISTANCE, **labels_of("share"), context=context),
    )
    base = Chart(rows)
    heat: list[Any] = [
        base.mark_rect().encode(x=x, x2="x2:Q", y=y, y2="y2:Q", color=colour, tooltip=tooltip)
    ]
    if numbered:
        middles = base.calculated(mx="datum.x + 0.5", my="datum.y + 0.5")
        heat.append(
            middles.mark_text(baseline="middle").encode(
                x=channel("mx:Q", scale=x["scale"], axis=None),
                y=channel("my:Q", title=None, scale=y["scale"]),
                text="written:N",
                color=either("datum.light", "black", "white"),
            )
        )
    return heat


def _cells(distances: ndarray, names: Sequence[str]) -> pd.DataFrame:
    """Cells of the heatmap; the diagonal is left blank."""
    row, column = (axis.ravel() for axis in np.indices(distances.shape))
    return pd.DataFrame(
        {
            "x": column - 0.5,
            "x2": column + 0.5,
            "y": row - 0.5,
            "y2": row + 0.5,
            "distance": np.where(row == column, np.nan, distances.ravel()),
            "model": np.asarray(names, dtype=object)[row],
            "other": np.asarray(names, dtype=object)[column],
        }
    )


def _strip(groups: Sequence[str]) -> pd.DataFrame:
    place, count = np.arange(len(groups)), len(groups)
    left = (1 + GAP) * count - 0.5
    return pd.DataFrame(
        {
            "x": left,
            "x2": left + STRIP * count,
            "y": place - 0.5,
            "y2": place + 0.5,
            "group": groups,
        }
    )


def _tree_lines(joins: ndarray, left: float, right: float) -> pd.DataFrame:
    """The tree's joins as brackets of four points, scaled to the width beside the heatmap."""
    highest = float(joins[:, 4].max()) or 1.0
    first, first_foot, second, second_foot, height = joins.T
    levels = np.stack([first_foot, height, height, second_foot], axis=1).ravel()
    return pd.DataFrame(
        {
            "join": np.repeat(np.arange(len(joins)), 4),
            "step": np.tile(np.arange(4), len(joins)),
            "x": left + (right - left) * 0.95 * levels / highest,
            "y": np.stack([first, first, second, second], axis=1).ravel(),
        }
    )


def _names_axis(names: Sequence[str]) -> Any:
    """An axis of whole numbers, labelled with names."""
    quoted = ", ".join("'" + str(name).replace("\\", "").replace("'", "") + "'" for name in names)
    return {
        "values": list(range(len(names))),
        "labelExpr": f"[{quoted}][datum.value]",
        "labelLimit": 110,
        "labelOverlap": False,
        "grid": False,
        "ticks": False,
        "domain": False,
    }


def _vote_rows(result: Result, k: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The others of every scored model with their distances and labels, and the models themselves
    with what the vote names, ordered by label."""
    table = result.table.assign(name=model_names(result)).set_index("model")
    predictions = result.tables["predictions"].sort_values("label", kind="stable")
    refs = list(predictions["model"])
    places = [table.index.get_loc(ref) for ref in refs]
    distances = result.arrays[f"distances {result.spec['vector']}"][np.ix_(places, places)]
    votes = neighbour_weights(distances, k)[k - 1] > 0
    names, labels = table.loc[refs, "name"].to_numpy(), predictions["label"].to_numpy()
    apart = np.where(np.eye(len(refs), dtype=bool), np.inf, distances)
    nearest = np.argsort(apart, axis=1, kind="stable")[:, : min(len(refs) - 1, MOST_DRAWN)]
    row, near = np.repeat(np.arange(len(refs)), nearest.shape[1]), nearest.ravel()
    others = pd.DataFrame(
        {
            "model": names[row],
            "other": names[near],
            "label": labels[near],
            "group": labels[near],
            "distance": distances[row, near],
            "votes": votes[row, near],
        }
    )
    named = [
        guess if guess == label else f"{guess}, not {label}"
        for guess, label in zip(predictions["predicted"], labels, strict=True)
    ]
    scored = pd.DataFrame({"model": names, "label": labels, "group": labels, "named": named})
    return others, scored


def _mistakes(scored: pd.DataFrame, word: str) -> str:
    """Say of which models the vote names another label."""
    wrong = scored[scored["named"] != scored["label"]]
    mistakes = [f"{row.model} ({row.named})" for row in wrong.itertuples()]
    return (
        f"Another {word} is named of {', '.join(mistakes)}." if mistakes else "None is named wrong."
    )

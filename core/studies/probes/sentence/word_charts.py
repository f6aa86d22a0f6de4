"""Charts of all words of one sentence: distances as heatmaps, the plane of the probe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.maths.structural.predict import SentenceView
from core.maths.trees import Edges
from core.results.drawing.description import cells_in_words
from core.results.drawing.heatmaps import MOST_NUMBERED
from core.results.drawing.labels import free_labels
from core.results.drawing.panels import share_of_variance
from core.results.drawing.style import GREY, gradient, heading
from core.studies.chart_kit import PAGE, Chart, Context, channel, either, layered, text_of
from core.studies.probes.sentence.parts import (
    AGREED,
    INVENTED,
    MISSED,
    WORD,
    dash,
    edge_fields,
    edge_tooltip,
    shown_words,
    status,
)

LABELLED = 40  # words; with more, heatmaps name words in tooltips only
PLANE, NARROW = 420, 330  # height, and the narrowest width, for which words are placed


def distance_charts(view: SentenceView, *, context: Context = PAGE) -> tuple[Chart, Chart]:
    """Heatmaps of the distances between words, in the parse and predicted, on one colour scale."""
    n = len(view.words)
    labels = _labels(view.words)
    i, j = np.indices((n, n))
    rows = pd.DataFrame(
        {
            "row": [labels[k] for k in i.ravel()],
            "column": [labels[k] for k in j.ravel()],
            "true": view.gold_distances.ravel(),
            "predicted": view.distances.ravel().astype(float),
        }
    )
    top = float(max(view.gold_distances.max(), np.quantile(view.distances, 0.99), 1.0))
    rows["predicted_text"] = [text_of(value) for value in rows["predicted"]]
    return (
        _heatmap(rows, labels, "true", "Edges between two words in the parse", top, context),
        _heatmap(
            rows, labels, "predicted", "Squared distance that the probe predicts", top, context
        ),
    )


def plane_chart(view: SentenceView, *, context: Context = PAGE) -> Chart:
    """Words in the probe's subspace (two principal components), with the edges of both trees."""
    pairs = {AGREED: view.agreed, MISSED: view.missed, INVENTED: view.invented}
    lines = _edge_lines(view, pairs)
    reach = float(np.abs(view.points).max()) * 1.25 or 1.0
    letter, height = context.letter, context.height(PLANE)
    words = _placed_words(view, reach, letter, height)
    scale = {"domain": [-reach, reach], "nice": False}
    titles = [
        share_of_variance(f"Component {k + 1}", share) for k, share in enumerate(view.explained)
    ]
    axis = {"labels": False, "ticks": False, "grid": False}
    x = channel("x:Q", scale=scale, title=titles[0], axis=axis)
    y = channel("y:Q", scale=scale, title=titles[1], axis=axis)
    layers: list[Any] = []
    if len(lines):
        layers.append(
            Chart(lines)
            .mark_rule(strokeWidth=2, opacity=0.85)
            .encode(
                x=x,
                y=y,
                x2="x2:Q",
                y2="y2:Q",
                color=status(bool(view.labels)),
                strokeDash=dash(bool(view.labels)),
                tooltip=edge_tooltip(bool(view.labels)),
            )
        )
    points = Chart(words).encode(x=x, y=y, tooltip=[WORD])
    layers.append(points.mark_point(filled=True, size=36, color=GREY, opacity=1))
    opacity = either("datum.kept", 1.0, 0.55)
    letters = points.filtered("datum.named").mark_text(
        fontSize=letter, dx={"expr": "datum.dx"}, dy={"expr": "datum.dy"}
    )
    layers.append(letters.encode(text="shown:N", opacity=opacity))
    title = "Words in the probe's subspace, first two components"
    edges = ", ".join(f"{len(kind)} {name}" for name, kind in pairs.items())
    return layered(*layers).properties(
        width="container",
        height=height,
        title=heading(title),
        description=f"{title}. Scatter plot of {len(words)} words with edges: {edges}.",
    )


def _heatmap(
    rows: pd.DataFrame, labels: list[str], field: str, title: str, top: float, context: Context
) -> Chart:
    """One of the two distances as colours from 0 to `top`, with numbers where there is room."""
    n = len(labels)
    axis = {
        "labels": n <= LABELLED,
        "ticks": False,
        "domain": False,
        "labelLimit": 90,
        "labelOverlap": False,
        "title": None,
    }
    base = Chart(rows).encode(
        x=channel("column:N", sort=labels, axis={"labelAngle": -60, **axis}),
        y=channel("row:N", sort=labels, axis=axis),
    )
    cells = base.mark_rect().encode(
        color=channel(
            f"{field}:Q",
            title=None,
            scale={"scheme": "viridis", "domain": [0, top], "clamp": True, "reverse": True},
            legend=gradient(context=context),
        ),
        tooltip=[
            channel("row:N", title="Word"),
            channel("column:N", title="Word "),
            channel("true:Q", title="In the parse"),
            channel("predicted_text:N", title="Predicted"),
        ],
    )
    layers = [cells]
    if n <= MOST_NUMBERED:
        ink = either(f"datum.{field} < {0.4 * top}", "black", "white")
        words = channel("true:Q") if field == "true" else channel("predicted:Q", format=".1f")
        letters = base.mark_text(baseline="middle", fontSize=context.letter - 1)
        layers.append(letters.encode(text=words, color=ink))
    description = cells_in_words(
        rows[rows["row"] != rows["column"]],
        title,
        row="row",
        column="column",
        value=field,
        value_title="distance",
        kind="measure",
    )
    return layered(*layers).properties(
        width="container",
        height=context.height(max(220, min(520, 20 * n + 60))),
        title=heading(title),
        description=description,
    )


def _edge_lines(view: SentenceView, pairs: Mapping[str, Edges]) -> pd.DataFrame:
    """A row per edge of either tree: its two ends in the plane, and its fields."""
    return pd.DataFrame(
        [
            {
                "x": view.points[i, 0],
                "y": view.points[i, 1],
                "x2": view.points[j, 0],
                "y2": view.points[j, 1],
                **edge_fields(view, i, j, status),
            }
            for status, edges in pairs.items()
            for i, j in edges
        ]
    )


def _placed_words(view: SentenceView, reach: float, letter: float, height: float) -> pd.DataFrame:
    """A row per word: its point, and its name's distance from it where there is room for a name."""
    x, y = view.points[:, 0], view.points[:, 1]
    right, down = (x / reach + 1) / 2 * NARROW, (1 - y / reach) / 2 * height
    places = free_labels(
        right,
        down,
        [0.52 * letter * len(word) for word in shown_words(view.words)],
        letter,
        (NARROW, height),
        4.0,
    )
    at = [(0.0, 0.0) if place is None else place for place in places]
    return pd.DataFrame(
        {
            "x": x,
            "y": y,
            "word": view.words,
            "kept": view.keep,
            "shown": shown_words(view.words),
            "named": [place is not None for place in places],
            "dx": [place[0] for place in at] - right,
            "dy": [place[1] for place in at] - down,
        }
    )


def _labels(words: tuple[str, ...]) -> list[str]:
    """Words for an axis; zero-width characters make repeated ones distinct."""
    shown = shown_words(words)
    return [word + "\u200b" * shown[:place].count(word) for place, word in enumerate(shown)]

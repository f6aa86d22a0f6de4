"""The drawing of one sentence: arcs of parse and prediction, depths under the words.

Where a probe predicts heads and labels, an arc has its label and an arrow to its dependent. Edges
in both trees, only in the parse and only predicted differ in colour and dash. Words are
spaced by their length, so that none is cut off; the drawing is as wide as its sentence, and the
page scrolls it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from core.maths.structural.predict import SentenceView
from core.maths.trees import Edges
from core.results.drawing.style import BLUE, GREY
from core.results.drawing.vega import Chart, channel, either, layered
from core.studies.chart_kit import tip_of
from core.studies.probes.sentence.parts import (
    AGREED,
    INVENTED,
    MISSED,
    WORD,
    dash,
    dependent_of,
    edge_fields,
    edge_tooltip,
    shown_words,
    status,
)

PARSE_COLOUR, PROBE_COLOUR = GREY, BLUE
LETTER, GAP = 7.6, 18.0  # pixels a letter at 14 px, pixels between words
STEP, WORDS_BAND, POINTS = 20.0, 22.0, 25  # pixels of a level, of half the words; points per arc
TALLEST = 84.0  # pixels of the highest arc, so that the drawing fits a screen
DEPTH_HEIGHT = 56
LABEL_LETTER, LABEL_GAP = 10, 7.0  # pixels of a label's letters, and of its middle above its arc
LABELLED_GAP, LABELLED_TALLEST = 30.0, 150.0  # pixels, as GAP and TALLEST, where there are labels


def arcs_chart(view: SentenceView) -> Chart:
    """Arcs of the parse above the words, of the prediction below; bars of depth, if predicted."""
    centres, width = _places(view.words, LABELLED_GAP if view.labels else GAP)
    above = _arcs(view, sorted(view.agreed + view.missed), centres, 1.0)
    below = _arcs(view, sorted(view.agreed + view.invented), centres, -1.0)
    top, bottom = (
        max([STEP, *(abs(row["y"]) - WORDS_BAND for row in rows)]) for rows in (above, below)
    )
    x = channel("x:Q", scale={"domain": [0, width], "nice": False}, axis=None)
    y = channel(
        "y:Q",
        scale={"domain": [-bottom - WORDS_BAND - 16, top + WORDS_BAND + 16], "nice": False},
        axis=None,
    )
    layers: list[Any] = []
    if above or below:
        layers += _arc_layers([*above, *below], x, y, labelled=bool(view.labels))
        layers += _label_layers([*above, *below], x, y) if view.labels else []
    layers += [
        Chart(_words_frame(view, centres))
        .mark_text(fontSize=14, baseline="middle")
        .encode(
            x=x,
            y=y,
            text="shown:N",
            opacity=either("datum.kept", 1.0, 0.55),
            tooltip=_word_tooltip(view),
        ),
        *_root_layers(view, centres, x, y),
    ]
    agreed, edges = len(view.agreed), len(view.agreed) + len(view.missed)
    description = (
        f"{' '.join(view.words)} Parse above the words, predicted tree below: "
        f"{agreed} of {edges} edges are in both, {len(view.invented)} are only predicted."
    )
    if view.labels:
        description += f" {view.labelled} have the same head and label."
    arcs = layered(*layers).properties(width=width, height=top + bottom + 2 * WORDS_BAND + 32)
    # Also alone one above another: the page gives a single chart a height of its own.
    depths = [] if view.depths is None else [_depths(view, centres, width)]
    drawn = Chart(vconcat=[arcs, *depths], spacing=6, description=description)
    return drawn.scales(color="independent", strokeDash="independent").properties(
        config={"view": {"stroke": None}}
    )


def arc_levels(edges: Edges) -> list[int]:
    """Height of each arc in steps: above every shorter arc that overlaps it, so that none
    coincide."""
    levels = [0] * len(edges)
    for place in sorted(range(len(edges)), key=lambda k: abs(edges[k][1] - edges[k][0])):
        i, j = sorted(edges[place])
        under = [
            level
            for level, (a, b) in zip(levels, edges, strict=True)
            if level and max(a, b) > i and min(a, b) < j
        ]
        levels[place] = 1 + max(under, default=0)
    return levels


def _places(words: tuple[str, ...], gap: float) -> tuple[list[float], float]:
    """Centre of each word, and the total width, in pixels; `gap` is that between words."""
    centres, at = [], 24.0
    for word in shown_words(words):
        wide = sum(2.0 if ord(letter) > 0x2E7F else 1.0 for letter in word) * LETTER + gap
        centres.append(at + wide / 2)
        at += max(wide, 30.0)
    return centres, max(at + 24.0, 160.0)


def _arcs(
    view: SentenceView, edges: Edges, centres: list[float], sign: float
) -> list[dict[str, Any]]:
    """Points of half ellipses, one arc per edge; arcs that meet at a word end a little apart."""
    rows = []
    angles = np.linspace(np.pi, 0.0, POINTS)
    agreed, levels = set(view.agreed), arc_levels(edges)
    heads = view.heads if sign > 0 else view.predicted_heads
    labels = view.gold_labels if sign > 0 else view.labels
    tallest = LABELLED_TALLEST if labels else TALLEST
    step = min(STEP, tallest / max(levels, default=1))
    for number, ((i, j), level) in enumerate(zip(edges, levels, strict=True)):
        status = AGREED if (i, j) in agreed else MISSED if sign > 0 else INVENTED
        left, right = centres[i] + 4.0, centres[j] - 4.0
        dependent = dependent_of(heads, i, j)
        for place, angle in enumerate(angles):
            rows.append(
                {
                    "arc": f"{'above' if sign > 0 else 'below'} {number}",
                    "place": place,
                    "x": (left + right) / 2 + (right - left) / 2 * float(np.cos(angle)),
                    "y": sign * (WORDS_BAND / 2 + 2 + step * level * float(np.sin(angle)) ** 0.8),
                    "label": labels[dependent] if labels and dependent >= 0 else "",
                    "arrow": place == (POINTS - 1 if dependent == j else 0),
                    "above": sign > 0,
                    **edge_fields(view, i, j, status),
                }
            )
    return rows


def _arc_layers(rows: list[dict[str, Any]], x: Any, y: Any, *, labelled: bool) -> list[Any]:
    """The arcs, and invisible wide copies that are easier to point at."""
    chart = Chart(pd.DataFrame(rows)).encode(x=x, y=y, detail="arc:N", order="place:Q")
    return [
        chart.mark_line(strokeWidth=2, interpolate="monotone").encode(
            color=status(labelled), strokeDash=dash(labelled)
        ),
        chart.mark_line(strokeWidth=14, opacity=0.001).encode(tooltip=edge_tooltip(labelled)),
    ]


def _label_layers(rows: list[dict[str, Any]], x: Any, y: Any) -> list[Any]:
    """An arrow at the dependent's end of each arc, and the arc's label over its middle."""
    table = pd.DataFrame(rows)
    middle = table[table["place"] == POINTS // 2].assign(
        y=lambda frame: frame["y"] + np.where(frame["above"], LABEL_GAP, -LABEL_GAP)
    )
    ends = table[table["arrow"]]
    layers: list[Any] = [
        Chart(ends[ends["above"] == above])
        .mark_point(shape=shape, filled=True, size=34, opacity=1)
        .encode(x=x, y=y, color=status(labelled=True))
        for above, shape in ((True, "triangle-down"), (False, "triangle-up"))
        if (ends["above"] == above).any()
    ]
    text = Chart(middle).mark_text(fontSize=LABEL_LETTER, baseline="middle")
    return [*layers, text.encode(x=x, y=y, text="label:N")]


def _root_layers(view: SentenceView, centres: list[float], x: Any, y: Any) -> list[Any]:
    """A triangle at each tree's root."""
    marks = [
        (view.heads, WORDS_BAND + 2, "triangle-down", "root of the parse"),
        (view.predicted_heads, -WORDS_BAND - 2, "triangle-up", "predicted root"),
    ]
    if view.depths is None and not view.labels:
        marks = marks[:1]  # without a depth probe or heads no root is predicted
    layers = []
    for heads, height, shape, what in marks:
        root = heads.index(0)
        row = pd.DataFrame(
            [{"x": centres[root], "y": height, "what": what, "word": view.words[root]}]
        )
        layers.append(
            Chart(row)
            .mark_point(shape=shape, filled=True, size=70, color=GREY, opacity=1)
            .encode(x=x, y=y, tooltip=[channel("what:N", title=" "), WORD])
        )
    return layers


def _words_frame(view: SentenceView, centres: list[float]) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "x": centres,
            "y": 0.0,
            "word": view.words,
            "shown": shown_words(view.words),
            "kept": view.keep,
        }
    )
    frame["depth"] = view.gold_depths
    if view.depths is not None:
        frame["predicted_depth"] = view.depths.astype(float)
    return frame


def _depths(view: SentenceView, centres: list[float], width: float) -> Any:
    """Depth in the parse and predicted depth as two bars under each word."""
    assert view.depths is not None
    parts = [
        pd.DataFrame(
            {"x": np.array(centres) + shift, "depth": values, "word": view.words, "which": which}
        )
        for shift, values, which in (
            (-5, view.gold_depths, "parse"),
            (5, view.depths.astype(float), "predicted"),
        )
    ]
    colour = channel(
        "which:N",
        title="Depth",
        scale={"domain": ["parse", "predicted"], "range": [PARSE_COLOUR, PROBE_COLOUR]},
        legend={"orient": "bottom", "direction": "horizontal", "titleOrient": "left"},
    )
    return (
        Chart(pd.concat(parts))
        .mark_bar(size=9)
        .encode(
            x=channel("x:Q", scale={"domain": [0, width], "nice": False}, axis=None),
            y=channel("depth:Q", scale={"reverse": True}, axis=None),
            color=colour,
            tooltip=[
                WORD,
                channel("which:N", title="Depth"),
                channel("depth:Q", title=" ", format=".2f"),
            ],
        )
        .properties(width=width, height=DEPTH_HEIGHT)
    )


def _word_tooltip(view: SentenceView) -> list[Any]:
    fields = [WORD, channel("depth:Q", title="Depth in the parse")]
    if view.depths is not None:
        fields.append(
            channel("predicted_depth:Q", title=tip_of("predicted_depth").title, format=".2f")
        )
    return fields

"""The chart of the vote: every model in a row with its distances to the others, of which the
nearest name its label."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.maths.spectra.neighbours import neighbour_weights
from core.results.columns import told
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import WIDE
from core.results.drawing.style import GREY, heading
from core.results.drawing.vega import Chart, OfWidth, channel, either, layered
from core.results.export import Result
from core.results.numbers import labels_of, text_of
from core.studies.weights.clusters.charts.marks import (
    group_channels,
    label_word,
    model_names,
    ordered,
    vector_name,
)
from core.studies.weights.unlabelled import SPELT

ROOM = 292  # height with which headline, chart and legend fit 720 pixels
ROW, LEAST = 22, 1.03  # height of a row: at most in pixels, at least this times the letters'
MOST = 40  # others drawn in a row, the nearest ones
MARGIN = 0.09  # of the range of distances, at the left for the model's own mark


def vote_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw each scored model as a row of the others by their distance, in the colours of their
    labels: the nearest, which vote, are large; the model's own label is at the left, the label that
    the vote names at the right."""
    k, (vote, *_) = int(result.arrays["k"]), result.tables["votes"].to_dict("records")
    others, scored = _rows(result, k)
    names, groups = list(scored["model"]), ordered(scored["label"])
    low, high = float(others["distance"].min()), float(others["distance"].max())
    span = (high - low) or abs(high) or 1.0
    left, right = low - MARGIN * span, high + 0.02 * span
    longest = max(len(text) for text in scored["named"])
    room = round(WIDE * context.letter * longest + 12)
    across = OfWidth(f"width - {room}", lambda width: round(width - room, 1))
    scale = {"domain": [left, right], "nice": False, "zero": False, "range": [0, across]}
    axis = {"tickCount": 5, "grid": False, **labels_of("share")}
    title = f"Distance between updates ({vector_name(result)})"
    rows, tooltip = told(others, ("model", "other", "label", "distance"))
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
    near = "nearest" if k == 1 else f"{SPELT.get(k, k)} nearest"
    what = f"The {word} that the nearest neighbours name"
    score = (
        f"right for {vote['right']} of {vote['models']}, "
        f"by chance for {text_of(vote['expected'], 'amount')}"
    )
    below = f"{score}; large: the {near}, which vote; left: the model's own {word}"
    height = max(context.height(min(ROW * len(scored), ROOM)), LEAST * context.letter * len(scored))
    return layered(*layers).properties(
        width="container", height=height, title=heading(what, below),
        description=f"{what}: {score}. {_mistakes(scored, word)}",
    )  # fmt: skip


def _rows(result: Result, k: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The others of every scored model with their distances and labels, and the models themselves
    with what the vote names, ordered by label."""
    table = result.table.assign(name=model_names(result)).set_index("model")
    predictions = result.tables["predictions"].sort_values("label", kind="stable")
    refs = list(predictions["model"])
    places = [table.index.get_loc(ref) for ref in refs]
    distances = result.arrays[f"distances {result.spec['vector']}"][np.ix_(places, places)]
    votes = neighbour_weights(distances, k)[k - 1] > 0
    names, labels = table.loc[refs, "name"].to_numpy(), predictions["label"].to_numpy()
    frames = []
    for row in range(len(refs)):
        order = np.argsort(distances[row], kind="stable")
        near = order[order != row][:MOST]
        columns = {"other": names[near], "label": labels[near], "group": labels[near]}
        columns |= {"distance": distances[row, near], "votes": votes[row, near]}
        frames.append(pd.DataFrame({"model": names[row], **columns}))
    named = [
        guess if guess == label else f"{guess}, not {label}"
        for guess, label in zip(predictions["predicted"], labels, strict=True)
    ]
    scored = pd.DataFrame({"model": names, "label": labels, "group": labels, "named": named})
    return pd.concat(frames, ignore_index=True), scored


def _mistakes(scored: pd.DataFrame, word: str) -> str:
    """Say of which models the vote names another label."""
    wrong = scored[scored["named"] != scored["label"]]
    said = [f"{row.model} ({row.named})" for row in wrong.itertuples()]
    return f"Another {word} is named of {', '.join(said)}." if said else "None is named wrong."

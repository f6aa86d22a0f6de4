"""The views of the study: the vote, the map, neighbours, distances, rank by depth."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from core.studies.chart_kit import PAGE, Chart, Context, Panels, Result
from core.studies.weights.clusters.charts.distances import distances_chart, vote_chart
from core.studies.weights.clusters.charts.figures import map_chart, neighbours_chart
from core.studies.weights.clusters.charts.ranks import depth_panels, families_of
from core.studies.weights.clusters.view_text import (
    depth_sentence,
    distances_sentence,
    map_sentence,
    neighbours_sentence,
    votes_sentence,
)
from core.studies.weights.unlabelled import UNLABELLED
from core.study import View

RELATIVE_SIZE = "relative_norm"
# keys of views
VOTE, MAP, NEIGHBOURS, DISTANCES, DEPTH = "vote", "map", "neighbours", "distances", "depth"


def draw_votes(result: Result, *, context: Context = PAGE) -> dict[str, Chart]:
    """Draw every model with the neighbours that name its label, if neighbours could be scored."""
    scored = len(result.tables.get("votes", ())) > 0
    return {"votes": vote_chart(result, context=context)} if scored else {}


def draw_map(
    result: Result,
    by: str = "label",
    chosen: str = "",
    axes: str = "1-2",
    wanted: str = "",
    *,
    context: Context = PAGE,
) -> Panels:
    """Draw the map; choices as for `map_chart`."""
    chart = map_chart(result, by, chosen, axes, wanted, context=context)
    return Panels([chart], inline=True, names=["map"])


def draw_neighbours(result: Result, *, context: Context = PAGE) -> dict[str, Chart]:
    """Draw the shares of every vector, if neighbours could be scored."""
    scored = not result.tables["vectors"].empty
    return {"neighbours": neighbours_chart(result, context=context)} if scored else {}


def draw_distances(result: Result, *, context: Context = PAGE) -> dict[str, Chart]:
    """Draw the heatmap of distances with its tree, if there are two models."""
    several = len(result.table) > 1
    return {"distances": distances_chart(result, context=context)} if several else {}


def draw_depth(
    result: Result,
    of: str = "",
    threshold: float | None = None,
    measure: str = "rank",
    *,
    context: Context = PAGE,
) -> Panels:
    """Draw every family by depth, of "delta" or "weights" (empty for the first that the result
    has); the relative size is defined for deltas only."""
    of = of or next(iter(kinds_of(result)), "delta")
    if measure == RELATIVE_SIZE and of == "weights":
        return Panels([])
    panels = depth_panels(result, of, threshold, measure, context=context)
    return replace(panels, names=[f"ranks-{of}"] * len(panels.charts))


def kinds_of(result: Result) -> list[str]:
    """List what the result has ranks of: "delta", "weights" or both."""
    return [kind for kind in ("delta", "weights") if families_of(result, kind)]


def neighbour_rows(result: Result) -> dict[str, pd.DataFrame]:
    """Shares of every vector at the k of the study, and each model's predicted label."""
    vectors = result.tables["vectors"]
    at_k = vectors[vectors["k"] == int(result.arrays["k"])].drop(columns="k")
    return {"vectors": at_k, "predictions": result.tables["predictions"]}


def trend_rows(result: Result, *choices: object) -> dict[str, pd.DataFrame]:
    """Trends of ranks with depth, without the coefficients of their curves."""
    return {"trends": result.tables["trends"].drop(columns="coefficients")}


VIEWS = (
    View(
        VOTE,
        draw=draw_votes,
        headline=votes_sentence,
        tables=lambda result: {name: result.tables[name] for name in ("predictions", "votes")},
        table="predictions",
    ),
    View(
        MAP,
        draw=draw_map,
        headline=map_sentence,
        tables=lambda result: {
            name: result.tables[name]
            for name in (UNLABELLED, "models", "doses")
            if name in result.tables
        },
    ),
    View(
        NEIGHBOURS,
        draw=draw_neighbours,
        headline=neighbours_sentence,
        tables=neighbour_rows,
        table="neighbours",
    ),
    View(
        DISTANCES,
        draw=draw_distances,
        headline=distances_sentence,
        table="distances",
    ),
    View(
        DEPTH,
        draw=draw_depth,
        choices=lambda result: [(of,) for of in kinds_of(result)],
        headline=depth_sentence,
        tables=trend_rows,
        table="ranks",
    ),
)

"""The charts of the lineage study: models as trees, a line from each to its parent, and the
changes of two models."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.models.weights.matrix_families import family_label
from core.results.drawing.curves import look_channels
from core.results.drawing.style import BLUE, GREY, ORANGE, columns_for, heading, legend
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Look,
    Result,
    Tip,
    channel,
    heatmap,
    layered,
    short_names,
    with_tooltips,
)
from core.studies.weights.lineage.tables import ALONE, DESCENDS, ROOT

AGREES, DIFFERS, SILENT = "as recorded", "not as recorded", "not recorded"
LOOKS = {
    AGREES: Look(BLUE, "circle"),
    DIFFERS: Look(ORANGE, "square"),
    SILENT: Look(GREY, "triangle-up"),
}
TITLE = "Which model comes from which"
ROW, ROOM = 26, 60  # height of a row of cells, and of axes and legend
LETTERS = 150  # most pixels of a model's name
BESIDE, APART = 4, 0.22  # models that share a row at most, and the steps between them
DENSE = 0.78  # of a usual row, so that the included models fit a screen


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Draw the tree, if models could be compared."""
    rows, changes = tree_rows(result.table), result.tables["changes"].dropna(subset="cosine")
    charts = {"lineage": _tree_chart(rows, context)} if len(rows) else {}
    return charts | ({"changes": _changes_chart(changes, context)} if len(changes) else {})


def tree_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Put the models in the order of the drawing, each below its parent, with `name`, `group`, the
    label of its `row` and its `step` to the right. Models of one parent that differ in a number
    share a row if none descends from them: "nli-0, -1, -2"."""
    shown = table[table["verdict"].isin((ROOT, DESCENDS, ALONE))]
    names = short_names(table["model"])
    children: dict[str, list[str]] = {}
    for row in shown.itertuples():
        children.setdefault(str(row.parent), []).append(str(row.model))
    order, waiting = [], children.get("", [])[::-1]
    while waiting:
        model = waiting.pop()
        order.append(model)
        # the shortest branch first, so that no line crosses a long one
        waiting += sorted(children.get(model, []), key=lambda ref: len(children.get(ref, [])))[::-1]
    group = shown["agrees"].map({True: AGREES, False: DIFFERS}).astype(object).fillna(SILENT)
    drawn = shown.assign(name=shown["model"].map(names), group=group).set_index("model")
    drawn = drawn.loc[order].reset_index()
    labels, places = _shared_rows(drawn, set(children))
    return drawn.assign(row=labels, step=drawn["generation"] + APART * np.array(places))


def _shared_rows(drawn: pd.DataFrame, parents: set[str]) -> tuple[list[str], list[int]]:
    """Find the label of each model's row, and its place among the models that share it."""
    rows: list[list[str]] = []
    kinds: list[object] = []
    places = []
    for row in drawn.itertuples():
        stem, _, number = str(row.name).rpartition("-")
        leaf = row.parent and str(row.model) not in parents and number.isdigit()
        kind = (row.parent, row.group, stem) if leaf else str(row.name)
        if kinds and kinds[-1] == kind and len(rows[-1]) < BESIDE:
            rows[-1].append(f"-{number}")
        else:
            kinds.append(kind)
            rows.append([str(row.name)])
        places.append(len(rows[-1]) - 1)
    row_of = np.cumsum([place == 0 for place in places]) - 1
    return [", ".join(rows[number]) for number in row_of], places


def _tree_chart(rows: pd.DataFrame, context: Context) -> Chart:
    labels = list(dict.fromkeys(rows["row"]))
    ends = [-0.3, float(rows["step"].max()) + 0.3]
    x = channel("step:Q", axis=None, scale={"domain": ends, "nice": False})
    y = channel(
        "row:N", title=None, sort=labels,
        axis={"ticks": False, "domain": False, "labelLimit": LETTERS, "labelOverlap": False},
    )  # fmt: skip
    lines = (
        Chart(_elbows(rows))
        .mark_line(color=GREY, strokeWidth=1.5 * context.thin, interpolate="linear")
        .encode(x=x, y=y, detail="branch:N", order="place:O")
    )
    shown = {group: look for group, look in LOOKS.items() if (rows["group"] == group).any()}
    by_group = look_channels(shown, "group", legend(columns_for(shown, context=context)))
    tips = (
        *(Tip("name", "Model"), "parent", "recorded", "generation", "relative_delta"),
        *("lineage.cosine", "norm", "norm_change", "kurtosis", "start_p"),
    )
    short = short_names(rows["model"])
    written = rows.assign(
        who=rows["name"],
        parent=[short.get(ref, ref) or "none" for ref in rows["parent"]],
        recorded=[short.get(ref, ref) or "none" for ref in rows["recorded"]],
    )
    table, tooltip = with_tooltips(written, tips)
    points = (
        Chart(table)
        .mark_point(filled=True, size=80, opacity=1)
        .encode(x=x, y=y, tooltip=tooltip, **by_group)
    )
    return layered(lines, points).properties(
        width="container",
        height=DENSE * context.row * (len(labels) + 1),
        title=heading(TITLE, "trees by the distance of weights, from their smallest norms"),
        description=_in_words(written),
    )


def _changes_chart(table: pd.DataFrame, context: Context) -> Chart:
    """Draw the cosine of two models' changes, a cell for each matrix that both changed."""
    names = short_names(table[["model", "other", "base"]].iloc[0])
    first, second, base = names.values()
    rows = table.assign(family=table["family"].map(family_label))
    families = list(dict.fromkeys(rows["family"]))
    most = float(rows["cosine"].abs().max())
    below = f"cosine of the weights minus those of {base}; matrices that both changed"
    return heatmap(
        rows, f"Changes of {first} and {second}", below, x="layer", y="family", value="cosine",
        x_title="Layer", ends=(min(0.0, float(rows["cosine"].min())), most or 1.0),
        tips=["family", "layer"], also=["permuted_cosine"],
        order=(sorted(set(rows["layer"])), families), height=ROW * len(families) + ROOM,
        context=context,
    )  # fmt: skip


def _elbows(rows: pd.DataFrame) -> pd.DataFrame:
    """Make three points of each branch: the parent, the corner below it, and the row's model."""
    by_model = rows.set_index("model")
    points = []
    for row in rows[rows["parent"] != ""].drop_duplicates("row").itertuples():
        parent = by_model.loc[row.parent]
        corners = (
            (parent["step"], parent["row"]),
            (parent["step"], row.row),
            (row.step, row.row),
        )
        points += [(row.row, place, *corner) for place, corner in enumerate(corners)]
    return pd.DataFrame(points, columns=["branch", "place", "step", "row"])


def _in_words(rows: pd.DataFrame) -> str:
    """Describe the trees for a screen reader: each parent with its children."""
    children = {name: list(rows.loc[rows["parent"] == name, "name"]) for name in rows["name"]}
    branches = [f"From {name}: {', '.join(below)}." for name, below in children.items() if below]
    return " ".join([f"{TITLE}. Tree of {len(rows)} models.", *branches])

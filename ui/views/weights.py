"""Views of the weight clustering page: label table, map, neighbours, distances, rank by depth."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.errors import PalimpsestError
from core.weights.clusters.charts import figures as charts
from core.weights.clusters.charts import ranks as rank_charts
from core.weights.clusters.charts.distances import distances_chart
from core.weights.clusters.members import read_label_table
from core.weights.clusters.spec import UPLOAD, WeightsSpec
from core.weights.clusters.view_text import (
    depth_sentence,
    distances_sentence,
    map_sentence,
    neighbours_sentence,
)
from core.weights.vectors.registry import VECTORS
from ui import lessons
from ui.frame.text import plain
from ui.study.downloads import show_downloads
from ui.study.figures import show_charts
from ui.study.forms import Form
from ui.study.layers import Picking
from ui.study.results import show_table
from ui.views.weights_map import OF_HELP, SHOWN

if TYPE_CHECKING:
    from core.results.drawing.context import Context
    from core.results.drawing.panels import Panels
    from core.results.export import Result

MEASURES = {
    "rank": "Rank",
    "stable_rank": "Stable rank",
    "entropy_rank": "Entropy rank",
    "relative_norm": "Relative size",
}
MEASURES_HELP = "  \n".join(
    (
        "**Rank**: number of directions that hold a share of the energy.",
        "**Stable rank**: sum of the squared singular values over the largest squared.",
        "**Entropy rank**: exponential of the entropy of the normalised singular values.",
        "**Relative size**: norm of the update over the norm of the base's matrix.",
    )
)
VECTORS_HELP = "  \n".join(f"*{vector.title}*: {vector.meaning}" for vector in VECTORS.values())


def label_table(form: Form[WeightsSpec]) -> dict[str, bytes]:
    """Draw the control of the label table; return its content by name, empty if there is none."""
    address, seen = form.address, form.address.key("label table seen")
    upload = st.file_uploader(
        "Upload labels: a CSV file with a column `model`",
        type=["csv", "tsv"],
        max_upload_size=1,
        key=address.key("label table"),
    )
    if upload is None:
        if st.session_state.pop(seen, None):
            address.set("labels", "")
        return {}
    if st.session_state.get(seen) != upload.file_id:
        st.session_state[seen] = upload.file_id
        address.set("labels", f"{UPLOAD}{upload.name}")
        address.set("column", "")
    content = upload.getvalue()
    try:
        columns = list(read_label_table(content))
    except PalimpsestError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return {}
    if address["column"] not in columns:
        address.set("column", columns[0])
    address.tell("column")  # its control is in a popover
    st.selectbox("Label column", columns, key=address.key("column"))
    return {f"{UPLOAD}{upload.name}": content}


def identity_of(texts: dict[str, bytes]) -> str:
    """Identify uploaded tables by content, because two may have the same name."""
    return hashlib.sha256(b"".join(texts.values())).hexdigest() if texts else ""


def view_headline(result: Result, view: str) -> str:
    """The sentence of a view; "" if the study's headline is shown instead."""
    said = {
        "Neighbours": neighbours_sentence,
        "Distances": distances_sentence,
        "Rank by depth": depth_sentence,
    }
    return said.get(view, map_sentence)(result)


def neighbours_view(result: Result) -> None:
    """Show the shares of every vector compared with chance, and each model's predicted label."""
    if result.tables["vectors"].empty:
        st.info(
            "Neighbours cannot be scored: at least 3 models and 2 labels are needed. Add models "
            "or labels.",
            icon=":material/info:",
        )
        return
    drawing = partial(charts.neighbours_chart, result)
    mark = lessons.mark("weights")
    show_charts(drawing, key="neighbours", alt_text=result.headline, result=result, mark=mark)
    show_downloads(
        result, drawing, lambda: charts.figures(result), table="neighbours", view="neighbours"
    )
    vectors = result.tables["vectors"]
    used = int(result.arrays["k"])
    at_k = vectors[vectors["k"] == used].drop(columns="k")
    show_table(at_k, "vectors", digits=4, title=f"Comparison of vectors, k = {used}")
    show_table(result.tables["predictions"], "predictions")


def distances_view(result: Result) -> None:
    """Show the heatmap of distances with its tree."""
    if len(result.table) < 2:
        st.info("Distances need at least 2 models; choose another model.", icon=":material/info:")
        return
    drawing = partial(distances_chart, result)
    shown = "Distances between models, ordered by a tree"
    show_charts(drawing, key="distances", alt_text=shown, result=result)
    show_downloads(
        result, drawing, lambda: charts.figures(result), table="distances", view="distances"
    )
    with st.expander("Table: distances", icon=":material/table:"):
        show_table(result.tables["distances"], "distances")


def depth_view(form: Form[WeightsSpec], result: Result) -> None:
    """Show ranks by layer and family; the threshold is applied to stored spectra."""
    kinds = [kind for kind in ("delta", "weights") if rank_charts.families_of(result, kind)]
    with form.bar, st.popover("Measure", icon=":material/tune:", help=MEASURES_HELP):
        measure = st.segmented_control(
            "Measure",
            list(MEASURES),
            default="rank",
            required=True,
            key="weights/measure",
            format_func=MEASURES.__getitem__,
            help=MEASURES_HELP,
        )
        percent = st.slider(
            "Energy threshold, %",
            50.0,
            99.9,
            100 * float(result.spec["threshold"]),
            0.1,
            key="weights/percent",
            help="Share of the energy that a rank must hold; a higher share gives higher ranks.",
        )
        of = st.segmented_control(
            "Of", kinds, default=kinds[0], required=True, key="weights/of_shown", help=OF_HELP
        )
    if measure == "relative_norm" and of == "weights":
        st.info(
            "Relative size is defined for updates only, as the norm relative to the base; choose "
            "delta.",
            icon=":material/info:",
        )
        return
    threshold = round(percent / 100, 6)

    def drawn(*, context: Context) -> Panels:
        return rank_charts.depth_panels(result, str(of), threshold, str(measure), context=context)

    view = (of, threshold, measure)
    show_charts(
        drawn,
        key="depth",
        result=result,
        view=view,
        pick=Picking(form.address, POINT, _spectra_at).made,
    )
    st.caption("Click a point to see the spectra of its model, with its layer highlighted.")
    show_downloads(result, drawn, lambda: charts.figures(result), table="ranks", view=view)
    with st.expander("Table: trends", icon=":material/table:"):
        show_table(result.tables["trends"].drop(columns="coefficients"), "trends")


POINT = ("model", "layer")  # fields of a point in the panels by depth


def _spectra_at(point: Mapping[str, Any]) -> dict[str, Any]:
    """Link to the map, with the spectra of the clicked model and layer."""
    if not all(name in point for name in POINT):
        return {}
    st.session_state[SHOWN] = str(point["model"])
    return {"view": "Map", "layer": int(point["layer"])}

"""Views of the weight clustering page: label table, map, neighbours, distances, rank by depth."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.errors import PalimpsestError
from core.results.names import short_names
from core.weights.clusters.charts import figures as charts
from core.weights.clusters.charts import ranks as rank_charts
from core.weights.clusters.charts.distances import distances_chart
from core.weights.clusters.members import read_label_table
from core.weights.clusters.spec import UPLOAD, WeightsSpec
from core.weights.clusters.study import redraw
from core.weights.clusters.view_text import (
    depth_sentence,
    distances_sentence,
    map_sentence,
    neighbours_sentence,
)
from core.weights.vectors.projections import FEWEST, METHODS
from core.weights.vectors.registry import VECTORS
from ui import lessons
from ui.frame import shell
from ui.frame.links import Address
from ui.frame.text import plain
from ui.study.downloads import show_downloads
from ui.study.figures import page_specs, show_charts, show_spec
from ui.study.forms import Form
from ui.study.layers import Picking
from ui.study.results import show_table
from ui.study.run_panel import run_panel

if TYPE_CHECKING:
    from core.results.drawing.context import Context
    from core.results.drawing.panels import Panels
    from core.results.export import Result

SHOWN = "weights/shown_model"
COLUMNS = {
    "label": "Label",
    "task": "Task",
    "data": "Data set",
    "base": "Base",
    "cluster": "Cluster",
}
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
OF_HELP = "**delta**: the update, fine-tuned minus base. **weights**: the weights themselves."
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


def redrawing(
    spec: WeightsSpec, result: Result, identity: Hashable
) -> Callable[[str], Result | None]:
    """Return what draws the result's distances on another map, through the run panel."""

    def draw(drawing: str) -> Result | None:
        return run_panel(
            "weights map",
            replace(spec, map=drawing),
            lambda progress, signal: redraw(result, drawing, progress=progress, signal=signal),
            identity=identity,
            quiet=True,
        )

    return draw


def map_view(
    form: Form[WeightsSpec], result: Result, redrawn: Callable[[str], Result | None]
) -> None:
    """Show the map, and below it the spectra of the clicked model and links to other pages.

    Args:
        form: The page's.
        result: Result of the study.
        redrawn: Returns the result on another map, through the run panel; None until it is there.
    """
    address = form.address
    possible = [name for name in METHODS if len(result.table) >= FEWEST[name]]
    if address["map"] not in possible:
        address.set("map", possible[0])
    about = "Choose the colours of the map and how models are placed."
    with form.bar, st.popover("Map", icon=":material/palette:", help=about):
        for name in ("colour", "map"):
            address.tell(name)
        by = st.segmented_control(
            "Colour",
            list(COLUMNS),
            required=True,
            key=address.key("colour"),
            format_func=COLUMNS.__getitem__,
            help="Column that the colours show; positions stay the same.",
        )
        drawing = st.segmented_control(
            "Map",
            possible,
            required=True,
            key=address.key("map"),
            format_func=METHODS.__getitem__,
            help="PCA preserves distances as well as two axes can, t-SNE and UMAP neighbourhoods.",
        )
    shown = result if drawing == result.spec["map"] else redrawn(str(drawing))
    if shown is None:
        return
    models = list(result.table["model"])
    if st.session_state.get(SHOWN) not in models:
        st.session_state[SHOWN] = models[0]

    chosen = str(st.session_state[SHOWN])
    drawn = partial(charts.map_chart, shown, str(by))
    show_spec(
        page_specs(partial(drawn, chosen), key=CHART, result=shown, view=(by, chosen))[0],
        key=CHART,
        on_select=_take_click,
        selection_mode=charts.CHOSEN,
    )
    st.caption("Click a model to see its spectra below.")
    show_downloads(shown, drawn, lambda: charts.figures(shown), view=by, name=f"{drawing} by {by}")
    _one_model(address, result, models)
    with st.expander("Table: models", icon=":material/table:"):
        show_table(shown.table, "models")
    if len(result.tables["doses"]):
        show_table(result.tables["doses"], "doses")


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


CHART = "weights/map_chart"


def _take_click() -> None:
    picked = st.session_state[CHART].selection.get(charts.CHOSEN) or []
    if picked:
        st.session_state[SHOWN] = str(picked[0]["model"])


def _one_model(address: Address, result: Result, models: Sequence[str]) -> None:
    names = short_names(models)
    left, middle, right = st.columns([4, 2, 5], vertical_alignment="bottom")
    model = str(
        left.selectbox(
            "Spectra of",
            models,
            key=SHOWN,
            format_func=names.__getitem__,
            help="Model whose singular values are drawn; clicking it on the map does the same.",
        )
    )
    layers = [0, *rank_charts.layers_of(result)]
    address.among("layer", layers, 0)
    address.tell("layer")
    layer = middle.selectbox(
        "Layer",
        layers,
        key=address.key("layer"),
        format_func=lambda layer: f"layer {layer}" if layer else "all layers",
        help="Layer to highlight; 1 is the first above the embeddings.",
    )
    base = str(result.table.set_index("model").loc[model, "base"])
    with right.container(horizontal=True):
        for path, label, link in (
            ("pages/rsa.py", "Compare its layers (RSA)", {"base": base, "compare": model}),
            ("pages/probe_trees.py", "Draw its trees (probes)", {"models": [base, model]}),
        ):
            if any(entry.path == path for entry in shell.PAGES):
                st.page_link(
                    shell.file_of(path),
                    label=label,
                    icon=":material/arrow_forward:",
                    query_params=link,
                )
    kinds = [kind for kind in ("delta", "weights") if rank_charts.families_of(result, kind)]
    of = kinds[0]
    if len(kinds) > 1:
        of = str(
            st.segmented_control(
                "Of", kinds, default=of, required=True, key="weights/spectra_of", help=OF_HELP
            )
        )

    def drawn(*, context: Context) -> Panels:
        return rank_charts.spectrum_panels(result, model, of, layer, context=context)

    show_charts(drawn, key="spectra", result=result, view=(model, of, layer))

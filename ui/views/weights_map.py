"""The map of the weight clustering page: its controls, its click, the spectra of one model."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from core import options
from core.maths.spectra.projections import FEWEST, METHODS
from core.results.drawing.panels import Panels
from core.results.names import short_names
from core.results.numbers import text_of
from core.studies.weights.clusters.charts import figures as charts
from core.studies.weights.clusters.charts import ranks as rank_charts
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.study import STUDY, redraw
from core.studies.weights.clusters.views import kinds_of
from core.studies.weights.unlabelled import UNLABELLED
from ui.frame import shell
from ui.frame.links import Address
from ui.frame.text import plain
from ui.study.downloads import show_downloads
from ui.study.figures import page_specs, show_charts, show_spec
from ui.study.forms import Form
from ui.study.results import show_tables
from ui.study.run_panel import Request, run_panel
from ui.views.maps import HOW_TO_MOVE, search_box, search_option

if TYPE_CHECKING:
    from core.results.drawing.context import Context
    from core.results.drawing.panels import Drawn
    from core.results.export import Result
    from core.study import View


SHOWN = "weights/shown_model"
COLUMNS = {
    "label": "Label",
    "task": "Task",
    "data": "Data set",
    "base": "Base",
    "cluster": "Cluster",
}
OF_HELP = "**delta**: the update, fine-tuned minus base. **weights**: the weights themselves."
CHART = "weights/map_chart"
RING = "weights/ringed"  # the model ringed when the map was drawn, the view, how often it was drawn
ASKED = "weights/asked"  # models without a label when the map was drawn
CLICKED = "weights/clicked"  # on the map, since then
SPECTRA = "weights/spectra"  # whether the fold of one model's spectra is open


@dataclass(frozen=True)
class MapDisplay(options.Spec):
    """What is shown of the map: part of the link, not of the study."""

    colour: str = options.choice("Colour", "label", COLUMNS, help="Column that colours the map.")
    axes: str = options.choice(
        "Axes",
        "1-2",
        charts.PAIR_TITLES,
        has_titles=True,
        help="Pair of the map's three axes that is shown.",
    )
    search: str = search_option("models")


def redrawing(
    spec: WeightsSpec, result: Result, identity: Hashable
) -> Callable[[str], Result | None]:
    """Return what draws the result's distances on another map, through the run panel."""

    def draw(drawing: str) -> Result | None:
        request = Request(
            "weights map",
            replace(spec, map=drawing),
            lambda progress, signal: redraw(result, drawing, progress=progress, signal=signal),
            identity=identity,
        )
        return run_panel(request, quiet=True)

    return draw


def map_view(
    form: Form[WeightsSpec],
    result: Result,
    page_view: View,
    redrawn: Callable[[str], Result | None],
) -> None:
    """Show the map, and below it the spectra of the clicked model and links to other pages.

    Args:
        form: The page's.
        result: Result of the study.
        page_view: The view.
        redrawn: Returns the result on another map, through the run panel; None until it is there.
    """
    address = form.address
    by, drawing, axes, wanted = _map_controls(form, result)
    shown = result if drawing == result.spec["map"] else redrawn(drawing)
    if shown is None:
        return
    models = list(result.table["model"])
    _show_own(result, models)

    view = (by, axes, wanted)
    ring, key = _ringed(str(st.session_state[SHOWN]), (shown.spec["map"], *view))

    ringed = page_view.drawing(shown, by, ring, axes, wanted)

    def moved(*, context: Context) -> Drawn:
        return ringed(context=replace(context, zooms=True))

    show_spec(
        page_specs(moved, key=CHART, result=shown, view=(*view, ring))[0],
        key=key,
        on_select=partial(_take_click, key),
        selection_mode=charts.CHOSEN,
    )
    called = " ".join(filter(None, (drawing, "by", by, axes, wanted)))
    drawn = page_view.drawing(shown, by, "", axes, wanted)
    caption = f"Click a model to see its spectra below. {HOW_TO_MOVE}"
    figures = partial(STUDY.figures, shown)
    show_downloads(shown, drawn, figures, view=view, name=called, caption=caption)
    _one_model(address, result, models)
    rows = page_view.rows(shown)
    show_tables(rows)


def _show_own(result: Result, models: Sequence[str]) -> None:
    """Ring the first model that has no label when it comes, until another is clicked."""
    state, unlabelled = st.session_state, result.tables.get(UNLABELLED)
    asked = [] if unlabelled is None else list(unlabelled["model"])
    if asked and asked != state.get(ASKED):
        state[SHOWN] = asked[0]
    state[ASKED] = asked
    if state.get(SHOWN) not in models:
        state[SHOWN] = models[0]


def _map_controls(form: Form[WeightsSpec], result: Result) -> tuple[str, str, str, str]:
    """Draw the map's controls; return colour, method, axes and searched text."""
    address = form.address
    possible = [name for name in METHODS if len(result.table) >= FEWEST[name]]
    if address["map"] not in possible:
        address.set("map", possible[0])
    about = "Find models, choose the colours, how models are placed, and which axes are shown."
    with form.bar, st.popover("Map", icon=":material/palette:", help=about):
        for name in ("colour", "map", "axes"):
            address.tell(name)
        wanted = search_box(address)
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
            help="PCA preserves distances as well as its axes can, t-SNE and UMAP neighbourhoods.",
        )
        pairs = charts.axes_of(result)
        shares = {pair: sum(charts.shares_of(result, pair)) for pair in pairs}
        axes = st.segmented_control(
            "Axes",
            pairs,
            required=True,
            key=address.key("axes"),
            format_func=lambda pair: (
                f"{charts.PAIR_TITLES[pair]} ({text_of(shares[pair], 'per cent')})"
            ),
            disabled=drawing != "pca",
            help="Pair of the three axes of PCA, with its share of the squared distances; "
            "t-SNE and UMAP have two axes.",
        )
    return str(by), str(drawing), str(axes) if drawing == "pca" else "1-2", wanted


def _ringed(shown: str, view: Hashable) -> tuple[str, str]:
    """Return the model that the map is drawn with a ring around, and the map's key.

    A click moves the ring in the browser, which keeps the visible part of the map; for another
    choice, or another view of the map, it is drawn again, under another key.
    """
    state = st.session_state
    ring, drawn, number = state.get(RING, ("", None, 0))
    if shown != state.get(CLICKED, ring) or view != drawn:
        ring, number = shown, number + 1
        state.pop(CLICKED, None)
    state[RING] = (ring, view, number)
    return ring, f"{CHART}/{number}"


def _take_click(key: str) -> None:
    picked = st.session_state[key].selection.get(charts.CHOSEN) or []
    if picked:
        st.session_state[SHOWN] = st.session_state[CLICKED] = str(picked[0]["model"])
        st.session_state[SPECTRA] = True


def _one_model(address: Address, result: Result, models: Sequence[str]) -> None:
    """Draw a fold with the spectra of one model, which a click on the map opens."""
    state = st.session_state
    state[SPECTRA] = bool(state.get(SPECTRA))
    name = short_names(models)[str(state[SHOWN])]
    with st.expander(
        f"Spectra of {plain(name)}", key=SPECTRA, icon=":material/show_chart:", on_change="rerun"
    ) as fold:
        if fold.open:
            _spectra(address, result, models)


def _spectra(address: Address, result: Result, models: Sequence[str]) -> None:
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
    kinds = kinds_of(result)
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

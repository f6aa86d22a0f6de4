"""The map of the weight clustering page: its controls and its click."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from core.options import Spec, choice
from core.results.numbers import text_of
from core.studies.weights.clusters.charts.figures import CHOSEN, PAIR_TITLES, axes_of, shares_of
from core.studies.weights.clusters.distances import maps_of, redraw
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.study import STUDY
from ui.frame.identity import contents
from ui.study.downloads import show_downloads
from ui.study.figures import page_specs, show_spec
from ui.study.forms import Form
from ui.study.results import show_tables
from ui.study.run_panel import Request, run_panel
from ui.views.maps import HOW_TO_MOVE, movable, search_box, search_option
from ui.views.weights_spectra import SHOWN, SPECTRA, ring_own, show_spectra

if TYPE_CHECKING:
    from core.results.export import Result
    from core.study import View


COLUMNS = {
    "label": "Label",
    "task": "Task",
    "data": "Data set",
    "base": "Base",
    "cluster": "Cluster",
}
CHART = "weights/map_chart"
RING = "weights/ringed"  # the model ringed when the map was drawn, the view, how often it was drawn
CLICKED = "weights/clicked"  # on the map, since then


@dataclass(frozen=True)
class MapDisplay(Spec):
    """What is shown of the map: part of the link, not of the study."""

    colour: str = choice("Colour", "label", COLUMNS, help="Column that colours the map.")
    axes: str = choice(
        "Axes",
        "1-2",
        PAIR_TITLES,
        has_titles=True,
        help="Pair of the map's three axes that is shown.",
    )
    search: str = search_option("models")


def redrawing(
    spec: WeightsSpec, result: Result, refs: Sequence[str], texts: Mapping[str, bytes]
) -> Callable[[str], Result | None]:
    """Return what draws the result's distances on another map, through the run panel."""

    def draw(drawing: str) -> Result | None:
        request = Request(
            "weights map",
            replace(spec, map=drawing),
            lambda progress, signal: redraw(result, drawing, progress=progress, signal=signal),
            identity=contents(*refs, texts=texts),
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
    `redrawn` returns the result on another map; None until it is there."""
    by, drawing, axes, wanted = _map_controls(form, result)
    shown = result if drawing == result.spec["map"] else redrawn(drawing)
    if shown is None:
        return
    models = list(result.table["model"])
    ring_own(result, models)

    view = (by, axes, wanted)
    ring, key = _ringed(str(st.session_state[SHOWN]), (shown.spec["map"], *view))

    ringed = page_view.drawing(shown, by, ring, axes, wanted)
    show_spec(
        page_specs(movable(ringed), key=CHART, result=shown, view=(*view, ring))[0],
        key=key,
        on_select=partial(_take_click, key),
        selection_mode=CHOSEN,
    )
    called = " ".join(filter(None, (drawing, "by", by, axes, wanted)))
    drawn = page_view.drawing(shown, by, "", axes, wanted)
    caption = f"Click a model to see its spectra below. {HOW_TO_MOVE}"
    figures = partial(STUDY.figures, shown)
    show_downloads(shown, drawn, figures, view=view, name=called, caption=caption)
    show_spectra(form.address, result, models)
    rows = page_view.rows(shown)
    show_tables(rows)


def _map_controls(form: Form[WeightsSpec], result: Result) -> tuple[str, str, str, str]:
    """Draw the map's controls; return colour, method, axes and searched text."""
    address = form.address
    possible = maps_of(result)
    if address["map"] not in possible:
        address.set("map", next(iter(possible)))
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
            list(possible),
            required=True,
            key=address.key("map"),
            format_func=possible.__getitem__,
            help="PCA preserves distances as well as its axes can, t-SNE and UMAP neighbourhoods.",
        )
        pairs = axes_of(result)
        shares = {pair: sum(shares_of(result, pair)) for pair in pairs}
        axes = st.segmented_control(
            "Axes",
            pairs,
            required=True,
            key=address.key("axes"),
            format_func=lambda pair: f"{PAIR_TITLES[pair]} ({text_of(shares[pair], 'per cent')})",
            disabled=drawing != "pca",
            help="Pair of the three axes of PCA, with its share of the squared distances; "
            "t-SNE and UMAP have two axes.",
        )
    return str(by), str(drawing), str(axes) if drawing == "pca" else "1-2", wanted


def _ringed(shown: str, view: Hashable) -> tuple[str, str]:
    """Return the model that is drawn with a ring, and the map's key. A click moves the ring in the
    browser and keeps the visible part; another choice or view is drawn again, under another key."""
    state = st.session_state
    ring, drawn, number = state.get(RING, ("", None, 0))
    if shown != state.get(CLICKED, ring) or view != drawn:
        ring, number = shown, number + 1
        state.pop(CLICKED, None)
    state[RING] = (ring, view, number)
    return ring, f"{CHART}/{number}"


def _take_click(key: str) -> None:
    picked = st.session_state[key].selection.get(CHOSEN) or []
    if picked:
        st.session_state[SHOWN] = st.session_state[CLICKED] = str(picked[0]["model"])
        st.session_state[SPECTRA] = True

"""Views of the weight clustering page: label table, vote, neighbours, distances, rank by depth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.results.columns import title_of
from core.studies.weights.activations import every_vector
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.study import STUDY
from core.studies.weights.clusters.views import (
    MAP,
    RELATIVE_SIZE,
    kinds_of,
)
from ui.study.downloads import slug
from ui.study.forms import Form
from ui.study.layers import Picking
from ui.study.results import show_figure, show_table, show_view
from ui.views.weights_spectra import OF_HELP, SHOWN, SPECTRA

if TYPE_CHECKING:
    from core.results.export import Result
    from core.study import View


RANKS = ("rank", "stable_rank", "entropy_rank", RELATIVE_SIZE)
MEASURES = {name: title_of("ranks", name) for name in RANKS}
MEASURES_HELP = "  \n".join(
    (
        "**Rank**: number of directions that hold a share of the energy.",
        "**Stable rank**: sum of the squared singular values over the largest squared.",
        "**Entropy rank**: exponential of the entropy of the normalised singular values.",
        "**Relative size**: norm of the update over the norm of the base's matrix.",
    )
)
VECTORS_HELP = "  \n".join(
    f"*{vector.title}*: {vector.meaning}" for vector in every_vector().values()
)


def neighbours_view(result: Result, view: View) -> None:
    """Show the shares of every vector compared with chance, and each model's predicted label."""
    if show_figure(result, view, figures=STUDY.figures, key="neighbours", lesson="weights"):
        rows, used = view.rows(result), int(result.arrays["k"])
        title = f"Comparison of vectors, k = {used}"
        with st.expander("Tables", icon=":material/table:"):
            show_table(rows["vectors"], "vectors", digits=4, title=title)
            show_table(rows["predictions"], "predictions")


def depth_view(form: Form[WeightsSpec], result: Result, view: View) -> None:
    """Show ranks by layer and family; the threshold is applied to stored spectra."""
    kinds = kinds_of(result)
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
    choices = (str(of), round(percent / 100, 6), str(measure))
    show_view(
        result,
        view,
        *choices,
        figures=STUDY.figures,
        key="depth",
        caption="Click a point to see the spectra of its model, with its layer highlighted.",
        name=slug(choices),
        pick=Picking(form.address, POINT, _spectra_at).made,
        fold="Table: trends",
    )


POINT = ("model", "layer")  # fields of a point in the panels by depth


def _spectra_at(point: Mapping[str, Any]) -> dict[str, Any]:
    """Link to the map, with the spectra of the clicked model and layer."""
    if not all(name in point for name in POINT):
        return {}
    st.session_state[SHOWN], st.session_state[SPECTRA] = str(point["model"]), True
    return {"view": STUDY.words.view(MAP).name, "layer": int(point["layer"])}

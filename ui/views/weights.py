"""Views of the weight clustering page: label table, map, neighbours, distances, rank by depth."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.errors import PalimpsestError
from core.models import parse_ref
from core.studies.weights.activations import every_vector
from core.studies.weights.clusters.notice_text import OF_TABLE
from core.studies.weights.clusters.spec import UPLOAD, WeightsSpec
from core.studies.weights.clusters.study import STUDY
from core.studies.weights.clusters.views import (
    DEPTH,
    DISTANCES,
    MAP,
    NEIGHBOURS,
    RELATIVE_SIZE,
    kinds_of,
)
from core.studies.weights.label_tables import read_label_table
from core.studies.weights.unlabelled import unlabelled_sentence
from ui import lessons
from ui.frame.text import plain
from ui.frame.uploads import uploader
from ui.study.downloads import slug
from ui.study.forms import Form
from ui.study.layers import Picking
from ui.study.results import show_rows, show_table, show_view, view_headline
from ui.views.weights_map import OF_HELP, SHOWN, SPECTRA

if TYPE_CHECKING:
    from core.results.export import Result
    from core.study import View

MEASURES = {
    "rank": "Rank",
    "stable_rank": "Stable rank",
    "entropy_rank": "Entropy rank",
    RELATIVE_SIZE: "Relative size",
}
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


OWN, OWN_REFUSED = "own model written", "own model refused"
OWN_EXAMPLE = "/runs/my-model or hub:organisation/name"
OWN_HELP = (
    "Adds a fine-tune of the base to the labelled ones: its nearest neighbours vote on what it was "
    "fine-tuned on, with how often such votes are right."
)
REFERENCE = re.compile(r"(random|zoo|hub|path):")


def label_table(form: Form[WeightsSpec]) -> dict[str, bytes]:
    """Draw the control of the label table; return its content by name, empty if there is none.

    A table that cannot be read is returned, too: the study then says why, and the control is in a
    popover that may be closed.
    """
    address, seen = form.address, form.address.key("label table seen")
    upload = uploader(
        address,
        "Upload labels: a CSV file with a column `model`",
        type=["csv", "tsv"],
        max_upload_size=1,
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
    given = {f"{UPLOAD}{upload.name}": content}
    try:
        columns = list(read_label_table(content))
    except PalimpsestError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return given
    if address["column"] not in columns:
        address.set("column", columns[0])
    address.tell("column")  # its control is in a popover
    st.selectbox("Label column", columns, key=address.key("column"))
    return given


def sentence_of(result: Result, view: View) -> str:
    """Return the view's headline; where models have no label, what the neighbours say of them, but
    for the views of something else."""
    asks = view.key not in (NEIGHBOURS, DISTANCES, DEPTH)
    return (asks and unlabelled_sentence(result.statements)) or view_headline(result, view)


def show_label_notices(result: Result) -> None:
    """Say what of the label table was accepted, and which rows name no model."""
    for notice in result.notices:
        if OF_TABLE in notice:
            st.caption(plain(notice))


def own_model(form: Form[WeightsSpec]) -> None:
    """Draw the control that puts a model of one's own on the map of the labelled ones."""
    address = form.address
    with (
        st.popover("What is my model?", icon=":material/help:", help=OWN_HELP),
        st.form(address.key("own model"), border=False),
    ):
        st.text_input("Folder or reference", key=address.key(OWN), placeholder=OWN_EXAMPLE)
        st.form_submit_button(
            "Place it on the map", type="primary", on_click=_place_own, args=(form,)
        )
        if problem := st.session_state.pop(address.key(OWN_REFUSED), ""):
            st.error(plain(problem), icon=":material/error:")


def _place_own(form: Form[WeightsSpec]) -> None:
    """Add the model to those of the study and show the map; note why if it is no reference."""
    address = form.address
    text = str(st.session_state[address.key(OWN)]).strip().strip("\"'")
    models = list(address["models"])
    try:
        ref = str(parse_ref(text if REFERENCE.match(text) else f"path:{text}"))
        added = [*models, *([] if ref in models else [ref])]
        address.options["models"].check(added)
    except PalimpsestError as error:
        st.session_state[address.key(OWN_REFUSED)] = str(error)
        return
    address.take({"models": added, "view": STUDY.words.view(MAP).name})
    form.close()


def neighbours_view(result: Result, view: View) -> None:
    """Show the shares of every vector compared with chance, and each model's predicted label."""
    mark = lessons.mark("weights")
    if show_view(result, view, figures=STUDY.figures, key="neighbours", mark=mark):
        rows, used = view.rows(result), int(result.arrays["k"])
        title = f"Comparison of vectors, k = {used}"
        with st.expander("Tables", icon=":material/table:"):
            show_table(rows["vectors"], "vectors", digits=4, title=title)
            show_table(rows["predictions"], "predictions")


def distances_view(result: Result, view: View) -> None:
    """Show the heatmap of distances with its tree."""
    if show_view(result, view, figures=STUDY.figures, key="distances"):
        show_rows(result, view, fold="Table: distances")


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
    if show_view(
        result,
        view,
        *choices,
        figures=STUDY.figures,
        key="depth",
        caption="Click a point to see the spectra of its model, with its layer highlighted.",
        name=slug(choices),
        pick=Picking(form.address, POINT, _spectra_at).made,
    ):
        show_rows(result, view, *choices, fold="Table: trends")


POINT = ("model", "layer")  # fields of a point in the panels by depth


def _spectra_at(point: Mapping[str, Any]) -> dict[str, Any]:
    """Link to the map, with the spectra of the clicked model and layer."""
    if not all(name in point for name in POINT):
        return {}
    st.session_state[SHOWN], st.session_state[SPECTRA] = str(point["model"]), True
    return {"view": STUDY.words.view(MAP).name, "layer": int(point["layer"])}

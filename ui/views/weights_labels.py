"""Labels on the weight clustering page: the label table, and a model whose label is asked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import streamlit as st

from core.errors import PalimpsestError
from core.models import parse_ref
from core.studies.weights.clusters.notice_text import OF_TABLE
from core.studies.weights.clusters.spec import UPLOAD, WeightsSpec
from core.studies.weights.clusters.study import STUDY
from core.studies.weights.clusters.views import DEPTH, DISTANCES, MAP, NEIGHBOURS
from core.studies.weights.label_tables import read_label_table
from core.studies.weights.unlabelled import unlabelled_sentence
from ui.frame.text import plain
from ui.frame.uploads import uploader
from ui.study.forms import Form
from ui.study.results import view_headline

if TYPE_CHECKING:
    from core.results.export import Result
    from core.study import View

OWN, OWN_REFUSED = "own model written", "own model refused"
OWN_EXAMPLE = "/runs/my-model or hub:organisation/name"
OWN_HELP = (
    "Adds a fine-tune of the base to the labelled ones: its nearest neighbours vote on what it was "
    "fine-tuned on, with how often such votes are right."
)
REFERENCE = re.compile(r"(random|zoo|hub|path):")


def label_table(form: Form[WeightsSpec]) -> dict[str, bytes]:
    """Draw the control of the label table; return its content by name, empty if there is none. One
    that cannot be read is returned, too: the study says why, also where the control's popover is
    closed."""
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

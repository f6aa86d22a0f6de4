"""Find fine-tunes and adapters of a base on the Hub and put them into the form."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.errors import PalimpsestError
from core.models import parse_ref
from core.models.hub.listing import MOST_LISTED, Listed, choose_listed, list_fine_tunes
from core.studies.weights.clusters.members import MOST_MODELS
from ui.frame.links import Address
from ui.frame.text import plain

FINE_TUNES, ADAPTERS = "Fine-tunes", "Adapters"
LEFT_OUT = {
    FINE_TUNES: "Gated models and models with pickled weights only are listed but never chosen.",
    ADAPTERS: "Gated adapters and those without `adapter_model.safetensors` are listed but never "
    "chosen. Adapters are compared by their factors, without merging; "
    "kinds other than plain LoRA are refused when they are read.",
}
LISTED = 200  # fine-tunes that are requested from the Hub by default


def hub_panel(address: Address) -> None:
    """Draw the panel that lists, filters and chooses fine-tunes of the base on the Hub."""
    base = str(address["base"])
    with st.popover("Find fine-tunes on the Hub", icon=":material/travel_explore:"):
        if not base.startswith("hub:"):
            st.caption(
                "The base is not a Hub model. "
                "Choose one, such as `hub:bert-base-uncased`, to list its fine-tunes."
            )
            return
        with st.container(horizontal=True, vertical_alignment="bottom"):
            field = "weights/hub_most"
            most = int(st.number_input("Models to list", 1, MOST_LISTED, LISTED, 100, key=field))
            kind = str(
                st.segmented_control(
                    "What",
                    list(LEFT_OUT),
                    default=FINE_TUNES,
                    required=True,
                    key="weights/hub_kind",
                    label_visibility="collapsed",
                )
            )
            pressed = st.button("List", icon=":material/list:")
        if pressed:
            try:
                with st.spinner("Asking the Hub …"):
                    lacks: list[str] = []
                    listed = list_fine_tunes(
                        parse_ref(base).name, most, adapters=kind == ADAPTERS, say=lacks.append
                    )
                    st.session_state["weights/listed"] = ((base, kind), listed, lacks)
            except PalimpsestError as error:
                st.error(plain(str(error)), icon=":material/error:")
        asked_for, listed, lacks = st.session_state.get("weights/listed", ((), [], []))
        if asked_for == (base, kind):
            for text in lacks:
                st.warning(plain(text), icon=":material/warning:")
            _choose(address, listed, kind)


def _choose(address: Address, listed: Sequence[Listed], kind: str) -> None:
    import pandas as pd

    if not listed:
        st.info(
            f"The Hub lists no {kind.lower()} of this base; choose another base.",
            icon=":material/info:",
        )
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input("Filter by name or data set", key="weights/hub_text")
        first = int(
            st.number_input("Models to compare", 1, MOST_MODELS, 12, key="weights/hub_first")
        )
        a_label = int(st.number_input("At most per data set", 1, 50, 4, key="weights/hub_a_label"))
        licence = st.selectbox(
            "Licence",
            ["", *sorted({model.licence for model in listed} - {""})],
            key="weights/hub_licence",
        )
        labelled = st.toggle("Only with a data set", True, key="weights/hub_labelled")
    chosen = choose_listed(
        listed, first=first, text=text, licence=str(licence), labelled=labelled, a_label=a_label
    )
    refs = {model.ref for model in chosen}
    table = pd.DataFrame(
        [
            (
                model.ref in refs,
                model.ref,
                model.label,
                model.label_from,
                model.downloads,
                (model.bytes or 0) / 1e6 or None,
                model.licence,
            )
            for model in listed
        ],
        columns=["chosen", "model", "data", "data from", "downloads", "MB", "licence"],
    )
    if table["MB"].isna().all():  # the Hub does not give the size of adapters
        table = table.drop(columns="MB")
    st.dataframe(
        table.sort_values("chosen", ascending=False, kind="stable"), hide_index=True, height=320
    )
    st.caption(
        f"{LEFT_OUT[kind]} If a card names no data set, it is read from the model's name: "
        "see *data from*."
    )
    st.button(
        f"Compare these {len(chosen)}",
        icon=":material/add:",
        disabled=not chosen,
        on_click=address.set,
        args=("models", sorted(refs)),
    )

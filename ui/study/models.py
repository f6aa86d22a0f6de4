"""The models that forms offer, and the Hub's list of fine-tunes."""

from __future__ import annotations

import streamlit as st

from core.errors import PalimpsestError
from core.models import parse_ref, zoo_models
from core.models.hub.presets import PRESETS
from ui.frame.text import plain

MOST_FOUND = 50
FOUND, NOT_FOUND = "found_fine_tunes", "no_fine_tunes"


def model_options() -> list[str]:
    """List the references to offer: included models, public ones, those from the Hub."""
    listed = st.session_state.get(FOUND, ())
    refs = (
        [str(entry["ref"]) for entry in zoo_models()]
        + [preset.ref for preset in PRESETS]
        + [model.ref for model in listed]
    )
    return list(dict.fromkeys(refs))


def fine_tune_finder(base_key: str) -> None:
    """Draw, inside a form, the list of the chosen Hub model's fine-tunes with the data sets on
    their cards.

    Every model control then offers them.

    Args:
        base_key: Widget key of the control of the base model.
    """
    with st.popover("Find fine-tunes on the Hub", icon=":material/manage_search:"):
        st.markdown(
            "Models on the Hugging Face Hub whose cards name the base model above as the model "
            "they were fine-tuned from."
        )
        st.form_submit_button(
            "Search the Hub", on_click=_find_fine_tunes, args=(base_key,), icon=":material/search:"
        )
        if problem := st.session_state.get(NOT_FOUND):
            st.info(plain(problem), icon=":material/info:")
        listed = st.session_state.get(FOUND, ())
        if listed:
            rows = [
                {
                    "model": model.ref,
                    "data set": model.label,
                    "downloads": model.downloads,
                    "parameters": model.parameters,
                }
                for model in listed
            ]
            st.dataframe(rows, hide_index=True, height=280)


def _find_fine_tunes(base_key: str) -> None:
    from core.models.hub.listing import list_fine_tunes

    st.session_state[NOT_FOUND] = ""
    lacks: list[str] = []
    try:
        base = parse_ref(str(st.session_state.get(base_key, "")))
        if base.kind != "hub":
            st.session_state[NOT_FOUND] = (
                "Choose a base model from the Hub first, such as hub:roberta-base: the Hub lists "
                "fine-tunes of its own models only."
            )
            return
        listed = [
            model
            for model in list_fine_tunes(base.name, MOST_FOUND, say=lacks.append)
            if not model.gated
        ]
    except PalimpsestError as error:
        st.session_state[NOT_FOUND] = str(error)
        return
    st.session_state[FOUND] = listed
    st.session_state[NOT_FOUND] = " ".join(lacks)
    if not listed:
        st.session_state[NOT_FOUND] = (
            f"No model card on the Hub names {base.name} as its base. Type a model's name into the "
            "form instead."
        )

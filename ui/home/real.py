"""The home page's fold of results of real models, which are not included."""

from __future__ import annotations

import streamlit as st

from ui.study.models import shelved_entries, show_real_models


def show_real() -> None:
    """Draw a fold with a link to each result; nothing if there are none."""
    if not shelved_entries():
        return
    with st.expander("Real models", key="real_models", on_change="rerun") as fold:
        if fold.open:
            st.markdown(
                "Results of models that are not included. They open without the models; "
                "*Recompute here* reads the models again."
            )
            show_real_models()

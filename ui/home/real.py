"""Links of the home page to results of real models, which are not included."""

from __future__ import annotations

import streamlit as st

from ui.study.models import shelved_entries, show_real_models


def show_real() -> None:
    """Draw a link to each result; nothing if there are none."""
    if shelved_entries():
        st.subheader("Real models", anchor=False)
        st.markdown(
            "Results of models that are not included. They open without the models; "
            "*Recompute here* reads the models again."
        )
        show_real_models()

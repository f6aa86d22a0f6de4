"""Palimpsest: what fine-tuning and pretraining seeds do to a Transformer. `streamlit run
app.py`."""

from __future__ import annotations

import sys

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

if __name__ != "__main__":  # Streamlit imports the server from here
    from ui.server.start import server

    app = st.App(__file__, **server())
elif get_script_run_ctx(suppress_warning=True) is not None:  # and runs this for each visitor
    from ui.page import draw_page

    draw_page()
else:
    sys.exit("Start Palimpsest with `make app`, or with `streamlit run app.py`.")

"""The app with the addresses of `ui.server.routes`: `make app` and the image start it."""

import os
from pathlib import Path

import streamlit as st

from core.limits import share_beyond_loopback
from ui.archive.reports import SERVED
from ui.server.routes import routes

share_beyond_loopback(st.get_option("server.address"))  # /metrics may be asked before a page is
os.environ[SERVED] = "1"
app = st.App(Path(__file__).resolve().parents[1] / "app.py", routes=routes())

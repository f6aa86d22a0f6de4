"""Entry for Streamlit Community Cloud: the app of this repository with the requirements beside this
file.

The host reads requirements.txt beside the entry first. Values among the host's secrets come before
those below.
"""

import os
import runpy
import sys
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("PALIMPSEST_MODE", "shared")
os.environ.setdefault("PALIMPSEST_STORE_BYTES", "500000000")
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

if __name__ != "__main__":  # the server, which Streamlit imports
    from ui.server.start import server

    app = st.App(ROOT / "app.py", **server())
else:  # a host that runs this file for each visitor
    runpy.run_path(str(ROOT / "app.py"), run_name="__main__")

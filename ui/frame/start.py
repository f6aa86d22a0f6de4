"""`python -m ui.frame.start deploy/server.py`: runs the app and imports ahead in the background."""

from __future__ import annotations

import sys

from streamlit.web.cli import main

from ui.frame.process import warm

if __name__ == "__main__":
    warm()
    sys.argv[1:1] = ["run"]
    main(prog_name="streamlit")

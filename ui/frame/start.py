"""`python -m ui.frame.start app.py`: as `streamlit run app.py`, with what the first figure needs imported meanwhile."""

from __future__ import annotations

import sys

from streamlit.web.cli import main

from ui.frame.heavy import warm

if __name__ == "__main__":
    warm()
    sys.argv[1:1] = ["run"]
    main(prog_name="streamlit")

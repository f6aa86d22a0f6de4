"""`palimpsest`, and `python -m palimpsest`: the command line, the app among its commands."""

import sys

from core.__main__ import run

if __name__ == "__main__":
    sys.exit(run())

"""`python -m core`, and `palimpsest` where the package is installed: see core/commands/main.py."""

import sys

from core.commands.main import main
from core.runs.cores import share_cores


def run() -> int:
    """Each task its share of the cores, then the command; returns the exit status."""
    share_cores()
    return main()


if __name__ == "__main__":
    sys.exit(run())

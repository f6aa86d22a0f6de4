"""`python -m core`, and `palimpsest` where the package is installed: see core/commands/main.py."""

import signal
import sys

from core.commands.main import Terminated, main
from core.runs.process.cores import share_cores


def _stop(number: int, frame: object) -> None:
    """End as an interrupt does: what is half written is removed, what was computed is kept."""
    raise Terminated


def run() -> int:
    """Each task its share of the cores, then the command; returns the exit status."""
    signal.signal(signal.SIGTERM, _stop)
    share_cores()
    return main()


if __name__ == "__main__":
    sys.exit(run())

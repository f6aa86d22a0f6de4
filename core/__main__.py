"""`python -m core`, and `palimpsest` where the package is installed: see core/commands/main.py."""

import signal
import sys

from core.commands.main import Terminated, main
from core.commands.output import prepare_streams
from core.runs.process.cores import share_cores


def _stop(number: int, frame: object) -> None:
    """End as an interrupt does: remove half-written files, keep what was computed."""
    raise Terminated


def run() -> int:
    """Divide the cores among tasks and run the command; return the exit status."""
    prepare_streams()
    signal.signal(signal.SIGTERM, _stop)
    share_cores()
    return main()


if __name__ == "__main__":
    sys.exit(run())

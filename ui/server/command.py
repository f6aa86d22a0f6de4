"""`palimpsest app`: start the app as `make app` does, with Streamlit's own command."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

APP = Path(__file__).resolve().parents[2] / "app.py"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--address",
        default="localhost",
        help="where the app listens; 0.0.0.0 lets others in, in shared mode (localhost)",
    )
    parser.add_argument("--port", type=int, help="its port (the first free one from 8501)")
    parser.add_argument(
        "--host", action="append", default=[], help="a further name that it answers to"
    )


def main(arguments: argparse.Namespace) -> int:
    """Become the server; return its exit status where that cannot be."""
    command = [
        *(sys.executable, "-m", "streamlit", "run", str(APP)),
        f"--server.address={arguments.address}",
        *([f"--server.port={arguments.port}"] if arguments.port else []),
        *(f"--server.allowedHosts={host}" for host in arguments.host),
    ]
    sys.stdout.flush()
    if os.name == "posix":  # signals then reach the server itself
        os.execv(command[0], command)
    return subprocess.call(command)

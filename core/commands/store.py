"""`python -m core store info|clear`: show or clear the store of computed results."""

from __future__ import annotations

import argparse

from core.errors import StoreError
from core.runs.store import default_store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "action",
        choices=("info", "clear"),
        help="info: folder and size of the store; clear: delete everything in it",
    )


def main(arguments: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    store = default_store()
    if arguments.action == "clear":
        store.clear()
        print(f"Cleared {store.folder}.")
        return 0
    info = store.info()
    if info.trouble:
        raise StoreError(info.trouble)
    print(f"folder   {store.folder}")
    print(f"entries  {info.entries:,}")
    print(f"size     {info.bytes / 2**20:,.1f} MiB of {store.size_limit / 2**20:,.0f} MiB")
    return 0

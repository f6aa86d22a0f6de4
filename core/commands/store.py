"""`python -m core store info|clear`: where results are kept, how much there is, and how to be rid of it."""

from __future__ import annotations

import argparse

from core.runs.store import default_store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own arguments."""
    parser.add_argument("action", choices=("info", "clear"), help="show the store, or empty it")


def main(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit status."""
    store = default_store()
    if arguments.action == "clear":
        store.clear()
        print(f"Cleared {store.folder}.")
        return 0
    info = store.info()
    print(f"folder   {info.folder}")
    print(f"entries  {info.entries:,}")
    print(f"size     {info.bytes / 2**20:,.1f} MiB of {info.size_limit / 2**20:,.0f} MiB")
    return 0

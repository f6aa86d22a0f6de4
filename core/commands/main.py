"""The command line: `python -m core rsa|zoo|store ...`, the same studies as the pages, headless.

A command's module is imported when the command is used, so `--help` answers at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from core.errors import PalimpsestError

# command -> (module with add_arguments(parser) and main(arguments), one line of help)
COMMANDS = {
    "rsa": ("core.commands.rsa", "which layers fine-tuning changes: representational similarity by layer"),
    "probe": ("core.commands.probe", "whether syntax is in the vectors: structural probes by layer, predicted trees"),
    "weights": (
        "core.commands.weights",
        "what a model was fine-tuned on, from its weights alone",
    ),
    "align": ("core.commands.align", "whether two models learn the same space: maps judged on held-out sentences"),
    "zoo": ("core.commands.zoo", "the models in the box: list them, verify them"),
    "store": ("core.commands.store", "the store of computed results: where it is, what it holds, clear it"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status. Errors for the user go to stderr in one sentence."""
    argv = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="python -m core", description="Palimpsest: what fine-tuning and pretraining seeds do to a Transformer."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    chosen: ModuleType | None = None
    for name, (module, line) in COMMANDS.items():
        command = commands.add_parser(name, help=line, description=line[0].upper() + line[1:] + ".")
        if argv[:1] == [name]:
            chosen = import_module(module)
            chosen.add_arguments(command)
    arguments = parser.parse_args(argv)
    assert chosen is not None  # argparse leaves with a message when no known command comes first
    try:
        return int(chosen.main(arguments))
    except PalimpsestError as error:
        print(f"palimpsest: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("palimpsest: stopped; what was computed is kept, the same command goes on from there.", file=sys.stderr)
        return 130

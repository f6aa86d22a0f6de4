"""`python -m core zoo list|public|real|verify|demo|precompute|cards`: models and results."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from core.catalogue import STUDIES
from core.commands.study import command_line
from core.commands.verifying import find_problems
from core.errors import ModelError, SpecError
from core.models.zoo import read_adapters, read_manifest, zoo_folder
from core.text.shipping import ship_demo

COLUMNS = (
    "ref",
    "base",
    "task",
    "steps",
    "metric",
    "score",
    "baseline",
    "parameters",
    "sha256",
    "licence",
)
RIGHT = {"steps", "score", "baseline", "parameters"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="action")
    listing = actions.add_parser("list", help="list the included models and adapters as a table")
    listing.add_argument("--json", action="store_true", help="write the manifest's entries as JSON")
    actions.add_parser("public", help="list sets of public models, their size and their commands")
    real = actions.add_parser(
        "real", help="list results of models that are not included, or write one without them"
    )
    real.add_argument("name", nargs="?", help="key of the result to write")
    real.add_argument("--out", type=Path, metavar="DIR", help="folder for its tables and figures")
    actions.add_parser("verify", help="check the hash of every file and load every model")
    actions.add_parser("cards", help="write the home page's findings from the precomputed results")
    actions.add_parser("precompute", help="make the precomputed results that the pages show first")
    actions.add_parser(
        "demo",
        help="parse the included demo text again, after a change of text, parser or spaCy",
    )


def main(arguments: argparse.Namespace) -> int:
    """List, verify, parse or compute; return 1 if a model is damaged."""
    if arguments.action in ("precompute", "cards", "demo"):
        from core.commands.precomputed import make, make_cards

        say = partial(print, file=sys.stderr, flush=True)
        writing: dict[str, Callable[[], Path]] = {
            "precompute": partial(make, say),
            "cards": make_cards,
            "demo": ship_demo,
        }
        path = writing[arguments.action]()
        print(f"{path} written, {path.stat().st_size:,} bytes.")
        return 0
    if arguments.action == "public":
        print(public())
        return 0
    if arguments.action == "real":
        print(real(arguments.name, arguments.out))
        return 0
    folder = zoo_folder()
    entries = [*read_manifest(folder), *read_adapters(folder)]
    if not entries:
        raise ModelError(
            f"There are no included models in {folder}: manifest.json is missing. "
            "Train them with `make zoo`."
        )
    if arguments.action == "list":
        print(json.dumps(entries, indent=2) if arguments.json else table(entries))
        return 0
    problems = find_problems(folder, entries, lambda ref: print(f"checked {ref}", file=sys.stderr))
    for problem in problems:
        print(f"{problem.ref}: {problem.sentence}")
    broken = len({problem.ref for problem in problems})
    print(f"{len(entries) - broken} of {len(entries)} models are intact.")
    return 1 if problems else 0


def table(entries: list[dict[str, Any]]) -> str:
    """Write the manifest's entries as aligned columns with a header."""
    rows = [COLUMNS, *(tuple(_cell(entry, column) for column in COLUMNS) for entry in entries)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in RIGHT else cell.ljust(width)
            for cell, width, column in zip(row, widths, COLUMNS, strict=True)
        ).rstrip()
        for row in rows
    )


def public() -> str:
    """Write each collection of public models with its size and the commands that study it."""
    from core.models.hub.collections import COLLECTIONS

    parts = []
    for collection in COLLECTIONS:
        commands = [
            "  " + command_line(name, STUDIES[name].Spec(**values))
            for name, values in collection.values.items()
        ]
        parts.append("\n".join([f"{collection.title}: {collection.sentence}", *commands]))
    return "\n\n".join(parts)


def real(name: str | None = None, out: Path | None = None) -> str:
    """List the results of models that are not included, each with the command that opens it; or
    write one into a folder, and return its headline and its files.

    Args:
        name: Key of a result; None for the list.
        out: The folder.

    Raises:
        SpecError: If there is no such result, or no folder for it.
    """
    from core.results.export import write_result
    from core.results.shelf.archive import default_shelf

    shelf = default_shelf()
    entries = {entry.name: entry for entry in shelf.entries}
    if name is None:
        return "\n\n".join(
            f"{entry.name}: {entry.sentence} {entry.origin}\n  "
            + command_line(entry.study, entry.spec(STUDIES[entry.study].Spec))
            for entry in entries.values()
        )
    entry = entries.get(name)
    study = STUDIES[entry.study] if entry else None
    result = shelf.open(entry, study.kind) if entry and study else None
    if result is None or study is None or out is None:
        fault = f"There is no result {name!r}" if result is None else "There is no folder for it"
        raise SpecError(f"{fault}: give one of {', '.join(entries) or 'none'}, and --out DIR.")
    files = write_result(result, study.figures(result), out, study.files(result))
    return "\n".join([result.cautioned(), f"Written: {', '.join(map(str, files))}"])


def _cell(entry: dict[str, Any], column: str) -> str:
    value = entry.get(column)
    if value is None:
        return "-"
    if column == "sha256":
        return str(value)[:12]
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if column in RIGHT and isinstance(value, int) else str(value)

"""`python -m core zoo list|public|real|verify|demo|precompute|cards`: models and results."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from core.catalogue import STUDIES
from core.commands.study import command_line
from core.errors import ModelError, SpecError
from core.models.files.adapters import ADAPTER_WEIGHTS, is_adapter, read_adapter
from core.models.files.checkpoints import read_config
from core.models.files.safetensors import LocalFile
from core.models.zoo import (
    file_digest,
    how_to_restore_file,
    read_adapters,
    read_manifest,
    zoo_folder,
)
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
    if arguments.action in ("public", "real"):
        print(public() if arguments.action == "public" else real(arguments.name, arguments.out))
        return 0
    folder = zoo_folder()
    entries = [*read_manifest(folder), *read_adapters(folder)]
    if not entries:
        raise ModelError(
            f"There are no included models in {folder}: manifest.json is missing. "
            f"{how_to_restore_file(folder / 'manifest.json')}"
        )
    if arguments.action == "list":
        print(json.dumps(entries, indent=2) if arguments.json else table(entries))
        return 0
    problems = find_problems(entries, lambda ref: print(f"checked {ref}", file=sys.stderr))
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
    write one into a folder, and return its headline and files. Raises SpecError if there is no such
    result, or no folder for it."""
    from core.results.export import write_result
    from core.results.shelf.archive import default_shelf, whereabouts_of

    shelf = default_shelf()
    entries = {entry.name: entry for entry in shelf.entries}
    if name is None:
        return "\n\n".join(
            f"{entry.name}: {entry.sentence} {whereabouts_of(entry.sources)}\n  "
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


@dataclass(frozen=True)
class Problem:
    """A model that differs from the manifest: `sentence` names the file and how to restore it."""

    ref: str
    sentence: str


def find_problems(
    entries: list[dict[str, Any]], tick: Callable[[str], None] = lambda ref: None
) -> list[Problem]:
    """Check every file's sha256 and open every model, an adapter with the base that its entry
    names, where that is included; `tick` is called after each."""
    models, problems = zoo_folder() / "models", []
    for entry in entries:
        damaged = [
            Problem(str(entry["ref"]), sentence)
            for name, digest in sorted(entry["files"].items())
            if (sentence := _check_file(models / str(entry["name"]) / name, str(digest)))
        ]
        if not damaged:
            sentence = _check_opens(models, entry)
            damaged = [Problem(str(entry["ref"]), sentence)] if sentence else []
        problems += damaged
        tick(str(entry["ref"]))
    return problems


def _count_in_model(ref: str) -> int:
    """Open a model without and with its head; return its number of parameters. Raises ModelError if
    weights are missing or the head is unknown."""
    from core.models.loading.model import load_model
    from core.models.loading.task_models import load_whole

    load_model(ref, device="cpu")
    return sum(parameter.numel() for parameter in load_whole(ref).parameters())


def _count_in_adapter(folder: Path, base: Path | None) -> int:
    """Match an adapter's factors with the matrices of its base, if that is included; return its
    number of parameters. Raises ModelError if it is damaged, or the factors are not those of this
    base."""
    from core.models.weights.adapters import Adapter, match_adapter
    from core.models.weights.tensors import open_checkpoint, open_folder

    factors = open_checkpoint(folder.name, {}, [LocalFile(folder / ADAPTER_WEIGHTS)])
    adapter = Adapter(read_adapter(folder), factors)
    if base is not None:
        match_adapter(open_folder(base.name, base, read_config(base)), adapter)
    return sum(math.prod(entry.shape) for entry in factors.entries.values())


def _check_file(path: Path, digest: str) -> str | None:
    if not path.is_file():
        return f"{path} is missing. {how_to_restore_file(path)}"
    try:
        actual = file_digest(path)
    except OSError as error:
        return f"{path} cannot be read ({error}). {how_to_restore_file(path)}"
    damaged = (
        f"{path} is damaged: its sha256 is not that of the manifest. {how_to_restore_file(path)}"
    )
    return None if actual == digest else damaged


def _check_opens(models: Path, entry: dict[str, Any]) -> str | None:
    folder, parameters = models / str(entry["name"]), int(entry["parameters"])
    try:
        if is_adapter(folder):
            kind, _, base = str(entry["base"]).partition(":")
            counted = _count_in_adapter(folder, models / base if kind == "zoo" else None)
        else:
            counted = _count_in_model(str(entry["ref"]))
    except (ModelError, OSError, ValueError, RuntimeError) as error:
        return f"{folder} cannot be opened ({error}). {how_to_restore_file(folder)}"
    if counted != parameters:
        return (
            f"{folder} has {counted} parameters, but the manifest says {parameters}. "
            f"{how_to_restore_file(folder)}"
        )
    return None

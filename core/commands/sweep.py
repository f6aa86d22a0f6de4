"""`python -m core sweep FILE.yaml --out DIR`: studies with every combination of listed values."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from core.commands.output import draw_bar
from core.commands.prices import agree
from core.commands.study import add_run_flags
from core.results.numbers import text_of

if TYPE_CHECKING:
    from core.runs.price import Price
    from core.runs.store import Store
    from core.sweep.folder import State

MOST_NOTED = 20  # failures that are printed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="YAML file with studies and lists of values"
    )
    add_run_flags(
        parser,
        out="folder for the table and the state; the same folder again resumes the sweep",
        check="only check the file and say what a run would cost",
        yes="start a long or large sweep without asking",
        fresh="ignore precomputed results and recompute them",
        scheduler="run the tasks on this Dask cluster: tcp://host:port",
    )


def main(arguments: argparse.Namespace) -> int:
    """Read what is finished, price the rest and run it; return 1 if a cell failed."""
    from core.runs.runner import open_executor
    from core.runs.store import default_store
    from core.sweep.folder import ROWS, open_folder
    from core.sweep.grid import read_sweep
    from core.sweep.pricing import price_cells
    from core.sweep.running import Run

    began = time.monotonic()
    sweep = read_sweep(arguments.file)
    store = default_store().without_precomputed() if arguments.fresh else default_store()
    if arguments.check:
        print(f"{len(sweep.cells):,} cells of {', '.join(sweep.studies)}.")
        print(price_cells(sweep.cells)[0].sentence, file=sys.stderr)
        return 0
    run = Run(sweep, arguments.out, store, _show)
    left = run.find_unfinished()
    price, run.seconds_of = price_cells(left)
    price.refuse_where_shared("make the sweep smaller")
    _warn_of_store(price, store)
    agree(price, arguments.yes)
    open_folder(arguments.out, sweep.text)
    with open_executor(arguments.scheduler) as executor:
        state = run.run(left, executor)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    for failure in state.failures[:MOST_NOTED]:
        print(f"note: {failure.name}: {failure.sentence}", file=sys.stderr)
    if state.failed > MOST_NOTED:
        print(f"note: {state.failed} cells failed; all are in sweep.json.", file=sys.stderr)
    print(
        f"{len(state.finished):,} of {state.cells:,} cells are finished, {state.read:,} of them "
        f"read from the store; {text_of(time.monotonic() - began, 'seconds')}."
    )
    if run.rows:
        print(f"Written: {arguments.out / ROWS} with {run.rows:,} rows.")
    return 1 if state.failures else 0


def _warn_of_store(price: Price, store: Store) -> None:
    """Say so if the store would drop the sweep's first results before its last are there."""
    from core.runs.price import gigabytes_text

    if price.store * 1e9 > store.size_limit:
        print(
            f"note: The sweep keeps {gigabytes_text(price.store)}, "
            f"and the store holds {gigabytes_text(store.size_limit / 1e9)}: "
            "results that models share may be computed again. Raise PALIMPSEST_STORE_BYTES.",
            file=sys.stderr,
        )


def _show(state: State) -> None:
    """Draw a progress bar on a terminal."""
    ended = len(state.ended)
    left = f", {text_of(state.remaining, 'seconds')} left" if state.remaining else ""
    failed = f", {state.failed} failed" if state.failed else ""
    text = f"{ended}/{state.cells}{failed}{left}  {'; '.join(state.running)}"
    draw_bar(ended / max(state.cells, 1), text)

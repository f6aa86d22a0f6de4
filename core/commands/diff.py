"""`python -m core diff BASE MODEL --out DIR`: one report of every study that fits a pair."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from core import COMMAND
from core.commands.pair import (
    PARTS,
    SWAP,
    Check,
    Part,
    check_pair,
    further_commands,
    is_pair_stored,
    prices_of,
    run_pair,
    specs_of,
    unfit,
)
from core.commands.prices import agree
from core.commands.study import add_run_flags
from core.errors import ModelError
from core.models import parse_ref
from core.models.loading.task_models import describe_head
from core.results.numbers import text_of
from core.runs.price import duration_text

PAGE = "report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("base", metavar="BASE", help="the base model, such as zoo:seed-0")
    parser.add_argument("model", metavar="MODEL", help="its fine-tune, or a LoRA adapter")
    add_run_flags(
        parser,
        out="folder for the report and the numbers",
        check="only check the pair and say what a run would cost",
        yes="start long or large studies without asking",
        fresh="ignore precomputed results and recompute them on this machine",
        scheduler="a Dask scheduler, tcp://host:port",
    )


def main(arguments: argparse.Namespace) -> int:
    """Check the pair, run what fits it, write the report; return 0 if any study ran."""
    from core.commands.pair_page import make_sentences
    from core.runs.runner import open_executor
    from core.runs.store import default_store

    began = time.monotonic()
    base, model = (str(parse_ref(ref)) for ref in (arguments.base, arguments.model))
    command = shlex.join([*COMMAND.split(), "diff", base, model, "--out", str(arguments.out)])
    store = default_store().without_precomputed() if arguments.fresh else default_store()
    with open_executor(arguments.scheduler) as executor:
        check = check_pair(base, model, store=store, executor=executor)
        print(check.sentence)
        if arguments.check:
            for line in describe_parts(check):
                print(line)
            print(check.cost.sentence, file=sys.stderr)
            print(f"To start: {command}{' --yes' if check.cost.asks else ''}", file=sys.stderr)
            return 0
        if (check.cost.asks or check.cost.excess) and not is_pair_stored(check, store):
            check.cost.refuse_where_shared()
            agree(check.cost, arguments.yes)
        parts = run_pair(
            check,
            lambda name: print(f"running: {name}", file=sys.stderr),
            store=store,
            executor=executor,
        )
    try:  # as of a study: the files are not lost if the output is full, nor the reverse
        files = write_pair(check, parts, arguments.out, command)
    finally:
        if findings := " ".join(make_sentences(check, parts)[1:]):
            print(findings, flush=True)
    for part in parts:
        if part.result is None:
            print(f"note: {part.name} was not run: {part.reason}", file=sys.stderr)
    took = text_of(time.monotonic() - began, "seconds")
    print(f"Written: {files[0]} and {len(files) - 1} further files; {took}.")
    for line in further_commands(check):
        print(line, file=sys.stderr)
    return 0 if any(part.result is not None for part in parts) else 1


def describe_parts(check: Check) -> list[str]:
    """Say of each study how long it takes, or why it does not fit the pair."""
    prices = prices_of(check)
    lines = []
    for name in specs_of(check):
        cost = (
            f"about {duration_text(prices[name].seconds)}."
            if name in prices
            else "no price is known."
        )
        lines.append(f"{PARTS[name]}: {unfit(check, name) or _headless(check, name) or cost}")
    return lines


def _headless(check: Check, name: str) -> str:
    """Say why the model has no head that a swap could score; "" if it has, and of other parts."""
    if name == SWAP:
        try:
            describe_head(check.model)
        except ModelError as error:
            return str(error)
    return ""


def write_pair(check: Any, parts: list[Part], out: Path, command: str) -> list[Path]:
    """Write the report, its figures, and each study's numbers in a folder; return the files, the
    report first. Raises ExportError if the folder cannot be written."""
    from core.commands.pair_page import make_figures, make_page
    from core.results.export import NUMBERS, draw_figures, result_json, result_numbers, table_csv
    from core.results.folder import RECORD, write_folder

    files: dict[str, bytes] = {}
    for part in parts:
        if part.result is not None:
            files[f"{part.name}/{RECORD}"] = result_json(part.result)
            files[f"{part.name}/{NUMBERS}"] = result_numbers(part.result)
            files |= {
                f"{part.name}/{name}.csv": table_csv(table)
                for name, table in part.result.tables.items()
            }
    charts, page = make_figures(parts), partial(make_page, check, parts, command=command)
    write_folder(out, {PAGE: page(charts, {}), **files})
    figures = draw_figures(charts)
    files |= {f"{name}.svg": content for name, content in figures.items()}
    return write_folder(out, {PAGE: page(charts, figures), **files})

"""The command of a study, made from its options: `python -m core rsa`, `probe`, `weights`, `align`,
`align check` ...

It takes the same spec as the page and gives the same numbers. Flags are the options' names;
`--help` says their values, bounds and defaults, and an invalid value is refused with the same
message as on the page.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import COMMAND
from core.catalogue import STUDIES
from core.commands.output import draw_bar
from core.commands.prices import agree, check_price
from core.errors import PalimpsestError, SpecError
from core.options import Option, Spec, options_of, refs_of

if TYPE_CHECKING:
    from core.results.export import Result
    from core.runs.runner import Progress
    from core.runs.store import Store
    from core.study import Study

METAVARS: Mapping[str, str] = {
    "whole": "N",
    "number": "X",
    "model": "MODEL",
    "models": "MODEL",
    "corpus": "TEXT",
    "layers": "LAYER",
}
RUN_FLAGS: Mapping[str, Mapping[str, Any]] = {
    "out": {"type": Path, "required": True, "metavar": "DIR"},
    "check": {"action": "store_true"},
    "yes": {"action": "store_true"},
    "fresh": {"action": "store_true"},
    "scheduler": {"metavar": "ADDRESS"},
}
PATIENCE = 10.0  # seconds at most to find out whether everything is stored


def add_arguments(parser: argparse.ArgumentParser, command: str) -> None:
    """Add a flag for each option of the study, and those of the run and its output."""
    for option in options_of(STUDIES[command].Spec):
        add_flag(parser, option)
    add_run_flags(
        parser,
        scheduler="Runs the tasks on this Dask cluster: tcp://host:port.",
        fresh="Ignores precomputed results and recomputes them on this machine.",
        yes="Starts a long or large study without asking.",
        out="Folder for the results and figures.",
    )


def add_run_flags(parser: argparse.ArgumentParser, **helps: str) -> None:
    """Add the flags of a run and its output that are named, each with its help."""
    for name, words in helps.items():
        parser.add_argument(f"--{name}", help=words, **RUN_FLAGS[name])


def stored_result(
    study: Study, spec: Spec, store: Store, progress: Callable[[Progress], None]
) -> Result | None:
    """Return a study's result if all of it is stored; nothing is computed or downloaded."""
    from core.runs.tasks import Signal

    if any("hub:" in ref for ref in refs_of(spec)):
        return None
    signal = Signal(look_only=True, patience=PATIENCE)
    try:
        result: Result = study.run(spec, store=store, progress=progress, signal=signal)
    except PalimpsestError:
        return None  # running the study gives the error message
    return result


def add_flag(parser: argparse.ArgumentParser, option: Option) -> None:
    """Add the option's flag; the option parses and checks its text, argparse does not."""
    name = f"--{option.name.replace('_', '-')}"
    if option.kind == "flag":
        words = f"{option.help} (default {'on' if option.default else 'off'})"
        parser.add_argument(
            name,
            dest=option.name,
            action=argparse.BooleanOptionalAction,
            default=None,
            help=words.replace("%", "%%"),
        )
        return
    default = " ".join(option.write(option.default))
    words = f"{option.help} Takes {option.valid_values()}; default {default or 'empty'}."
    parser.add_argument(
        name,
        dest=option.name,
        action="extend" if option.many else "append",  # a flag that is given twice loses nothing
        nargs="*" if option.many else None,
        metavar=METAVARS.get(option.kind, option.name.upper()),
        help=words.replace("%", "%%"),
    )


def spec_of(command: str, arguments: argparse.Namespace) -> Spec:
    """Make the spec from the flags; options without a flag have their defaults. Raises SpecError if
    a value is invalid."""
    study = STUDIES[command]
    values: dict[str, Any] = {}
    for option in options_of(study.Spec):
        given = getattr(arguments, option.name)
        if given is not None and option.kind != "flag" and not option.many and len(given) > 1:
            flag = f"--{option.name.replace('_', '-')}"
            raise SpecError(f"{flag} was given twice ({', '.join(given)}): give it once.")
        if given is not None:
            values[option.name] = given if option.kind == "flag" else option.read(given)
    spec: Spec = study.Spec(**values)
    return spec


def main(command: str, arguments: argparse.Namespace) -> int:
    """Run the study, print its headline and write the result; return 1 if a task failed. A stored
    study starts without a confirmation."""
    from core.results.export import NUMBERS, write_result
    from core.results.numbers import text_of
    from core.results.shelf.archive import is_shelved
    from core.runs.runner import open_executor
    from core.runs.store import default_store, using

    study, spec = STUDIES[command], spec_of(command, arguments)
    store = default_store().without_precomputed() if arguments.fresh else default_store()
    began, seen, result = time.monotonic(), _Seen(quiet=True), None
    shelved = store.precomputed is not None and is_shelved(study.name, spec)
    price = None if shelved else study.price(spec)  # which asks for the sizes of the models
    if price is not None and (price.asks or price.excess):
        result = stored_result(study, spec, store, seen)
        if result is None:
            agree(check_price(study.price, spec), arguments.yes)
    if result is None:
        began, seen = time.monotonic(), _Seen()
        with open_executor(arguments.scheduler) as executor:
            result = study.run(spec, store=store, executor=executor, progress=seen)
        if sys.stderr.isatty():
            print(file=sys.stderr)
    files: list[Path] = []
    keeps = result.table.empty and result.failures and (arguments.out / NUMBERS).exists()
    try:  # writing comes first: the files are not lost if the output is full, nor the reverse
        if not keeps:
            with using(store):
                made = study.figures(result), arguments.out, study.files(result)
                files = write_result(result, *made)
    finally:
        print(result.cautioned(), flush=True)
        for sentence in (*result.notices, *result.left_out):
            print(f"note: {sentence}", file=sys.stderr)
    precomputed = f" ({seen.shipped} precomputed)" if seen.shipped else ""
    seconds = time.monotonic() - began
    took = text_of(seconds, "seconds")
    print(f"{seen.stored} of {seen.total} tasks were stored{precomputed}; {took}.", file=sys.stderr)
    written = f"Written: {', '.join(str(path) for path in files)}"
    kept = f"Nothing was computed, so that the earlier result in {arguments.out} stays."
    print(kept if keeps else written)
    return 1 if result.failures else 0


def command_line(command: str, spec: Spec) -> str:
    """Write the command that reproduces this study, with its non-default options."""
    parts = [*COMMAND.split(), *command.split()]
    for option in options_of(type(spec)):
        if option.name not in spec.changed():
            continue
        value, flag = spec.changed()[option.name], f"--{option.name.replace('_', '-')}"
        if option.kind == "flag":
            parts.append(flag if value else f"--no-{flag[2:]}")
        # argparse would read the text as a flag
        elif not option.many and str(value).startswith("-"):
            parts.append(f"{flag}={value}")
        else:
            parts += [flag, *option.write(value)]
    return shlex.join([*parts, "--out", "out"])


class _Seen:
    """The last progress of a run, and a progress bar on a terminal unless it is quiet."""

    stored = total = shipped = 0

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet

    def __call__(self, progress: Progress) -> None:
        self.stored, self.total, self.shipped = progress.stored, progress.total, progress.shipped
        if not self.quiet:
            left = f", {progress.remaining:.0f} s left" if progress.remaining else ""
            text = f"{progress.done}/{progress.total}{left}  {progress.note}"
            draw_bar(progress.fraction, text)

"""`python -m core align`: the seed-alignment page's study, headless; the same spec, the same numbers."""

from __future__ import annotations

import argparse

from core.alignment.registry import METHODS
from core.alignment.spec import ITEMS, AlignSpec
from core.cli_run import add_run_arguments, run_and_write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study's options; defaults are the page's."""
    default = AlignSpec(models=("zoo:seed-0", "zoo:seed-1"))
    parser.add_argument("--models", nargs="+", required=True, metavar="MODEL", help="two or more, every ordered pair")
    parser.add_argument("--against", nargs="+", default=[], metavar="MODEL", help="a second group, beside the first")
    parser.add_argument("--methods", nargs="+", default=list(default.methods), choices=list(METHODS), metavar="METHOD")
    parser.add_argument("--corpus", default=default.corpus, help="demo, a .txt or .conllu file, or hub:NAME")
    parser.add_argument("--genres", nargs="+", default=[], metavar="GENRE", help="keep these genres only")
    parser.add_argument("--items", default=default.items, choices=ITEMS, help="default %(default)s")
    parser.add_argument("--limit", type=int, default=default.limit, help="sentences read (default %(default)s)")
    parser.add_argument("--layers", nargs="+", default=["all"], metavar="LAYER", help="numbers, or all (the default)")
    parser.add_argument("--draws", type=int, default=default.draws, help="bootstrap draws (default %(default)s)")
    parser.add_argument("--seed", type=int, default=default.seed, help="of split, networks and draws")
    add_run_arguments(parser)


def main(arguments: argparse.Namespace) -> int:
    """Run the study, write it, print its headline; 1 if a task failed.

    Raises:
        PalimpsestError: As the study does; `core.cli` prints it.
    """
    spec = AlignSpec(
        models=tuple(arguments.models),
        against=tuple(arguments.against),
        methods=tuple(arguments.methods),
        corpus=arguments.corpus,
        genres=tuple(arguments.genres),
        items=arguments.items,
        limit=arguments.limit,
        layers=_layers(arguments.layers),
        draws=arguments.draws,
        seed=arguments.seed,
    )
    from core.alignment.charts import figures
    from core.alignment.study import collect, plan

    return run_and_write(plan(spec), lambda outputs: collect(spec, outputs), figures, arguments)


def _layers(asked: list[str]) -> tuple[int, ...]:
    from core.errors import SpecError

    if asked == ["all"]:
        return ()
    if not all(layer.isdigit() for layer in asked):
        raise SpecError(f"--layers takes numbers, or all; got {' '.join(asked)}.")
    return tuple(int(layer) for layer in asked)

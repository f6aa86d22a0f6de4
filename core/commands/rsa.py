"""`python -m core rsa`: the RSA page's study, headless; the same spec, the same numbers."""

from __future__ import annotations

import argparse

from core.commands.study import add_run_arguments, run_and_write
from core.rsa.kernels import KERNELS
from core.rsa.measures import MEASURES
from core.rsa.rdm import COMPARISONS
from core.rsa.spec import ITEMS, RsaSpec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study's options; defaults are the page's."""
    default = RsaSpec(base="zoo:seed-0", compare=("zoo:parse-0",))
    parser.add_argument("--base", default=default.base, help="base model (default %(default)s)")
    parser.add_argument("--compare", nargs="+", required=True, metavar="MODEL", help="models compared with it")
    parser.add_argument("--measure", default=default.measure, choices=list(MEASURES), help="default %(default)s")
    parser.add_argument("--kernel", default=default.kernel, choices=list(KERNELS), help="for rsa, default %(default)s")
    parser.add_argument(
        "--comparison", default=default.comparison, choices=list(COMPARISONS), help="for rsa, default %(default)s"
    )
    parser.add_argument("--corpus", default=default.corpus, help="demo, a .txt or .conllu file, or hub:NAME")
    parser.add_argument("--genres", nargs="+", default=[], metavar="GENRE", help="keep these genres only")
    parser.add_argument("--against", default="", metavar="CORPUS", help="a second corpus, side by side")
    parser.add_argument("--against-genres", nargs="+", default=[], metavar="GENRE", help="genres of the second corpus")
    parser.add_argument("--items", default=default.items, choices=list(ITEMS), help="default %(default)s")
    parser.add_argument("--sample", type=int, default=default.sample, help="words sampled (default %(default)s)")
    parser.add_argument("--limit", type=int, default=default.limit, help="sentences read (default %(default)s)")
    parser.add_argument("--standardise", action="store_true", help="bring each dimension to mean 0, deviation 1 first")
    parser.add_argument("--drop-rogue", type=int, default=0, metavar="K", help="drop the K largest dimensions first")
    parser.add_argument("--draws", type=int, default=default.draws, help="bootstrap draws (default %(default)s)")
    parser.add_argument("--no-yardsticks", action="store_true", help="leave out seed against seed and random weights")
    parser.add_argument("--grid", action="store_true", help="add every layer against every layer")
    parser.add_argument("--seed", type=int, default=default.seed, help="of sample, bootstrap and null")
    add_run_arguments(parser)


def main(arguments: argparse.Namespace) -> int:
    """Run the study, write it, print its headline; 1 if a task failed.

    Raises:
        PalimpsestError: As the study does; `core.commands.main` prints it.
    """
    spec = RsaSpec(
        base=arguments.base,
        compare=tuple(arguments.compare),
        corpus=arguments.corpus,
        genres=tuple(arguments.genres),
        against=arguments.against,
        against_genres=tuple(arguments.against_genres),
        measure=arguments.measure,
        kernel=arguments.kernel,
        comparison=arguments.comparison,
        items=arguments.items,
        sample=arguments.sample,
        limit=arguments.limit,
        standardise=arguments.standardise,
        drop_rogue=arguments.drop_rogue,
        draws=arguments.draws,
        yardsticks=not arguments.no_yardsticks,
        grid=arguments.grid,
        seed=arguments.seed,
    )
    from core.rsa.charts import figures
    from core.rsa.study import collect, plan, read_corpora

    corpora = read_corpora(spec)
    return run_and_write(plan(spec, corpora), lambda outputs: collect(spec, outputs, corpora), figures, arguments)

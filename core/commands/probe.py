"""`python -m core probe`: the probe page's study, headless; the same spec, the same numbers."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

from core.commands.running import add_run_arguments, report, show_progress
from core.errors import SpecError
from core.probes.spec import HEADS, PROBES, ProbeSpec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study's options; defaults are the spec's."""
    default = ProbeSpec(models=("zoo:seed-0",))
    parser.add_argument("--models", nargs="+", required=True, metavar="MODEL", help="the first is the base")
    parser.add_argument("--corpus", default=default.corpus, help="split 80/10/10: demo, a file, hub:NAME")
    parser.add_argument("--genres", nargs="+", default=[], metavar="GENRE", help="keep these genres only")
    parser.add_argument("--train", default="", metavar="FILE", help="with --dev and --test: splits as given")
    parser.add_argument("--dev", default="", metavar="FILE", help="sentences that decide when to stop")
    parser.add_argument("--test", default="", metavar="FILE", help="sentences that are scored")
    parser.add_argument("--heads", default=default.heads, choices=list(HEADS), help="whose trees (default %(default)s)")
    parser.add_argument("--pipeline", default=default.pipeline, help="the parser: box, or an installed en_core_web_*")
    parser.add_argument("--probes", nargs="+", default=list(PROBES), choices=PROBES, help="default: both")
    parser.add_argument("--rank", type=int, default=default.rank, help="rows of B (default %(default)s)")
    parser.add_argument("--layers", nargs="+", default=["all"], metavar="LAYER", help="all, or numbers from 0")
    parser.add_argument("--limit", type=int, default=default.limit, help="sentences read (default %(default)s)")
    parser.add_argument("--no-controls", action="store_true", help="train no probes on control trees")
    parser.add_argument("--no-untrained", action="store_true", help="do not add the first model with random weights")
    parser.add_argument("--sweep", action="store_true", help="add probes of rank 1 to full at each model's best layer")
    parser.add_argument("--draws", type=int, default=default.draws, help="bootstrap draws (default %(default)s)")
    parser.add_argument("--epochs", type=int, default=default.epochs, help="most epochs (default %(default)s)")
    parser.add_argument("--seed", type=int, default=default.seed, help="of maps, batches, control rules, bootstrap")
    add_run_arguments(parser)


def main(arguments: argparse.Namespace) -> int:
    """Run the study, write it, print its headline; 1 if a task failed.

    Raises:
        PalimpsestError: As the study does; `core.commands.main` prints it.
    """
    spec = _spec(arguments)
    from core.probes.charts import figures
    from core.probes.data import read_treebank
    from core.probes.sentences import predicted_conllu
    from core.probes.study import collect, plan
    from core.probes.sweep import collect_sweep, plan_sweep
    from core.results.export import write_result
    from core.runs.runner import open_executor, run

    began = time.monotonic()
    treebank = read_treebank(spec)
    with open_executor(arguments.scheduler) as executor:
        outputs = run(plan(spec, treebank), executor=executor, progress=show_progress)
        result = collect(spec, outputs, treebank)
        stored, total = outputs.stored, len(outputs.values) + len(outputs.failures)
        if arguments.sweep:
            layers = {ref: result.best_layer(ref) for ref in result.probes}
            swept = run(plan_sweep(spec, layers, treebank), executor=executor, progress=show_progress)
            stored, total = stored + swept.stored, total + len(swept.values) + len(swept.failures)
            tables = {**result.tables, "sweep": collect_sweep(spec, swept, treebank)}
            result = replace(result, tables=tables, failures=result.failures | swept.failures)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    files = write_result(result, figures(result) if len(result.table) else {}, arguments.out)
    if any(probes.heads is not None for probes in result.probes.values()):
        files.append(arguments.out / "predicted.conllu")
        files[-1].write_bytes(predicted_conllu(result))
    return report(result, files, stored, total, began)


def _spec(arguments: argparse.Namespace) -> ProbeSpec:
    """The study that the command line asks for."""
    layers: tuple[int, ...] = ()
    if arguments.layers != ["all"]:
        try:
            layers = tuple(int(layer) for layer in arguments.layers)
        except ValueError as error:
            raise SpecError(f"--layers takes `all` or numbers from 0, not {' '.join(arguments.layers)}.") from error
    if arguments.sweep and "distance" not in arguments.probes:
        raise SpecError("--sweep trains distance probes: add distance to --probes.")
    return ProbeSpec(
        models=tuple(arguments.models),
        corpus=arguments.corpus,
        genres=tuple(arguments.genres),
        train=arguments.train,
        dev=arguments.dev,
        test=arguments.test,
        heads=arguments.heads,
        pipeline=arguments.pipeline,
        probes=tuple(arguments.probes),
        rank=arguments.rank,
        layers=layers,
        limit=arguments.limit,
        controls=not arguments.no_controls,
        untrained=not arguments.no_untrained,
        draws=arguments.draws,
        seed=arguments.seed,
        epochs=arguments.epochs,
    )

"""`python -m core align`: the seed-alignment page's study and its experiments, headless; the same numbers."""

from __future__ import annotations

import argparse
from typing import Any

from core.alignment.registry import METHODS
from core.alignment.spec import ITEMS, AlignSpec
from core.commands.running import add_run_arguments, run_and_write
from core.errors import SpecError

MODES = {
    "pairs": "maps between every ordered pair of models, at every layer",
    "check": "undo a random invertible network on the first model's states",
    "stitch": "lower layers of one model, upper layers and head of another",
    "attention": "matched heads and attention outputs",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study's options; defaults are the page's."""
    default = AlignSpec(models=("zoo:seed-0", "zoo:seed-1"))
    modes = "; ".join(f"{name}: {what}" for name, what in MODES.items())
    parser.add_argument("mode", nargs="?", default="pairs", choices=list(MODES), help=modes)
    parser.add_argument("--models", nargs="+", required=True, metavar="MODEL", help="two or more, every ordered pair")
    parser.add_argument("--against", nargs="+", default=[], metavar="MODEL", help="a second group, beside the first")
    parser.add_argument("--methods", nargs="+", default=[], choices=list(METHODS), metavar="METHOD", help=_listed())
    parser.add_argument("--corpus", default=default.corpus, help="demo, a .txt or .conllu file, or hub:NAME")
    parser.add_argument("--genres", nargs="+", default=[], metavar="GENRE", help="keep these genres only")
    parser.add_argument("--items", default=default.items, choices=ITEMS, help="default %(default)s")
    parser.add_argument("--limit", type=int, default=default.limit, help="sentences read (default %(default)s)")
    parser.add_argument("--layers", nargs="+", default=["all"], metavar="LAYER", help="numbers, or all (the default)")
    parser.add_argument("--labelled", default="", metavar="FILE", help="for stitch: lines of label, tab, sentence")
    parser.add_argument("--draws", type=int, default=default.draws, help="bootstrap draws (default %(default)s)")
    parser.add_argument("--seed", type=int, default=default.seed, help="of split, networks and draws")
    add_run_arguments(parser)


def main(arguments: argparse.Namespace) -> int:
    """Run the study, write it, print its headline; 1 if a task failed.

    Raises:
        PalimpsestError: As the study does; `core.commands.main` prints it.
    """
    return {"pairs": _pairs, "check": _check, "stitch": _stitch, "attention": _attention}[arguments.mode](arguments)


def _pairs(arguments: argparse.Namespace) -> int:
    from core.alignment.charts import figures
    from core.alignment.study import collect, plan

    spec = AlignSpec(
        models=tuple(arguments.models),
        against=tuple(arguments.against),
        corpus=arguments.corpus,
        genres=tuple(arguments.genres),
        items=arguments.items,
        limit=arguments.limit,
        layers=_layers(arguments.layers),
        draws=arguments.draws,
        seed=arguments.seed,
        **_methods(arguments),
    )
    return run_and_write(plan(spec), lambda outputs: collect(spec, outputs), figures, arguments)


def _check(arguments: argparse.Namespace) -> int:
    from core.alignment.experiment_charts import experiment_figures
    from core.alignment.experiments import CHECKED_LAYER, CheckSpec, collect_check, plan_check

    layers = _layers(arguments.layers)
    spec = CheckSpec(
        model=arguments.models[0],
        corpus=arguments.corpus,
        items=arguments.items,
        limit=arguments.limit,
        seed=arguments.seed,
        layer=layers[0] if layers else CHECKED_LAYER,
        **_methods(arguments),
    )
    return run_and_write(plan_check(spec), lambda outputs: collect_check(spec, outputs), experiment_figures, arguments)


def _stitch(arguments: argparse.Namespace) -> int:
    from core.alignment.experiment_charts import experiment_figures
    from core.alignment.experiments import StitchSpec, collect_stitch, plan_stitch

    spec = StitchSpec(
        models=tuple(arguments.models),
        corpus=arguments.corpus,
        labelled=arguments.labelled,
        limit=arguments.limit,
        draws=arguments.draws,
        seed=arguments.seed,
        **_methods(arguments),
    )
    return run_and_write(
        plan_stitch(spec), lambda outputs: collect_stitch(spec, outputs), experiment_figures, arguments
    )


def _attention(arguments: argparse.Namespace) -> int:
    from core.alignment.attention_study import AttentionSpec, collect_attention, plan_attention
    from core.alignment.experiment_charts import experiment_figures

    spec = AttentionSpec(
        models=tuple(arguments.models),
        corpus=arguments.corpus,
        limit=arguments.limit,
        seed=arguments.seed,
        **_methods(arguments),
    )
    tasks = plan_attention(spec)
    return run_and_write(tasks, lambda outputs: collect_attention(spec, outputs), experiment_figures, arguments)


def _methods(arguments: argparse.Namespace) -> dict[str, Any]:
    """The methods asked for; nothing where the experiment's own choice should hold."""
    return {"methods": tuple(arguments.methods)} if arguments.methods else {}


def _listed() -> str:
    return f"of {', '.join(METHODS)}"


def _layers(asked: list[str]) -> tuple[int, ...]:
    if asked == ["all"]:
        return ()
    if not all(layer.isdigit() for layer in asked):
        raise SpecError(f"--layers takes numbers, or all; got {' '.join(asked)}.")
    return tuple(int(layer) for layer in asked)

"""`make zoo`, or `python -m zoo.recipe`: train the included models, or fine-tune one Hub model in
the same way.

The same command resumes an interrupted run where it stopped.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from core.errors import PalimpsestError, RecipeError
from zoo.recipe.pipeline import make_zoo
from zoo.recipe.plan import SNAPSHOTS, STAGES, Plan

BOX = Path(__file__).resolve().parents[1]
NICENESS = 10  # of a calibration, which runs for hours beside other work


def build_parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m zoo.recipe", description=__doc__)
    _add_inputs(parser)
    _add_extent(parser)
    _add_other_work(parser)
    return parser


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    """Flags of the texts to learn from, and of the folders to write to."""
    text = parser.add_mutually_exclusive_group()
    text.add_argument(
        "--text",
        metavar="FILE",
        help="text to pretrain on, one paragraph per line (plain or .gz)",
    )
    text.add_argument(
        "--dataset",
        metavar="NAME[:CONFIG]",
        help="Hub data set with a text column to pretrain on",
    )
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="sentiment.train.jsonl and so on"
    )
    parser.add_argument(
        "--treebank",
        type=Path,
        metavar="FOLDER",
        help="*-train.conllu, *-dev.conllu, *-test.conllu",
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="folder of the included models (default: zoo, or out/zoo-quick with --quick)",
    )
    parser.add_argument(
        "--work",
        type=Path,
        help="folder for checkpoints and encoded text (default: OUT/work)",
    )


def _add_extent(parser: argparse.ArgumentParser) -> None:
    """Flags of how much is trained: models, steps, stages."""
    shipped = f"default {' '.join(map(str, SNAPSHOTS))}; none with --quick"
    parser.add_argument("--seeds", type=int, help="pretraining seeds (default 5; 2 with --quick)")
    parser.add_argument("--runs", type=int, help="fine-tunes a task (default 3; 1 with --quick)")
    parser.add_argument(
        "--jobs",
        type=int,
        help="models trained at once, one process each (default 2; 1 with --quick)",
    )
    parser.add_argument(
        "--steps", type=int, help="pretraining steps a seed; with --base, fine-tuning steps"
    )
    parser.add_argument(
        "--snapshots",
        type=int,
        nargs="*",
        metavar="STEP",
        help=f"steps of seed 0 to ship ({shipped})",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="train tiny models in about a minute (or QUICK=1)",
    )
    parser.add_argument(
        "--only",
        nargs="*",
        choices=STAGES,
        default=list(STAGES),
        help="run only these stages",
    )


def _add_other_work(parser: argparse.ArgumentParser) -> None:
    """Flags of what can be done instead: comparing settings, fine-tuning one model."""
    parser.add_argument(
        "--calibrate",
        type=Path,
        metavar="FOLDER",
        help="compare pretraining settings in this folder and stop",
    )
    parser.add_argument(
        "--settings",
        nargs="*",
        metavar="NAME",
        help="with --calibrate: compare only these settings",
    )
    parser.add_argument(
        "--marks",
        type=float,
        nargs="*",
        metavar="MILLION",
        help="with --calibrate: evaluate after so many tokens",
    )
    parser.add_argument(
        "--base", help="fine-tune this model (hub:NAME, zoo:NAME, path:FOLDER) into --out and stop"
    )
    parser.add_argument(
        "--task",
        help="with --base: mnli or squad from the Hub, or an included task from --data",
    )
    parser.add_argument(
        "--named",
        metavar="REF",
        help="with --base: how others find the same model (hub:NAME), for record and adapter",
    )
    parser.add_argument("--rank", type=int, default=0, help="with --base: train a LoRA adapter")
    parser.add_argument("--rate", type=float, help="with --base: learning rate")
    parser.add_argument(
        "--frozen",
        type=int,
        default=0,
        help="with --base: lowest layers that do not train; all of them to train the head alone",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="with --base: draws head and order of the data"
    )
    parser.add_argument("--limit", type=int, help="with --base: use so many examples of each part")


def main(argv: Sequence[str] | None = None) -> int:
    """Train the included models; return 0, 2 after an error message, or 130 if interrupted."""
    arguments = build_parser().parse_args(argv)
    try:
        if arguments.calibrate:
            compare_settings(arguments)
        elif arguments.base or arguments.task:
            finetune_one(arguments)
        else:
            make_zoo(plan_of(arguments), say)
    except PalimpsestError as error:
        print(f"palimpsest: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        sentence = "palimpsest: stopped. The same command resumes from the last checkpoint."
        print(sentence, file=sys.stderr)
        return 130
    return 0


def say(line: str) -> None:
    """Print one line of progress."""
    print(line, flush=True)


def plan_of(arguments: argparse.Namespace) -> Plan:
    """Make the plan of the arguments; a quick one without a text takes its inputs from the demo
    corpus. Raises RecipeError if there is no text to pretrain on, or a number is invalid."""
    quick = arguments.quick or os.environ.get("QUICK", "0") not in ("", "0")
    out = arguments.out or (Path("out/zoo-quick") if quick else Path("zoo"))
    work = arguments.work or out / "work"
    seeds = arguments.seeds if arguments.seeds is not None else (2 if quick else 5)
    runs = arguments.runs if arguments.runs is not None else (1 if quick else 3)
    jobs = arguments.jobs if arguments.jobs is not None else (1 if quick else 2)
    snapshots = (
        arguments.snapshots if arguments.snapshots is not None else (() if quick else SNAPSHOTS)
    )
    if min(seeds, runs, jobs) < 1 or (arguments.steps is not None and arguments.steps < 1):
        raise RecipeError("--seeds, --runs, --jobs and --steps must be at least 1.")
    text, treebank = arguments.text, arguments.treebank
    if text is None and arguments.dataset is None and "text" in arguments.only:
        if not quick:
            raise RecipeError("The recipe needs a text: add either --text FILE or --dataset NAME.")
        from zoo.recipe.quick import write_quick_inputs

        demo_text, demo_trees = write_quick_inputs(
            BOX / "corpus/demo.txt", BOX / "corpus/demo-gold.conllu", work
        )
        text, treebank = str(demo_text), treebank or demo_trees
    return Plan(
        out=out,
        work=work,
        text=text,
        dataset=arguments.dataset,
        data=arguments.data,
        treebank=treebank,
        seeds=seeds,
        runs=runs,
        jobs=jobs,
        steps=arguments.steps,
        snapshots=tuple(snapshots),
        quick=quick,
        only=tuple(arguments.only),
    )


def compare_settings(arguments: argparse.Namespace) -> None:
    """Train pretraining settings in turn, and evaluate each after given numbers of tokens; on one
    thread, niced. Raises RecipeError."""
    import torch

    from zoo.recipe.calibrate import MARKS, SETTINGS, calibrate, syntax_judge

    if arguments.text is None:
        raise RecipeError("The calibration needs a text: add --text FILE.")
    os.nice(max(0, NICENESS - os.nice(0)))
    torch.set_num_threads(1)
    judges = {} if arguments.treebank is None else {"syntax": syntax_judge(arguments.treebank)}
    box, names, marks = (
        arguments.out or BOX,
        arguments.settings or tuple(SETTINGS),
        arguments.marks or MARKS,
    )
    calibrate(arguments.calibrate, arguments.text, box / "tokenizer", names, marks, judges, say)


def finetune_one(arguments: argparse.Namespace) -> None:
    """Fine-tune one base on one task, from the Hub (MNLI, SQuAD) or from files. Raises RecipeError
    if the base, the task or --out is not given, or the data cannot be read."""
    from core.models import locate
    from core.models.references import parse_ref
    from zoo.recipe.finetune import finetune
    from zoo.recipe.settings import settings_on
    from zoo.recipe.tasks import HUB_TASKS, read_hub_task, read_task

    if not (arguments.base and arguments.task and arguments.out):
        raise RecipeError("Fine-tuning one model needs --base REF, --task NAME and --out FOLDER.")
    if arguments.task in HUB_TASKS:
        task = read_hub_task(arguments.task, arguments.limit)
    else:
        task = read_task(arguments.task, arguments.data, arguments.treebank).limited(
            arguments.limit, arguments.limit
        )
    settings = settings_on(
        task.name,
        arguments.seed,
        arguments.steps,
        arguments.rate,
        arguments.frozen,
        arguments.rank,
    )
    named = str(parse_ref(arguments.named or arguments.base))
    finetune(locate(arguments.base), named, task, settings, arguments.out, say)


if __name__ == "__main__":
    raise SystemExit(main())

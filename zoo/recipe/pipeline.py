"""The stages of the recipe, each skipped if its result exists: text, seeds, fine-tunes, adapters,
decoders and what is made of them, parser, questions and readers, manifest.

Work in progress (encoded text, checkpoints) is kept in a work folder; only finished models enter
the output folder.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import zoo.recipe.plan as recipe_plan
import zoo.recipe.publishing as publishing
from core.errors import RecipeError
from core.models.zoo import READING
from zoo.recipe.checkpoints import write_json
from zoo.recipe.countdown import (
    FINETUNING_STEP,
    PARSER_STEP,
    PRETRAINING_TOKENS,
    QUESTION,
    Countdown,
)
from zoo.recipe.decoders import SAVE_EVERY
from zoo.recipe.publishing import read_windows
from zoo.recipe.questions.data import COUNTS, NOTE, read_questions, write_questions
from zoo.recipe.quick import QUICK_COUNTS, quick_task
from zoo.recipe.sources import text_source
from zoo.recipe.tasks import REVIEW, TaskData, find_treebank, read_task, review_task
from zoo.recipe.text import encode_windows, read_paragraphs, split_held_out, text_digest

Report = Callable[[str], None]
QUESTIONS = "questions"  # folder of the work folder


@dataclass(frozen=True)
class Job:
    """A module-level function that says whether there was anything to do, its arguments, and
    expected seconds."""

    function: Callable[..., bool]
    arguments: tuple[Any, ...]
    seconds: float


def make_zoo(plan: recipe_plan.Plan, report: Report = lambda line: None) -> list[dict[str, Any]]:
    """Run the plan's stages; return the manifest's entries (of what is there so far). Raises
    RecipeError if an input is missing or unreadable, or the disk is full; a rerun resumes."""
    stages = {stage: jobs for stage, jobs in plan_jobs(plan).items() if stage in plan.only}
    countdown = Countdown([job.seconds for jobs in stages.values() for job in jobs], plan.jobs)
    if "text" in plan.only:
        prepare_text(plan, report)
    for stage, jobs in stages.items():
        _run_all(plan, jobs, countdown, report)
        for seed in range(plan.seeds if stage == "pretrain" else 0):
            publishing.publish(plan, seed, report)
        if stage == "pretrain" and not plan.quick:
            publishing.publish_again(plan, report)
        for seed in range(len(recipe_plan.decoder_names(plan)) if stage == "decoders" else 0):
            publishing.publish_decoder(plan, seed, report)
    return publishing.publish_list(plan.out, report)


def plan_jobs(plan: recipe_plan.Plan) -> dict[str, list[Job]]:
    """What each stage that trains has to do, in order."""
    seconds = _pretraining_seconds(publishing.pretraining(plan, 0))
    seeds = [Job(_pretrain_seed, (plan, seed), seconds) for seed in range(plan.seeds)]
    return {
        "pretrain": seeds if plan.quick else [*seeds, Job(_pretrain_again, (plan,), seconds)],
        "finetune": [_finetuning(plan, run) for run in recipe_plan.finetune_runs(plan)],
        "adapters": [_finetuning(plan, run) for run in recipe_plan.adapter_runs(plan)],
        "decoders": [
            Job(
                _pretrain_decoder,
                (plan, seed),
                _pretraining_seconds(publishing.decoder_pretraining(plan, seed)),
            )
            for seed in range(len(recipe_plan.decoder_names(plan)))
        ],
        "reviews": [_finetuning(plan, run) for run in recipe_plan.review_runs(plan)],
        "parser": [Job(make_parser, (plan,), _parser_settings(plan).steps * PARSER_STEP)],
        "questions": [Job(make_questions, (plan,), sum(_counts(plan).values()) * QUESTION)],
        "readers": [_finetuning(plan, run) for run in recipe_plan.reader_runs(plan)],
    }


def _finetuning(plan: recipe_plan.Plan, run: recipe_plan.Run) -> Job:
    return Job(_finetune_run, (plan, run), recipe_plan.run_steps(plan, run) * FINETUNING_STEP)


def _pretraining_seconds(settings: Any) -> float:
    return float(settings.tokens / PRETRAINING_TOKENS)


def prepare_text(plan: recipe_plan.Plan, report: Report) -> None:
    """Write the tokenizer and encoded windows to the work folder, unless those there are of this
    very text. Raises RecipeError if the text is missing, unknown or too short, or the folder cannot
    be written."""
    from zoo.recipe.tokenizer import read_tokenizer, save_tokenizer, train_tokenizer

    settings = publishing.pretraining(plan, 0)
    paragraphs = read_paragraphs(plan.text, plan.dataset)
    note = {
        "digest": text_digest(paragraphs),
        "vocabulary": settings.vocabulary,
        "length": settings.length,
    }
    note["name"] = plan.dataset or Path(str(plan.text)).name
    written = publishing.read_note(plan.work)
    trained = [*(f"seed-{seed}" for seed in range(plan.seeds)), *recipe_plan.decoder_names(plan)]
    if written is not None and all(
        written.get(key) == note[key] for key in ("digest", "vocabulary", "length")
    ):
        report("text: already encoded")
        return
    if any((plan.work / name).exists() for name in trained) and written is not None:
        raise RecipeError(
            f"{plan.work} holds seeds trained on another text; "
            "remove it or name another with --work."
        )
    report(f"text: {len(paragraphs):,} paragraphs; reading or training the tokenizer")
    training, held_out = split_held_out(paragraphs)
    kept = (
        plan.out / "tokenizer" / "tokenizer.json"
    )  # a second training would give another vocabulary
    tokenizer = (
        read_tokenizer(kept) if kept.is_file() else train_tokenizer(training, settings.vocabulary)
    )
    try:
        save_tokenizer(tokenizer, plan.work / "tokenizer")
        for name, part in (("train", training), ("held", held_out)):
            np.save(plan.work / f"{name}.npy", encode_windows(tokenizer, part, settings.length))
    except OSError as error:
        raise RecipeError(
            f"{plan.work} could not be written ({error}); free some space and run again."
        ) from error
    write_json(plan.work / "text.json", note)


def _pretrain_seed(
    plan: recipe_plan.Plan, seed: int, report: Report = lambda line: print(line, flush=True)
) -> bool:
    settings = publishing.pretraining(plan, seed)
    return _pretrain(plan, settings, f"seed-{seed}", _is_compiled(settings), report)


def _pretrain_again(
    plan: recipe_plan.Plan, report: Report = lambda line: print(line, flush=True)
) -> bool:
    """Train seed 0 a second time with other kernels (compiled if the first run was not, and the
    reverse), since a run repeats bit for bit on one processor."""
    settings = publishing.pretraining(plan, 0)
    return _pretrain(plan, settings, recipe_plan.AGAIN, not _is_compiled(settings), report)


def _pretrain_decoder(
    plan: recipe_plan.Plan, seed: int, report: Report = lambda line: print(line, flush=True)
) -> bool:
    settings, name = publishing.decoder_pretraining(plan, seed), f"decoder-{seed}"
    return _pretrain(plan, settings, name, False, report, save_every=SAVE_EVERY)


def _is_compiled(settings: Any) -> bool:
    import torch

    long = settings.steps > 2000  # compiling takes a minute and gains a quarter
    return long and not torch.cuda.is_available()


def _pretrain(
    plan: recipe_plan.Plan, settings: Any, name: str, compiled: bool, report: Report, **options: Any
) -> bool:
    from zoo.recipe.pretrain import CHECKPOINT, pretrain

    checkpoint = plan.work / name / CHECKPOINT
    before = checkpoint.stat().st_mtime_ns if checkpoint.is_file() else 0
    windows = read_windows(plan, "train")
    pretrain(settings, windows, checkpoint.parent, compiled, report, **options)
    return checkpoint.stat().st_mtime_ns != before


def _finetune_run(
    plan: recipe_plan.Plan,
    run: recipe_plan.Run,
    report: Report = lambda line: print(line, flush=True),
) -> bool:
    from zoo.recipe.finetune import finetune, finished_run

    base, out = plan.out / "models" / run.base, plan.out / "models" / run.name
    settings = recipe_plan.settings_of(plan, run)
    ref = f"zoo:{base.name}"
    if finished_run(base, ref, run.task, settings, out) is not None:
        report(f"{run.name}: already there")
        return False
    finetune(base, ref, load_task(plan, run.task), settings, out, report)
    return True


def load_task(plan: recipe_plan.Plan, task: str) -> TaskData:
    """Load the task's examples from the plan's folders, or from the demo sentences when quick.
    Raises RecipeError if they are missing or damaged."""
    if task == READING:
        note = publishing.read_note(plan.work) or {}
        source = text_source(str(note.get("digest")), str(note.get("name")))
        return read_questions(plan.work / QUESTIONS, source.data, source.licence)
    if plan.quick and plan.data is None:
        return quick_task(task, Path(str(plan.text)), Path(str(plan.treebank)))
    return review_task(plan.data) if task == REVIEW else read_task(task, plan.data, plan.treebank)


def make_parser(
    plan: recipe_plan.Plan, report: Report = lambda line: print(line, flush=True)
) -> bool:
    """Train the spaCy pipeline on the treebank's train and dev parts into `out/parser`; skipped if
    it is there."""
    if plan.treebank is None:
        report("parser: no --treebank, left out")
        return False
    if (plan.out / "parser" / "scores.json").is_file():
        report("parser: already there")
        return False
    from zoo.recipe.parser import train_parser

    train, dev = (find_treebank(plan.treebank, part) for part in ("train", "dev"))
    train_parser(
        train, dev, plan.work / "parser", plan.out / "parser", _parser_settings(plan), report
    )
    return True


def make_questions(
    plan: recipe_plan.Plan, report: Report = lambda line: print(line, flush=True)
) -> bool:
    """Make the readers' questions of treebank and text; skipped if they are there."""
    if plan.treebank is None:
        report("questions: no --treebank, left out")
        return False
    folder = plan.work / QUESTIONS
    if (folder / NOTE).is_file():
        report("questions: already there")
        return False
    paragraphs = read_paragraphs(plan.text, plan.dataset)
    write_questions(plan.treebank, paragraphs, folder, _counts(plan), report)
    return True


def _counts(plan: recipe_plan.Plan) -> dict[str, int]:
    return QUICK_COUNTS if plan.quick else COUNTS


def _parser_settings(plan: recipe_plan.Plan) -> Any:
    from zoo.recipe.parser import QUICK, ParserTraining

    return QUICK if plan.quick else ParserTraining()


def _run_all(
    plan: recipe_plan.Plan, jobs: Sequence[Job], countdown: Countdown, report: Report
) -> None:
    """Run the jobs one after another, or `plan.jobs` at once in processes of their own with a share
    of the cores each."""
    import torch

    if plan.jobs <= 1 or len(jobs) <= 1:
        for job in jobs:
            countdown.finish(job.seconds, _timed(job.function, (*job.arguments, report)))
            report(str(countdown))
        return
    threads = max(1, (os.cpu_count() or 1) // plan.jobs)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        plan.jobs, context, initializer=torch.set_num_threads, initargs=(threads,)
    ) as pool:
        waiting = {pool.submit(_timed, job.function, job.arguments): job for job in jobs}
        try:
            for future in as_completed(waiting):
                countdown.finish(waiting[future].seconds, future.result())
                report(str(countdown))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _timed(function: Callable[..., bool], arguments: tuple[Any, ...]) -> float | None:
    """Return the seconds that the job took, or None if there was nothing to do."""
    began = time.monotonic()
    return time.monotonic() - began if function(*arguments) else None

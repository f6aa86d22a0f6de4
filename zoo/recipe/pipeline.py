"""The stages that make the box, each skipped where its result is there: text, seeds, fine-tunes, parser, manifest.

Work in progress (encoded text, checkpoints) lies in a work folder beside the box; only finished models enter the box.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import RecipeError
from zoo.recipe.checkpoints import TOKENIZER_FILES, write_json
from zoo.recipe.quick import QUICK_PRETRAINING, QUICK_TASKS, quick_task
from zoo.recipe.tasks import BOX_TASKS, TaskData, find_treebank, read_task
from zoo.recipe.text import encode_windows, read_paragraphs, split_held_out, text_digest

Report = Callable[[str], None]
STAGES = ("text", "pretrain", "finetune", "parser", "manifest")
SNAPSHOTS = (0, 50, 200, 800, 3200)  # steps of seed 0 that are shipped: its initialisation, then log-spaced


@dataclass(frozen=True)
class Plan:
    """What `make zoo` was asked for.

    Attributes:
        snapshots: Steps of seed 0 that become models of their own (`seed-0@step-N`).
        jobs: Models trained at once, one process each.
        steps: Pretraining steps, where not the recipe's own number.
    """

    out: Path
    work: Path
    text: str | None = None
    dataset: str | None = None
    data: Path | None = None
    treebank: Path | None = None
    seeds: int = 5
    runs: int = 3
    jobs: int = 1
    steps: int | None = None
    snapshots: tuple[int, ...] = ()
    quick: bool = False
    only: tuple[str, ...] = STAGES

    @property
    def tasks(self) -> tuple[str, ...]:
        """The box's six, or what a quick run can learn from the demo sentences alone."""
        return QUICK_TASKS if self.quick and self.data is None else BOX_TASKS


def make_zoo(plan: Plan, report: Report = lambda line: None) -> list[dict[str, Any]]:
    """Run the plan's stages; returns the manifest's entries (of what is there so far).

    Raises:
        RecipeError: If an input is missing or unreadable, or the disk is full; a rerun resumes.
    """
    if "text" in plan.only:
        prepare_text(plan, report)
    if "pretrain" in plan.only:
        _run_all(plan, [(_pretrain_seed, (plan, seed)) for seed in range(plan.seeds)], report)
        for seed in range(plan.seeds):
            report(f"seed {seed}: measuring and writing the model")
            publish(plan, seed)
    if "finetune" in plan.only:
        _run_all(plan, [(_finetune_run, (plan, *run)) for run in finetune_runs(plan)], report)
    if "parser" in plan.only:
        make_parser(plan, report)
    from zoo.recipe.cards import write_cards
    from zoo.recipe.manifest import write_manifest

    entries = write_manifest(plan.out)
    write_cards(plan.out, entries)
    report(f"{len(entries)} models in {plan.out / 'manifest.json'}")
    return entries


def finetune_runs(plan: Plan) -> list[tuple[str, str, int]]:
    """(name, task, base seed) of every fine-tune: `runs` a task from seed 0, and one across seeds for stitching."""
    runs = [(f"{task}-{run}", task, 0) for run in range(plan.runs) for task in plan.tasks]
    across = plan.tasks[1] if plan.quick and plan.data is None else "sentiment"
    return runs + [(f"{across}-0-from-seed-{seed}", across, seed) for seed in range(1, plan.seeds)]


def prepare_text(plan: Plan, report: Report) -> None:
    """Tokenizer and encoded windows in the work folder; left alone where they are of this very text.

    Raises:
        RecipeError: If the text is missing, unknown or too short, or the folder cannot be written.
    """
    from zoo.recipe.tokenizer import read_tokenizer, save_tokenizer, train_tokenizer

    settings = pretraining(plan, 0)
    paragraphs = read_paragraphs(plan.text, plan.dataset)
    note = {"digest": text_digest(paragraphs), "vocabulary": settings.vocabulary, "length": settings.length}
    note["name"] = plan.dataset or Path(str(plan.text)).name
    found = _read_note(plan.work)
    if found is not None and all(found.get(key) == note[key] for key in ("digest", "vocabulary", "length")):
        report("text: already encoded")
        return
    if any((plan.work / f"seed-{seed}").exists() for seed in range(plan.seeds)) and found is not None:
        raise RecipeError(f"{plan.work} holds seeds trained on another text; remove it or name another with --work.")
    report(f"text: {len(paragraphs):,} paragraphs; reading or training the tokenizer")
    training, held_out = split_held_out(paragraphs)
    kept = plan.out / "tokenizer" / "tokenizer.json"  # a second training would give another vocabulary
    tokenizer = read_tokenizer(kept) if kept.is_file() else train_tokenizer(training, settings.vocabulary)
    try:
        save_tokenizer(tokenizer, plan.work / "tokenizer")
        for name, part in (("train", training), ("held", held_out)):
            np.save(plan.work / f"{name}.npy", encode_windows(tokenizer, part, settings.length))
    except OSError as error:
        raise RecipeError(f"{plan.work} could not be written ({error}); free some space and run again.") from error
    write_json(plan.work / "text.json", note)


def pretraining(plan: Plan, seed: int) -> Any:
    """One seed's settings: the recipe's, or the quick ones, with the plan's own number of steps."""
    from zoo.recipe.pretrain import Pretraining

    settings = replace(QUICK_PRETRAINING if plan.quick else Pretraining(seed=seed), seed=seed)
    settings = replace(settings, steps=plan.steps or settings.steps)
    return replace(settings, keep_steps=plan.snapshots or SNAPSHOTS) if seed == 0 else settings


def _pretrain_seed(plan: Plan, seed: int, report: Report = lambda line: print(line, flush=True)) -> None:
    import torch

    from zoo.recipe.pretrain import pretrain

    settings = pretraining(plan, seed)
    windows = _windows(plan, "train")
    long = settings.steps > 2000  # compiling takes a minute and gains a quarter
    pretrain(settings, windows, plan.work / f"seed-{seed}", long and not torch.cuda.is_available(), report)


def publish(plan: Plan, seed: int) -> None:
    """A trained seed, and seed 0's snapshots that the plan asks for, as models of the box.

    Raises:
        RecipeError: If the seed has not been trained or cannot be written.
    """
    from zoo.recipe.baselines import text_baselines
    from zoo.recipe.seeds import publish_seed
    from zoo.recipe.sources import text_source

    settings = pretraining(plan, seed)
    held_out = _windows(plan, "held")
    baselines = text_baselines(_windows(plan, "train"), held_out, settings.vocabulary)
    note = _read_note(plan.work) or {}
    source = text_source(str(note.get("digest")), str(note.get("name")))
    folder, models = plan.work / f"seed-{seed}", plan.out / "models"
    tokenizer = plan.work / "tokenizer"
    publish_seed(folder / "checkpoint.safetensors", tokenizer, models / f"seed-{seed}", held_out, baselines, source)
    for step in plan.snapshots if seed == 0 else ():
        path = folder / f"step-{step}.safetensors"
        publish_seed(path, tokenizer, models / f"seed-0@step-{step}", held_out, baselines, source, settings)
    try:
        (plan.out / "tokenizer").mkdir(parents=True, exist_ok=True)
        for name in TOKENIZER_FILES:
            (plan.out / "tokenizer" / name).write_bytes((tokenizer / name).read_bytes())
    except OSError as error:
        raise RecipeError(f"{plan.out / 'tokenizer'} could not be written ({error}); free some space.") from error


def _finetune_run(
    plan: Plan, name: str, task: str, seed: int, report: Report = lambda line: print(line, flush=True)
) -> None:
    from zoo.recipe.finetune import finetune, run_settings

    run = 0 if "-from-" in name else int(name.rpartition("-")[2])
    base, out = plan.out / "models" / f"seed-{seed}", plan.out / "models" / name
    finetune(base, f"zoo:seed-{seed}", load_task(plan, task), run_settings(task, run, plan.quick), out, report)


def load_task(plan: Plan, task: str) -> TaskData:
    """The task's examples from the plan's folders, or from the demo sentences when quick."""
    if plan.quick and plan.data is None:
        return quick_task(task, Path(str(plan.text)), Path(str(plan.treebank)))
    return read_task(task, plan.data, plan.treebank)


def make_parser(plan: Plan, report: Report) -> None:
    """Train the spaCy pipeline on the treebank's train and dev parts into `out/parser`; skipped if it is there."""
    if plan.treebank is None:
        report("parser: no --treebank, left out")
        return
    if (plan.out / "parser" / "scores.json").is_file():
        report("parser: already there")
        return
    from zoo.recipe.parser import QUICK, train_parser

    train, dev = (find_treebank(plan.treebank, part) for part in ("train", "dev"))
    train_parser(train, dev, plan.work / "parser", plan.out / "parser", QUICK if plan.quick else None, report)


def _run_all(plan: Plan, jobs: Sequence[tuple[Callable[..., None], tuple[Any, ...]]], report: Report) -> None:
    """One after another, or `plan.jobs` at once in processes of their own with a share of the cores each."""
    import torch

    if plan.jobs <= 1 or len(jobs) <= 1:
        for function, arguments in jobs:
            function(*arguments, report)
        return
    threads = max(1, (os.cpu_count() or 1) // plan.jobs)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(plan.jobs, context, initializer=torch.set_num_threads, initargs=(threads,)) as pool:
        waiting = [pool.submit(function, *arguments) for function, arguments in jobs]
        try:
            for future in as_completed(waiting):
                future.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _windows(plan: Plan, part: str) -> np.ndarray:
    path = plan.work / f"{part}.npy"
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise RecipeError(f"{path} cannot be read ({error}); run the text stage again.") from error


def _read_note(work: Path) -> dict[str, Any] | None:
    path = work / "text.json"
    try:
        return dict(json.loads(path.read_text(encoding="utf8"))) if path.is_file() else None
    except (OSError, ValueError) as error:
        raise RecipeError(f"{path} cannot be read ({error}); delete it to encode the text again.") from error

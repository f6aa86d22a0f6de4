"""From trained checkpoints to included models: seeds, their steps, a second run, decoders."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from core.errors import RecipeError
from zoo.recipe.checkpoints import TOKENIZER_FILES
from zoo.recipe.decoders import FEED_FORWARD, LEARNING_RATE, STEPS
from zoo.recipe.plan import AGAIN, Plan
from zoo.recipe.quick import QUICK_PRETRAINING

Report = Callable[[str], None]
DECODER_TOKENIZER = "decoder-tokenizer"  # in the work folder


def publish_list(out: Path, report: Report) -> list[dict[str, Any]]:
    """Write the manifest and the cards of the models in a folder; return the manifest's entries."""
    from zoo.recipe.cards import write_cards
    from zoo.recipe.manifest import write_manifest

    entries = write_manifest(out)
    write_cards(out, entries)
    report(f"{len(entries)} models in {out / 'manifest.json'}")
    return entries


def pretraining(plan: Plan, seed: int) -> Any:
    """Return one seed's settings: the recipe's, or the quick ones, with the plan's own number of
    steps."""
    from zoo.recipe.pretrain import Pretraining

    settings = replace(QUICK_PRETRAINING if plan.quick else Pretraining(seed=seed), seed=seed)
    settings = replace(settings, steps=plan.steps or settings.steps)
    return replace(settings, keep_steps=plan.snapshots) if seed == 0 else settings


def decoder_pretraining(plan: Plan, seed: int) -> Any:
    """Return one decoder's settings: those of a seed with the objective, form and rate of decoders.

    The snapshots of decoder 0 stay in the work folder.
    """
    common = replace(pretraining(plan, seed), objective="causal")
    if plan.quick:
        return common
    return replace(
        common,
        feed_forward=FEED_FORWARD,
        steps=plan.steps or STEPS,
        learning_rate=LEARNING_RATE,
        precision="bfloat16",
    )


def publish(plan: Plan, seed: int, report: Report = lambda line: None) -> None:
    """Write a trained seed, and the plan's snapshots of seed 0, as included models. Raises
    RecipeError if the seed has not been trained or cannot be written."""
    from zoo.recipe.pretrain import CHECKPOINT

    settings = pretraining(plan, seed)
    folder, models = plan.work / f"seed-{seed}", plan.out / "models"
    due = [(folder / CHECKPOINT, models / f"seed-{seed}", None)]
    for step in plan.snapshots if seed == 0 else ():
        due.append((folder / f"step-{step}.safetensors", models / f"seed-0@step-{step}", settings))
    _publish(plan, f"seed {seed}", due, report)
    tokenizer = plan.work / "tokenizer"
    try:
        (plan.out / "tokenizer").mkdir(parents=True, exist_ok=True)
        for name in TOKENIZER_FILES:
            (plan.out / "tokenizer" / name).write_bytes((tokenizer / name).read_bytes())
    except OSError as error:
        raise RecipeError(
            f"{plan.out / 'tokenizer'} could not be written ({error}); free some space."
        ) from error


def publish_again(plan: Plan, report: Report = lambda line: None) -> None:
    """Write the second run of seed 0 as an included model, which names seed 0 as its first run.
    Raises RecipeError if it has not been trained or cannot be written."""
    from zoo.recipe.pretrain import CHECKPOINT

    due = [(plan.work / AGAIN / CHECKPOINT, plan.out / "models" / AGAIN, None)]
    _publish(plan, "seed 0 again", due, report, second_run_of="zoo:seed-0")


def publish_decoder(plan: Plan, seed: int, report: Report = lambda line: None) -> None:
    """Write a trained decoder as an included model. Raises RecipeError if it has not been trained
    or cannot be written."""
    from zoo.recipe.pretrain import CHECKPOINT
    from zoo.recipe.tokenizer import read_tokenizer, save_decoder_tokenizer

    name = f"decoder-{seed}"
    due = [(plan.work / name / CHECKPOINT, plan.out / "models" / name, None)]
    tokenizer = read_tokenizer(plan.work / "tokenizer" / TOKENIZER_FILES[0])
    save_decoder_tokenizer(tokenizer, plan.work / DECODER_TOKENIZER)
    _publish(plan, f"decoder {seed}", due, report, folder=DECODER_TOKENIZER)


def _publish(
    plan: Plan,
    what: str,
    due: list[tuple[Path, Path, Any]],
    report: Report,
    second_run_of: str | None = None,
    folder: str = "tokenizer",
) -> None:
    """Measure and write those of the models (checkpoint, folder, settings of a snapshot) that are
    not written yet, with the tokenizer in this folder of the work folder."""
    from zoo.recipe.baselines import text_baselines
    from zoo.recipe.seeds import is_published, publish_seed
    from zoo.recipe.sources import text_source

    due = [(path, out, trained) for path, out, trained in due if not is_published(path, out)]
    if not due:
        return
    report(f"{what}: measuring and writing {', '.join(out.name for _, out, _ in due)}")
    held_out, tokenizer = read_windows(plan, "held"), plan.work / folder
    vocabulary = pretraining(plan, 0).vocabulary
    baselines = text_baselines(read_windows(plan, "train"), held_out, vocabulary)
    note = read_note(plan.work) or {}
    source = text_source(str(note.get("digest")), str(note.get("name")))
    for path, out, trained in due:
        publish_seed(path, tokenizer, out, held_out, baselines, source, trained, second_run_of)


def read_windows(plan: Plan, part: str) -> np.ndarray:
    """Read the encoded text of the work folder, "train" or "held". Raises RecipeError if the text
    stage has not run, or the file is damaged."""
    path = plan.work / f"{part}.npy"
    try:
        return cast(np.ndarray, np.load(path, allow_pickle=False))
    except (OSError, ValueError) as error:
        raise RecipeError(f"{path} cannot be read ({error}); run the text stage again.") from error


def read_note(work: Path) -> dict[str, Any] | None:
    """Read what the work folder's encoded text was made of; None if there is none. Raises
    RecipeError if the note is damaged."""
    path = work / "text.json"
    try:
        return dict(json.loads(path.read_text(encoding="utf8"))) if path.is_file() else None
    except (OSError, ValueError) as error:
        raise RecipeError(
            f"{path} cannot be read ({error}); delete it to encode the text again."
        ) from error

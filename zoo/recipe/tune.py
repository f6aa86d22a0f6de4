"""Choose the tasks' settings on a tenth of the training data: `python -m zoo.recipe.tune BASE TASK
name=value,...`.

The test part is never read. Each argument after the task is one setting to try, e.g.
`steps=600,learning_rate=5e-4`.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import fields, replace
from pathlib import Path

import torch

from core.errors import RecipeError
from zoo.recipe.batches import encode_task
from zoo.recipe.finetune import new_task_model
from zoo.recipe.scores import score_model
from zoo.recipe.settings import COMMON, Finetuning
from zoo.recipe.tasks import BOX_TASKS, TaskData, read_task
from zoo.recipe.training import train


def development_split(task: TaskData, share: int = 10) -> TaskData:
    """Split off one training example in `share` for choosing settings."""
    return replace(
        task,
        train=tuple(example for place, example in enumerate(task.train) if place % share),
        test=task.train[::share],
    )


def parse_settings(text: str, start: Finetuning) -> Finetuning:
    """Read `steps=600,learning_rate=5e-4` over `start`. Raises RecipeError if a name is not a
    setting."""
    kinds = {field.name: field.type for field in fields(Finetuning)}
    values: dict[str, float | int] = {}
    for pair in filter(None, text.split(",")):
        name, _, value = pair.partition("=")
        if name not in kinds:
            raise RecipeError(f"There is no setting {name!r}; there are {', '.join(kinds)}.")
        values[name] = float(value) if str(kinds[name]).startswith("float") else int(value)
    return replace(start, **values)  # type: ignore[arg-type]


def main(argv: list[str] | None = None) -> int:
    """Train with each setting and print its development score and time."""
    parser = argparse.ArgumentParser(prog="python -m zoo.recipe.tune", description=__doc__)
    parser.add_argument("base", type=Path)
    parser.add_argument("task", choices=BOX_TASKS)
    parser.add_argument("settings", nargs="*", default=[""])
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="sentiment.train.jsonl and so on"
    )
    parser.add_argument(
        "--treebank", type=Path, metavar="FOLDER", help="*-train.conllu and *-test.conllu"
    )
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    from transformers import AutoTokenizer

    task = development_split(read_task(arguments.task, arguments.data, arguments.treebank))
    tokenizer = AutoTokenizer.from_pretrained(arguments.base, trust_remote_code=False)
    for text in arguments.settings:
        settings = parse_settings(text, COMMON)
        torch.manual_seed(settings.seed)
        chosen = task.limited(settings.train_limit, settings.test_limit)
        model = new_task_model(arguments.base, chosen, settings)
        began = time.process_time()
        items = encode_task(tokenizer, chosen, chosen.train, settings.max_length)
        steps, _ = train(
            model,
            chosen.kind,
            items,
            settings,
            tokenizer.pad_token_id,
            "cpu",
            chosen.name,
            lambda line: None,
        )
        seconds = time.process_time() - began
        held_out = encode_task(tokenizer, chosen, chosen.test, 512)
        scores = score_model(model, chosen, held_out, tokenizer.pad_token_id)
        shown = " ".join(f"{name} {value:.3f}" for name, value in scores.items())
        print(
            f"{arguments.task} {text or 'as it is'}: {shown}, {steps} steps, {seconds:.0f} s",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

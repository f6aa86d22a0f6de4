"""Inputs for tiny models from the demo sentences alone, to run every stage of the recipe in about a
minute.

Its models are worth nothing; what they show is that the recipe works.
"""

from __future__ import annotations

import random
from pathlib import Path

from core.errors import RecipeError
from zoo.recipe.pretrain import Pretraining
from zoo.recipe.tasks import REVIEW, Example, TaskData, read_task

QUICK_PRETRAINING = Pretraining(
    seed=0,
    vocabulary=1000,
    layers=2,
    d_model=32,
    heads=2,
    feed_forward=64,
    length=32,
    batch=16,
    steps=60,
    warmup=10,
)
QUICK_TASKS = ("genre", "pos", "parse")
QUICK_COUNTS = {"train": 64, "test": 16}  # questions
PARTS = {"train": range(0, 40), "dev": range(40, 50), "test": range(50, 60)}


def write_quick_inputs(demo: Path, gold: Path, work: Path) -> tuple[Path, Path]:
    """Write the demo's sentences without their genres, and its gold trees in three parts: (text,
    treebank folder). Raises RecipeError if a file is missing, or the folder cannot be written."""
    for path in (demo, gold):
        if not path.is_file():
            raise RecipeError(
                f"No {path}; restore it with `git checkout -- zoo/corpus`, or give --text FILE."
            )
    sentences = [
        line.partition("\t")[2]
        for line in demo.read_text(encoding="utf8").splitlines()
        if "\t" in line
    ]
    trees = [block for block in gold.read_text(encoding="utf8").split("\n\n") if block.strip()]
    text, treebank = work / "demo-text.txt", work / "treebank"
    try:
        treebank.mkdir(parents=True, exist_ok=True)
        text.write_text("\n".join(sentences) + "\n", encoding="utf8")
        (work / "demo-genres.txt").write_text(demo.read_text(encoding="utf8"), encoding="utf8")
        for part, places in PARTS.items():
            blocks = [trees[place].strip("\n") for place in places if place < len(trees)]
            (treebank / f"demo-ud-{part}.conllu").write_text(
                "\n\n".join(blocks) + "\n\n", encoding="utf8"
            )
    except OSError as error:
        raise RecipeError(
            f"{work} could not be written ({error}); free some space and run again."
        ) from error
    return text, treebank


def quick_task(name: str, text: Path, treebank: Path) -> TaskData:
    """Make the task `genre`, the demo's first column predicted from its sentence, `review`, its
    sentences to be written on, or `pos` or `parse` from the demo's gold trees."""
    if name not in ("genre", REVIEW):
        return read_task(name, None, treebank)
    lines = (text.parent / "demo-genres.txt").read_text(encoding="utf8").splitlines()
    rows = [
        (sentence, genre)
        for genre, tab, sentence in (line.partition("\t") for line in lines)
        if tab
    ]
    names = tuple(sorted({genre for _, genre in rows}))
    examples = [Example(sentence, label=names.index(genre)) for sentence, genre in rows]
    random.Random(0).shuffle(examples)
    test, train, source = tuple(examples[:40]), tuple(examples[40:]), ("the demo corpus", "CC0")
    if name == REVIEW:
        return TaskData(REVIEW, "text", (), train, test, *source)
    return TaskData("genre", "sequence", names, train, test, *source)

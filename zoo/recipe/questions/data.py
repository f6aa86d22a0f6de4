"""The data of the readers: questions from a treebank's gold trees and from parsed text.

They are written to the work folder as JSON lines in SQuAD's columns, once; the project ships none
of them.
"""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.errors import RecipeError
from core.models.zoo import READING
from core.text.conllu import COLUMNS, Sentence, read_conllu
from core.text.parsing import parse_words, tokenize
from zoo.recipe.checkpoints import write_json
from zoo.recipe.questions.passages import documents, make_examples, nearest_name
from zoo.recipe.questions.rules import Lemmas
from zoo.recipe.tasks import Example, TaskData, find_treebank, squad_task
from zoo.recipe.text import split_held_out

COUNTS = {"train": 20_000, "test": 2_000}
AT_ONCE = 200  # paragraphs parsed together
NOTE = "questions.json"
DATA = "questions made by rule from UD English EWT (gold trees) and from parsed text: "
Report = Callable[[str], None]


def read_lemmas(path: Path) -> Lemmas:
    """Read the lemma of every verb form in a CoNLL-U file, by form in lower case and XPOS. Raises
    RecipeError if the file cannot be read."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for line in _lines(path):
        columns = line.rstrip("\n").split("\t")
        if len(columns) == COLUMNS and columns[3] == "VERB":
            key = columns[1].lower(), columns[4]
            counts.setdefault(key, Counter())[columns[2]] += 1
    return {key: counter.most_common(1)[0][0] for key, counter in counts.items()}


def write_questions(
    treebank: Path,
    paragraphs: Sequence[str],
    folder: Path,
    counts: dict[str, int] | None = None,
    report: Report = lambda line: None,
) -> dict[str, Any]:
    """Write `train.jsonl`, `test.jsonl` and a note: the treebank's questions, then those of
    paragraphs in random order, up to the counts; no training question has the words and answer of a
    test one. Raises RecipeError if the treebank is missing, ModelError without a parser."""
    lemmas = read_lemmas(find_treebank(treebank, "train"))
    sides = dict(zip(("train", "test"), split_held_out(list(paragraphs)), strict=True))
    taken: set[tuple[str, str]] = set()
    note: dict[str, Any] = {}
    for part in ("test", "train"):
        wanted, rows = (counts or COUNTS)[part], list[dict[str, Any]]()
        gold = documents(read_conllu(_lines(find_treebank(treebank, part)), f"{treebank} {part}"))
        for source, document in _sources(gold, sides[part]):
            for kind, example in make_examples(document, lemmas):
                key = _letters(example.text), _letters(example.answers[0])
                if key not in taken and len(rows) < wanted:
                    taken.add(key)
                    rows.append({"source": source, "kind": kind, **_row(example)})
            if len(rows) >= wanted:
                break
        random.Random(0).shuffle(rows)
        _write(folder / f"{part}.jsonl", rows)
        kinds = Counter(f"{row['source']}, {row['kind']}" for row in rows)
        note[part] = dict(sorted(kinds.items()))
        report(f"questions: {len(rows):,} for {part}")
    write_json(folder / NOTE, note)
    return note


def read_questions(folder: Path, data: str, licence: str) -> TaskData:
    """Read the questions that `write_questions` wrote. Raises RecipeError if they are not there, or
    damaged."""
    parts = []
    for part in ("train", "test"):
        path = folder / f"{part}.jsonl"
        try:
            with path.open(encoding="utf8") as handle:
                parts.append([json.loads(line) for line in handle])
        except (OSError, ValueError) as error:
            raise RecipeError(
                f"{path} cannot be read ({error}); delete {folder} and run the stage again."
            ) from error
    task = squad_task(*parts)
    return replace(task, name=READING, data=f"{DATA}{data}", licence=licence, guess=_nearest_name)


def _nearest_name(example: Example) -> str:
    return nearest_name(example.text, example.pair or "")


def _sources(
    gold: Iterable[Sequence[Sentence]], paragraphs: Sequence[str]
) -> Iterator[tuple[str, Sequence[Sentence]]]:
    """Yield (source, sentences) of documents and then of paragraphs, parsed a batch at a time."""
    for document in gold:
        yield "treebank", document
    order = random.Random(0).sample(paragraphs, len(paragraphs))
    for start in range(0, len(order), AT_ONCE):
        cut = [tokenize(paragraph) for paragraph in order[start : start + AT_ONCE]]
        parses = iter(parse_words([words for paragraph in cut for words in paragraph]))
        for paragraph in cut:
            sentences = []
            for words in paragraph:
                parse = next(parses)
                sentences.append(
                    Sentence(
                        words, parse.heads, upos=parse.upos, xpos=parse.xpos, deprel=parse.deprel
                    )
                )
            yield "text", sentences


def _row(example: Example) -> dict[str, Any]:
    answers = {"text": list(example.answers), "answer_start": list(example.starts)}
    return {"question": example.text, "context": example.pair, "answers": answers}


def _letters(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


def _lines(path: Path) -> Iterator[str]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf8") as handle:
            yield from handle
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise RecipeError(f"The treebank {path} could not be read: {error}") from error


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf8"
        )
        partial.replace(path)
    except OSError as error:
        raise RecipeError(
            f"{path} could not be written ({error}); free some space and run again."
        ) from error

"""The data of fine-tuning: examples of five kinds, from files or from Hub data sets.

A task is a name, a kind (what its head predicts) and labelled examples in a training and a test
part. Files are JSON lines with `text`, `text_pair`, `label`, or CoNLL-U; hub data sets have the
columns of MNLI or SQuAD.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from core.errors import CorpusError, RecipeError
from core.models.zoo import CAUSAL, MASKED
from core.text.conllu import read_conllu

Kind = Literal["sequence", "words", "arcs", "span", "text"]
PRETRAINING_TASKS = (MASKED, CAUSAL)
REVIEW = "review"  # film reviews, for decoders


@dataclass(frozen=True)
class Example:
    """One labelled input. Which fields are filled depends on the task's kind.

    sequence: `text` (and `pair`), `label`. words: `words`, `labels` a word. arcs: `words`, `labels`
    = 1-based heads,
    0 the root. span: `text` is the question, `pair` the context, `answers` with their character
    `starts`. text: `text`, each of whose tokens is predicted.
    """

    text: str = ""
    pair: str | None = None
    label: int = -1
    words: tuple[str, ...] = ()
    labels: tuple[int, ...] = ()
    answers: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()


@dataclass(frozen=True)
class TaskData:
    """A task's examples; `label_names` is empty for arcs and spans.

    Attributes:
        guess: The baseline's answer to a span example; None for the empty answer.
    """

    name: str
    kind: Kind
    label_names: tuple[str, ...]
    train: tuple[Example, ...]
    test: tuple[Example, ...]
    data: str
    licence: str
    guess: Callable[[Example], str] | None = None

    def limited(self, train: int | None, test: int | None) -> TaskData:
        """Return the first examples of both parts (files are already in random order)."""
        return replace(self, train=self.train[:train], test=self.test[:test])


@dataclass(frozen=True)
class Source:
    """The source of an included task."""

    file: str
    data: str
    licence: str


SOURCES = {
    "nli": Source("nli", "SICK (Marelli et al. 2014)", "CC BY-NC-SA 3.0"),
    "sentiment": Source("sentiment", "Sentence Polarity v1.0 (Pang & Lee 2005)", "CC BY 4.0"),
    "subjectivity": Source("subjectivity", "Subjectivity v1.0 (Pang & Lee 2004)", "CC BY 4.0"),
    "question": Source(
        "question_type", "TREC question classification (Li & Roth 2002)", "free for research"
    ),
    "pos": Source("en_ewt-ud", "UD English EWT, universal part-of-speech tags", "CC BY-SA 4.0"),
    "parse": Source("en_ewt-ud", "UD English EWT, heads", "CC BY-SA 4.0"),
}
TREEBANK_TASKS = ("pos", "parse")
BOX_TASKS = tuple(SOURCES)


def read_task(name: str, data: Path | None, treebank: Path | None) -> TaskData:
    """Read one of the six included tasks from its files (plain or .gz). Raises RecipeError if the
    name is unknown, or a folder or file is missing or cannot be read."""
    if name not in SOURCES:
        raise RecipeError(f"There is no task {name!r}; there are {', '.join(SOURCES)}.")
    source = SOURCES[name]
    if name in TREEBANK_TASKS:
        if treebank is None:
            raise RecipeError(
                f"The task {name} needs --treebank FOLDER with "
                "...-train.conllu and ...-test.conllu."
            )
        train, test = (
            _read_trees(find_treebank(treebank, part), name) for part in ("train", "test")
        )
        tags = (
            tuple(sorted({str(tag) for _, tags in (*train, *test) for tag in tags}))
            if name == "pos"
            else ()
        )
        index = {tag: place for place, tag in enumerate(tags)}
        training, held_out = (
            tuple(
                Example(words=words, labels=tuple(index.get(tag, tag) for tag in given))
                for words, given in part
            )
            for part in (train, test)
        )
        kind: Kind = "arcs" if name == "parse" else "words"
        return TaskData(name, kind, tags, training, held_out, source.data, source.licence)
    rows = _read_rows(name, source, data)
    labels = tuple(sorted({row["label"] for part in rows for row in part}))
    place = {label: index for index, label in enumerate(labels)}
    training, held_out = (
        tuple(Example(row["text"], row.get("text_pair"), place[row["label"]]) for row in part)
        for part in rows
    )
    return TaskData(name, "sequence", labels, training, held_out, source.data, source.licence)


def review_task(data: Path | None) -> TaskData:
    """Read the sentences of film reviews without their labels, for decoders to write on. Raises
    RecipeError as `read_task`."""
    source = SOURCES["sentiment"]
    train, test = (
        tuple(Example(str(row["text"])) for row in part)
        for part in _read_rows(REVIEW, source, data)
    )
    return TaskData(REVIEW, "text", (), train, test, source.data, source.licence)


def _read_rows(name: str, source: Source, data: Path | None) -> list[list[dict[str, Any]]]:
    """Read the training and the test rows of a task that lies in JSON lines."""
    if data is None:
        raise RecipeError(
            f"The task {name} needs --data FOLDER with {source.file}.train.jsonl and .test.jsonl."
        )
    return [
        list(_read_json_lines(_find(data, f"{source.file}.{part}.jsonl")))
        for part in ("train", "test")
    ]


def mnli_task(train: Iterable[Mapping[str, Any]], test: Iterable[Mapping[str, Any]]) -> TaskData:
    """Read rows of MNLI: `premise`, `hypothesis`, `label` 0/1/2; rows without a label (-1) are left
    out."""
    names = ("entailment", "neutral", "contradiction")

    def read(rows: Iterable[Mapping[str, Any]]) -> tuple[Example, ...]:
        examples = []
        for row in rows:
            _need(row, "MNLI", "premise", "hypothesis", "label")
            if 0 <= int(row["label"]) < len(names):
                examples.append(
                    Example(str(row["premise"]), str(row["hypothesis"]), int(row["label"]))
                )
        return tuple(examples)

    return TaskData(
        "mnli",
        "sequence",
        names,
        read(train),
        read(test),
        "MultiNLI (Williams et al. 2018)",
        "various",
    )


def squad_task(train: Iterable[Mapping[str, Any]], test: Iterable[Mapping[str, Any]]) -> TaskData:
    """Read rows of SQuAD: `question`, `context`, `answers` {text: [...], answer_start: [...]}; an
    empty list means no answer."""

    def read(rows: Iterable[Mapping[str, Any]]) -> tuple[Example, ...]:
        examples = []
        for row in rows:
            _need(row, "SQuAD", "question", "context", "answers")
            answers = row["answers"]
            given = tuple(answers["text"]), tuple(int(start) for start in answers["answer_start"])
            examples.append(
                Example(
                    str(row["question"]), str(row["context"]), answers=given[0], starts=given[1]
                )
            )
        return tuple(examples)

    return TaskData(
        "squad",
        "span",
        (),
        read(train),
        read(test),
        "SQuAD (Rajpurkar et al. 2016)",
        "CC BY-SA 4.0",
    )


@dataclass(frozen=True)
class HubTask:
    """A hub data set that the recipe can fine-tune any base on."""

    dataset: str
    configuration: str | None
    test_split: str
    read: Callable[[Iterable[Mapping[str, Any]], Iterable[Mapping[str, Any]]], TaskData]


HUB_TASKS = {
    "mnli": HubTask("nyu-mll/glue", "mnli", "validation_matched", mnli_task),
    "squad": HubTask("rajpurkar/squad", None, "validation", squad_task),
}


def read_hub_task(name: str, limit: int | None = None) -> TaskData:
    """Read MNLI or SQuAD through `datasets`. Raises RecipeError if the name is unknown or the data
    set cannot be read (no network, not found)."""
    from datasets import load_dataset
    from datasets.exceptions import DatasetNotFoundError

    if name not in HUB_TASKS:
        raise RecipeError(f"There is no hub task {name!r}; there are {', '.join(HUB_TASKS)}.")
    task = HUB_TASKS[name]
    try:
        parts = [
            load_dataset(task.dataset, task.configuration, split=split)
            for split in ("train", task.test_split)
        ]
    except (DatasetNotFoundError, ConnectionError, OSError, ValueError) as error:
        raise RecipeError(f"The data set {task.dataset} could not be read: {error}") from error
    return task.read(*(part.select(range(min(limit or len(part), len(part)))) for part in parts))


def _need(row: Mapping[str, Any], format_name: str, *columns: str) -> None:
    lacking = [column for column in columns if column not in row]
    if lacking:
        raise RecipeError(
            f"A row in {format_name} format needs {', '.join(columns)}; missing: "
            f"{', '.join(lacking)}."
        )


def _find(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise RecipeError(
        f"No {name} (or {name}.gz) in {folder}; point the recipe at the folder that holds it."
    )


def find_treebank(folder: Path, part: str) -> Path:
    """Find the file `...-PART.conllu` (or .gz) in a treebank's folder. Raises RecipeError if there
    is none, or more than one."""
    files = sorted([*folder.glob(f"*-{part}.conllu"), *folder.glob(f"*-{part}.conllu.gz")])
    if len(files) != 1:
        raise RecipeError(
            f"{folder} holds {len(files)} files called ...-{part}.conllu (or .gz); one is needed."
        )
    return files[0]


def _read_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf8") as handle:
            for number, line in enumerate(handle, start=1):
                row = json.loads(line)
                if not isinstance(row, dict) or "text" not in row or "label" not in row:
                    raise RecipeError(f"{path}, line {number}: needs text and label.")
                yield row
    except (ValueError, EOFError, OSError) as error:
        raise RecipeError(f"{path} could not be read as JSON lines: {error}") from error


def _read_trees(path: Path, task: str) -> list[tuple[tuple[str, ...], Sequence[Any]]]:
    opener = gzip.open if path.suffix == ".gz" else open
    labelled: list[tuple[tuple[str, ...], Sequence[Any]]] = []
    try:
        with opener(path, "rt", encoding="utf8") as handle:
            for sentence in read_conllu(handle, path.name):
                labels = sentence.upos if task == "pos" else sentence.heads
                if labels is None:
                    raise RecipeError(
                        f"{path} has no {'UPOS tags' if task == 'pos' else 'heads'} for "
                        f"the task {task}."
                    )
                labelled.append((sentence.words, labels))
    except (CorpusError, UnicodeDecodeError, EOFError, OSError) as error:
        raise RecipeError(f"The treebank {path} could not be read: {error}") from error
    return labelled

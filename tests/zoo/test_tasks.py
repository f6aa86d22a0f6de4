"""The six tasks from files, MNLI and SQuAD from `datasets`, and what is said when an input is not
as it should be."""

from __future__ import annotations

from pathlib import Path

import datasets
import pytest

from core.errors import RecipeError
from tests.zoo.made_up import MNLI, SQUAD, write_task, write_treebank
from zoo.recipe.tasks import BOX_TASKS, SOURCES, mnli_task, read_hub_task, read_task, squad_task


def test_json_lines_become_examples(tmp_path: Path) -> None:
    for name in ("nli", "sentiment", "subjectivity", "question"):
        data = write_task(tmp_path, SOURCES[name].file, pair=name == "nli", count=3)
        task = read_task(name, data, None)
        assert task.kind == "sequence"
        assert task.label_names == ("negative", "positive")
        assert len(task.train) == len(task.test) == 6
        assert task.label_names[task.train[0].label] == "negative"
        assert (task.train[0].pair is not None) == (name == "nli")
        assert task.limited(2, None).train == task.train[:2]


def test_trees_become_tags_and_heads(tmp_path: Path) -> None:
    folder = write_treebank(tmp_path)
    tags = read_task("pos", None, folder)
    assert tags.label_names == ("DET", "NOUN", "PROPN", "PUNCT", "VERB")
    assert [tags.label_names[label] for label in tags.train[0].labels] == [
        "DET",
        "NOUN",
        "VERB",
        "PROPN",
        "PUNCT",
    ]
    trees = read_task("parse", None, folder)
    assert trees.train[0].labels == (2, 3, 0, 3, 3)
    assert trees.test[0].words[3] == "Tom"
    assert trees.label_names == ()


def test_every_task_names_its_source_and_licence() -> None:
    assert all(SOURCES[name].data and SOURCES[name].licence for name in BOX_TASKS)


def test_mnli_and_squad_rows(tmp_path: Path) -> None:
    mnli = mnli_task(datasets.Dataset.from_list(MNLI), MNLI)
    assert [example.label for example in mnli.train] == [
        0,
        1,
        2,
    ]  # the row without a label is left out
    assert mnli.train[0].pair == "A cat was there."
    squad = squad_task(datasets.Dataset.from_list(SQUAD), SQUAD)
    first = squad.train[0]
    assert first.pair is not None
    assert first.pair[first.starts[0] :].startswith(first.answers[0])
    assert squad.train[2].answers == ()
    with pytest.raises(RecipeError, match="missing: premise"):
        mnli_task([{"hypothesis": "x", "label": 0}], [])


def test_hub_tasks_are_read_and_limited(monkeypatch) -> None:
    asked = []

    def load(*names: object, split: str) -> datasets.Dataset:
        asked.append((*names, split))
        return datasets.Dataset.from_list(MNLI)

    monkeypatch.setattr(datasets, "load_dataset", load)
    assert len(read_hub_task("mnli", limit=2).train) == 2
    assert asked == [
        ("nyu-mll/glue", "mnli", "train"),
        ("nyu-mll/glue", "mnli", "validation_matched"),
    ]

    def offline(*names: object, split: str) -> None:
        raise ConnectionError("no network")

    monkeypatch.setattr(datasets, "load_dataset", offline)
    with pytest.raises(RecipeError, match="rajpurkar/squad could not be read"):
        read_hub_task("squad")
    with pytest.raises(RecipeError, match="mnli, squad"):
        read_hub_task("cola")


def test_bad_inputs_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="there are nli, sentiment"):
        read_task("poetry", tmp_path, tmp_path)
    with pytest.raises(RecipeError, match="--data FOLDER"):
        read_task("nli", None, None)
    with pytest.raises(RecipeError, match="--treebank FOLDER"):
        read_task("pos", None, None)
    with pytest.raises(RecipeError, match=r"No nli.train.jsonl"):
        read_task("nli", tmp_path, None)
    with pytest.raises(RecipeError, match="holds 0 files"):
        read_task("parse", None, tmp_path)
    (tmp_path / "nli.train.jsonl").write_text("{half\n")
    (tmp_path / "nli.test.jsonl").write_text('{"text": "no label"}\n')
    with pytest.raises(RecipeError, match="could not be read as JSON lines"):
        read_task("nli", tmp_path, None)
    (tmp_path / "nli.train.jsonl").write_text('{"text": "no label"}\n')
    with pytest.raises(RecipeError, match="line 1: needs text and label"):
        read_task("nli", tmp_path, None)


def test_treebanks_without_what_is_learned(tmp_path: Path) -> None:
    row = "1\tGo\tgo\t{tag}\tVB\t_\t{head}\t{label}\t_\t_\n\n"
    for part in ("train", "test"):
        (tmp_path / f"x-{part}.conllu").write_text(row.format(tag="_", head="_", label="_"))
    with pytest.raises(RecipeError, match="no UPOS tags"):
        read_task("pos", None, tmp_path)
    with pytest.raises(RecipeError, match="no heads"):
        read_task("parse", None, tmp_path)
    (tmp_path / "x-train.conllu").write_text("1\tGo\n")
    with pytest.raises(RecipeError, match="could not be read"):
        read_task("pos", None, tmp_path)

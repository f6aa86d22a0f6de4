"""Every kind of task trains, is scored, is saved with its head, and starts from the base's very numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from core.errors import RecipeError
from core.models.heads import ArcParser, load_task_model
from tests.zoo.made_up import MNLI, SQUAD, write_task, write_treebank
from zoo.recipe import finetune as module
from zoo.recipe.finetune import TUNED, Finetuning, finetune, run_settings
from zoo.recipe.tasks import BOX_TASKS, TaskData, mnli_task, read_task, squad_task

SETTINGS = Finetuning(epochs=2, learning_rate=5e-3, batch=4)


def tasks(folder: Path) -> dict[str, TaskData]:
    from datasets import Dataset

    data = write_task(write_task(folder / "tasks"), "nli", pair=True)
    trees = write_treebank(folder / "trees")
    made = {name: read_task(name, data, trees) for name in ("sentiment", "nli", "pos", "parse")}
    made["mnli"] = mnli_task(Dataset.from_list(MNLI), Dataset.from_list(MNLI))
    made["squad"] = squad_task(Dataset.from_list(SQUAD), Dataset.from_list(SQUAD))
    return made


@pytest.mark.parametrize("name", ["sentiment", "nli", "pos", "parse", "mnli", "squad"])
def test_every_kind_trains_and_is_saved_with_its_head(name: str, tiny_base: Path, tmp_path: Path) -> None:
    task = tasks(tmp_path)[name]
    lines: list[str] = []
    record = finetune(tiny_base, "zoo:seed-0", task, SETTINGS, tmp_path / f"{name}-0", lines.append)
    assert record["ref"] == f"zoo:{name}-0"
    assert record["steps"] > 0
    assert 0 <= record["scores"][record["metric"]] <= 1
    assert json.loads((tmp_path / f"{name}-0" / "training.json").read_text()) == json.loads(json.dumps(record))
    assert any(line.startswith(f"{name}-0: ") for line in lines)
    model = load_task_model(tmp_path / f"{name}-0")
    assert isinstance(model, ArcParser) == (name == "parse")
    if task.label_names:
        assert tuple(model.config.id2label.values()) == task.label_names  # type: ignore[union-attr,operator]


@pytest.mark.parametrize("name", ["sentiment", "pos", "parse"])
def test_what_can_be_learned_is_learned(name: str, tiny_base: Path, tmp_path: Path) -> None:
    settings = replace(SETTINGS, epochs=25, learning_rate=1e-2)
    record = finetune(tiny_base, "zoo:seed-0", tasks(tmp_path)[name], settings, tmp_path / "run")
    assert record["scores"][record["metric"]] > record["baseline"]["score"] + 0.2


def test_the_body_keeps_its_names_and_is_rounded_once(tiny_base: Path, tmp_path: Path) -> None:
    base = load_file(tiny_base / "model.safetensors")
    before = (tiny_base / "model.safetensors").read_bytes()
    finetune(
        tiny_base, "zoo:seed-0", tasks(tmp_path)["parse"], replace(SETTINGS, learning_rate=0.0), tmp_path / "still"
    )
    tuned = load_file(tmp_path / "still" / "model.safetensors")
    body = {name for name in base if name.startswith("roformer.")}
    assert body == {name for name in tuned if name.startswith("roformer.")}
    assert all(torch.equal(base[name], tuned[name]) for name in body)  # no training: no delta at all
    assert all(tensor.dtype == torch.float16 for tensor in tuned.values())
    assert (tiny_base / "model.safetensors").read_bytes() == before


def test_the_same_run_is_not_done_again_and_another_is(tiny_base: Path, tmp_path: Path) -> None:
    task = tasks(tmp_path)["sentiment"]
    first = finetune(tiny_base, "zoo:seed-0", task, SETTINGS, tmp_path / "run")
    written = (tmp_path / "run" / "model.safetensors").stat().st_mtime_ns
    lines: list[str] = []
    assert (
        finetune(tiny_base, "zoo:seed-0", task, SETTINGS, tmp_path / "run", lines.append)["scores"] == first["scores"]
    )
    assert lines == ["run: already there"]
    assert (tmp_path / "run" / "model.safetensors").stat().st_mtime_ns == written
    other = finetune(tiny_base, "zoo:seed-0", task, replace(SETTINGS, seed=1), tmp_path / "run")
    assert other["settings"]["seed"] == 1
    assert (tmp_path / "run" / "model.safetensors").stat().st_mtime_ns != written


def test_a_run_that_was_interrupted_equals_one_that_was_not(tiny_base: Path, tmp_path: Path, monkeypatch) -> None:
    task = tasks(tmp_path)["sentiment"]
    finetune(tiny_base, "zoo:seed-0", task, SETTINGS, tmp_path / "whole")

    def stopped(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "score_model", stopped)
        with pytest.raises(KeyboardInterrupt):
            finetune(tiny_base, "zoo:seed-0", task, SETTINGS, tmp_path / "again")
    assert not (tmp_path / "again").exists()
    finetune(tiny_base, "zoo:seed-0", task, SETTINGS, tmp_path / "again")
    files = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "again")]
    assert files[0] == files[1]


def test_a_loss_that_is_not_a_number_is_said(tiny_base: Path, tmp_path: Path) -> None:
    task = tasks(tmp_path)["sentiment"]
    with pytest.raises(RecipeError, match="lower"):
        finetune(tiny_base, "zoo:seed-0", task, replace(SETTINGS, learning_rate=1e30), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_bad_inputs_are_one_sentence(tiny_base: Path, tmp_path: Path) -> None:
    task = tasks(tmp_path)["sentiment"]
    with pytest.raises(RecipeError, match="make the base first"):
        finetune(tmp_path / "nowhere", "zoo:seed-9", task, SETTINGS, tmp_path / "run")
    with pytest.raises(RecipeError, match="no examples"):
        finetune(tiny_base, "zoo:seed-0", replace(task, test=()), SETTINGS, tmp_path / "run")


def test_every_task_of_the_box_has_settings() -> None:
    assert set(BOX_TASKS) <= set(TUNED)
    assert run_settings("nli", 2).seed == 2
    assert run_settings("nli", 0, quick=True).train_limit is not None

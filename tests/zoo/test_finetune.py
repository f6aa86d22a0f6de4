"""Every kind of task trains, is scored, is saved with its head, and starts from the base's very
numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from core.errors import RecipeError
from core.models.files.adapters import ADAPTER_WEIGHTS
from core.models.loading.heads import ArcParser
from core.models.loading.task_models import load_whole
from tests.cases import exhaustive
from tests.zoo.made_up import MNLI, SQUAD, write_task, write_treebank
from zoo.recipe import finetune as module
from zoo.recipe import training
from zoo.recipe.finetune import finetune
from zoo.recipe.settings import COMMON, HUB_SETTINGS, Finetuning, LowRank, run_settings
from zoo.recipe.tasks import BOX_TASKS, TaskData, mnli_task, read_task, squad_task
from zoo.recipe.training import task_loss

SETTINGS = Finetuning(epochs=2, learning_rate=5e-3, batch=4)


@pytest.fixture(scope="module")
def made_tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TaskData]:
    """A task of every kind, from made-up examples."""
    from datasets import Dataset

    folder = tmp_path_factory.mktemp("tasks")
    data = write_task(write_task(folder / "tasks"), "nli", pair=True)
    trees = write_treebank(folder / "trees")
    made = {name: read_task(name, data, trees) for name in ("sentiment", "nli", "pos", "parse")}
    made["mnli"] = mnli_task(Dataset.from_list(MNLI), Dataset.from_list(MNLI))
    made["squad"] = squad_task(Dataset.from_list(SQUAD), Dataset.from_list(SQUAD))
    return made


@pytest.mark.parametrize("name", ["sentiment", "nli", "pos", "parse", "mnli", "squad"])
def test_every_kind_trains_and_is_saved_with_its_head(
    name: str, made_tasks: dict[str, TaskData], tiny_base: Path, tmp_path: Path
) -> None:
    task = made_tasks[name]
    lines: list[str] = []
    record = finetune(tiny_base, "zoo:seed-0", task, SETTINGS, tmp_path / f"{name}-0", lines.append)
    assert record["ref"] == f"zoo:{name}-0"
    assert record["steps"] > 0
    assert 0 <= record["scores"][record["metric"]] <= 1
    assert json.loads((tmp_path / f"{name}-0" / "training.json").read_text()) == json.loads(
        json.dumps(record)
    )
    assert any(line.startswith(f"{name}-0: ") for line in lines)
    model = load_whole(f"path:{tmp_path / f'{name}-0'}")
    assert isinstance(model, ArcParser) == (name == "parse")
    if task.label_names:
        assert tuple(model.config.id2label.values()) == task.label_names  # type: ignore[union-attr,operator]


@pytest.mark.parametrize("name", exhaustive(["sentiment", "pos", "parse"], "parse"))
def test_what_can_be_learned_is_learned(
    name: str, made_tasks: dict[str, TaskData], tiny_base: Path, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, epochs=25, learning_rate=1e-2)
    record = finetune(tiny_base, "zoo:seed-0", made_tasks[name], settings, tmp_path / "run")
    assert record["scores"][record["metric"]] > record["baseline"]["score"] + 0.2


def test_the_body_keeps_its_names_and_is_rounded_once(
    made_tasks: dict[str, TaskData], tiny_base: Path, tmp_path: Path
) -> None:
    base = load_file(tiny_base / "model.safetensors")
    before = (tiny_base / "model.safetensors").read_bytes()
    finetune(
        tiny_base,
        "zoo:seed-0",
        made_tasks["parse"],
        replace(SETTINGS, learning_rate=0.0),
        tmp_path / "still",
    )
    tuned = load_file(tmp_path / "still" / "model.safetensors")
    body = {name for name in base if name.startswith("roformer.")}
    assert body == {name for name in tuned if name.startswith("roformer.")}
    assert all(
        torch.equal(base[name], tuned[name]) for name in body
    )  # no training: no delta at all
    assert all(tensor.dtype == torch.float16 for tensor in tuned.values())
    assert (tiny_base / "model.safetensors").read_bytes() == before


def test_the_same_run_is_not_done_again_and_another_is(
    made_tasks: dict[str, TaskData], tiny_base: Path, tmp_path: Path
) -> None:
    task = made_tasks["sentiment"]
    first = finetune(tiny_base, "zoo:seed-0", task, SETTINGS, tmp_path / "run")
    written = (tmp_path / "run" / "model.safetensors").stat().st_mtime_ns
    lines: list[str] = []
    assert (
        finetune(tiny_base, "zoo:seed-0", task, SETTINGS, tmp_path / "run", lines.append)["scores"]
        == first["scores"]
    )
    assert lines == ["run: already there"]
    assert (tmp_path / "run" / "model.safetensors").stat().st_mtime_ns == written
    other = finetune(tiny_base, "zoo:seed-0", task, replace(SETTINGS, seed=1), tmp_path / "run")
    assert other["settings"]["seed"] == 1
    assert (tmp_path / "run" / "model.safetensors").stat().st_mtime_ns != written


def test_a_training_that_was_interrupted_resumes_at_its_last_state(
    made_tasks: dict[str, TaskData], tiny_base: Path, tmp_path: Path, monkeypatch
) -> None:
    task = made_tasks["sentiment"]
    settings = LowRank(steps=6, learning_rate=5e-3, batch=4, rank=2)
    whole = finetune(tiny_base, "zoo:seed-0", task, settings, tmp_path / "whole")
    batches: list[int] = []

    def counted(*arguments: object) -> torch.Tensor:
        batches.append(len(batches))
        if len(batches) == 5:
            raise KeyboardInterrupt
        return task_loss(*arguments)

    monkeypatch.setattr(training, "SAVE_EVERY", 2)
    monkeypatch.setattr(training, "task_loss", counted)
    with pytest.raises(KeyboardInterrupt):
        finetune(tiny_base, "zoo:seed-0", task, settings, tmp_path / "again")
    assert len([*tmp_path.glob("again.*.state")]) == 1
    other = replace(settings, seed=1)  # a run of other settings does not touch the state
    finetune(tiny_base, "zoo:seed-0", task, other, tmp_path / "again")
    batches[:] = range(10)
    record = finetune(tiny_base, "zoo:seed-0", task, settings, tmp_path / "again")
    assert len(batches) == 10 + 2  # of six
    assert not [*tmp_path.glob("*.state")]
    assert {**record, "seconds": 0, "ref": ""} == {**whole, "seconds": 0, "ref": ""}
    files = [(tmp_path / name / ADAPTER_WEIGHTS).read_bytes() for name in ("whole", "again")]
    assert files[0] == files[1]


def test_a_run_that_was_interrupted_equals_one_that_was_not(
    made_tasks: dict[str, TaskData], tiny_base: Path, tmp_path: Path, monkeypatch
) -> None:
    task = made_tasks["sentiment"]
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


def test_a_loss_that_is_not_a_number_is_said(
    made_tasks: dict[str, TaskData], tiny_base: Path, tmp_path: Path
) -> None:
    task = made_tasks["sentiment"]
    with pytest.raises(RecipeError, match="lower"):
        finetune(
            tiny_base, "zoo:seed-0", task, replace(SETTINGS, learning_rate=1e30), tmp_path / "run"
        )
    assert not (tmp_path / "run").exists()


def test_bad_inputs_are_one_sentence(
    made_tasks: dict[str, TaskData], tiny_base: Path, tmp_path: Path
) -> None:
    task = made_tasks["sentiment"]
    with pytest.raises(RecipeError, match="make the base first"):
        finetune(tmp_path / "nowhere", "zoo:seed-9", task, SETTINGS, tmp_path / "run")
    with pytest.raises(RecipeError, match="no examples"):
        finetune(tiny_base, "zoo:seed-0", replace(task, test=()), SETTINGS, tmp_path / "run")


def test_the_tasks_of_the_box_are_trained_alike() -> None:
    assert {replace(run_settings(task, 2), seed=0) for task in BOX_TASKS} == {COMMON}
    assert COMMON.steps
    assert run_settings("nli", 2).seed == 2
    assert run_settings("nli", 0, quick=True).train_limit is not None
    assert run_settings("mnli", 0) == HUB_SETTINGS["mnli"]
    known = run_settings("parse", 0, frozen=4, dose=1 / 3)
    assert replace(known, frozen=0, dose=1.0) == COMMON


@pytest.mark.parametrize("name", ["sentiment", "parse"])
def test_what_is_frozen_is_the_base_bit_for_bit_and_the_rest_is_not(
    name: str, made_tasks: dict[str, TaskData], tiny_base: Path, tmp_path: Path
) -> None:
    base = load_file(tiny_base / "model.safetensors")
    settings = replace(SETTINGS, epochs=None, steps=3, frozen=1)
    record = finetune(tiny_base, "zoo:seed-0", made_tasks[name], settings, tmp_path / "run")
    assert (record["steps"], record["settings"]["frozen"]) == (3, 1)
    tuned = load_file(tmp_path / "run" / "model.safetensors")
    body = [key for key in base if key.startswith("roformer.")]
    kept = {
        key
        for key in body
        if torch.equal(base[key].view(torch.int16), tuned[key].view(torch.int16))
    }
    assert {key for key in body if ".embeddings." in key or ".layer.0." in key} <= kept
    upper = {
        key for key in body if ".layer.1." in key and not key.endswith("key.bias")
    }  # softmax ignores its shift
    assert upper
    assert not upper & kept
    with pytest.raises(RecipeError, match="has 2 layers that could be found, and 3"):
        finetune(
            tiny_base,
            "zoo:seed-0",
            made_tasks[name],
            replace(settings, frozen=3),
            tmp_path / "none",
        )


def test_a_dose_is_a_factor_on_the_rate(
    made_tasks: dict[str, TaskData], tiny_base: Path, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, epochs=None, steps=2)
    for out, rate, dose in (("one", 3e-3, 1.0), ("other", 1e-3, 3.0)):
        chosen = replace(settings, learning_rate=rate, dose=dose)
        finetune(tiny_base, "zoo:seed-0", made_tasks["sentiment"], chosen, tmp_path / out)
    one, other = (load_file(tmp_path / out / "model.safetensors") for out in ("one", "other"))
    assert all(torch.equal(one[name], other[name]) for name in one)

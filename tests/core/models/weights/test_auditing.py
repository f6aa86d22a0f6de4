"""The audit as the first step of a study: what is left out, and what is said of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from safetensors.numpy import load_file, save_file

from core.models.weights.auditing import (
    describe_seeds,
    describe_steps,
    find_unusable_steps,
    look_tasks,
    usable_seeds,
)
from core.models.zoo import zoo_folder
from core.runs.runner import run_here
from core.studies.alignment.seeds.spec import AlignSpec
from core.studies.alignment.seeds.study import STUDY as ALIGN
from core.studies.probes.training.spec import ProbeTrainingSpec
from core.studies.probes.training.study import STUDY as PROBE_TRAINING
from core.study import Study, run_first_stage
from extras.alignment.rotation.spec import RotationSpec
from extras.alignment.rotation.study import STUDY as ROTATION

MODELS = zoo_folder() / "models"
STEPS = tuple(f"zoo:seed-0@step-{step}" for step in (50, 200, 800))


@pytest.fixture
def copy(tmp_path: Path) -> str:
    """A copy of seed-0 under another name."""
    shutil.copytree(MODELS / "seed-0", tmp_path / "step-9999")
    return f"path:{tmp_path / 'step-9999'}"


def compared(study: Study, spec: object) -> set[str]:
    """The models that the tasks of a study read."""
    ready = run_first_stage(study.prepare(spec, None))
    tasks = [dict(task.arguments) for task in study.plan(spec, ready)]
    names = ("model", "one", "other")
    return {str(each[name]) for each in tasks for name in names if name in each}


def test_a_clean_run_and_seeds_are_left_as_they_are() -> None:
    seeds = tuple(f"zoo:seed-{seed}" for seed in range(3))
    ready = run_here(look_tasks((*STEPS, *seeds, "random:zoo:seed-0")))
    assert find_unusable_steps(ready, STEPS, "zoo:seed-0") == {}
    assert describe_steps({}) == []
    assert usable_seeds(ready, (*seeds, "random:zoo:seed-0")) == (*seeds, "random:zoo:seed-0")
    assert describe_seeds(ready, seeds) == []


def test_a_last_step_that_is_the_final_model_is_left_out_without_blame(copy: str) -> None:
    ready = run_here(look_tasks((*STEPS, copy, "zoo:seed-0")))
    (said,) = describe_steps(find_unusable_steps(ready, (*STEPS, copy), "zoo:seed-0"))
    assert said == f"{copy} was left out, because it is the final model itself, zoo:seed-0."
    (blamed,) = describe_steps(find_unusable_steps(ready, (copy, *STEPS), "zoo:seed-0"))
    assert "cannot be right" in blamed


def test_a_copy_among_seeds_is_left_out_while_two_others_remain(copy: str) -> None:
    ready = run_here(look_tasks((copy, "zoo:seed-0", "zoo:seed-1", "zoo:parse-0")))
    assert usable_seeds(ready, (copy, "zoo:seed-0", "zoo:seed-1")) == ("zoo:seed-0", "zoo:seed-1")
    (said,) = describe_seeds(ready, (copy, "zoo:seed-0", "zoo:seed-1"))
    assert "1 model was left out" in said
    assert usable_seeds(ready, (copy, "zoo:seed-0")) == (copy, "zoo:seed-0")
    (said,) = describe_seeds(ready, (copy, "zoo:seed-0"))
    assert "no independent seeds" in said
    (said,) = describe_seeds(ready, ("zoo:parse-0", "zoo:seed-0"))
    assert "is related to" in said


@pytest.fixture
def biased(tmp_path: Path) -> str:
    """seed-0 with other biases: the matrices that are sampled are the same."""
    folder = tmp_path / "step-8888"
    shutil.copytree(MODELS / "seed-0", folder)
    weights = load_file(folder / "model.safetensors")
    moved = {name: part + 1 if name.endswith("bias") else part for name, part in weights.items()}
    save_file(moved, folder / "model.safetensors", metadata={"format": "pt"})
    return f"path:{folder}"


def test_what_is_equal_only_where_it_was_read_is_said_and_not_left_out(biased: str) -> None:
    seeds = (biased, "zoo:seed-0", "zoo:seed-1")
    ready = run_here(look_tasks((*STEPS, *seeds)))
    assert usable_seeds(ready, seeds) == seeds
    (said,) = describe_seeds(ready, seeds)
    assert "no independent seeds" in said
    assert f"{biased} is equal to zoo:seed-0 in the sample of weights that was read" in said
    assert find_unusable_steps(ready, (*STEPS, biased), "zoo:seed-0") == {}


@pytest.mark.parametrize("study", [ALIGN, ROTATION])
def test_studies_of_seeds_leave_copies_out(study: Study, copy: str) -> None:
    seeds = (copy, "zoo:seed-0", "zoo:seed-1")
    spec = {
        ALIGN.name: AlignSpec(models=seeds, sentences=20, second_run=False),
        ROTATION.name: RotationSpec(models=seeds, sentences=20),
    }[study.name]
    assert compared(study, spec) == {"zoo:seed-0", "zoo:seed-1"}


def test_probes_through_training_leave_out_what_the_audit_finds(copy: str) -> None:
    spec = ProbeTrainingSpec(steps=(*STEPS, copy), corpus="demo-gold", sentences=60)
    assert compared(PROBE_TRAINING, spec) == {*STEPS, "zoo:seed-0"}

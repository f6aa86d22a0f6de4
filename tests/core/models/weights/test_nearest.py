"""The nearest included model, named where a given base is not the models' base."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from core.errors import ModelError, TaskError
from core.models.weights.deltas import match, nearest_included, read_deltas
from core.models.weights.matrix_families import Slot, find_slots
from core.models.weights.sources import open_model
from core.models.zoo import zoo_folder
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.study import STUDY
from tests.core.contents import read_as
from tests.core.small_zoo import base_tensors, write_model, write_zoo


def place_and_tensor(ref: str) -> tuple[str, Slot, np.ndarray]:
    checkpoint = open_model(ref, read_as(ref))
    slot = find_slots(checkpoint.model_type, checkpoint.entries, checkpoint.config)[0]
    return checkpoint.model_type, slot, checkpoint.read(slot.tensor)


@pytest.mark.parametrize("seed", [1, 4])
def test_the_base_of_a_fine_tune_is_named(seed: int) -> None:
    kind, slot, tensor = place_and_tensor(f"zoo:sentiment-0-from-seed-{seed}")
    assert nearest_included(kind, slot, tensor) == f"zoo:seed-{seed}"
    assert nearest_included("gpt2", slot, tensor) == ""
    noise = np.random.default_rng(0).standard_normal(tensor.shape)
    assert nearest_included(kind, slot, noise) == ""
    assert nearest_included(kind, slot, tensor[:, :8]) == ""


def test_a_damaged_included_model_is_no_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_zoo(tmp_path / "zoo")
    monkeypatch.setenv("PALIMPSEST_ZOO", str(folder))
    kind, slot, tensor = place_and_tensor("zoo:nli-0")
    assert nearest_included(kind, slot, tensor) == "zoo:seed-0"
    (folder / "models" / "seed-0" / "model.safetensors").unlink()
    assert nearest_included(kind, slot, tensor) == ""


def test_a_wrong_base_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    shutil.copytree(zoo_folder() / "models" / "sentiment-0-from-seed-1", tmp_path / "mine")
    mine = f"path:{tmp_path / 'mine'}"
    with pytest.raises(TaskError, match=r"that it started from; nearest: zoo:seed-1\."):
        STUDY.run(WeightsSpec(base="zoo:seed-0", models=(mine,)))


def test_a_stranger_is_refused_without_a_hint(tmp_path: Path) -> None:
    refs = [
        f"path:{write_model(tmp_path / str(seed), base_tensors(seed))}" for seed in (7, 8)
    ]  # fmt: skip
    base, tuned = (open_model(ref, read_as(ref)) for ref in refs)
    with pytest.raises(ModelError, match=r"Choose the base that it started from\.$"):
        next(read_deltas(match(base, tuned)))

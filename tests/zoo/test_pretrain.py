"""Pretraining that was interrupted equals pretraining that was not; damaged and foreign checkpoints
are refused."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from core.errors import RecipeError
from tests.zoo.made_up import SETTINGS
from zoo.recipe import states
from zoo.recipe.objectives import mask_tokens
from zoo.recipe.pretrain import evaluate, new_model, pretrain
from zoo.recipe.text import CLS, MASK, SEP

STEPS = replace(SETTINGS, layers=1, steps=300, keep_steps=(20,))


@pytest.fixture(scope="module")
def windows() -> np.ndarray:
    """Token ids that follow each other by a rule."""
    rng = np.random.default_rng(0)
    rows = (rng.integers(5, 190, size=(64, 1)) + np.arange(SETTINGS.length)) % 195 + 5
    rows[:, 0], rows[:, -1] = CLS, SEP
    return rows.astype(np.uint16)


@pytest.mark.exhaustive
def test_interrupted_and_resumed_equals_uninterrupted(windows: np.ndarray, tmp_path: Path) -> None:
    whole = pretrain(STEPS, windows, tmp_path / "whole")

    def stop(line: str) -> None:
        if " step 300/" in line:  # after the checkpoint of step 250, before the last
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pretrain(STEPS, windows, tmp_path / "again", report=stop)
    resumed = pretrain(STEPS, windows, tmp_path / "again")
    for (name, one), (_, other) in zip(
        whole.named_parameters(), resumed.named_parameters(), strict=True
    ):
        assert torch.equal(one, other), name
    files = [load_file(tmp_path / name / "checkpoint.safetensors") for name in ("whole", "again")]
    assert all(torch.equal(files[0][name], files[1][name]) for name in files[0])
    assert (tmp_path / "whole" / "step-20.safetensors").is_file()


def test_training_beats_an_untrained_model_and_seeds_differ(
    windows: np.ndarray, tmp_path: Path
) -> None:
    trained = pretrain(STEPS, windows, tmp_path / "0")
    assert (
        evaluate(trained, windows, STEPS)["held_out_loss"]
        < evaluate(new_model(STEPS), windows, STEPS)["held_out_loss"]
    )
    other = new_model(replace(STEPS, seed=1))
    assert not torch.equal(next(other.parameters()), next(new_model(STEPS).parameters()))


def test_a_foreign_and_a_damaged_checkpoint_are_refused(
    windows: np.ndarray, tmp_path: Path
) -> None:
    short = replace(STEPS, steps=2)
    pretrain(short, windows, tmp_path)
    with pytest.raises(RecipeError, match="other settings"):
        pretrain(replace(short, learning_rate=1e-4), windows, tmp_path)
    (tmp_path / "checkpoint.safetensors").write_bytes(b"not safetensors at all")
    with pytest.raises(RecipeError, match="delete it"):
        pretrain(short, windows, tmp_path)


def test_a_full_disk_is_one_sentence(windows: np.ndarray, tmp_path: Path, monkeypatch) -> None:
    def full(*arguments: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(states, "save_file", full)
    with pytest.raises(RecipeError, match="run again to resume"):
        pretrain(replace(STEPS, steps=1), windows, tmp_path)


def test_masking_hides_a_quarter_and_never_special_tokens(windows: np.ndarray) -> None:
    ids = torch.from_numpy(windows.astype(np.int64))
    corrupted, positions, truth = mask_tokens(ids, 0.25, 200, torch.Generator().manual_seed(0))
    assert len(positions) == ids.numel() // 4
    assert torch.equal(ids.flatten()[positions], truth)
    assert not set(truth.tolist()) & {CLS, SEP}
    share = (corrupted.flatten()[positions] == MASK).float().mean()
    assert 0.7 < float(share) < 0.9
    untouched = torch.ones(ids.numel(), dtype=torch.bool)
    untouched[positions] = False
    assert torch.equal(ids.flatten()[untouched], corrupted.flatten()[untouched])

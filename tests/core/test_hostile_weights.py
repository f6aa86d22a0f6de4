"""A model whose weights are no numbers: every study that reads it says so in a sentence and shows
no number of it."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from core.catalogue import STUDIES
from core.models import read_manifest
from core.models.zoo import zoo_folder

SMALL: dict[str, dict[str, Any]] = {
    "rsa": {
        "compare": ("{model}",),
        "sentences": 20,
        "words": 40,
        "references": False,
    },
    "weights": {"models": ("{model}", "zoo:parse-1", "zoo:pos-0"), "permutations": 100},
    "align": {
        "models": ("{model}", "zoo:seed-0"),
        "methods": ("ridge",),
        "sentences": 60,
        "grid": "",
    },
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    if "parse-0" not in {entry["name"] for entry in read_manifest()}:
        pytest.skip("the box has no models yet: make zoo")
    folder = tmp_path_factory.mktemp("models") / "nan-0"
    shutil.copytree(zoo_folder() / "models" / "parse-0", folder)
    tensors = load_file(folder / "model.safetensors")
    nothing = {name: np.full_like(value, np.nan) for name, value in tensors.items()}
    save_file(nothing, folder / "model.safetensors", metadata={"format": "pt"})
    return f"path:{folder}"


@pytest.mark.parametrize("command", SMALL)
def test_weights_that_are_no_numbers_are_a_failure_with_its_reason(
    command: str, model: str
) -> None:
    study = STUDIES[command]
    given = {
        name: tuple(model if part == "{model}" else part for part in value)
        if isinstance(value, tuple)
        else value
        for name, value in SMALL[command].items()
    }
    result = study.run(study.Spec(**given))
    assert any(model in name or model in sentence for name, sentence in result.failures.items())
    assert any(
        "not finite" in sentence or "NaN" in sentence for sentence in result.failures.values()
    )
    assert "model" not in result.table or model not in set(result.table["model"])
    study.figures(result)

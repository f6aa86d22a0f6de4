"""A tiny random checkpoint of each family, through the study of weights and RSA."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from core.catalogue import STUDIES
from core.runs.store import Store, using
from tests.cases import exhaustive
from tests.core.tiny_models import LAYERS, save_tiny

FAMILIES = (
    *("deberta", "eurobert", "esm", "longformer", "xlnet", "nomic_bert"),
    *("gemma2", "gemma3_text", "olmo2", "olmo3", "smollm3", "granite", "glm4", "phi", "mixtral"),
    *("falcon", "bloom", "gpt_neo", "gptj", "mbart", "pegasus", "marian"),
    *("gpt_oss", "deepseek_v3", "gemma4_text"),
    *("qwen3_moe", "qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"),
)


@pytest.mark.slow
@pytest.mark.parametrize("model_type", exhaustive(FAMILIES, "gemma2"))
def test_weights_and_rsa(tmp_path: Path, model_type: str) -> None:
    base = save_tiny(tmp_path / "base", model_type)
    change = 0.1  # of the weights
    tuned = []
    for number in range(3):
        tuned.append(f"path:{shutil.copytree(base, tmp_path / f'tuned-{number}')}")
        path = tmp_path / f"tuned-{number}" / "model.safetensors"
        rng = np.random.default_rng(number)
        weights = {
            name: (value * (1 + change * rng.normal(size=value.shape))).astype(value.dtype)
            for name, value in sorted(load_file(path).items())
        }
        save_file(weights, path, metadata={"format": "pt"})
    with using(Store(tmp_path / "store")):
        study = STUDIES["weights"]
        result = study.run(study.Spec(base=f"path:{base}", models=tuple(tuned), permutations=100))
        assert result.failures == {}
        assert result.table["relative_delta"].to_numpy() == pytest.approx(change, rel=0.1)
        study = STUDIES["rsa"]
        given = {"sentences": 20, "words": 40, "references": False}
        result = study.run(study.Spec(base=f"path:{base}", compare=(tuned[0],), **given))
        assert result.failures == {}
    assert result.table["layer"].tolist() == list(range(LAYERS + 1))
    assert result.table["similarity"].between(0.3, 1).all()

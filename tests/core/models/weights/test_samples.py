"""Samples are ranges of plain safetensors: weights in other formats are refused with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import ModelError
from core.models.weights.samples import read_sample
from core.models.weights.sources import open_model
from tests.core import quantised
from tests.core.tiny_models import save_tiny


@pytest.mark.parametrize("name", ["nf4", "gguf"])
def test_quantised_weights_are_not_sampled(tmp_path: Path, name: str) -> None:
    base = save_tiny(tmp_path / "base", "llama")
    assert read_sample(open_model(f"path:{base}", ""))[0]
    if name == "gguf":
        quantised.gguf_llama(base, tmp_path / name)
    else:
        quantised.quantise(base, tmp_path / name, name)
    ref = f"path:{tmp_path / name}"
    with pytest.raises(ModelError, match="no sample is read: convert"):
        read_sample(open_model(ref, ""))

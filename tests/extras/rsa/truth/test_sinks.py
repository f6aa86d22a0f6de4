"""Known answers of decoders: attention sinks are not sampled, unless they are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from core.maths.arrays import Value
from extras.rsa.truth.tasks import compare_frozen, compare_planted
from tests.core.contents import run_as
from tests.core.massive import make_massive, sentences
from tests.core.tiny_models import save_tiny


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A decoder in which the first word has one massive activation, and one with other layers."""
    folder = tmp_path_factory.mktemp("truth")
    for name in ("base", "tuned"):
        make_massive(save_tiny(folder / name, "llama"))
    path = folder / "tuned" / "model.safetensors"
    tensors, rng = load_file(path), np.random.default_rng(0)
    changed = {
        name: tensor + rng.normal(size=tensor.shape).astype(tensor.dtype)
        for name, tensor in sorted(tensors.items())
        if "layers." in name and tensor.ndim == 2
    }
    assert changed
    save_file(tensors | changed, path, metadata={"format": "pt"})
    return f"path:{folder / 'base'}", f"path:{folder / 'tuned'}"


@pytest.fixture(params=[compare_frozen, compare_planted])
def values(request: pytest.FixtureRequest, pair: tuple[str, str]) -> tuple[Value, Value]:
    """Outputs of a task with attention sinks, and without them."""
    base, tuned = pair
    planted = request.param is compare_planted
    more = {"rounding": 0.0, "plants": 2} if planted else {"roundings": (0.0,)}
    kept, left = (
        request.param(
            base=base, model=tuned, base_identity=run_as(base),
            model_identity=run_as(tuned), sentences=sentences(), items=10_000,
            measures=("cka",), share=1.0, seed=0, **more, **sinks,
        )
        for sinks in ({}, {"sinks": "auto"})
    )  # fmt: skip
    return kept, left


def test_sinks_hide_a_change_where_they_are_sampled(values: tuple[Value, Value]) -> None:
    kept, left = values
    assert "sinks" not in kept
    words = sum(map(len, sentences()))
    assert (left["sinks"]["left_out"], left["sinks"]["items"]) == (30, words)
    assert np.array_equal(kept["changed"], left["changed"])
    inner = (Ellipsis, slice(1, -1))  # the final norm takes the last layer's activation down
    assert kept["similarity"][inner].min() > 0.95
    assert left["similarity"][inner].min() < 0.9

"""Models whose layers are read from the disk one at a time: what is in memory, and what is refused."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import core.models.loading.model as models
from core.errors import ModelError
from core.models import LoadedModel, describe, load_model
from core.models.loading import layerwise, reading
from core.models.loading.reading import is_layerwise
from tests.cases import exhaustive
from tests.core import quantised
from tests.core.tiny_models import LAYERS, save_tiny

IDS = torch.tensor([[1, 7, 9, 30, 31, 2], [1, 8, 9, 2, 0, 0]])
MASK = (IDS > 0).long()


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "llama", "llama")


@pytest.fixture(autouse=True)
def no_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokenizers run in processes of their own, which takes longer than all that is tested here."""
    monkeypatch.setattr(models, "load_tokenizer", lambda ref: SimpleNamespace(cls=1))


def by_layer(ref: str, monkeypatch: pytest.MonkeyPatch, dtype: str = "float32") -> LoadedModel:
    monkeypatch.setattr(reading, "READ_AS_ONE", 10)
    loaded = load_model(ref, device="cpu", dtype=dtype, layerwise=True)
    assert loaded.layerwise is not None
    return loaded


def forward(loaded: LoadedModel) -> list[torch.Tensor]:
    with torch.inference_mode():
        given = loaded.model(input_ids=IDS, attention_mask=MASK, output_hidden_states=True)
    return list(given.hidden_states)


def live_numbers(loaded: LoadedModel) -> int:
    """Numbers of all weights that are in memory."""
    return sum(weight.numel() for weight in loaded.model.parameters() if not weight.is_meta)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_plain_forward_pass_gives_the_same_numbers(monkeypatch, llama, dtype) -> None:
    whole = forward(load_model(f"path:{llama}", device="cpu", dtype=dtype))
    for state, expected in zip(
        forward(by_layer(f"path:{llama}", monkeypatch, dtype)), whole, strict=True
    ):
        assert state.dtype == expected.dtype
        torch.testing.assert_close(state, expected, rtol=0, atol=0)


def test_layers_beyond_those_of_the_configuration_are_refused(monkeypatch, llama, tmp_path) -> None:
    folder = shutil.copytree(llama, tmp_path / "deeper")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": LAYERS - 1}))
    with pytest.raises(ModelError, match="which its configuration does not count"):
        by_layer(f"path:{folder}", monkeypatch)


def test_one_layer_is_in_memory_while_it_runs_and_none_afterwards(monkeypatch, llama) -> None:
    loaded = by_layer(f"path:{llama}", monkeypatch)
    weights = loaded.layerwise
    assert weights is not None
    outside = live_numbers(loaded)
    largest = max(sum(w.numel() for w in layer.parameters()) for layer in weights.layers)
    table = loaded.model.get_input_embeddings().weight
    assert outside < largest
    assert table.is_meta
    seen = []
    for layer in weights.layers:
        layer.register_forward_hook(lambda *_: seen.append(live_numbers(loaded)), prepend=True)
    forward(loaded)
    assert len(seen) == LAYERS
    assert max(seen) == outside + largest
    assert live_numbers(loaded) == outside


def test_only_the_rows_of_the_tokens_at_hand_are_read(monkeypatch, llama) -> None:
    loaded = by_layer(f"path:{llama}", monkeypatch)
    table = loaded.model.get_input_embeddings()
    sizes = []
    table.register_forward_hook(lambda *_: sizes.append(table.weight.shape), prepend=True)
    forward(loaded)
    assert sizes == [(len(IDS.unique()), 32)]


def test_a_layer_that_is_held_is_read_once(monkeypatch, llama) -> None:
    loaded = by_layer(f"path:{llama}", monkeypatch)
    weights = loaded.layerwise
    assert weights is not None
    read = []
    put = layerwise.put_tensors
    monkeypatch.setattr(
        layerwise, "put_tensors", lambda *given: read.append(len(given[1])) or put(*given)
    )
    with weights.holding(1):
        forward(loaded)
        forward(loaded)
    assert len(read) == 1 + 2 * (LAYERS - 1)


def test_a_layer_is_dropped_when_it_fails(monkeypatch, llama) -> None:
    loaded = by_layer(f"path:{llama}", monkeypatch)
    before = live_numbers(loaded)
    monkeypatch.setattr(type(loaded.model.layers[1].mlp), "forward", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        forward(loaded)
    assert live_numbers(loaded) == before


@pytest.mark.parametrize("scheme", ["nf4", "gptq"])
def test_quantised_weights_are_dequantised_layer_by_layer(
    monkeypatch, tmp_path, llama, scheme
) -> None:
    quantised.quantise(llama, tmp_path / scheme, scheme)
    ref = f"path:{tmp_path / scheme}"
    whole = forward(load_model(ref, device="cpu"))
    for state, expected in zip(forward(by_layer(ref, monkeypatch)), whole, strict=True):
        torch.testing.assert_close(state, expected, rtol=0, atol=0)


def test_a_random_control_has_the_same_weights_each_time_and_others_in_each_layer(
    monkeypatch, llama
) -> None:
    states = [forward(by_layer(f"random:path:{llama}", monkeypatch)) for _ in range(2)]
    for first, second in zip(*states, strict=True):
        torch.testing.assert_close(first, second, rtol=0, atol=0)
    loaded = by_layer(f"random:path:{llama}", monkeypatch)
    weights = loaded.layerwise
    assert weights is not None
    drawn = []
    for number in range(2):
        with weights.holding(number) as layer:
            drawn.append(layer.self_attn.q_proj.weight.numpy().copy())
            assert float(layer.input_layernorm.weight.min()) == 1.0
    spread = loaded.model.config.initializer_range
    assert drawn[0].std() == pytest.approx(spread, rel=0.15)
    assert abs(np.corrcoef(drawn[0].ravel(), drawn[1].ravel())[0, 1]) < 0.1


@pytest.mark.parametrize("name", ["layers.1.mlp.up_proj.weight", "norm.weight"])
def test_missing_weights_are_refused(monkeypatch, tmp_path, llama, name) -> None:
    folder = save_tiny(tmp_path / "cut", "llama")
    kept = load_file(folder / "model.safetensors")
    del kept[name]
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=name):
        by_layer(f"path:{folder}", monkeypatch)


def test_weights_of_another_shape_are_refused(monkeypatch, tmp_path) -> None:
    folder = save_tiny(tmp_path / "odd", "llama")
    kept = load_file(folder / "model.safetensors")
    kept["layers.1.mlp.up_proj.weight"] = torch.zeros(3, 32)
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError):
        by_layer(f"path:{folder}", monkeypatch)


def test_two_layers_must_fit_the_free_memory(monkeypatch, llama) -> None:
    monkeypatch.setattr(layerwise, "free_memory", lambda: 1000.0)
    with pytest.raises(ModelError, match="Two layers of"):
        by_layer(f"path:{llama}", monkeypatch)


def test_a_model_that_is_needed_as_a_whole_must_fit_the_free_memory(monkeypatch, llama) -> None:
    monkeypatch.setattr(models, "free_memory", lambda: 1000.0)
    with pytest.raises(ModelError, match="free: close other programs"):
        load_model(f"path:{llama}", device="cpu")


def test_large_models_and_those_that_do_not_fit_are_read_by_layer(monkeypatch, llama) -> None:
    info = describe(f"path:{llama}")
    size, model = 4 * info.parameters, (info.parameters, info.model_type)
    monkeypatch.setattr(reading, "free_memory", lambda: float(size + 1))
    assert not is_layerwise(*model)
    monkeypatch.setattr(reading, "free_memory", lambda: float(size - 1))
    assert is_layerwise(*model)
    assert not is_layerwise(*model, width=2)
    assert not is_layerwise(*model, random=True)  # its numbers are the same wherever it is drawn
    monkeypatch.setattr(reading, "READ_AS_ONE", size - 1)
    assert is_layerwise(*model, random=True)


@pytest.mark.parametrize("model_type", ["bart", "albert"])
def test_models_whose_layers_do_not_run_alone_are_read_as_a_whole(
    monkeypatch, tmp_path, model_type
) -> None:
    ref = f"path:{save_tiny(tmp_path / model_type, model_type)}"
    monkeypatch.setattr(reading, "READ_AS_ONE", 10)
    assert load_model(ref, device="cpu", layerwise=True).layerwise is None


PEAK = """
import json, sys
from pathlib import Path
from core.models.loading import reading, model
model.load_tokenizer = model.check_implied = lambda *given: None  # in processes of their own
def peak():
    return 1024 * int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
import torch
from transformers import AutoModel, LlamaModel
import core.models.loading.layerwise, core.models.loading.validation
before = peak()
load = getattr(model, sys.argv[2])
peaks = []
for reading.READ_AS_ONE in (10, 2**60):
    loaded = load(sys.argv[1], device="cpu", layerwise=True)
    with torch.inference_mode():
        loaded.model(input_ids=torch.tensor([[5, 6, 7]]))
    peaks.append(peak() - before)
print(json.dumps(peaks))
"""


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="no peak memory to read")
@pytest.mark.parametrize("load", exhaustive(["load_model", "load_with_head"], "load_model"))
def test_the_process_holds_less_than_two_layers_more(tmp_path, load) -> None:
    layers = 5
    sizes = {"hidden_size": 1024, "intermediate_size": 3200, "num_hidden_layers": layers}
    words = 40_000 if load == "load_with_head" else 340
    folder = save_tiny(
        tmp_path / "large", "llama", **sizes, head_dim=64, vocab_size=words, head=words > 340
    )
    outside = words * 1024 * (1 + (words > 340))
    layer = (describe(f"path:{folder}").parameters - outside) / layers * 4
    libraries = 40e6  # what the first forward pass of a process takes besides
    assert libraries < layer
    command = [sys.executable, "-c", PEAK, f"path:{folder}", load]
    peaks = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert peaks[0] < 2 * layer + libraries
    assert peaks[1] > layers * layer

"""Merging of adapters: each product lands in its weight, in closed form; nothing is left over."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy import ndarray
from safetensors.numpy import load_file, save_file

from core.commands.main import main
from core.models.loading.adapters import merge_adapter
from tests.core.tiny_models import save_tiny

RANK, ALPHA = 3, 6.0
EMBEDDINGS, QUERY = "model.embed_tokens", "model.layers.0.self_attn.q_proj"
Tensors = dict[str, ndarray]


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder with an output layer of its own, and a buffer of whole numbers."""
    folder = save_tiny(tmp_path_factory.mktemp("models") / "llama", "llama", head=True)
    buffer = {"model.positions": np.arange(4)}
    path = folder / "model.safetensors"
    save_file(load_file(path) | buffer, path, metadata={"format": "pt"})
    return folder


def factors_of(module: str, shape: tuple[int, ...], *, embedding: bool = False) -> Tensors:
    """lora_A and lora_B as PEFT saves them; an embedding's multiply to its transpose."""
    rng = np.random.default_rng(len(module))
    outer, inner = shape[::-1] if embedding else shape
    parts = {"A": rng.normal(size=(RANK, inner)), "B": rng.normal(size=(outer, RANK))}
    form = "lora_embedding_{}" if embedding else "lora_{}.weight"
    return {
        f"{module}.{form.format(side)}": 0.02 * part.astype(np.float32)
        for side, part in parts.items()
    }


def write_adapter(folder: Path, base: Path, tensors: Tensors, **settings: Any) -> str:
    """Write an adapter with the configuration of the merged model beside it."""
    folder.mkdir()
    names = {f"base_model.model.{name}": part for name, part in tensors.items()}
    save_file(names, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, **settings}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    shutil.copy(base / "config.json", folder)
    return f"path:{folder}"


def product(factors: Tensors, scaling: float = ALPHA / RANK) -> ndarray:
    """B A, scaled."""
    lower, upper = factors.values()
    return scaling * upper.astype(np.float64) @ lower.astype(np.float64)


def test_heads_and_embeddings_are_merged_as_layers_are(tmp_path: Path, llama: Path) -> None:
    base = load_file(llama / "model.safetensors")
    shape = base[f"{EMBEDDINGS}.weight"].shape
    query = factors_of(QUERY, base[f"{QUERY}.weight"].shape)
    head = factors_of("lm_head", shape)
    words = factors_of(EMBEDDINGS, shape, embedding=True)
    adapter = write_adapter(
        tmp_path / "lora", llama, query | head | words, alpha_pattern={"lm_head": 12.0}
    )
    assert main(
        ["convert", adapter, "--base", f"path:{llama}", "--out", str(tmp_path / "new")]
    ) == 0  # fmt: skip
    merged = load_file(tmp_path / "new" / "model.safetensors")
    changes = {
        f"{QUERY}.weight": product(query),
        "lm_head.weight": product(head, 12.0 / RANK),
        f"{EMBEDDINGS}.weight": product(words).T,
    }
    assert merged.keys() == base.keys() - {"model.positions"}
    for name, weight in merged.items():
        np.testing.assert_allclose(weight, base[name] + changes.get(name, 0.0), atol=1e-7)
        assert np.array_equal(weight, base[name]) == (name not in changes), name


def test_a_head_alone_is_merged(tmp_path: Path, llama: Path) -> None:
    base = load_file(llama / "model.safetensors")["lm_head.weight"]
    head = factors_of("lm_head", base.shape)
    merge_adapter(write_adapter(tmp_path / "a", llama, head), f"path:{llama}", tmp_path / "m")
    merged = load_file(tmp_path / "m" / "model.safetensors")["lm_head.weight"]
    np.testing.assert_allclose(merged, base + product(head), atol=1e-7)


def test_embeddings_saved_beside_their_factors_are_the_base_of_them(
    tmp_path: Path, llama: Path
) -> None:
    """PEFT saves them whole where the vocabulary was enlarged."""
    base = load_file(llama / "model.safetensors")[f"{EMBEDDINGS}.weight"]
    larger = np.concatenate([base, base[:2] + 1.0])
    words = factors_of(EMBEDDINGS, larger.shape, embedding=True)
    adapter = write_adapter(
        tmp_path / "a", llama, words | {f"{EMBEDDINGS}.base_layer.weight": larger}
    )
    merge_adapter(adapter, f"path:{llama}", tmp_path / "m")
    merged = load_file(tmp_path / "m" / "model.safetensors")
    np.testing.assert_allclose(merged[f"{EMBEDDINGS}.weight"], larger + product(words).T, atol=1e-7)
    assert not [name for name in merged if "base_layer" in name or "lora" in name]


@pytest.mark.parametrize(
    ("model_type", "stored", "named"),
    [("llama", "embed_tokens", EMBEDDINGS), ("gpt2", "wte", "transformer.wte")],
)
def test_a_base_without_the_prefix_of_a_head_fits(
    tmp_path: Path, model_type: str, stored: str, named: str
) -> None:
    folder = save_tiny(tmp_path / "base", model_type)
    base = load_file(folder / "model.safetensors")
    words = factors_of(named, base[f"{stored}.weight"].shape, embedding=True)
    merge_adapter(write_adapter(tmp_path / "a", folder, words), f"path:{folder}", tmp_path / "m")
    merged = load_file(tmp_path / "m" / "model.safetensors")
    assert merged.keys() == base.keys()
    np.testing.assert_allclose(
        merged[f"{stored}.weight"], base[f"{stored}.weight"] + product(words).T, atol=1e-7
    )


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("of no module", "holds nowhere, which fits no weight of llama"),
        ("of another kind", "holds lm_head.lora_magnitude_vector, which fits no weight"),
        ("a side is missing", "holds lm_head, which fits no weight of llama"),
        ("of another rank", "holds lm_head, which fits no weight of llama"),
        ("of two ranks", "holds lm_head, which fits no weight of llama"),
        ("not transposed", f"holds {EMBEDDINGS}, which fits no weight of llama"),
        ("twice", "two adapters in one file"),
        ("none", "has no factors: get the adapter again"),
    ],
)
def test_factors_that_would_be_lost_are_refused(
    tmp_path: Path, llama: Path, capsys: pytest.CaptureFixture[str], damage: str, said: str
) -> None:
    shape = load_file(llama / "model.safetensors")["lm_head.weight"].shape
    tensors, settings = factors_of("lm_head", shape), dict[str, Any]()
    if damage == "of no module":
        tensors |= factors_of("nowhere", shape)
    elif damage == "of another kind":
        tensors["lm_head.lora_magnitude_vector"] = np.ones(4, np.float32)
    elif damage == "a side is missing":
        del tensors["lm_head.lora_A.weight"]
    elif damage == "of another rank":
        settings = {"rank_pattern": {"lm_head": 2}}
    elif damage == "of two ranks":
        tensors["lm_head.lora_A.weight"] = np.ones((RANK + 1, shape[1]), np.float32)
    elif damage == "not transposed":
        tensors |= factors_of(EMBEDDINGS, shape[::-1], embedding=True)
    elif damage == "twice":
        words = factors_of(EMBEDDINGS, shape, embedding=True)
        tensors |= words | {f"{name}.another": part for name, part in words.items()}
    else:
        tensors = {"score.weight": np.ones((2, 4), np.float32)}
    adapter = write_adapter(tmp_path / "lora", llama, tensors, **settings)
    out = ["--base", f"path:{llama}", "--out", str(tmp_path / "new")]
    assert main(["convert", adapter, *out]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.glob("new*"))


@pytest.mark.parametrize("stored", [False, True])
def test_an_output_layer_tied_to_the_embeddings_is_not_changed_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], stored: bool
) -> None:
    folder = save_tiny(tmp_path / "base", "llama", head=True, tie_word_embeddings=True)
    base = load_file(folder / "model.safetensors")
    words = base[f"{EMBEDDINGS}.weight"]
    assert "lm_head.weight" not in base
    if stored:
        save_file(base | {"lm_head.weight": words}, folder / "model.safetensors")
    adapter = write_adapter(tmp_path / "lora", folder, factors_of("lm_head", words.shape))
    out = ["--base", f"path:{folder}", "--out", str(tmp_path / "new")]
    assert main(["convert", adapter, *out]) == 2
    said = f"shares with {EMBEDDINGS}.weight: save" if stored else "fits no weight of"
    assert said in capsys.readouterr().err

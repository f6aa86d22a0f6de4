"""Adapters: deltas from factors against a merge written by hand, and every kind that is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save, save_file

from core.errors import ModelError
from core.maths.spectra.spectra import decompose, decompose_factors, energy_rank
from core.models.files.adapters import check_adapter
from core.models.weights.adapters import match_adapter
from core.models.weights.relation import is_related, measure_relation
from core.models.weights.sources import open_adapter, open_model
from core.models.weights.tensors import Checkpoint
from core.studies.weights.clusters.tasks import deltas_of, measure_delta, open_pair, unpack_features
from tests.core.contents import read_as
from tests.core.small_zoo import CONFIG, base_tensors, write_model
from tests.core.tiny_models import tiny_config

PLAIN: dict[str, Any] = {
    "peft_type": "LORA",
    "r": 4,
    "lora_alpha": 8,
    "bias": "none",
    "use_rslora": False,
    "use_dora": False,
    "base_model_name_or_path": "someone/base",
    "fan_in_fan_out": False,
    "modules_to_save": None,
    "loftq_config": {},
}
TARGETS = {
    "bert": [
        "encoder.layer.0.attention.self.query",
        "encoder.layer.2.attention.self.value",
        "encoder.layer.1.intermediate.dense",
        "encoder.layer.1.output.dense",
    ],
    "gpt2": ["h.0.attn.c_attn", "h.1.attn.c_proj", "h.1.mlp.c_fc", "h.2.mlp.c_proj"],
    "t5": [
        "encoder.block.0.layer.0.SelfAttention.q",
        "decoder.block.1.layer.1.EncDecAttention.v",
        "decoder.block.0.layer.2.DenseReluDense.wo",
        "encoder.block.2.layer.1.DenseReluDense.wi",
    ],
}


def write_adapter(folder: Path, factors: dict[str, np.ndarray], **changes: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "adapter_config.json").write_text(json.dumps({**PLAIN, **changes}), encoding="utf8")
    save_file(
        {f"base_model.model.{name}": value for name, value in factors.items()},
        folder / "adapter_model.safetensors",
    )
    return folder


def factors_of(module: str, shape: tuple[int, int], rank: int, seed: int) -> dict[str, np.ndarray]:
    """lora_A (rank, input) and lora_B (output, rank), as PEFT saves them."""
    rng = np.random.default_rng(seed)
    return {
        f"{module}.lora_A.weight": rng.normal(size=(rank, shape[1])).astype(np.float32),
        f"{module}.lora_B.weight": rng.normal(scale=2e-3, size=(shape[0], rank)).astype(np.float32),
    }


@pytest.mark.parametrize("model_type", sorted(TARGETS))
@pytest.mark.parametrize("root", [False, True])
def test_deltas_equal_merged_minus_base(tmp_path: Path, model_type: str, root: bool) -> None:
    """Merged as PEFT merges: weight + scaling * B A, transposed where the layer is a Conv1D
    (GPT-2)."""
    import torch
    from transformers import AutoModel

    ranks, alphas = (
        {"layer.1.output.dense": 2, r"h\.\d+\.mlp.c_fc": 3},
        {TARGETS[model_type][0]: 5.0},
    )
    model = AutoModel.from_config(tiny_config(model_type, 60))
    model.save_pretrained(tmp_path / "base")
    weights = dict(model.named_parameters())
    factors, merged = {}, {}
    for number, module in enumerate(TARGETS[model_type]):
        stored = weights[f"{module}.weight"].detach().double().numpy()
        shape = stored.T.shape if model_type == "gpt2" else stored.shape
        rank = (
            2
            if module.endswith("layer.1.output.dense")
            else 3
            if module.endswith("mlp.c_fc")
            else 4
        )
        own = factors_of(module, shape, rank, number)
        factors |= own
        alpha = 5.0 if number == 0 else 8.0
        scaling = alpha / (np.sqrt(rank) if root else rank)
        product = (
            scaling
            * own[f"{module}.lora_B.weight"].astype(float)
            @ own[f"{module}.lora_A.weight"].astype(float)
        )
        merged[f"{module}.weight"] = torch.from_numpy(
            stored + (product.T if model_type == "gpt2" else product)
        )
    folder = write_adapter(
        tmp_path / "lora", factors, use_rslora=root, rank_pattern=ranks, alpha_pattern=alphas
    )
    state = {
        name: merged.get(name, value.detach().double())
        for name, value in model.state_dict().items()
    }
    model.double().load_state_dict(state)
    model.save_pretrained(tmp_path / "merged")
    base, whole, adapter = (f"path:{tmp_path / name}" for name in ("base", "merged", folder.name))
    plain = open_pair(base, whole, read_as(base), read_as(whole))
    expected = {plain.slots[delta.index][0]: delta.matrix for delta in deltas_of(plain)}
    pair = open_pair(base, adapter, read_as(base), read_as(adapter))
    found = {pair.slots[delta.index][0]: delta for delta in deltas_of(pair)}
    assert found.keys() == expected.keys()
    moved = 0
    for slot, delta in found.items():
        np.testing.assert_allclose(delta.matrix, expected[slot], atol=1e-6)
        moved += bool(np.abs(delta.matrix).max() > 0)
        left, right = delta.factors
        parts, dense = decompose_factors(left, right, 4), decompose(delta.matrix, 4)
        np.testing.assert_allclose(parts.values, dense.values, atol=1e-6)
        assert energy_rank(parts.values, 1.0) == left.shape[1]  # the rank is known exactly
        np.testing.assert_allclose(parts.left @ parts.left.T, dense.left @ dense.left.T, atol=1e-6)
        np.testing.assert_allclose(
            parts.right @ parts.right.T, dense.right @ dense.right.T, atol=1e-6
        )
    assert moved == (6 if model_type == "gpt2" else 4)  # c_attn is three matrices


@pytest.fixture
def base(tmp_path: Path) -> Checkpoint:
    ref = f"path:{write_model(tmp_path / 'base', base_tensors())}"
    return open_model(ref, read_as(ref))


def opened(folder: Path) -> Any:
    adapter = open_adapter(f"path:{folder}", "of a folder")
    assert adapter is not None
    return adapter


QUERY = "bert.encoder.layer.0.attention.self.query"
KEY = "bert.encoder.layer.0.attention.self.key"


def test_a_task_keeps_the_rank_and_says_what_it_is(tmp_path: Path, base: Checkpoint) -> None:
    head = {"classifier.weight": np.ones((2, 32), np.float32),
            "bert.pooler.dense.lora_A.weight": np.ones((4, 32), np.float32),
            "bert.pooler.dense.lora_B.weight": np.ones((32, 4), np.float32)}  # fmt: skip
    factors = factors_of(QUERY, (32, 32), 4, 0)
    model = (
        f"path:{write_adapter(tmp_path / 'lora', factors | head, modules_to_save=['classifier'])}"
    )
    value = measure_delta(base.ref, model, read_as(base.ref), read_as(model), (), 8, 0)
    features = unpack_features(value)
    assert np.count_nonzero(features.values[0]) == 4
    assert np.count_nonzero(features.delta_norms) == 1
    said = " ".join(value["notices"])
    assert "a LoRA adapter of rank 4, scaled by 2, of query" in said
    assert "trained on someone/base" not in said  # the base's folder has that name
    assert "not compared here (bert.pooler.dense, classifier)" in said
    assert read_as(model) not in ("", read_as(base.ref))


def test_another_base_than_the_adapter_names_is_said(tmp_path: Path, base: Checkpoint) -> None:
    folder = write_adapter(
        tmp_path / "lora",
        factors_of(QUERY, (32, 32), 4, 0),
        base_model_name_or_path="org/bert-large",
    )
    notices = match_adapter(base, opened(folder)).notices
    assert any("trained on org/bert-large" in text for text in notices)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"peft_type": "LOKR"}, "kind LOKR"),
        ({"peft_type": "IA3"}, "kind IA3"),
        ({"peft_type": None}, "kind None"),
        ({"use_dora": True}, "DoRA"),
        ({"use_rslora": "true"}, "use_rslora"),
        ({"use_qalora": True}, "QALoRA"),
        ({"use_something_new": True}, "use_something_new"),
        ({"some_new_config": {"a": 1}}, "some_new_config"),
        ({"loftq_config": {"loftq_bits": 4}}, "loftq_config"),
        ({"init_lora_weights": "pissa"}, "begun with pissa"),
        ({"init_lora_weights": "olora"}, "begun with olora"),
        ({"lora_bias": True}, "biases of its own"),
        ({"layer_replication": [[0, 2]]}, "layer replication"),
        ({"alora_invocation_tokens": [1]}, "activated LoRA"),
        ({"target_parameters": ["experts"]}, "bare parameters"),
        ({"base_model_name_or_path": "unsloth/llama-3-8b-bnb-4bit"}, "quantised base"),
        ({"base_model_name_or_path": "TheBloke/Mistral-7B-GPTQ"}, "quantised base"),
        ({"r": 0}, "impossible rank"),
        ({"r": "8"}, "impossible rank"),
        ({"lora_alpha": float("nan")}, "unusable lora_alpha"),
        ({"rank_pattern": {"(a+)+$": 4}}, "no plain name"),
        ({"alpha_pattern": [1]}, "damaged alpha_pattern"),
        ({"trainable_token_indices": [-1]}, "damaged trainable_token_indices"),
        ({"trainable_token_indices": {"wte": "1"}}, "damaged trainable_token_indices"),
        ({"trainable_token_indices": [0] * 100_001}, "damaged trainable_token_indices"),
    ],
)
def test_other_kinds_are_refused_by_name(changes: dict[str, Any], sentence: str) -> None:
    assert check_adapter(PLAIN, "it").rank == 4
    with pytest.raises(ModelError, match=r"^it (is|names|has) ") as caught:
        check_adapter({**PLAIN, **changes}, "it")
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("factors", "changes", "sentence"),
    [
        (factors_of(QUERY, (32, 32), 3, 0), {}, r"factors of 32 x 3 and 3 x 32 .* with rank 4"),
        (factors_of(QUERY, (64, 32), 4, 0), {}, r"factors of 64 x 4"),
        (factors_of(QUERY.replace("layer.0", "layer.9"), (32, 32), 4, 0), {}, "has no query matrix in layer 10"),
        (factors_of("h.0.attn.c_attn", (96, 32), 4, 0), {}, "no factors for the matrices of"),
        ({f"{QUERY}.lora_A.weight": np.ones((4, 32), np.float32)}, {}, "has no lora_B for"),
        ({**factors_of(QUERY, (32, 32), 4, 0), f"{KEY}.weight": np.ones((32, 32), np.float32)},
         {"modules_to_save": ["key"]}, "key.weight in full"),
        ({**factors_of(QUERY, (32, 32), 4, 0), f"{QUERY}.lora_A.other.weight": np.ones((4, 32), np.float32)},
         {}, "two adapters in one file"),
        ({**factors_of(QUERY, (32, 32), 4, 0), f"{QUERY}.lora_magnitude_vector": np.ones(32, np.float32)},
         {}, "lora_magnitude_vector, which fits no weight"),
        ({**factors_of(QUERY, (32, 32), 4, 0), "x" * 301: np.ones(32, np.float32)}, {}, "fits no weight"),
    ],
)  # fmt: skip
def test_factors_that_do_not_fit_are_refused(
    tmp_path: Path,
    base: Checkpoint,
    factors: dict[str, np.ndarray],
    changes: dict[str, Any],
    sentence: str,
) -> None:
    folder = write_adapter(tmp_path / "lora", factors, **changes)
    with pytest.raises(ModelError, match=sentence):
        match_adapter(base, opened(folder))


def test_files_are_held_to_the_policy_of_all_models(tmp_path: Path, base: Checkpoint) -> None:
    folder = write_adapter(tmp_path / "lora", factors_of(QUERY, (32, 32), 4, 0))
    content = (folder / "adapter_model.safetensors").read_bytes()
    (folder / "adapter_model.safetensors").write_bytes(content[:40])
    with pytest.raises(ModelError, match="ends within its header"):
        opened(folder)
    (folder / "adapter_model.safetensors").rename(folder / "adapter_model.bin")
    with pytest.raises(ModelError, match="pickled factors only, which are never opened"):
        opened(folder)
    (folder / "adapter_model.bin").unlink()
    with pytest.raises(ModelError, match=r"holds no adapter_model\.safetensors"):
        opened(folder)
    (folder / "adapter_config.json").write_text("{")
    (folder / "adapter_model.safetensors").write_bytes(
        save({"x": np.full((1, 1), np.nan, np.float32)})
    )
    with pytest.raises(ModelError, match="not JSON"):
        opened(folder)
    with pytest.raises(ModelError, match="not JSON"):
        open_model(f"path:{folder}", "of a folder")
    assert open_adapter(base.ref, read_as(base.ref)) is None
    assert CONFIG["model_type"] == base.model_type


def test_numbers_that_are_not_finite_are_refused(tmp_path: Path, base: Checkpoint) -> None:
    factors = factors_of(QUERY, (32, 32), 4, 0)
    factors[f"{QUERY}.lora_B.weight"][0, 0] = np.inf
    pair = match_adapter(base, opened(write_adapter(tmp_path / "lora", factors)))
    with pytest.raises(ModelError, match="1 of the 128 numbers"):
        list(deltas_of(pair))


@pytest.mark.parametrize("scale", [0.1, 50.0])
def test_an_adapter_is_refused_where_its_merged_model_would_be(
    tmp_path: Path, base: Checkpoint, scale: float
) -> None:
    factors = factors_of(QUERY, (32, 32), 4, 0)
    factors = {
        name: (np.float32(scale) * part).astype(np.float32) for name, part in factors.items()
    }
    adapter = f"path:{write_adapter(tmp_path / 'lora', factors)}"
    product = 2.0 * factors[f"{QUERY}.lora_B.weight"] @ factors[f"{QUERY}.lora_A.weight"]
    tensors = base_tensors()
    tensors[f"{QUERY}.weight"] = tensors[f"{QUERY}.weight"] + product.astype(np.float32)
    merged = f"path:{write_model(tmp_path / 'merged', tensors)}"

    def is_accepted(model: str) -> bool:
        try:
            return bool(measure_delta(base.ref, model, read_as(base.ref), read_as(model), (), 8, 0))
        except ModelError as error:
            return "does not look like a fine-tune" not in str(error)

    assert is_accepted(adapter) == is_accepted(merged) == (scale < 1)


def test_a_pair_with_an_adapter_is_judged_by_what_it_changes(
    tmp_path: Path, base: Checkpoint
) -> None:
    middle = QUERY.replace("layer.0", "layer.1")
    related = {}
    for scale in (0.1, 50.0):
        factors = {
            name: np.float32(scale) * part
            for name, part in factors_of(middle, (32, 32), 4, 0).items()
        }
        model = f"path:{write_adapter(tmp_path / f'lora-{scale}', factors)}"
        related[scale] = is_related(
            measure_relation(base.ref, model, read_as(base.ref), read_as(model))
        )
    assert related == {0.1: True, 50.0: False}

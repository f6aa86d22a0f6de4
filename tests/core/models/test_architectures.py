"""Descriptions of architectures: what a model is checked against, and what an old configuration
does not say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import nn

from core.errors import ModelError
from core.models import describe, load_model, load_tokenizer
from core.models.architectures import ARCHITECTURES, FAMILIES, infer_type
from core.models.loading import validation
from tests.core.small_zoo import bert_names
from tests.core.tiny_models import save_tiny, tiny_config


def test_every_type_is_described_once() -> None:
    types = [
        name for family in FAMILIES for architecture in family.FAMILY for name in architecture.types
    ]
    assert len(types) == len(set(types)) == len(ARCHITECTURES)


def test_a_type_that_is_not_described_is_refused_with_those_that_are(tmp_path: Path) -> None:
    save_tiny(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model_type": "whisper"}))
    with pytest.raises(
        ModelError, match=r"'whisper', whose layers and matrices are not described here.*mixtral"
    ):
        describe(f"path:{tmp_path}")


def made(**changes: Any) -> nn.Module:
    from transformers import AutoModel

    torch.manual_seed(0)
    return AutoModel.from_config(tiny_config("bert", 60, **changes)).eval()


def refused(model: nn.Module, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        validation.check_model(model, "bert", str(id(model)))


def test_a_sound_model_passes_and_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = made()
    validation.check_model(model, "bert", "sound")
    monkeypatch.setattr(validation, "check_shapes", lambda *arguments: pytest.fail("checked again"))
    validation.check_model(model, "bert", "sound")
    validation.check_model(model, "roformer", "as included")


def test_a_layer_too_few_is_said() -> None:
    model: Any = made()
    model.encoder.layer = model.encoder.layer[:2]
    refused(model, "holds 2 layers, and the configuration says 3")


def test_a_matrix_of_another_width_is_said() -> None:
    model: Any = made()
    model.encoder.layer[1].attention.self.query = nn.Linear(16, 32)
    refused(model, "vectors of 32 numbers, and the query matrix of layer 2 is 32 x 16")


def test_other_states_than_the_last_layer_gives_are_said() -> None:
    model: Any = made()
    handle = model.register_forward_hook(lambda module, args, output: _moved(output))
    refused(model, "gives other states at the top than leave its last layer")
    handle.remove()
    validation.check_model(model, "bert", "mended")


def test_numbers_that_are_not_finite_are_left_to_whoever_reads_them() -> None:
    model: Any = made()
    model.encoder.layer[0].output.dense.weight.data[:] = float("nan")
    validation.check_model(model, "bert", "nan")


def _moved(output: Any) -> Any:
    output["hidden_states"] = (*output["hidden_states"][:-1], output["hidden_states"][-1] + 1)
    return output


def test_a_layer_that_nothing_reads_is_said() -> None:
    model: Any = made()
    for layer in model.encoder.layer[1:]:  # gives the same whatever enters
        layer.register_forward_hook(lambda module, args, output: torch.ones_like(output))
    refused(model, "gives the same states when its lowest layer is changed")


def test_the_check_runs_when_a_model_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        validation, "check_model", lambda model, model_type, identity: asked.append(model_type)
    )
    load_model(f"path:{save_tiny(tmp_path)}", device="cpu")
    assert asked == ["bert"]


@pytest.mark.parametrize(
    ("config", "names", "model_type"),
    [
        ({"architectures": ["BertForMaskedLM"]}, [], "bert"),
        ({"architectures": ["XLMRobertaForSequenceClassification"]}, [], "xlm-roberta"),
        ({"architectures": ["GPT2LMHeadModel"]}, [], "gpt2"),
        ({"architectures": ["RoFormerForMaskedLM"]}, [], "roformer"),
        ({}, bert_names("bert."), "bert"),
        ({}, bert_names("roberta."), "roberta"),
        ({}, ["transformer.h.0.attn.c_attn.weight", "transformer.h.0.mlp.c_fc.weight"], "gpt2"),
        ({}, ["deberta.encoder.layer.0.attention.self.query_proj.weight"], "deberta-v2"),
        ({}, ["model.layers.0.block_sparse_moe.experts.1.w1.weight"], "mixtral"),
    ],
)
def test_a_type_is_inferred_where_names_say_it(
    config: dict[str, Any], names: list[str], model_type: str
) -> None:
    assert infer_type(config, names, "config.json") == model_type


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ([], r'config.json does not say its model type: write "model_type"'),
        (["model.layers.0.self_attn.q_proj.weight"], r"named as in .*: write"),
        (["one.weight"], r"does not say its model type: write"),
    ],
)
def test_what_no_name_says_is_asked_for(names: list[str], reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        infer_type({"hidden_size": 32}, names, "config.json")


def test_a_model_without_its_type_is_read_as_one_with_it(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path)
    whole = describe(f"path:{folder}")
    path = folder / "config.json"
    config = json.loads(path.read_text())
    path.write_text(
        json.dumps({key: value for key, value in config.items() if key != "model_type"})
    )
    assert describe(f"path:{folder}").fingerprint == whole.fingerprint
    loaded = load_model(f"path:{folder}", device="cpu")
    assert loaded.info.model_type == "bert" == loaded.model.config.model_type
    assert load_tokenizer(f"path:{folder}").longest == 64


def embeddings_of_one_token(config: Any) -> torch.Tensor:
    """States (place, d_model) below the first layer of one token four times over."""
    from transformers import AutoModel

    torch.manual_seed(0)
    model = AutoModel.from_config(config).eval()
    family = ARCHITECTURES[config.model_type].family
    body = model.get_encoder() if family == "encoder-decoder" else model
    ids = torch.full((1, 4), 50)
    with torch.inference_mode():
        states = body(
            input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True
        ).hidden_states[0]
    return cast(torch.Tensor, states[0])


DECIDED = [
    (model_type, {"position_biased_input": value, "relative_attention": True})
    for model_type in ("deberta", "deberta-v2")
    for value in (False, True)
]
DECIDED += [("esm", {"position_embedding_type": kind}) for kind in ("rotary", "absolute")]


@pytest.mark.parametrize(
    ("model_type", "settings"), [*((name, {}) for name in ARCHITECTURES), *DECIDED]
)
def test_positions_are_in_the_vectors_where_the_description_says(
    tmp_path: Path, model_type: str, settings: dict[str, Any]
) -> None:
    """The embeddings of a token differ by place where positions are added to them."""
    config = tiny_config(model_type, 60, **settings)
    config.save_pretrained(tmp_path)
    states = embeddings_of_one_token(config)
    alike = bool(torch.allclose(states[0], states[3], atol=1e-6))
    said = json.loads((tmp_path / "config.json").read_text())
    assert alike is not ARCHITECTURES[model_type].adds_positions(said)

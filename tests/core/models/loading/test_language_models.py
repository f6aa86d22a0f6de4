"""Language models: which models are, and that their predictions by block are their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from core.errors import ModelError
from core.models.loading import layerwise, reading
from core.models.loading.language_models import (
    LanguageModel,
    load_language_model,
    prediction_kind,
)
from tests.core.tiny_models import save_tiny

KINDS = {
    **dict.fromkeys(
        ("bert", "roberta", "distilbert", "roformer", "albert", "modernbert"), "masked"
    ),
    **dict.fromkeys(("gpt2", "llama", "gpt_neox", "gemma2", "granite", "opt"), "causal"),
}


@pytest.mark.parametrize("model_type", KINDS)
def test_blocks_of_logits_are_the_models_own(model_type: str, tmp_path: Path) -> None:
    ref = f"path:{save_tiny(tmp_path / 'model', model_type, head=True)}"
    assert prediction_kind(ref) == KINDS[model_type]
    model = load_language_model(ref, "cpu")
    ids = torch.tensor([[5, 6, 7, 8], [9, 8, 7, 6]])
    mask = torch.ones_like(ids)
    with torch.inference_mode():
        own = model.loaded.model(input_ids=ids, attention_mask=mask).logits
    rows, places = [0, 0, 1], [1, 3, 2]
    predictions = model.predict(ids, mask, rows, places)
    half = model.vocabulary // 2
    joined = torch.cat([predictions.logits(0, half), predictions.logits(half, model.vocabulary)], 1)
    assert torch.allclose(joined, own[rows, places], atol=1e-5)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("where", ["head", "embedding"])
def test_predictions_that_are_not_finite_are_refused(
    value: float, where: str, tmp_path: Path
) -> None:
    """Of one token: in the head every prediction has it, in the embedding the second sentence."""
    ref = f"path:{save_tiny(tmp_path / 'model', 'gpt2', head=True, tie_word_embeddings=False)}"
    model = load_language_model(ref, "cpu")
    table = model.head if where == "head" else model.loaded.model.get_input_embeddings()
    with torch.no_grad():
        table.weight[9] = value
    ids = torch.tensor([[5, 6, 7, 8], [9, 8, 7, 6]])
    asked = (ids, torch.ones_like(ids), [0, 1], [1, 2])
    with pytest.raises(ModelError, match="are not finite"):
        model.predict(*asked)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("model_type", ["bert", "llama", "gemma2", "olmo"])
def test_a_model_that_is_read_by_layer_predicts_the_same(
    model_type: str, tied: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = f"path:{save_tiny(tmp_path / 'm', model_type, head=True, tie_word_embeddings=tied)}"
    ids = torch.tensor([[5, 6, 7, 8], [9, 8, 7, 0]])
    mask, rows, places = (ids > 0).long(), [0, 0, 1], [1, 3, 2]

    def predictions() -> tuple[LanguageModel, torch.Tensor]:
        model = load_language_model(ref, "cpu")
        predicted = model.predict(ids, mask, rows, places)
        return model, torch.cat([predicted.logits(0, 7), predicted.logits(7, model.vocabulary)], 1)

    whole, expected = predictions()
    assert whole.loaded.layerwise is None
    monkeypatch.setattr(reading, "READ_AS_ONE", 10)
    monkeypatch.setattr(layerwise, "BLOCK", 3 * 32)
    model, given = predictions()
    torch.testing.assert_close(given, expected, rtol=0, atol=1e-6)
    weights = model.loaded.layerwise
    assert weights is not None
    assert weights.head is not None
    assert model.head.weight.is_meta
    assert all(weight.is_meta for layer in weights.layers for weight in layer.parameters())


@pytest.mark.parametrize("changes", [{"final_logit_softcapping": 0.05}, {"logits_scaling": 7.0}])
def test_what_a_model_does_to_its_logits_is_done(changes: dict[str, float], tmp_path: Path) -> None:
    model_type = "gemma2" if "final_logit_softcapping" in changes else "granite"
    ref = f"path:{save_tiny(tmp_path / 'model', model_type, head=True, **changes)}"
    model = load_language_model(ref, "cpu")
    ids = torch.tensor([[5, 6, 7]])
    with torch.inference_mode():
        own = model.loaded.model(input_ids=ids).logits
    given = model.predict(ids, torch.ones_like(ids), [0], [2]).logits(0, model.vocabulary)
    assert torch.allclose(given, own[:, 2], atol=1e-6)
    assert not torch.allclose(own[:, 2], own[:, 2] * 2)


@pytest.mark.parametrize("ref", ["zoo:parse-0", "zoo:sentiment-0", "random:zoo:pos-0"])
def test_a_model_without_a_language_model_head_is_refused_in_a_sentence(ref: str) -> None:
    with pytest.raises(ModelError, match="predicts no words") as refused:
        prediction_kind(ref)
    assert str(refused.value).count(". ") == 0


def test_an_encoder_decoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="predicts no words"):
        prediction_kind(f"path:{save_tiny(tmp_path / 'model', 't5', head=True)}")


def test_an_output_layer_that_does_more_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_language_model("zoo:seed-0", "cpu")
    forward = model.loaded.model.forward

    def louder(**given: object) -> object:
        output = forward(**given)
        output["logits"] = output["logits"] + torch.arange(output["logits"].shape[-1])
        return output

    monkeypatch.setattr(model.loaded.model, "forward", louder)
    ids = torch.tensor([[2, 5, 6, 3]])
    with pytest.raises(ModelError, match="output layer does more"):
        model.predict(ids, torch.ones_like(ids), [0], [1])


def test_a_configuration_that_names_no_class_is_asked_to(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "model", "bert", head=True)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    (named,) = config.pop("architectures")
    path.write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r'names no class: write "architectures"'):
        prediction_kind(f"path:{folder}")
    path.write_text(json.dumps({**config, "architectures": [named]}))
    assert prediction_kind(f"path:{folder}") == "masked"

"""Stitching: nothing is lost where nothing is changed, and every refusal is a sentence."""

from __future__ import annotations

import pytest
import torch

from core.alignment.seeds.forward import batches
from core.alignment.stitching.study import stitch_pair
from core.errors import ModelError, ShapeError
from core.models.loading.layers import answers_in_tuples, enter, layer_list, states
from tests.core.alignment.conftest import LABELLED, save_classifier


def stitch(source: str, target: str, sentences, methods=("identity", "ols"), labelled=LABELLED):
    return stitch_pair(source, target, "a", "b", sentences, labelled, methods, 0)


def test_entering_a_model_with_its_own_states_changes_nothing(models) -> None:
    from core.models import load_tokenizer, load_with_head

    model, tokenizer = load_with_head(models[0], device="cpu").model, load_tokenizer(models[0])
    for batch in batches(tokenizer, [text for text, _ in LABELLED]):
        with torch.inference_mode():
            expected = model(input_ids=batch.ids, attention_mask=batch.mask, output_hidden_states=True)
        hidden = states(model, batch)
        torch.testing.assert_close(hidden, torch.stack(expected.hidden_states))
        for layer in range(len(hidden)):
            in_tuple = answers_in_tuples(model, batch)
            assert torch.equal(enter(model, batch, layer, hidden[layer], in_tuple=in_tuple).logits, expected.logits)
        with pytest.raises(ModelError, match="cannot be entered at"):
            enter(model, batch, len(hidden), hidden[0], in_tuple=in_tuple)


def test_a_model_stitched_into_itself_loses_nothing_at_any_layer(models, sentences) -> None:
    value = stitch(models[0], models[0], sentences, ("identity", "procrustes", "ols"))
    for method in ("identity", "procrustes", "ols"):
        assert (value[f"{method}/correct"] == value["own_target"]).all(), method


def test_the_map_and_not_the_source_decides_at_layer_zero(models, sentences) -> None:
    """Same tokens, other embeddings: least squares maps them onto the target's, for words that it saw."""
    value = stitch(models[0], models[1], sentences)
    assert (value["ols/correct"][0] == value["own_target"]).mean() > 0.9


def test_other_tokenizers_are_refused(models, sentences, tmp_path) -> None:
    from zoo.recipe.tokenizer import save_tokenizer, train_tokenizer

    other = save_classifier(tmp_path, 3)
    save_tokenizer(train_tokenizer(["xyz " * 5], 60), tmp_path)
    with pytest.raises(ModelError, match="cut words differently"):
        stitch(models[0], other, sentences)


def test_another_depth_is_refused(models, sentences, tmp_path) -> None:
    with pytest.raises(ModelError, match="same number"):
        stitch(models[0], save_classifier(tmp_path, 3, layers=3), sentences)


def test_an_unknown_label_names_the_known_ones(models, sentences) -> None:
    with pytest.raises(ShapeError, match="bad, good"):
        stitch(models[0], models[1], sentences, labelled=(("the film", "excellent"),))


def test_a_model_without_a_list_of_layers_is_refused() -> None:
    with pytest.raises(ModelError, match="not described here"):
        layer_list(torch.nn.Linear(2, 2))


def test_the_lookup_reads_no_source(models, sentences) -> None:
    """From whichever model: the target's mean states of the subwords go on through the target, and decide alone."""
    one, other = (stitch(source, models[1], sentences, ("lookup",)) for source in models)
    assert (one["lookup/correct"] == other["lookup/correct"]).all()
    assert (one["lookup/correct"][0] == one["own_target"]).mean() > 0.9  # embeddings are a table

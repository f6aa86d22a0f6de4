"""Predictions of tokens, whatever the model's output calls them."""

from __future__ import annotations

import numpy as np
import pytest

from core.models.loading.model import LoadedModel, load_with_head
from core.studies.alignment.barrier.matching import (
    HEADS,
    UNITS,
    drawn_orders,
    layers_of,
    read_inputs,
    reorder,
)
from core.studies.probes.minimal_pairs.scoring import score_words
from core.vectors.predicting import ask_masked, sum_losses
from tests.core.tiny_models import SENTENCES, save_tiny


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[LoadedModel, LoadedModel]:
    """A model with the heads of BERT's pretraining, and the same with the masked one alone."""
    from transformers import BertForMaskedLM, BertForPreTraining

    folder = tmp_path_factory.mktemp("predicting")
    masked, both = (save_tiny(folder / name, "bert", head=True) for name in ("masked", "both"))
    BertForPreTraining.from_pretrained(masked).save_pretrained(both)
    BertForMaskedLM.from_pretrained(both).save_pretrained(masked)
    first, second = (load_with_head(f"path:{each}", device="cpu") for each in (both, masked))
    assert type(first.model).__name__ == "BertForPreTraining"
    return first, second


def test_a_model_with_two_heads_has_the_losses_of_its_masked_head(
    pair: tuple[LoadedModel, LoadedModel],
) -> None:
    first, second = (
        sum_losses(each.model, ask_masked(each, SENTENCES), len(SENTENCES)) for each in pair
    )
    assert first == pytest.approx(second)
    scores, same = (score_words(each, "masked", SENTENCES) for each in pair)
    np.testing.assert_allclose(scores, same, rtol=1e-5)


def test_units_of_a_model_with_two_heads_are_reordered(
    pair: tuple[LoadedModel, LoadedModel],
) -> None:
    loaded, _ = pair
    model, asked = loaded.model, ask_masked(loaded, SENTENCES)
    layers = layers_of(model)
    reads = read_inputs(model, layers, asked)
    drawn = drawn_orders(model.config, reads, len(layers), np.random.default_rng(1))
    assert reorder(model, layers, drawn, asked) == (UNITS, HEADS)

"""Erasure in a forward pass: the state of the layer is changed, those below are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from core.errors import ModelError
from core.maths.erasure import fit_eraser, measure_states, random_readout
from core.models.loading.layers import Batch, states
from core.models.loading.model import load_with_head
from core.studies.probes.minimal_pairs.scoring import score_words
from extras.probes.removal.hooks import erased
from tests.core.tiny_models import LAYERS, SENTENCES, save_tiny


@pytest.mark.parametrize("layer", range(LAYERS + 1))
def test_the_state_of_a_layer_is_erased_and_lower_ones_are_not(layer: int, tmp_path: Path) -> None:
    loaded = load_with_head(f"path:{save_tiny(tmp_path, 'bert', head=True)}", device="cpu")
    ids = torch.arange(2, 12).reshape(2, 5)
    batch = Batch(ids, torch.ones_like(ids), [0, 1])
    before = states(loaded.model, batch)
    vectors = before[layer].flatten(0, 1).numpy()
    readout = random_readout(2, vectors.shape[1], np.random.default_rng(0))
    eraser = fit_eraser(*measure_states(vectors), readout)
    whole = score_words(loaded, "masked", SENTENCES)
    with erased(loaded.model, layer, eraser):
        changed = score_words(loaded, "masked", SENTENCES)
        above = states(loaded.model, batch)
    expected = eraser(vectors).reshape(before[layer].shape)
    np.testing.assert_allclose(above[layer].numpy(), expected, atol=1e-4)
    torch.testing.assert_close(above[:layer], before[:layer])
    assert not torch.allclose(above[layer:], before[layer:])
    assert not np.allclose(changed, whole)
    np.testing.assert_allclose(score_words(loaded, "masked", SENTENCES), whole)


def test_no_eraser_changes_nothing(tmp_path: Path) -> None:
    loaded = load_with_head(f"path:{save_tiny(tmp_path, 'bert', head=True)}", device="cpu")
    whole = score_words(loaded, "masked", SENTENCES)
    with erased(loaded.model, 1, None):
        np.testing.assert_array_equal(score_words(loaded, "masked", SENTENCES), whole)


def test_a_layer_that_cannot_be_erased_is_refused(tmp_path: Path) -> None:
    eraser = fit_eraser(np.zeros(2), np.eye(2), np.ones((1, 2)))
    bert = load_with_head(f"path:{save_tiny(tmp_path / 'bert', 'bert', head=True)}", device="cpu")
    with (
        pytest.raises(ModelError, match="nothing can be erased at 99"),
        erased(bert.model, 99, eraser),
    ):
        pass
    gpt2 = load_with_head(f"path:{save_tiny(tmp_path / 'gpt2', 'gpt2', head=True)}", device="cpu")
    with pytest.raises(ModelError, match="final norm"), erased(gpt2.model, LAYERS, eraser):
        pass

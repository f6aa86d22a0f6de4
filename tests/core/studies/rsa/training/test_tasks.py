"""Chance level of the best layer: the largest of all layers under one shuffle, against a loop."""

from __future__ import annotations

import numpy as np
import pytest

from core.maths.similarity.nulls import pair_sentences
from core.maths.similarity.registry import compare
from core.maths.similarity.scoring import NULL_DRAWS
from core.studies.rsa.training import tasks
from core.vectors.pairs import Items, Paired


def test_the_null_of_the_best_layer_is_that_of_the_maximum(monkeypatch) -> None:
    base, compared = np.random.default_rng(0).standard_normal((2, 3, 60, 4))  # of three layers
    pair = Paired(base, compared, np.repeat(np.arange(20), 3), np.zeros(60, dtype=int), ())
    monkeypatch.setattr(tasks, "extract_pair", lambda base, other, items, **more: pair)
    items = Items((), (), "words")

    made = tasks.shuffle_layers("a", "b", "1", "2", items, "rsa", 7)["null_most"]
    kept, orders = pair_sentences(pair.sentence, NULL_DRAWS, np.random.default_rng(7))
    by_layer = np.array(
        [
            [compare(x[kept], y[kept][order]) for order in orders]
            for x, y in zip(pair.base, pair.compared, strict=True)
        ]
    )
    assert made == pytest.approx(np.quantile(by_layer.max(axis=0), 0.975), abs=1e-6)
    assert made > np.quantile(by_layer, 0.975, axis=1).max() - 1e-9

"""The position code measures words, gives a probe the linear chain, and leaves vectors otherwise as
they are."""

from __future__ import annotations

import numpy as np
import pytest

from core.maths.structural.batches import ProbeData
from core.maths.structural.positions import (
    FARTHEST,
    SIZE,
    WEIGHT,
    beside_positions,
    measure_vectors,
    position_code,
)
from core.maths.structural.predict import predict_distances
from core.maths.structural.training import Probe, train_bank
from core.maths.trees import spanning_tree, tree_distances
from core.models.architectures import ARCHITECTURES

RNG = np.random.default_rng(5)


def test_squared_distances_of_codes_are_distances_in_words() -> None:
    code = position_code(np.array([FARTHEST + 1])) / WEIGHT
    assert code.shape == (FARTHEST + 1, SIZE)
    squared = ((code[:, None] - code[None]) ** 2).sum(-1)
    apart = np.abs(np.subtract.outer(np.arange(FARTHEST + 1), np.arange(FARTHEST + 1)))
    assert np.abs(squared - apart).max() < 1.5
    assert np.corrcoef(squared.ravel(), apart.ravel())[0, 1] > 0.998


def test_places_begin_anew_in_every_sentence() -> None:
    code = position_code(np.array([3, 1, 5]))
    assert np.array_equal(code[:3], code[4:7])
    assert np.array_equal(code[3], code[0])


def test_a_probe_on_the_code_alone_learns_the_linear_chain() -> None:
    lengths = np.array([int(n) for n in RNG.integers(4, 12, 60)])
    chains = [tree_distances(tuple(range(n)))[None] for n in lengths]
    cut = int(lengths[:50].sum())
    vectors = position_code(lengths)[:, None]
    import torch

    train, dev = (
        ProbeData(torch.from_numpy(vectors[:cut]), chains[:50]),
        ProbeData(torch.from_numpy(vectors[cut:]), chains[50:]),
    )
    bank = train_bank(train, dev, [Probe(0, SIZE)])
    for predicted, n in zip(
        predict_distances(bank.maps, vectors[cut:], lengths[50:]), lengths[50:], strict=True
    ):
        assert spanning_tree(predicted[0]) == [(i, i + 1) for i in range(n - 1)]


def test_vectors_are_brought_to_one_size_beside_the_code() -> None:
    lengths = np.array([4, 6])
    vectors = (RNG.normal(size=(10, 2, 3)) * [[[5.0], [0.1]]] + 7).astype(np.float16)
    centres, sizes = measure_vectors(vectors)
    wider = beside_positions(vectors, lengths, centres, sizes)
    assert wider.dtype == vectors.dtype
    assert np.abs(wider[:, :, :3].astype(float).mean(axis=0)).max() < 0.02
    assert np.abs(wider[:, :, :3].astype(float)).mean(axis=(0, 2)) == pytest.approx(
        [1, 1], abs=0.02
    )
    assert np.allclose(wider[:, 1, 3:], position_code(lengths), atol=0.01)
    assert measure_vectors(np.ones((4, 1, 2)))[1] == [
        1.0
    ]  # vectors that do not vary are divided by nothing


def test_every_architecture_says_whether_its_vectors_hold_positions() -> None:
    added = {name for name in ARCHITECTURES if ARCHITECTURES[name].adds_positions({})}
    assert added == {
        *(
            "bert",
            "roberta",
            "xlm-roberta",
            "camembert",
            "distilbert",
            "electra",
            "mpnet",
            "albert",
        ),
        *(
            "deberta",
            "deberta-v2",
            "esm",
            "longformer",
            "gpt2",
            "gpt_neo",
            "opt",
            "bart",
            "mbart",
            "pegasus",
            "marian",
        ),
    }

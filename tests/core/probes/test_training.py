"""A bank trains like its probes would alone, recovers what was planted, and stops when it should."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.errors import ShapeError, SpecError
from core.probes import training
from core.probes.predict import predict_depths, predict_distances
from core.probes.scores import Gold, score, score_depths, score_distances
from core.probes.training import ProbeData, train_bank
from core.text.trees import tree_depths, tree_distances
from tests.core.probes.planted import orthonormal_rows, planted_data, random_heads


def gold_of(trees: list[tuple[int, ...]]) -> Gold:
    keep = [np.ones(len(heads), dtype=bool) for heads in trees]
    return Gold(trees, [tree_distances(h) for h in trees], [tree_depths(h) for h in trees], keep)


@pytest.fixture(scope="module")
def small() -> tuple[ProbeData, ProbeData]:
    rng = np.random.default_rng(0)
    basis = orthonormal_rows(16, 24, rng)
    train, dev = ([random_heads(rng) for _ in range(count)] for count in (60, 20))
    return planted_data(train, basis, rng, layers=3, noise=0.2), planted_data(dev, basis, rng, layers=3, noise=0.2)


def test_a_bank_equals_its_probes_trained_alone(small: tuple[ProbeData, ProbeData]) -> None:
    together = train_bank(*small, rank=8, epochs=12)
    for layer in range(3):
        alone = train_bank(*small, rank=8, epochs=12, layers=[layer])
        lasted = len(alone.dev_losses)
        assert np.allclose(together.dev_losses[:lasted, layer], alone.dev_losses[:, 0], atol=1e-4)
        assert together.best_epoch[layer] == alone.best_epoch[0]
        assert np.allclose(together.maps[layer], alone.maps[0], atol=1e-3)


def test_a_rank_sweep_equals_its_ranks_trained_alone(small: tuple[ProbeData, ProbeData]) -> None:
    sweep = train_bank(*small, rank=[2, 8], layers=[1, 1], epochs=6)
    assert np.all(sweep.maps[0, 2:] == 0)
    for probe, rank in enumerate((2, 8)):
        alone = train_bank(*small, rank=rank, layers=[1], epochs=6)
        assert np.allclose(sweep.maps[probe, :rank], alone.maps[0], atol=1e-4)


def test_one_probe_follows_torch_adam_and_the_published_schedule(small: tuple[ProbeData, ProbeData]) -> None:
    """The loop of the published code, one layer, differences tiled, torch's own optimizer."""
    train, dev = small
    epochs, layer, rank = 30, 2, 8
    bank = train_bank(train, dev, rank=rank, layers=[layer], epochs=epochs)
    rng = np.random.default_rng(0)
    batches = training._batches(train, "distance", 20, rng, "cpu")
    dev_batches = training._batches(dev, "distance", 20, np.random.default_rng(0), "cpu")
    proj = training._initial((layer,), (rank,), 24, 0)[0].T.clone().requires_grad_()

    def loss(data: ProbeData, batch: training._Batch) -> torch.Tensor:
        vectors = data.vectors[:, layer][batch.places] @ proj
        n = vectors.shape[1]
        tiled = vectors.unsqueeze(2).expand(-1, -1, n, -1)
        squared = (tiled - tiled.transpose(1, 2)).pow(2).sum(-1)
        mask = (batch.gold != -1).float()
        error = (squared * mask - batch.gold * mask).abs().sum(dim=[1, 2]) / batch.lengths.float().pow(2)
        return error.sum() / len(batch.lengths)

    rate, minimum, minimum_epoch, kept = 1e-3, float("inf"), -1, proj.detach().clone()
    optimizer = torch.optim.Adam([proj], lr=rate)
    for epoch in range(epochs):
        for number in rng.permutation(len(batches)):
            optimizer.zero_grad()
            loss(train, batches[number]).backward()
            optimizer.step()
        with torch.no_grad():
            total = sum(float(loss(dev, batch)) * len(batch.lengths) for batch in dev_batches) / len(dev.gold)
        assert bank.dev_losses[epoch, 0] == pytest.approx(total, abs=2e-3)
        if total < minimum - 1e-4:
            minimum, minimum_epoch, kept = total, epoch, proj.detach().clone()
        else:
            rate *= 0.1
            optimizer = torch.optim.Adam([proj], lr=rate)
            if minimum_epoch < epoch - 4:
                break
    assert len(bank.dev_losses) == epoch + 1
    assert bank.best_epoch[0] == minimum_epoch
    assert np.allclose(bank.maps[0], kept.T.numpy(), atol=5e-3)


@pytest.mark.slow
def test_a_planted_tree_metric_is_recovered_at_its_rank_and_not_below() -> None:
    rng = np.random.default_rng(1)
    basis = orthonormal_rows(16, 32, rng)
    train, dev, test = ([random_heads(rng) for _ in range(count)] for count in (800, 60, 100))
    data = [planted_data(trees, basis, rng, noise=0.05) for trees in (train, dev, test)]
    bank = train_bank(data[0], data[1], rank=[1, 4, 16, 32], layers=[0] * 4)
    vectors, lengths = data[2].vectors.numpy().repeat(4, axis=1), gold_of(test).lengths
    uuas = score(score_distances(predict_distances(bank.maps, vectors, lengths), gold_of(test)), "uuas")
    assert uuas[2] > 0.98
    assert uuas[3] > 0.98
    assert uuas[0] < uuas[1] < uuas[2] - 0.1


@pytest.mark.slow
def test_planted_depths_are_recovered() -> None:
    rng = np.random.default_rng(2)
    basis = orthonormal_rows(16, 32, rng)
    train, dev, test = ([random_heads(rng) for _ in range(count)] for count in (400, 60, 100))
    data = [planted_data(trees, basis, rng, noise=0.02, kind="depth") for trees in (train, dev, test)]
    bank = train_bank(data[0], data[1], kind="depth", rank=16)
    scores = score_depths(predict_depths(bank.maps, data[2].vectors.numpy(), gold_of(test).lengths), gold_of(test))
    assert score(scores, "root")[0] > 0.97
    assert score(scores, "nspr")[0] > 0.97


def test_the_order_of_batches_and_the_start_come_from_the_seed(small: tuple[ProbeData, ProbeData]) -> None:
    first, again, other = (train_bank(*small, rank=4, epochs=2, seed=seed).maps for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)


def test_half_precision_vectors_train_as_well(small: tuple[ProbeData, ProbeData]) -> None:
    halves = [ProbeData(data.vectors.half(), data.gold) for data in small]
    full, half = train_bank(*small, rank=8, epochs=5), train_bank(*halves, rank=8, epochs=5)
    assert np.allclose(full.dev_losses, half.dev_losses, atol=0.01)


def test_progress_is_reported_and_an_exception_from_it_stops_the_training(small: tuple[ProbeData, ProbeData]) -> None:
    fractions: list[float] = []
    train_bank(*small, rank=4, epochs=3, report=lambda fraction, note: fractions.append(fraction))
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] < fractions[-1] < 1

    def stop(fraction: float, note: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_bank(*small, rank=4, report=stop)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "angle"}, "no 'angle' probe"),
        ({"rank": 25}, "between 1 and d_model, here 24"),
        ({"rank": 0}, "between 1 and d_model"),
        ({"layers": [3]}, "0 to 2"),
        ({"layers": []}, "do not fit"),
        ({"rank": [1, 2], "layers": [0]}, "do not fit"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    small: tuple[ProbeData, ProbeData], wrong: dict[str, object], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        train_bank(*small, **wrong)  # type: ignore[arg-type]


def test_data_that_does_not_fit_is_refused(small: tuple[ProbeData, ProbeData]) -> None:
    train, dev = small
    with pytest.raises(ShapeError, match="different layers"):
        train_bank(train, ProbeData(dev.vectors[:, :2], dev.gold), rank=8)
    with pytest.raises(ShapeError, match="cannot learn from gold"):
        train_bank(train, dev, kind="depth", rank=8)
    with pytest.raises(ShapeError, match="do not fit trees"):
        ProbeData(train.vectors[1:], train.gold)
    with pytest.raises(ShapeError, match="at least one sentence"):
        ProbeData(train.vectors, [])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_trains_the_same(small: tuple[ProbeData, ProbeData]) -> None:
    here, there = (train_bank(*small, rank=8, epochs=5, device=device) for device in ("cpu", "cuda"))
    assert np.allclose(here.dev_losses, there.dev_losses, atol=1e-3)

"""A bank trains like its probes would alone, recovers what was planted, and stops when it
should."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from core.errors import ShapeError, SpecError
from core.maths.structural import training
from core.maths.structural.bank import Bank
from core.maths.structural.batches import Batch, Packer, ProbeData
from core.maths.structural.predict import predict_depths, predict_distances
from core.maths.structural.schedule import PATIENCE, SPREAD
from core.maths.structural.scores import Gold, score, score_depths, score_distances
from core.maths.structural.training import Probe, train_bank
from core.maths.trees import tree_depths, tree_distances
from tests.core.studies.probes.planted import orthonormal_rows, planted_data, random_heads
from tests.core.studies.probes.slow_training import Schedule, train_as_published

Data = tuple[ProbeData, ProbeData]


def gold_of(trees: list[tuple[int, ...]]) -> Gold:
    keep = [np.ones(len(heads), dtype=bool) for heads in trees]
    return Gold(trees, [tree_distances(h) for h in trees], [tree_depths(h) for h in trees], keep)


def every_layer(rank: int = 8) -> list[Probe]:
    return [Probe(layer, rank) for layer in range(3)]


@pytest.fixture(scope="module", params=["distance", "depth"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def small(kind: str) -> Data:
    rng = np.random.default_rng(0)
    basis = orthonormal_rows(16, 24, rng)
    train, dev = ([random_heads(rng) for _ in range(count)] for count in (60, 20))
    options = {"layers": 3, "noise": 0.2, "kind": kind}
    return planted_data(train, basis, rng, **options), planted_data(dev, basis, rng, **options)  # type: ignore[arg-type]


def test_a_bank_equals_its_probes_trained_alone(small: Data, kind: str) -> None:
    together = train_bank(*small, every_layer(), kind=kind, epochs=12)
    for layer in range(3):
        alone = train_bank(*small, [Probe(layer, 8)], kind=kind, epochs=12)
        lasted = len(alone.dev_losses)
        assert np.allclose(together.dev_losses[:lasted, layer], alone.dev_losses[:, 0], atol=1e-4)
        assert together.best_epoch[layer] == alone.best_epoch[0]
        assert np.allclose(together.maps[layer], alone.maps[0], atol=1e-3)


@pytest.mark.parametrize("half", [False, True])
def test_single_precision_ends_where_double_does(
    small: Data, kind: str, half: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[torch.dtype, torch.dtype]] = []

    class Seen(Bank):
        def _project(self, read: torch.Tensor) -> torch.Tensor:
            asked.append((self.maps.dtype, read.dtype))
            return super()._project(read)

    monkeypatch.setattr(training, "fast_half", lambda: half)
    halves = [ProbeData(part.vectors.half(), part.gold) for part in small]  # as studies hold them
    double, single = (
        train_bank(*halves, every_layer(), kind=kind, exact=exact, bank_of=Seen)
        for exact in (True, False)
    )
    products = torch.bfloat16 if half else torch.float32
    of_single = {(torch.float32, torch.float32), (torch.float32, products)}
    assert set(asked) == {(torch.float64, torch.float64), *of_single}
    assert double.maps.dtype == single.maps.dtype == np.float32
    lowest = [np.nanmin(bank.dev_losses, axis=0) for bank in (double, single)]
    assert np.allclose(*lowest, rtol=0.01)
    assert not np.array_equal(*lowest)


def test_a_rank_sweep_equals_its_ranks_trained_alone(small: Data, kind: str) -> None:
    sweep = train_bank(*small, [Probe(1, 2), Probe(1, 8)], kind=kind, epochs=6)
    assert np.all(sweep.maps[0, 2:] == 0)
    for probe, rank in enumerate((2, 8)):
        alone = train_bank(*small, [Probe(1, rank)], kind=kind, epochs=6)
        assert np.allclose(sweep.maps[probe, :rank], alone.maps[0], atol=1e-4)


def test_one_probe_is_one_number_whatever_else_was_asked_for(small: Data, kind: str) -> None:
    """The same layer, rank and draw, from vectors of that layer alone and in another order."""
    train, dev = small
    only = [ProbeData(data.vectors[:, [2]], data.gold) for data in small]
    options = {"kind": kind, "epochs": 3}
    asked = [Probe(2, 8, draw) for draw in (1, 0)]
    alone = train_bank(*only, asked, layers=[2], **options)  # type: ignore[arg-type]
    among = train_bank(train, dev, [*every_layer(), *asked], **options)  # type: ignore[arg-type]
    assert np.allclose(alone.maps, among.maps[3:], atol=1e-5)
    assert np.allclose(alone.maps[1], among.maps[2], atol=1e-5)
    assert not np.allclose(alone.maps[0], alone.maps[1], atol=1e-2)


def test_every_probe_learns_its_own_trees(small: Data, kind: str) -> None:
    other = 1 if kind == "depth" else 3
    both = [
        ProbeData(d.vectors, [np.concatenate([gold, gold * other]) for gold in d.gold])
        for d in small
    ]
    bank = train_bank(*both, [Probe(0, 8, 0, 1), Probe(0, 8, 0, 0)], kind=kind, epochs=4)
    for place, scale in ((0, other), (1, 1)):
        one = [ProbeData(data.vectors, [gold * scale for gold in data.gold]) for data in small]
        assert np.allclose(
            bank.maps[place],
            train_bank(*one, [Probe(0, 8)], kind=kind, epochs=4).maps[0],
            atol=1e-4,
        )


def test_a_bank_of_uneven_layers_equals_its_probes_trained_alone(small: Data, kind: str) -> None:
    """Two neighbours with two probes each, one with a single one; of vectors of a further layer."""
    wide = [
        ProbeData(
            data.vectors[:, [0, 1, 1, 2]], [np.concatenate([g, g + (g > 0)]) for g in data.gold]
        )
        for data in small
    ]
    asked = [Probe(0, 8), Probe(0, 4), Probe(1, 8), Probe(1, 8, target=1), Probe(3, 8, target=1)]
    together = train_bank(*wide, asked, kind=kind, epochs=8)
    for place, probe in enumerate(asked):
        alone = train_bank(*wide, [probe], kind=kind, epochs=8)
        lasted = len(alone.dev_losses)
        assert np.allclose(together.dev_losses[:lasted, place], alone.dev_losses[:, 0], atol=1e-9)
        assert np.allclose(together.maps[place, : probe.rank], alone.maps[0], atol=1e-6)


@pytest.mark.slow
def test_one_probe_follows_torch_adam_and_the_published_schedule(
    small: Data, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The published loop: one layer, differences tiled, torch's own Adam, sentences in the same
    order; to its end."""
    monkeypatch.setattr("core.maths.structural.bank.STILL", 0.0)
    train, dev = small
    layer, rank, batch = (
        2,
        8,
        2,
    )  # many steps an epoch, so that the loss soon rises again and the rate is divided
    bank = train_bank(train, dev, [Probe(layer, rank)], kind=kind, batch=batch)
    start = np.random.default_rng((0, 0, layer, rank)).uniform(-SPREAD, SPREAD, (rank, 24))
    slow = train_as_published(
        *(split(data, layer) for data in small),
        start,
        kind,
        np.random.default_rng(0),
        Schedule(batch=batch),
    )
    assert slow.decays >= PATIENCE  # or what happens to the rate would go untested
    assert len(bank.dev_losses) == len(slow.losses)
    assert np.allclose(bank.dev_losses[:, 0], slow.losses, atol=3e-4)
    assert bank.best_epoch[0] == slow.best_epoch
    assert np.allclose(bank.maps[0], slow.map, atol=1e-4)


def split(data: ProbeData, layer: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Vectors of one layer and gold of each sentence."""
    parts = torch.split(data.vectors[:, layer], [int(n) for n in data.lengths])
    return [
        (words, torch.from_numpy(gold[0]).float())
        for words, gold in zip(parts, data.gold, strict=True)
    ]


def test_batches_are_drawn_anew_each_epoch_whatever_the_lengths(small: Data) -> None:
    packer, rng = Packer(small[0], 20), np.random.default_rng(3)
    again = np.random.default_rng(3)
    for _ in range(2):
        order = again.permutation(60)
        for start, batch in zip(range(0, 60, 20), packer.epoch(rng), strict=True):
            chosen = order[start : start + 20]
            assert sorted(read_once(batch)) == sorted(words_of(small[0], chosen))
            assert batch.sentences == len(chosen)
            weights = sum(float(block.weights.sum()) for block in batch.blocks)
            assert weights == pytest.approx(1.0, abs=1e-5)  # every sentence counts once


def test_long_sentences_are_gathered_fewer_batches_at_once(
    small: Data, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which changes no batch."""
    many = Packer(small[0], 20)
    monkeypatch.setattr("core.maths.structural.batches.GATHERED", 1)
    one = Packer(small[0], 20)
    assert (many.together, one.together) == (16, 1)
    epochs = (packer.epoch(np.random.default_rng(0)) for packer in (many, one))
    for each, other in zip(*epochs, strict=True):
        assert torch.equal(each.words, other.words)
        for block, same in zip(each.blocks, other.blocks, strict=True):
            assert torch.equal(block.gold, same.gold)
            assert torch.equal(block.weights, same.weights)


def read_once(batch: Batch) -> list[int]:
    """The words of a batch without padding, whose weights are 0."""
    counted = []
    for block in batch.blocks:
        weights = block.weights.sum(dim=-1) if block.weights.ndim == 3 else block.weights
        counted.append(weights.flatten() > 0)
    return batch.words[torch.cat(counted)].tolist()


def words_of(data: ProbeData, sentences: np.ndarray) -> list[int]:
    starts = np.cumsum(data.lengths) - data.lengths
    return [int(starts[one]) + word for one in sentences for word in range(data.lengths[one])]


def test_gold_and_weights_are_those_of_the_words_that_are_read(small: Data, kind: str) -> None:
    """Of a last batch that is smaller than the others too."""
    data = small[0]
    starts = np.cumsum(data.lengths) - data.lengths
    for batch in Packer(data, 25).epoch(np.random.default_rng(1)):
        first = 0
        for block in batch.blocks:
            words = batch.words[first : first + block.items].numpy()
            first += block.items
            for place in np.ndindex(*block.weights.shape):
                at = np.ravel_multi_index(place[:2], block.weights.shape[:2])
                weight, word = (
                    float(block.weights[place]),
                    int(words[at if kind == "distance" else place[0]]),
                )
                if not weight:
                    continue
                sentence = int(np.searchsorted(starts, word, side="right")) - 1
                mine = word - int(starts[sentence])
                length = int(data.lengths[sentence])
                gold = data.gold[sentence][0]
                if kind == "distance":
                    assert int(block.gold[(0, *place)]) == gold[mine, place[2]]
                    assert weight == pytest.approx(1 / length**2 / batch.sentences)
                else:
                    assert int(block.gold[(0, *place)]) == gold[mine]
                    assert weight == pytest.approx(1 / length / batch.sentences)
        assert first == len(batch.words)


@pytest.mark.slow
def test_a_planted_tree_metric_is_recovered_at_its_rank_and_not_below() -> None:
    rng = np.random.default_rng(1)
    basis = orthonormal_rows(16, 32, rng)
    train, dev, test = ([random_heads(rng) for _ in range(count)] for count in (800, 60, 100))
    data = [planted_data(trees, basis, rng, noise=0.05) for trees in (train, dev, test)]
    bank = train_bank(data[0], data[1], [Probe(0, rank) for rank in (1, 4, 16, 32)])
    vectors, lengths = data[2].vectors.numpy(), gold_of(test).lengths
    predicted = predict_distances(bank.maps, vectors, lengths, [0] * 4)
    uuas = score(score_distances(predicted, gold_of(test)), "uuas")
    assert uuas[2] > 0.98
    assert uuas[3] > 0.98
    assert uuas[0] < uuas[1] < uuas[2] - 0.1


@pytest.mark.slow
def test_planted_depths_are_recovered() -> None:
    rng = np.random.default_rng(2)
    basis = orthonormal_rows(16, 32, rng)
    train, dev, test = ([random_heads(rng) for _ in range(count)] for count in (400, 60, 100))
    data = [
        planted_data(trees, basis, rng, noise=0.02, kind="depth") for trees in (train, dev, test)
    ]
    bank = train_bank(data[0], data[1], [Probe(0, 16)], kind="depth")
    scores = score_depths(
        predict_depths(bank.maps, data[2].vectors.numpy(), gold_of(test).lengths), gold_of(test)
    )
    assert score(scores, "root")[0] > 0.97
    assert score(scores, "nspr")[0] > 0.97


def test_the_order_of_sentences_and_the_start_come_from_the_seed(small: Data, kind: str) -> None:
    first, again, other = (
        train_bank(*small, every_layer(4), kind=kind, epochs=2, seed=seed).maps
        for seed in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)


def test_half_precision_vectors_train_as_well(small: Data, kind: str) -> None:
    halves = [ProbeData(data.vectors.half(), data.gold) for data in small]
    full, half = (train_bank(*data, every_layer(), kind=kind, epochs=5) for data in (small, halves))
    assert np.allclose(full.dev_losses, half.dev_losses, atol=0.01)


def test_every_draw_reads_the_sentences_in_an_order_of_its_own(
    small: Data, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And in the same one whatever else is trained, so that models and layers are paired."""
    pack, packed = Packer.pack, list[np.ndarray]()

    def record(self: Packer, batches: Sequence[np.ndarray]) -> Sequence[Batch]:
        packed.extend(batches)
        return pack(self, batches)

    monkeypatch.setattr(Packer, "pack", record)
    orders = []
    for probes in ([Probe(0, 8, 0), Probe(2, 4, 0), Probe(1, 8, 1)], [Probe(2, 8, 1)]):
        packed.clear()
        train_bank(*small, probes, kind=kind, epochs=2)
        read = [batch for batch in packed if len(batch) < 60 // 2 and batch.max() >= 20]
        orders.append([tuple(np.concatenate(read[i : i + 3])) for i in range(0, len(read), 3)])
    first, second = orders[0][::2], orders[0][1::2]
    for order in (*first, *second):
        assert sorted(order) == [*range(60)]
    assert len({*first, *second}) == 4
    assert orders[1] == second


@pytest.mark.exhaustive
@pytest.mark.slow
def test_what_is_not_trained_to_the_published_end_has_no_later_minimum(
    small: Data, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    probes = [Probe(layer, 8, draw) for layer in range(3) for draw in range(2)]
    stopped = train_bank(*small, probes, kind=kind, batch=2)
    monkeypatch.setattr("core.maths.structural.bank.STILL", 0.0)
    published = train_bank(*small, probes, kind=kind, batch=2)
    assert np.isfinite(stopped.dev_losses).sum() < np.isfinite(published.dev_losses).sum()
    assert np.array_equal(stopped.best_epoch, published.best_epoch)
    assert np.array_equal(stopped.maps, published.maps)


def test_progress_is_reported_and_an_exception_from_it_stops_the_training(
    small: Data, kind: str
) -> None:
    fractions: list[float] = []
    train_bank(
        *small,
        every_layer(4),
        kind=kind,
        epochs=3,
        report=lambda fraction, note: fractions.append(fraction),
    )
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] < fractions[-1] < 1

    def stop(fraction: float, note: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_bank(*small, every_layer(4), kind=kind, report=stop)


@pytest.mark.parametrize(
    ("probes", "more", "message"),
    [
        ([Probe(0, 4)], {"kind": "angle"}, "'angle'"),
        ([Probe(0, 25)], {}, r"d_model, here 24; got \(25,\)"),
        ([Probe(0, 0)], {}, r"d_model, here 24; got \(0,\)"),
        ([Probe(3, 4)], {}, r"layers \(3,\) .* layers \(0, 1, 2\)"),
        ([], {}, r"layers \(\) "),
        ([Probe(0, 4, 0, 1)], {}, "target is 0 to 0"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    small: Data, kind: str, probes: list[Probe], more: dict[str, str], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        train_bank(*small, probes, **({"kind": kind} | more))  # type: ignore[arg-type]


def test_data_that_does_not_fit_is_refused(small: Data, kind: str) -> None:
    train, dev = small
    probes, wrong = every_layer(), "depth" if kind == "distance" else "distance"
    with pytest.raises(ShapeError, match="layers, dimensions or targets"):
        train_bank(train, ProbeData(dev.vectors[:, :2], dev.gold), probes, kind=kind)
    with pytest.raises(ShapeError, match="cannot be numbered"):
        train_bank(train, dev, probes, kind=kind, layers=[0, 1])
    with pytest.raises(ShapeError, match=f"fit a {wrong} probe"):
        train_bank(train, dev, probes, kind=wrong)
    with pytest.raises(ShapeError, match="do not fit trees"):
        ProbeData(train.vectors[1:], train.gold)
    with pytest.raises(ShapeError, match="at least one sentence"):
        ProbeData(train.vectors, [])
    with pytest.raises(ShapeError, match="same number of targets"):
        ProbeData(train.vectors, [np.repeat(train.gold[0], 2, axis=0), *train.gold[1:]])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_trains_the_same(small: Data, kind: str) -> None:
    here, there = (
        train_bank(*small, every_layer(), kind=kind, epochs=5, device=device)
        for device in ("cpu", "cuda")
    )
    assert np.allclose(here.dev_losses, there.dev_losses, atol=1e-3)

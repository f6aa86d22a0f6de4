"""Differences between models and margins over rivals, against loops over layers and resamples."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.probes.trees.comparisons import DIFFERENCES, MARGINS, difference_rows, margin_rows
from core.probes.trees.tables import POSITION, Group, Sample

BASE, MODEL, RIVAL = "zoo:base", "zoo:model", "random:zoo:base"
RESAMPLES = 200


@pytest.fixture
def sample() -> Sample:
    rng = np.random.default_rng(3)
    return Sample(
        rng.integers(5, 20, 30),
        rng.multinomial(30, np.full(30, 1 / 30), RESAMPLES).astype(float),
        3,
    )


def group(
    seed: int, layers: tuple[int, ...] = (0, 1, 2), draws: int = 1, dev: list[float] | None = None
) -> Group:
    rng = np.random.default_rng(seed)
    points = 50 + 5 * rng.standard_normal((len(layers), draws))
    resampled = points + rng.standard_normal((RESAMPLES, len(layers), draws))
    chosen = np.asarray(dev) if dev is not None else rng.standard_normal(len(layers))
    return Group(layers, (8,) * len(layers), points, resampled, chosen)


def test_a_difference_is_the_model_less_the_base_with_the_band_of_the_resampled_differences(
    sample: Sample,
) -> None:
    base, model = group(0), group(1)
    table = difference_rows({BASE: {"uuas": base}, MODEL: {"uuas": model}}, BASE, sample)
    assert table["model"].tolist() == [MODEL] * 3
    assert table["base"].tolist() == [BASE] * 3
    for layer, row in enumerate(table.itertuples()):
        assert row.layer == layer
        assert row.difference == pytest.approx(model.points[layer, 0] - base.points[layer, 0])
        resampled = [
            model.resampled[draw, layer, 0] - base.resampled[draw, layer, 0]
            for draw in range(RESAMPLES)
        ]
        assert row.low == pytest.approx(np.quantile(resampled, 0.025))
        assert row.high == pytest.approx(np.quantile(resampled, 0.975))


def test_only_layers_that_both_have_are_compared_each_with_its_own(sample: Sample) -> None:
    base, model = group(0, (0, 2, 4)), group(1, (4, 1, 0))
    table = difference_rows({BASE: {"uuas": base}, MODEL: {"uuas": model}}, BASE, sample)
    by_layer = {
        4: model.points[0, 0] - base.points[2, 0],
        0: model.points[2, 0] - base.points[0, 0],
    }
    assert dict(zip(table["layer"], table["difference"], strict=True)) == pytest.approx(by_layer)


def test_draws_are_paired_so_that_a_shift_common_to_all_has_no_error(sample: Sample) -> None:
    base = group(0, draws=4)
    shifted = Group(base.layers, base.ranks, base.points + 2, base.resampled + 2, base.dev)
    table = difference_rows({BASE: {"uuas": base}, MODEL: {"uuas": shifted}}, BASE, sample)
    np.testing.assert_allclose(table[["difference", "low", "high"]], 2.0)
    unpaired = margin_rows({MODEL: {"uuas": shifted}}, {POSITION: {"uuas": base}}, sample)
    assert (unpaired["high"] - unpaired["low"] > 1).all()


def test_no_base_no_differences(sample: Sample) -> None:
    table = difference_rows({MODEL: {"uuas": group(1)}}, BASE, sample)
    assert table.empty
    assert tuple(table.columns) == DIFFERENCES


def test_a_margin_is_over_the_rival_at_the_layer_that_its_development_sentences_choose(
    sample: Sample,
) -> None:
    """Also where another layer is better on the test sentences, and for the metric that does not
    choose."""
    model = {"uuas": group(1), "dspr": group(2)}
    rival = {"uuas": group(3, dev=[1.0, 9.0, 3.0]), "dspr": group(4, dev=[9.0, 1.0, 3.0])}
    rival["uuas"].points[2] = 99.0
    table = margin_rows({MODEL: model}, {RIVAL: rival}, sample)
    assert tuple(table.columns) == MARGINS
    assert table["rival_layer"].tolist() == [1] * 6
    for metric, rows in table.groupby("metric"):
        for layer, row in enumerate(rows.itertuples()):
            assert row.layer == layer
            assert row.rival_value == pytest.approx(rival[metric].points[1, 0])
            assert row.margin == pytest.approx(
                model[metric].points[layer, 0] - rival[metric].points[1, 0]
            )
            resampled = model[metric].resampled[:, layer, 0] - rival[metric].resampled[:, 1, 0]
            assert row.low == pytest.approx(np.quantile(resampled, 0.025))
            assert row.high == pytest.approx(np.quantile(resampled, 0.975))


def test_depth_probes_choose_by_root_accuracy(sample: Sample) -> None:
    rival = {"root": group(3, dev=[1.0, 2.0, 9.0]), "nspr": group(4, dev=[9.0, 1.0, 3.0])}
    table = margin_rows({MODEL: {"nspr": group(1)}}, {RIVAL: rival}, sample)
    assert table["rival_layer"].tolist() == [2] * 3


def test_positions_have_no_layer(sample: Sample) -> None:
    position = {"uuas": group(3, (0,), dev=[float("nan")])}
    table = margin_rows({MODEL: {"uuas": group(1)}}, {POSITION: position}, sample)
    assert table["rival_layer"].isna().all()
    assert table["rival_layer"].dtype == pd.Int64Dtype()
    np.testing.assert_allclose(table["rival_value"], position["uuas"].points[0, 0])

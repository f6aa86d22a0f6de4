"""Differences between models and margins over rivals, against loops over layers and resamples."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.maths.structural.arcs import ADJACENT, FAR
from core.maths.structural.bands import ProbeScores, Sample, banded_sum, draw_sample
from core.maths.structural.scores import Gold
from core.maths.trees import tree_depths, tree_distances
from core.studies.probes.trees.comparisons import (
    BEST_LAYERS,
    DIFFERENCES,
    MARGINS,
    Groups,
    arc_groups,
    baseline_margins,
    baselines_of,
    best_layers,
    best_place,
    differences,
    margins,
)
from core.studies.probes.trees.tables import (
    EMBEDDINGS,
    POSITION,
    TAGS,
    WINDOW,
    as_table,
    probe_groups,
)
from tests.core.studies.probes.planted import random_heads

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
) -> ProbeScores:
    rng = np.random.default_rng(seed)
    points = 50 + 5 * rng.standard_normal((len(layers), draws))
    resampled = points + rng.standard_normal((RESAMPLES, len(layers), draws))
    chosen = np.asarray(dev) if dev is not None else rng.standard_normal(len(layers))
    return ProbeScores(layers, points, resampled, chosen)


def difference_table(model: ProbeScores, base: ProbeScores) -> pd.DataFrame:
    groups = {BASE: {"uuas": base}, MODEL: {"uuas": model}}
    return as_table(differences(groups, BASE), DIFFERENCES)


def margin_table(groups: Groups, rivals: Groups) -> pd.DataFrame:
    return as_table(margins(groups, rivals), MARGINS)


def best_table(group: ProbeScores) -> pd.DataFrame:
    return as_table(best_layers({MODEL: {"uuas": group}}), BEST_LAYERS)


def test_a_difference_is_the_model_less_the_base_with_the_band_of_the_resampled_differences() -> (
    None
):
    base, model = group(0), group(1)
    table = difference_table(model, base)
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


def test_only_layers_that_both_have_are_compared_each_with_its_own() -> None:
    base, model = group(0, (0, 2, 4)), group(1, (4, 1, 0))
    table = difference_table(model, base)
    by_layer = {
        4: model.points[0, 0] - base.points[2, 0],
        0: model.points[2, 0] - base.points[0, 0],
    }
    assert dict(zip(table["layer"], table["difference"], strict=True)) == pytest.approx(by_layer)


def test_draws_are_paired_so_that_a_shift_common_to_all_has_no_error() -> None:
    base = group(0, draws=4)
    shifted = ProbeScores(base.layers, base.points + 2, base.resampled + 2, base.dev)
    table = difference_table(shifted, base)
    np.testing.assert_allclose(table[["difference", "low", "high"]], 2.0)
    unpaired = margin_table({MODEL: {"uuas": shifted}}, {POSITION: {"uuas": base}})
    assert (unpaired["high"] - unpaired["low"] > 1).all()


def test_no_base_no_differences() -> None:
    table = as_table(differences({MODEL: {"uuas": group(1)}}, BASE), DIFFERENCES)
    assert table.empty
    assert tuple(table.columns) == DIFFERENCES


def test_a_margin_is_over_the_rival_at_the_layer_that_its_development_sentences_choose() -> None:
    """Also where another layer is better on the test sentences."""
    model = {"uuas": group(1), "dspr": group(2)}
    dev = [1.0, 9.0, 3.0]
    rival = {"uuas": group(3, dev=dev), "dspr": group(4, dev=dev)}
    rival["uuas"].points[2] = 99.0
    table = margin_table({MODEL: model}, {RIVAL: rival})
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


def test_correlations_have_the_layers_that_uuas_and_root_accuracy_choose(sample: Sample) -> None:
    """Whatever they are themselves, on development or test sentences."""
    rng, shape = np.random.default_rng(5), (6, len(sample.lengths))
    value = {
        "layers": np.repeat([0, 3, 6], 2), "ranks": np.full(6, 8), "draws": np.tile([0, 1], 3),
        "dev_uuas": np.array([0.1, 0.2, 0.9, 0.8, 0.4, 0.6]),
        "dev_root": np.array([0.1, 0.2, 0.3, 0.4, 0.9, 0.8]),
        "edges": sample.lengths - 1.0,
        **{name: rng.random(shape) for name in ("hits", "dspr", "nspr", "root")},
    }  # fmt: skip
    groups = probe_groups(value, sample)
    assert {name: best_place(each) for name, each in groups.items()} == {
        "uuas": 1, "dspr": 1, "root": 2, "nspr": 2,
    }  # fmt: skip


def test_positions_have_no_layer() -> None:
    position = {"uuas": group(3, (0,), dev=[float("nan")])}
    table = margin_table({MODEL: {"uuas": group(1)}}, {POSITION: position})
    assert table["rival_layer"].isna().all()
    assert table["rival_layer"].dtype == pd.Int64Dtype()
    np.testing.assert_allclose(table["rival_value"], position["uuas"].points[0, 0])


def test_a_trained_model_has_its_own_window_and_layer_0_beside_the_shared_baselines() -> None:
    groups = {MODEL: {"uuas": group(1)}, BASE: {"uuas": group(0)}, RIVAL: {"uuas": group(3)}}
    rivals = {
        name: {"uuas": group(seed, (0,))}
        for seed, name in enumerate((POSITION, *TAGS.values(), (WINDOW, MODEL)), start=5)
    }
    theirs = dict(baselines_of(groups, rivals))
    assert set(theirs) == {MODEL, BASE}
    shared = {RIVAL, POSITION, *TAGS.values(), EMBEDDINGS}
    assert (set(theirs[MODEL]), set(theirs[BASE])) == (shared | {WINDOW}, shared)
    table = as_table(baseline_margins(groups, rivals), MARGINS)
    table = table.query("model == @MODEL").set_index("rival")
    bottom, mine = table.loc[EMBEDDINGS], groups[MODEL]["uuas"].points[:, 0]
    assert bottom["layer"].tolist() == [1, 2]  # layer 0 is no baseline of itself
    np.testing.assert_allclose(bottom["margin"], mine[1:] - mine[0])
    assert table.loc[WINDOW, "rival_layer"].isna().all()


def test_layers_that_no_simultaneous_interval_separates_from_the_best_are_tied() -> None:
    rng = np.random.default_rng(11)
    points = np.array([[40.0], [50.0], [50.2], [51.0]])
    resampled = points + rng.standard_normal((RESAMPLES, 4, 1)) * [[0.1], [0.1], [0.1], [5.0]]
    mine = ProbeScores((0, 2, 4, 6), points, resampled, np.array([1.0, 2.0, 9.0, 3.0]))
    table = best_table(mine).set_index("layer")
    assert set(table["best_layer"]) == {4}
    for place, (layer, row) in enumerate(table.iterrows()):
        between = resampled[:, 2, 0] - resampled[:, place, 0]
        assert row["difference"] == pytest.approx(points[2, 0] - points[place, 0])
        assert row["low"] == pytest.approx(np.quantile(between, 0.05 / 3 / 2), abs=1e-9)
        assert row["high"] == pytest.approx(np.quantile(between, 1 - 0.05 / 3 / 2), abs=1e-9)
        assert row["tied"] == (layer == 4 or not row["low"] > 0)
    assert table["tied"].tolist() == [False, True, True, True]
    assert best_table(mine.only([2]))["tied"].tolist() == [True]


def test_arcs_of_one_probe_have_an_error_over_probes_that_grows_as_arcs_get_fewer() -> None:
    rng = np.random.default_rng(12)
    heads = [random_heads(rng, 6, 12) for _ in range(40)]
    gold = Gold(
        heads, [tree_distances(row) for row in heads], [tree_depths(row) for row in heads],
        [np.ones(len(row), dtype=bool) for row in heads],
    )  # fmt: skip
    sample = draw_sample(gold.lengths, RESAMPLES, 0)
    predicted = np.concatenate([np.array(random_heads(rng, len(row), len(row))) for row in heads])[
        None
    ]
    whole = ProbeScores(
        (3,), np.array([[50.0, 56.0, 53.0]]), np.zeros((RESAMPLES, 1, 3)), np.ones(1)
    ).pooled()
    alone, several = (arc_groups(predicted, gold, sample, probes) for probes in (None, whole))
    total = sum(len(row) - 1 for row in heads)
    for arcs in (ADJACENT, FAR):
        assert several[arcs].layers == (3,)
        np.testing.assert_array_equal(alone[arcs].points, several[arcs].points)
        far = [abs(w - h) > 1 for row in heads for w, h in enumerate(row, start=1) if h]
        count = sum(far) if arcs == FAR else len(far) - sum(far)
        assert several[arcs].sd == pytest.approx(3.0 * np.sqrt(total / count))
        narrow, wide = (banded_sum((1, groups[arcs])) for groups in (alone, several))
        assert (wide["high"] - wide["low"] > narrow["high"] - narrow["low"]).all()

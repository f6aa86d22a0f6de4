"""The benchmark: the AUC is the textbook's, the right answers are the models', rounding does what
it says."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.results.estimates import Estimate
from core.rsa.truth import tasks as truth_tasks
from core.rsa.truth.spec import TruthSpec
from core.rsa.truth.study import DEPTH, STUDY, WEIGHTS, area, area_at_equal_depth, figures
from core.rsa.truth.text import FROZEN, HIGHEST, LOWEST, OUTPUT, RIVAL, ROUNDED, STATE, STATE_DEPTH
from tests.core.rsa.facts import stated, unnamed

SMALL = TruthSpec(
    compare=("zoo:parse-frozen-2", "zoo:parse-frozen-4"), planted=("zoo:parse-0",), plants=2,
    measures=("rsa", "cosine"), sentences=20, words=60, draws=20,
)  # fmt: skip


@pytest.fixture(scope="module")
def result():
    return STUDY.run(SMALL)


def test_the_area_is_the_share_of_pairs_in_the_right_order() -> None:
    drawn = np.random.default_rng(0)
    truth, score = drawn.random(30) < 0.4, np.round(drawn.random(30), 1)  # with ties
    pairs = [(float(a > b) + 0.5 * float(a == b)) for a in score[truth] for b in score[~truth]]
    assert area(truth, score) == pytest.approx(np.mean(pairs))
    assert np.isnan(area(np.ones(3, dtype=bool), np.arange(3.0)))


def test_at_equal_depth_depth_says_nothing() -> None:
    drawn = np.random.default_rng(1)
    truth, score = drawn.random((6, 4)) < 0.5, drawn.random((6, 4))
    pairs = [
        float(score[one, layer] > score[other, layer])
        for layer in range(4) for one in range(6) for other in range(6)
        if truth[one, layer] and not truth[other, layer]
    ]  # fmt: skip
    assert area_at_equal_depth(truth, score) == pytest.approx(np.mean(pairs))
    assert area_at_equal_depth(truth, np.tile(np.arange(4.0), (6, 1))) == 0.5


def test_frozen_layers_are_the_truth_and_equality_finds_them(result) -> None:
    assert not result.failures
    frozen = result.table[result.table["truth"] == "frozen"]
    assert (frozen["changed"].iloc[0], frozen["unchanged"].iloc[0]) == (4 + 2, 3 + 5)
    equal = frozen[(frozen["bits"] == 0) & (frozen["finder"] != DEPTH)]
    assert len(equal) == 2 * 3
    assert (equal["auc"] == 1.0).all(), (
        "bit for bit, every measure and the weights find them: no test of a measure"
    )
    assert frozen.loc[frozen["finder"] == DEPTH, "auc"].nunique() == 1


def test_planted_layers_are_found_by_their_answers_and_less_by_their_states(result) -> None:
    planted = result.table[
        (result.table["truth"] == "planted") & (result.table["finder"] == "rsa")
    ].set_index("reading")
    assert planted.loc["answer", "auc"] > planted.loc["state", "auc"]
    assert planted["changed"].iloc[0] + planted["unchanged"].iloc[0] == 2 * 7
    assert WEIGHTS in set(result.table["finder"])
    for unchanged, reading in ((STATE, "state"), (OUTPUT, "answer")):
        rows = result.table[
            (result.table["reading"] == reading) & (result.table["truth"] == "planted")
        ]
        rows = rows[~rows["matched"] & rows["finder"].isin(SMALL.measures)]
        ends = [
            made
            for made in result.statements
            if made.baseline == unchanged and made.verdict != RIVAL
        ]
        assert [made.verdict for made in ends] == [LOWEST, HIGHEST]
        assert [made.estimate.value for made in ends] == [rows["auc"].min(), rows["auc"].max()]
    frozen = [
        made for made in result.statements if made.baseline == FROZEN and made.verdict == RIVAL
    ]
    assert {made.subject for made in frozen} == {DEPTH, WEIGHTS}
    assert stated(result.statements, ROUNDED).estimate == Estimate(3.0, kind="whole")
    named = [
        made for made in result.statements if made.verdict != RIVAL and made.baseline != STATE_DEPTH
    ]
    assert not unnamed(named, result.headline)
    assert {"truth-frozen", "truth-planted", "truth-frozen-matched"} <= set(figures(result))


def test_rounding_leaves_so_many_steps_and_zero_bits_nothing() -> None:
    layer = torch.nn.Linear(20, 30, bias=False)
    before = layer.weight.detach().clone()
    assert torch.equal(truth_tasks._rounded(layer, 0, 0).weight, before)
    after = truth_tasks._rounded(layer, 3, 0).weight.detach()
    assert len(after.unique()) <= 2**3 - 1
    assert float((after - before).abs().max()) <= float(before.abs().max()) / (2**2 - 1) * 1.001
    assert abs(float((after - before).mean())) < 0.1 * float(before.abs().max()), (
        "up as much as down"
    )

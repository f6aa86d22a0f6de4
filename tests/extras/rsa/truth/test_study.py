"""The benchmark: the AUC is the textbook's, the right answers are the models', rounding does what
it says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from core.maths.similarity.registry import MEASURES, compare
from core.results.estimates import Estimate
from core.results.statements import Statement
from extras.rsa.truth import tasks as truth_tasks
from extras.rsa.truth.report import (
    ABOVE,
    FROZEN,
    HIGHEST,
    LOWEST,
    OUTPUT,
    RIVAL,
    ROUNDED,
    STATE,
    STATE_DEPTH,
    UNFROZEN,
    make_headline,
    statements_of,
)
from extras.rsa.truth.spec import TruthSpec
from extras.rsa.truth.study import DEPTH, STUDY, WEIGHTS, figures
from tests.core.studies.rsa.facts import stated, unnamed

SMALL = TruthSpec(
    compare=("zoo:parse-frozen-2", "zoo:parse-frozen-4"), planted=("zoo:parse-0",), plants=2,
    measures=("rsa", "cosine"), sentences=20, words=60,
)  # fmt: skip


@pytest.fixture(scope="module")
def result():
    return STUDY.run(SMALL)


def test_frozen_layers_are_the_truth_and_equality_finds_them(result) -> None:
    assert not result.failures
    frozen = result.table[result.table["truth"] == "frozen"]
    assert (frozen["changed"].iloc[0], frozen["unchanged"].iloc[0]) == (4 + 2, 3 + 5)
    equal = frozen[(frozen["rounding"] == 0) & (frozen["finder"] != DEPTH)]
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
    assert stated(result.statements, ROUNDED).estimate == Estimate(1.0, kind="whole")
    for words in ("(every measure); after rounding, ", "the layer number alone "):
        assert words in result.headline
    named = [
        made for made in result.statements if made.verdict != RIVAL and made.baseline != STATE_DEPTH
    ]
    assert not unnamed(named, result.headline)
    assert {"truth-frozen", "truth-planted", "truth-frozen-matched"} <= set(figures(result))


@pytest.mark.parametrize("noise", [1e-4, 0.05, 0.5])
def test_rounding_is_as_large_as_asked_for_and_unbiased(noise: float) -> None:
    torch.manual_seed(0)
    layer = torch.nn.Linear(200, 300, bias=False)
    torch.nn.init.normal_(layer.weight)
    before = layer.weight.detach().clone()
    assert torch.equal(truth_tasks._rounded(layer, 0.0, 0).weight, before)
    after = truth_tasks._rounded(layer, noise, 0).weight.detach()
    error = (after - before).double()
    assert float(error.norm() / before.double().norm()) == pytest.approx(noise, rel=0.02)
    assert abs(float(error.mean())) < 0.05 * float(error.std()), "up as much as down"


def test_rounding_is_in_proportion_to_the_weight_change(monkeypatch) -> None:
    """A fine-tune that moved a hundredth as far is rounded a hundredth as much, and found alike."""
    sizes, rounded = {}, truth_tasks._rounded
    shared = {
        "base": "zoo:seed-0", "model": "zoo:parse-frozen-4", "base_identity": "a",
        "model_identity": "b", "sentences": (("A", "dog", "barks", "."),) * 3, "items": 12,
        "measures": ("rsa",), "roundings": (0.0, 1.0), "seed": 0,
    }  # fmt: skip
    noises: list[float] = []
    monkeypatch.setattr(
        truth_tasks, "_rounded", lambda *given: (noises.append(given[1]), rounded(*given))[1]
    )
    for share in (1.0, 0.01):
        value = truth_tasks.compare_frozen(share=share, **shared)
        whole, with_rounding = value["size"]
        moved = whole > 0
        assert 1.2 < np.median(with_rounding[moved] / whole[moved]) < 1.7, "about the root of 2"
        assert (with_rounding[~moved] > 0).all()
        sizes[share] = with_rounding
    assert noises[0] == noises[2] == 0.0
    assert noises[3] == pytest.approx(0.01 * noises[1])
    np.testing.assert_allclose(sizes[0.01], 0.01 * sizes[1.0], rtol=0.05)


def test_masks_are_complementary_and_of_each_fine_tune(result, monkeypatch) -> None:
    chosen = truth_tasks.masks(6, 7, np.random.default_rng(0))
    assert chosen.shape == (6, 7)
    assert (chosen[::2] == ~chosen[1::2]).all()
    assert chosen.any(axis=1).all()
    assert len(np.unique(chosen, axis=0)) > 2
    assert (truth_tasks.masks(3, 7, np.random.default_rng(0)) == chosen[:3]).all()
    seeds = []

    def noted(plants: int, layers: int, rng: np.random.Generator) -> np.ndarray:
        seeds.append(rng.integers(2**31))
        return chosen[:plants]

    monkeypatch.setattr(truth_tasks, "masks", noted)
    shared = {
        "base": "zoo:seed-0", "base_identity": "a", "model_identity": "b",
        "sentences": (("A", "dog", "barks", "."),), "items": 4, "measures": ("cosine",),
        "rounding": 1.0, "share": 1.0, "plants": 1,
    }  # fmt: skip
    for model, seed in (("zoo:parse-0", 0), ("zoo:pos-0", 0), ("zoo:pos-0", 1), ("zoo:pos-0", 1)):
        truth_tasks.compare_planted(model=model, seed=seed, **shared)
    assert len(set(seeds)) == 3
    assert seeds[-1] == seeds[-2]


def test_measures_of_two_models_are_those_of_the_registry() -> None:
    drawn = np.random.default_rng(5)
    base = [drawn.standard_normal((40, 5)) for _ in range(2)]
    changed = [space + drawn.standard_normal((40, 5)) for space in base]
    names = tuple(MEASURES)
    together = truth_tasks._similarities(base, changed, names)
    apart = [[compare(x, y, name) for x, y in zip(base, changed, strict=True)] for name in names]
    assert together == pytest.approx(np.array(apart), abs=1e-12)


def _planted(lows: tuple[float, float]) -> pd.DataFrame:
    """A table of two measures whose AUCs of states have these lower ends."""
    rows = [
        {
            "finder": name, "truth": "planted", "reading": reading, "matched": False, "rounding": 1.0,
            "auc": 0.6, "low": 0.55, "high": 0.7, "low_together": low, "same_depth": 0.6,
        }
        for reading in ("state", "drop", "answer")
        for name, low in zip(("rsa", "cosine"), lows, strict=True)
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("lows", "count", "words"),
    [
        ((0.45, 0.49), 0.0, "not detectably above guessing"),  # .55 is above, each alone
        ((0.45, 0.51), 1.0, "1 of 2 measures"),
        ((0.52, 0.51), 2.0, "every measure"),
    ],
)
def test_the_headline_says_which_measures_do_better_than_guessing(lows, count, words) -> None:
    statements = statements_of(_planted(lows))
    made = [each for each in statements if each.verdict == ABOVE and each.baseline == STATE]
    assert [each.estimate.value for each in made] == [count]
    headline = make_headline(statements)
    assert words in headline
    assert headline.count("detectably above guessing") == 3, "by state, drop and output"


@pytest.mark.parametrize(("high", "best"), [(0.985, False), (0.9, True)])
def test_a_reading_is_best_only_where_its_band_lies_above_that_of_the_weights(high, best) -> None:
    table = _planted((0.9, 0.9)).assign(low=0.92, auc=0.95)
    weights = {**table.iloc[0].to_dict(), "finder": "weights", "auc": 0.8, "low": 0.6, "high": high}
    stated = statements_of(pd.concat([table, pd.DataFrame([weights])], ignore_index=True))
    headline = make_headline(stated)
    assert ("found best" in headline.partition(". ")[0]) == best
    assert ("not detectably better than by the size of its weight change" in headline) != best


def test_without_bands_nothing_is_said_of_guessing() -> None:
    statements = statements_of(_planted((np.nan, np.nan)))
    assert not [each for each in statements if each.verdict == ABOVE]
    assert "guessing" not in make_headline(statements)


def test_fine_tunes_without_frozen_layers_test_nothing_and_that_is_said() -> None:
    rounded = Statement("frozen fine-tunes", ROUNDED, Estimate(1.0, kind="whole"))
    assert make_headline([rounded]) == UNFROZEN
    planted = [
        Statement("rsa", verdict, Estimate(0.8), baseline=STATE) for verdict in (LOWEST, HIGHEST)
    ]
    assert make_headline([rounded, *planted]).startswith(
        f"{UNFROZEN} A changed layer is found best"
    )
    assert UNFROZEN not in make_headline(planted)  # where frozen fine-tunes were not compared


def test_bands_need_three_fine_tunes(result) -> None:
    assert result.table["low"].isna().all()
    assert sum("no bands" in notice for notice in result.notices) == 2

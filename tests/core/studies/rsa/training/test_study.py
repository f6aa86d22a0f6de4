"""Through training: a peak is clear or not, and checkpoints approach the final model of their own
run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from core.results.estimates import Estimate, estimate_of
from core.results.statements import Statement, lead_of
from core.studies.notices import few_sentences
from core.studies.rsa.training.report import (
    FIRST,
    LAST,
    LOSS_LAST,
    NEAREST,
    NO_NEAREST,
    OTHER_RUN,
    make_headline,
    statements_of,
)
from core.studies.rsa.training.spec import TrainingSpec
from core.studies.rsa.training.study import STUDY, figures, find_peaks, first_layers
from tests.core.studies.rsa.facts import all_stated, stated, unnamed


def test_a_peak_is_clear_only_above_every_other_band() -> None:
    def rows(low: float) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "model": "m",
                "steps": 1.0,
                "tokens": 1.0,
                "layer": [0, 1],
                "similarity": [0.9, 0.8],
                "low": [low, 0.7],
                "high": [0.95, 0.85],
                "null_high": 0.1,
            }
        )

    assert find_peaks(rows(0.86)).iloc[0][["layer", "clear"]].tolist() == [0, True]
    assert find_peaks(rows(0.84)).iloc[0][["layer", "clear"]].tolist() == [0, False]


def test_no_peak_is_a_table_of_the_same_kinds() -> None:
    """Chance level reaches 1 in a layer below the top one, so nothing was measured there."""
    training = pd.DataFrame(
        {
            **{"model": "m", "steps": 1.0, "tokens": 1.0, "layer": [0, 1]},
            **{"similarity": [0.9, 0.8], "low": 0.7, "high": 0.95, "null_high": [1.0, 0.2]},
        }
    )
    peaks = find_peaks(training)
    assert peaks.empty
    assert peaks[peaks["clear"]].columns.tolist() == peaks.columns.tolist()


def test_a_run_comes_nearer_to_its_own_end() -> None:
    spec = TrainingSpec(
        steps=("zoo:seed-0@step-0", "zoo:seed-0@step-3200"), sentences=20, words=100
    )
    result = STUDY.run(spec)
    assert few_sentences(20) in result.notices
    assert not result.failures
    first, last = (
        result.table[result.table["steps"] == steps].set_index("layer") for steps in (0, 3200)
    )
    other = result.tables["others"].set_index("layer")
    assert (last["similarity"] > first["similarity"]).all()
    assert (last["similarity"] > other["similarity"]).all(), (
        "its own end is nearer than another run's"
    )
    peaks = result.tables["peaks"].set_index("model")
    for model, rows in result.table.groupby("model"):
        peak = peaks.loc[model]
        assert rows["null_high"].max() - 0.02 < peak["null_most"] < peak["similarity"]
        room = 1 - peak["null_most"]
        assert peak["calibrated"] == pytest.approx((peak["similarity"] - peak["null_most"]) / room)
        assert rows["calibrated"].to_numpy() == pytest.approx(
            ((rows["similarity"] - rows["null_high"]) / (1 - rows["null_high"])).to_numpy()
        )
    assert result.tables["loss"]["loss"].is_monotonic_decreasing
    few = first_layers(result)
    assert set(few.table["layer"]) == {0, 6}
    assert set(few.tables["peaks"]["layer"]) <= {0, 6}
    drawn = figures(result)
    assert set(drawn) == {"training", "training-loss"}
    spec = drawn["training"].to_dict()
    # layers differ in their dashes, too
    assert spec["title"]["subtitle"].endswith("grey: another run's final model")
    words = spec["description"]
    assert all(f"layer {layer}: " in words for layer in range(7))
    assert "seed-1, layer 6: " in words
    top, made = 6, result.statements
    for verdict, rows in ((FIRST, first), (LAST, last), (OTHER_RUN, other)):
        said = stated(made, verdict)
        assert (said.layers, said.baseline) == ((top,), "zoo:seed-0")
        assert said.estimate == estimate_of(rows.loc[top], "similarity")
    assert stated(made, OTHER_RUN).subject == "zoo:seed-1"
    assert "Compared with" not in result.headline, "one other run says nothing of single layers"
    assert stated(made, LOSS_LAST).estimate == Estimate(
        result.tables["loss"]["loss"].iloc[1], kind="amount"
    )
    clear = result.tables["peaks"][result.tables["peaks"]["clear"]]
    nearest = {said.layers[0]: said.estimate for said in all_stated(made, NEAREST)}
    assert {
        layer: Estimate(float(len(rows)), kind="whole") for layer, rows in clear.groupby("layer")
    } == nearest
    assert bool(nearest) != bool(all_stated(made, NO_NEAREST))
    assert not unnamed(made, result.headline)


@pytest.mark.slow
def test_a_sentence_that_the_models_cannot_read_is_said_to_be_left_out(tmp_path: Path) -> None:
    sentences = [
        "unfathomable " * 300 + "long",
        *(f"The dog saw cat number {word}" for word in "abcdefgh"),
    ]
    text = tmp_path / "long.txt"
    text.write_text("\n".join(f"{sentence} ." for sentence in sentences), encoding="utf8")
    result = STUDY.run(TrainingSpec(steps=("zoo:seed-0@step-3200",), corpus=str(text), others=()))
    assert any("1 of 9 sentences was left out" in notice for notice in result.notices)


def test_the_headline_says_when_a_run_resembles_its_end_more_than_another_run_does() -> None:
    def rows(model: str, *tops: float) -> pd.DataFrame:
        steps = [f"{model}@step-{800 * number}" if len(tops) > 1 else model
                 for number in range(len(tops))]  # fmt: skip
        values = {"similarity": tops, "low": [top - 0.02 for top in tops],
                  "high": [top + 0.02 for top in tops], "null_high": 0.0}  # fmt: skip
        return pd.DataFrame({"model": steps, "layer": 6, **values})

    def said(*tops: float) -> str:
        tables = {
            "training": rows("zoo:seed-0", *tops),
            "others": rows("zoo:seed-1", 0.58),
            "peaks": pd.DataFrame({"layer": [6], "clear": [False]}),
            "loss": pd.DataFrame({"model": [], "loss": []}),
        }
        made = statements_of(tables, "zoo:seed-0")
        assert not unnamed(made, make_headline(made, "RSA", 2))
        return lead_of(make_headline(made, "RSA", 2))

    assert said(0.3, 0.52, 0.74, 0.9).startswith("It does between steps 800 and 1,600 of 12,300")
    assert "from .52 to .74 [.72, .76], past another run's (seed-1: .58)." in said(
        0.3, 0.52, 0.74, 0.9
    )
    assert said(0.7, 0.8).startswith("It does from step 0 on: ")
    assert said(0.3, 0.59).startswith("It does not until step 800: "), "within noise"


def test_the_direction_is_said_only_where_the_bands_lie_apart() -> None:
    low, middle, high = (Estimate(value, value - 0.05, value + 0.05) for value in (0.3, 0.34, 0.6))

    def said(start: Estimate, end: Estimate) -> str:
        return make_headline([Statement("a", FIRST, start), Statement("b", LAST, end)], "RSA", 2)

    assert "rises" in said(low, high)
    assert "falls" in said(high, low)
    assert not {"rises", "falls"} & set(said(low, middle).split())
    assert make_headline([], "RSA", 0) == ""

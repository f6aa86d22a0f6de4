"""Through training: a peak is clear or not, the end of a run is its own end."""

from __future__ import annotations

import pandas as pd
import pytest

from core.rsa.training.spec import TrainingSpec
from core.rsa.training.study import STUDY, figures, find_peaks


def test_a_peak_is_clear_only_above_every_other_band() -> None:
    def rows(low: float) -> pd.DataFrame:
        return pd.DataFrame(
            {"model": "m", "steps": 1.0, "tokens": 1.0, "layer": [0, 1], "similarity": [0.9, 0.8], "low": [low, 0.7],
             "high": [0.95, 0.85]}
        )  # fmt: skip

    assert find_peaks(rows(0.86)).iloc[0][["layer", "clear"]].tolist() == [0, True]
    assert find_peaks(rows(0.84)).iloc[0][["layer", "clear"]].tolist() == [0, False]


def test_a_run_comes_nearer_to_its_own_end() -> None:
    spec = TrainingSpec(steps=("zoo:seed-0@step-0", "zoo:seed-0@step-3200"), sentences=20, words=100, draws=20)
    result = STUDY.run(spec)
    assert not result.failures
    first, last = (result.table[result.table["steps"] == steps].set_index("layer") for steps in (0, 3200))
    other = result.tables["others"].set_index("layer")
    assert (last["similarity"] > first["similarity"]).all()
    assert (last["similarity"] > other["similarity"]).all(), "its own end is nearer than another run's"
    assert last["beyond"].to_numpy() == pytest.approx((last["similarity"] - other["similarity"]).to_numpy())
    assert result.tables["loss"]["loss"].is_monotonic_decreasing
    drawn = figures(result)
    assert set(drawn) == {"training", "training-loss"}
    words = drawn["training"].to_dict()["description"]
    assert all(f"layer {layer}: " in words for layer in range(7))
    assert "seed-1, layer 6: " in words
    assert "another run" in result.headline

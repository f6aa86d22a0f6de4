"""Through training: the order is training's, cards say how far it is, the end of a run is its own end."""

from __future__ import annotations

import pandas as pd
import pytest

from core.rsa.experiments.training import TrainingSpec, figures, find_peaks, find_steps, progress_of, run_study


def test_steps_come_in_the_order_of_training_without_the_end() -> None:
    steps = find_steps(TrainingSpec(steps=("zoo:seed-0@step-*", "zoo:seed-0")))
    assert [progress_of(ref)[0] for ref in steps] == [0, 50, 200, 800, 3200]
    assert "zoo:seed-0" not in steps


@pytest.mark.parametrize(
    ("ref", "steps"),
    [
        ("hub:EleutherAI/pythia-70m@step1000", 1000),
        ("hub:google/multiberts-seed_0-step_200k", 200_000),
        ("hub:someone/model", None),
    ],
)
def test_names_say_steps_where_no_card_does(ref: str, steps: int | None) -> None:
    assert progress_of(ref) == (steps, None, None)


def test_cards_of_the_box_say_tokens_and_loss() -> None:
    assert progress_of("zoo:seed-0@step-200") == (200, 409_600, pytest.approx(6.1747))


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
    result = run_study(spec)
    assert not result.failures
    first, last = (result.table[result.table["steps"] == steps].set_index("layer") for steps in (0, 3200))
    other = result.tables["others"].set_index("layer")
    assert (last["similarity"] > first["similarity"]).all()
    assert (last["similarity"] > other["similarity"]).all(), "its own end is nearer than another run's"
    assert last["beyond"].to_numpy() == pytest.approx((last["similarity"] - other["similarity"]).to_numpy())
    assert result.tables["loss"]["loss"].is_monotonic_decreasing
    assert set(figures(result)) == {"training", "training-loss"}
    assert "another run" in result.headline

"""A small class on one server: `make load` is the large one, and measures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.scenario import DOWNLOADS, TRAINED, quantile, run_class

SESSIONS = 5  # the fifth vanishes


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_class_meets_no_error_and_computes_one_study_once(tmp_path: Path) -> None:
    trained = {**TRAINED, "sentences": 40, "layers": [2], "methods": ["ridge", "mlp"]}
    report = run_class(tmp_path, SESSIONS, trained)
    assert report.errors == []
    assert report.computed == 1
    assert report.downloads == len(DOWNLOADS) * (SESSIONS - 1)
    assert len(report.first_figure) == SESSIONS
    assert len(report.same_view) == SESSIONS - 1


def test_quantiles_are_values_that_were_seen() -> None:
    seconds = [float(value) for value in range(1, 21)]
    assert quantile(seconds, 0.5) == 10
    assert quantile(seconds, 0.95) == 19
    assert quantile([3.0], 0.95) == 3

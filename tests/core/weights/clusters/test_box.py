"""The included fine-tunes: their updates tell their tasks."""

from __future__ import annotations

from typing import Any

import pytest

from core.models import zoo_models
from core.weights.clusters.members import fine_tunes
from core.weights.clusters.spec import WeightsSpec
from core.weights.clusters.study import STUDY
from core.weights.clusters.text import ABOVE, CHANCE
from core.weights.vectors.registry import VECTORS

pytestmark = pytest.mark.slow


def alike(entry: dict[str, Any]) -> bool:
    """Whether the model was trained as the other runs were: at the common rate, with no layer
    frozen."""
    return not entry.get("frozen") and (entry.get("dose") or 1.0) == 1.0


@pytest.mark.skipif(not zoo_models(), reason="there are no included models yet: make zoo")
def test_included_fine_tunes_of_one_task_are_neighbours() -> None:
    result = STUDY.run(WeightsSpec())
    tuned = [entry for entry in fine_tunes() if entry["base"] == "zoo:seed-0" and alike(entry)]
    assert not result.failures
    assert len(result.table) == len(tuned) >= 18
    assert result.tables["matrices"].groupby("model").size().eq(36).all()
    two = result.tables["vectors"].query("k == 2").set_index("vector")
    assert set(two.index) == set(VECTORS)
    assert two.loc[two["gauge_safe"], "p_value"].min() < 0.01
    assert two["chance"].between(0.1, 0.13).all()
    stated = {each.subject: each for each in result.statements if each.baseline == CHANCE}
    for vector, each in stated.items():
        assert each.estimate is not None
        assert each.estimate.value == two.loc[vector, "share"]
        assert each.named_in(result.headline)
    assert set(stated) == set(VECTORS)
    assert stated["projector"].verdict == ABOVE

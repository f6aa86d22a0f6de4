"""The box itself: what its real fine-tunes' weights give away, and what the original vector does not see."""

from __future__ import annotations

from typing import Any

import pytest

from core.models import zoo_models
from core.weights.clusters.members import fine_tunes
from core.weights.clusters.spec import WeightsSpec
from core.weights.clusters.study import STUDY
from core.weights.vectors.registry import VECTORS

pytestmark = pytest.mark.slow


def alike(entry: dict[str, Any]) -> bool:
    """Whether the model was trained as the other runs were: at the common rate, with no layer frozen."""
    return not entry.get("frozen") and (entry.get("dose") or 1.0) == 1.0


@pytest.mark.skipif(not zoo_models(), reason="the box has no models yet: make zoo")
def test_neighbours_in_the_box_share_their_task() -> None:
    result = STUDY.run(WeightsSpec())
    tuned = [entry for entry in fine_tunes() if entry["base"] == "zoo:seed-0" and alike(entry)]
    assert not result.failures
    assert len(result.table) == len(tuned) >= 18
    assert result.tables["matrices"].groupby("model").size().eq(36).all()
    two = result.tables["vectors"].query("k == 2").set_index("vector")
    assert set(two.index) == set(VECTORS)
    assert two.loc[two["gauge_safe"], "p_value"].min() < 0.01
    assert two["chance"].between(0.1, 0.13).all()
    assert f"Norms alone reach {100 * two.loc['norms', 'share']:.0f} %" in result.headline

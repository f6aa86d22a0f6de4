"""The space of an alignment: on a page, words move from before the map to after it."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from core.errors import SpecError
from core.results.drawing.context import Context
from core.results.drawing.maps import STAGE
from core.runs.process.drawing import draw
from core.studies.alignment.seeds.space import SLIDER, mapped_pairs, space_chart, space_charts

WORDS, MODELS = 5, ("zoo:seed-0", "zoo:seed-1")
PAGE = Context(moves=True)


def result_of(before: bool = True) -> Any:
    """Projections of one pair by ridge at one layer, without those before the map if asked."""
    rng = np.random.default_rng(0)
    shape = (2, 2, 1, WORDS, 2)
    source, target, mapped = (rng.standard_normal(shape) * size for size in (3, 1, 1))
    if not before:
        source[:] = np.nan
    arrays = {"source_points": source, "target_points": target, "mapped_points": mapped[None]}
    spec = {"models": MODELS, "methods": ("ridge",)}
    return SimpleNamespace(spec=spec, arrays=arrays, table={"layer": [6]})


def test_a_result_without_an_aligned_pair_has_no_space() -> None:
    assert MODELS in mapped_pairs(result_of())
    assert mapped_pairs(SimpleNamespace(spec={"models": MODELS}, arrays={})) == []  # type: ignore[arg-type]


def symbols(spec: dict[str, Any]) -> np.ndarray:
    """Where the points are drawn, of a plot 200 pixels wide."""
    text = draw("svg", json.dumps(spec | {"width": 200, "height": 200})).decode()
    found = re.findall(
        r'aria-roledescription="point" transform="translate\(([^,]+),([^)]+)\)', text
    )
    return np.array(found, dtype=float)


def at(spec: dict[str, Any], stage: float) -> np.ndarray:
    return symbols({**spec, "params": [{"name": STAGE, "value": stage}, *spec["params"][1:]]})


@pytest.mark.slow
def test_a_slider_moves_words_from_before_the_map_to_after_it_in_one_frame() -> None:
    result = result_of()
    before, after = (
        chart.to_dict() for chart in space_charts(result, *MODELS, "ridge", 6, context=PAGE)
    )
    assert "params" not in before
    assert after["params"][0] == {"name": STAGE, "value": 1, "bind": SLIDER}
    assert len(symbols(before)) == 2 * WORDS
    assert at(after, 0) == pytest.approx(symbols(before), abs=1e-6)
    moved = at(after, 1)
    assert at(after, 0.5) == pytest.approx((symbols(before) + moved) / 2, abs=1e-6)
    assert moved[WORDS:] == pytest.approx(symbols(before)[WORDS:], abs=1e-6)  # the target stays
    assert not np.allclose(moved[:WORDS], symbols(before)[:WORDS], atol=1)
    points = result.arrays["mapped_points"][0, 0, 1, 0]
    assert np.corrcoef(moved[:WORDS, 0], points[:, 0])[0, 1] == pytest.approx(1)


def test_words_do_not_move_in_a_file_nor_where_nothing_is_before_the_map() -> None:
    for chart in (
        *space_charts(result_of(), *MODELS, "ridge", 6),
        *space_charts(result_of(before=False), *MODELS, "ridge", 6, context=PAGE),
    ):
        assert "params" not in chart.to_dict()
        assert "slider" not in str(chart.to_dict()["title"])
    assert len(space_charts(result_of(before=False), *MODELS, "ridge", 6, context=PAGE)) == 1
    with pytest.raises(SpecError, match="not mapped"):
        space_chart(result_of(before=False), *MODELS, "ridge", 0, "source")

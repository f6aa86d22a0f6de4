"""Panels of the intruder experiment: models of one task can be told apart."""

from __future__ import annotations

import itertools

import pandas as pd

from core.results.drawing.context import PAGE
from core.results.export import Result
from core.studies.weights.intruders.charts import intruder_panels

REFS = ("zoo:parse-0", "zoo:parse-0-lora-8", "zoo:sentiment-0")


def test_models_of_one_colour_have_dashes_and_markers_of_their_own_in_the_legend() -> None:
    rows = [
        {"model": ref, "family": "query", "layer": layer, "intruders": 0, "null_mean": 0.0,
         "p_value": 1.0}
        for ref, layer in itertools.product(REFS, (0, 1))
    ]  # fmt: skip
    drawn = intruder_panels(
        Result("intruders", {}, "", {"intruders": pd.DataFrame(rows)}), context=PAGE
    )
    assert drawn.strip is not None
    marks = [layer["mark"] for layer in drawn.strip.to_dict()["layer"]]
    strokes = [mark for mark in marks if mark["type"] == "rule"][: len(REFS)]
    looks = [(mark["color"], tuple(mark["strokeDash"])) for mark in strokes]
    assert looks[0][0] == looks[1][0], "one task, one colour"
    assert len(set(looks)) == len(REFS)
    assert len({mark["shape"] for mark in marks if mark["type"] == "point"}) == len(REFS)

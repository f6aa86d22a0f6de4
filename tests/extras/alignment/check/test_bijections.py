"""The check's task: known bijections of a layer, and how well each map finds them."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ShapeError
from extras.alignment.check.study import check_bijections


def check(model: str, sentences, layer: int = 1):
    return check_bijections(
        model,
        "a",
        sentences,
        "words",
        "sentence",
        layer,
        ("coupling", "bend"),
        (0, 1, 4),
        ("identity", "ols", "lookup"),
        0,
    )


def test_the_check_is_exact_for_rotations_and_harder_with_every_block(models, sentences) -> None:
    value = check(models[0], sentences)
    for errors in value["ols/nmse"]:
        assert errors[0] < 1e-6
        assert errors[0] < errors[1] < errors[2]
    assert np.isnan(value["lookup/inverse"]).all()
    assert (
        value["lookup/nmse"][0] == value["lookup/nmse"][1]
    ).all()  # it reads no source, so no bend
    with pytest.raises(ShapeError, match="0 to 2; 9"):
        check(models[0], sentences, layer=9)

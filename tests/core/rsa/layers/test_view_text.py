"""Sentences of the RSA page's views on tables made by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from core.results.export import Result
from core.rsa.layers.view_text import curves_sentence, grid_sentence, text_differences, texts_sentence
from tests.core.rsa.layers.test_text import EMPTY, table


def result(similarity: pd.DataFrame = EMPTY, **tables: pd.DataFrame) -> Result:
    """A result with these tables."""
    spec: dict[str, Any] = {"base": "zoo:seed-0", "measure": "rsa", "matched_size": False}
    return Result(study="rsa", spec=spec, headline="In full.", tables={"similarity": similarity, **tables})


def two_texts(first: float, second: float, width: float) -> pd.DataFrame:
    """One model at two layers on two texts; layer 1 differs."""
    return pd.concat(
        [
            table(width=width, nli_0=[0.9, first]).assign(corpus="demo"),
            table(width=width, nli_0=[0.9, second]).assign(corpus="demo (legal)"),
        ],
        ignore_index=True,
    )


def test_curves_in_short() -> None:
    curves = table(parse_0=[0.99, 0.8, 0.6], nli_0=[0.99, 0.95, 0.7])
    assert curves_sentence(result(curves)) == (
        "parse-0 changes layers from 1 up (RSA .60 [.56, .64] at layer 2); nli-0 only the top layer (.70 [.66, .74])."
    )


def test_another_seed_and_unequal_weight_changes_stay_in_sight() -> None:
    curves = table(parse_0=[0.99, 0.6], nli_0=[0.99, 0.7])
    curves["apart"] = 0.1
    curves["relative_change"] = [0.3, 0.3, 0.1, 0.1]
    said = curves_sentence(result(curves, references=table(seed_1=[0.9, 0.55])))
    assert "Another seed: .55." in said  # at layer 1, which was named
    assert "Weight changes differ: .10 to .30." in said


def test_texts_that_differ_are_said_to_with_a_band() -> None:
    said = texts_sentence(result(domains=two_texts(0.5, 0.8, width=0.04)))
    assert said.startswith("The texts differ at 1 of 2 points, most for nli-0 at layer 1: .30 [.2")
    assert said.endswith("more similar on demo (legal) than on demo.")


def test_texts_that_may_be_alike_are_not_said_to_differ() -> None:
    said = texts_sentence(result(domains=two_texts(0.5, 0.54, width=0.04)))
    assert said.startswith(
        "The texts are not shown to differ at any layer: the largest difference, nli-0 at layer 1, is .040 [−"
    )


def test_the_band_of_a_difference_is_that_of_two_samples_widened_for_two_looks() -> None:
    pairs = text_differences(two_texts(0.5, 0.8, width=0.04)).set_index("layer")
    half = 0.04 * 2**0.5 * 2.2414 / 1.95996  # quantiles of 1 - .05 / 4 and 1 - .05 / 2
    assert pairs.loc[1, "difference"] == pytest.approx(0.3)
    assert pairs.loc[1, "low"] == pytest.approx(0.3 - half, abs=1e-4)
    assert pairs.loc[1, "high"] == pytest.approx(0.3 + half, abs=1e-4)


def test_a_layer_that_is_most_like_another_layer_is_named() -> None:
    rows = [
        ("zoo:nli-0", base, layer, 0.9 if base == min(layer, 1) else 0.3) for base in range(3) for layer in range(3)
    ]
    grid = pd.DataFrame(rows, columns=["model", "base_layer", "layer", "similarity"])
    assert grid_sentence(result(grid=grid)) == (
        "1 of 3 layers of nli-0 are most like another layer of seed-0: layer 2 like 1 (.90, against .30 with its own)."
    )

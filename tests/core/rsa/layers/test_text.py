"""The headline on tables made by hand: nothing changed, everything changed, one model, many, yardsticks, holes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.rsa.layers.spec import RsaSpec
from core.rsa.layers.text import (
    RULE,
    changed_layers,
    layers_in_words,
    make_headline,
    make_methods,
    uncertain_layers,
)

BAND = ["low", "high", "null_low", "null_high"]
COLUMNS = ["model", "layer", "similarity", *BAND, "relative_change", "apart", "scaled", "runs"]


def table(null: float = 0.01, width: float = 0.04, **curves: Any) -> pd.DataFrame:
    """A study's table from curves by model name; bands are similarity -+ width, capped at 1."""
    rows = [
        [
            f"zoo:{model.replace('_', '-')}",
            layer,
            value,
            value - width,
            min(1.0, value + width),
            -null,
            null,
            np.nan,
            np.nan,
            1.0,
            1,
        ]
        for model, curve in curves.items()
        for layer, value in enumerate(curve)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


EMPTY = table()


def test_the_issue_s_own_example() -> None:
    curves = table(
        parse_0=[0.99, 0.95, 0.85, 0.8, 0.7, 0.66, 0.61], sentiment_0=[1.0, 0.99, 0.98, 0.98, 0.97, 0.8, 0.7]
    )
    assert make_headline(curves, EMPTY, "rsa", "zoo:seed-0") == (
        "parse-0 changes every layer from 2 up (RSA .61 [.57, .65] at layer 6); "
        "sentiment-0 changes only the top two layers (.70 [.66, .74] at layer 6)." + RULE
    )


def test_nothing_changed() -> None:
    curves = table(twin_0=[1.0, 0.99, 0.98], width=0.005)
    assert make_headline(curves, EMPTY, "cka", "zoo:seed-0") == (
        "twin-0 changes no layer (lowest linear CKA .98 [.97, .98] at layer 2)." + RULE
    )


def test_everything_changed_down_to_the_null() -> None:
    curves = table(other_0=[0.5, 0.3, 0.01], width=0.02)
    assert make_headline(curves, EMPTY, "rsa", "zoo:seed-0") == (
        "other-0 changes every layer (RSA .01 [−.01, .03] at layer 2, no closer than sentences paired at random)."
        + RULE
    )


def test_a_yardstick_gives_the_scale() -> None:
    yardsticks = table(seed_1=[0.7, 0.6, 0.5])
    random = table(x=[0.1, 0.1, 0.1]).assign(model="random:zoo:seed-0")
    curves = table(nli_0=[1.0, 0.9, 0.6])
    expected = (
        "nli-0 changes only the top layer for certain (RSA .60 [.56, .64] at layer 2)."
        + RULE
        + " For scale, seed-0 and seed-1 score .50 at layer 2."
    )
    assert make_headline(curves, pd.concat([random, yardsticks]), "rsa", "zoo:seed-0") == expected
    assert "scale" not in make_headline(curves, random, "rsa", "zoo:seed-0")
    assert "scale" not in make_headline(curves, yardsticks[yardsticks["layer"] < 2], "rsa", "zoo:seed-0")


def test_many_models_are_counted() -> None:
    few: dict[str, Any] = {f"m_{number}": [1.0, 0.6] for number in range(4)}
    both = table(**few, a_0=[1.0, 0.5], b_0=[1.0, 1.0])
    assert make_headline(both, EMPTY, "rsa", "zoo:s").endswith("of the other 2 models 1 changes a layer." + RULE)
    all_of_them, none = table(**few, a_0=[1.0, 0.5], b_0=[1.0, 0.5]), table(**few, a_0=[1.0, 1.0], b_0=[1.0, 1.0])
    assert make_headline(all_of_them, EMPTY, "rsa", "zoo:s").endswith("the other 2 models all change a layer." + RULE)
    assert make_headline(none, EMPTY, "rsa", "zoo:s").endswith("the other 2 models none change a layer." + RULE)
    five = make_headline(table(**few, a_0=[1.0, 0.5]), EMPTY, "rsa", "zoo:s")
    assert five.endswith("a-0 changes only the top layer (.50 [.46, .54] at layer 1)." + RULE)


def test_holes() -> None:
    assert make_headline(EMPTY, EMPTY, "rsa", "zoo:seed-0").startswith("No model could be compared")
    nothing = table(m_0=[0.5, 0.5])
    nothing.loc[:, COLUMNS[2:7]] = np.nan
    assert (
        make_headline(nothing, table(seed_1=[0.5, 0.5]), "rsa", "zoo:s")
        == "m-0 has no layer that can be compared." + RULE
    )
    part = table(m_0=[0.5, 0.5, 0.99])
    part.loc[0, COLUMNS[2:7]] = np.nan
    assert (
        make_headline(part, EMPTY, "rsa", "zoo:s") == "m-0 changes only layer 1 (RSA .50 [.46, .54] at layer 1)." + RULE
    )
    bandless = table(m_0=[0.5, 0.4])
    bandless.loc[:, ["low", "high"]] = np.nan
    assert make_headline(bandless, EMPTY, "rsa", "zoo:s") == "m-0 changes no layer (lowest RSA .40 at layer 1)." + RULE


def test_changed_follows_the_null() -> None:
    """.91 is changed where unrelated spaces score .40, and not where they score 0."""
    assert changed_layers(table(m=[0.91], null=0.40, width=0.01)) == [0]
    assert changed_layers(table(m=[0.91], null=0.0, width=0.01)) == []
    assert changed_layers(table(m=[0.89], null=0.0, width=0.02)) == []
    assert changed_layers(table(m=[0.89], null=0.0, width=0.001)) == [0]


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ([], "no layer"),
        ([0, 1, 2, 3, 4, 5, 6], "every layer"),
        ([6], "only the top layer"),
        ([5, 6], "only the top two layers"),
        ([4, 5, 6], "only the top three layers"),
        ([3, 4, 5, 6], "every layer from 3 up"),
        ([1, 2, 3, 4, 5, 6], "every layer from 1 up"),
        ([2], "only layer 2"),
        ([2, 3, 4], "layers 2 to 4"),
        ([2, 3], "layers 2 and 3"),
        ([1, 3, 6], "layers 1, 3 and 6"),
    ],
)
def test_layers_in_words(changed: list[int], text: str) -> None:
    assert layers_in_words(changed, range(7)) == text


def test_a_threshold_inside_the_band_below_is_about() -> None:
    """.92 -+ .04 holds the threshold of .90: whether layer 1 changed is not known."""
    curves = table(m_0=[1.0, 0.92, 0.7, 0.6])
    assert uncertain_layers(curves) == [1]
    assert "changes every layer from about 2 up" in make_headline(curves, EMPTY, "rsa", "zoo:s")
    assert "changes only the top two layers" not in make_headline(curves, EMPTY, "rsa", "zoo:s")
    assert "changes no layer for certain" in make_headline(table(m_0=[1.0, 0.92]), EMPTY, "rsa", "zoo:s")
    assert layers_in_words([2, 3], range(4), [0]) == "every layer from 2 up", "another layer says nothing of this one"


def test_the_rule_stands_in_words_and_sizes_beside_names() -> None:
    assert RULE.endswith("more than 10 % of the way to sentences paired at random.")
    curves = table(parse_0=[1.0, 0.5]).assign(relative_change=0.209)
    said = make_headline(curves, EMPTY, "rsa", "zoo:s")
    assert said.startswith("parse-0 (weight change .21) changes only the top layer")
    matched = make_headline(curves.assign(scaled=0.25), EMPTY, "rsa", "zoo:s")
    assert matched.startswith("parse-0 (weight change .21, scaled to .05) changes")
    pooled = make_headline(curves.assign(runs=3, model="zoo:parse-*"), EMPTY, "rsa", "zoo:s")
    assert pooled.startswith("parse-* (3 runs, weight change .21) changes")


def test_methods_say_what_was_done() -> None:
    text = make_methods(RsaSpec("zoo:a", ("zoo:b",), standardise=True, drop_rogue=3), ["zoo:b"], 1000, 200)
    for part in ("zoo:a", "zoo:b", "cosine", "Pearson", "1,000 words from 200 sentences", "500 bootstrap", "3 dim"):
        assert part in text
    assert "standardised" in text
    ranks = make_methods(RsaSpec("zoo:a", ("zoo:b",), comparison="spearman", items="mean"), ["zoo:b"], 200, 200)
    assert "Ranks are those of the full sample" in ranks
    assert "200 sentence means" in ranks
    canonical = make_methods(RsaSpec("zoo:a", ("zoo:b",), measure="svcca", items="cls"), ["zoo:b"], 30, 30)
    assert "jackknife that leaves out one of 30 groups" in canonical
    assert "200 [CLS]" in make_methods(RsaSpec("zoo:a", ("zoo:b",), items="cls"), ["zoo:b"], 200, 200)

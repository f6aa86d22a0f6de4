"""Statements and headline of tables made by hand: no difference, every layer, one model, many,
references, holes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.results.estimates import Estimate
from core.results.statements import Statement
from core.studies.rsa.layers.differences import (
    AT_CHANCE,
    COMPARED,
    DIFFERS,
    LOWEST,
    MAY_DIFFER,
    NO_DIFFERENCE,
    REFERENCE,
    RUNS,
    SCALED,
    THRESHOLD,
    UNMEASURED,
    WEIGHT_CHANGE,
    differing_layers,
    place_in_words,
    statements_of,
    uncertain_layers,
)
from core.studies.rsa.layers.notice_text import (
    RULE,
    items_in_words,
    jackknife_in_words,
    make_methods,
    said,
)
from core.studies.rsa.layers.spec import RsaSpec
from core.studies.rsa.layers.text import MOST_NAMED, make_headline, summarise
from tests.core.studies.rsa.facts import all_stated, stated, unnamed

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


def statements(curves: pd.DataFrame, references: pd.DataFrame = EMPTY) -> tuple[Statement, ...]:
    return statements_of(curves, references, "zoo:seed-0")


def about(made: tuple[Statement, ...], model: str) -> dict[str, tuple[int, ...]]:
    """Layers by verdict, of one model."""
    return {each.verdict: each.layers for each in made if each.subject == model}


def test_each_model_is_stated_with_its_layers_and_its_lowest_similarity() -> None:
    curves = table(
        parse_0=[0.99, 0.95, 0.85, 0.8, 0.7, 0.66, 0.61],
        sentiment_0=[1.0, 0.99, 0.98, 0.98, 0.97, 0.8, 0.7],
    )
    made = statements(curves)
    assert about(made, "zoo:parse-0") == {
        COMPARED: tuple(range(7)), DIFFERS: (2, 3, 4, 5, 6), LOWEST: (6,),
    }  # fmt: skip
    assert about(made, "zoo:sentiment-0") == {
        COMPARED: tuple(range(7)),
        DIFFERS: (5, 6),
        LOWEST: (6,),
    }
    lowest = stated(made, LOWEST, "zoo:parse-0").estimate
    assert lowest is not None
    assert (lowest.value, lowest.low, lowest.high) == pytest.approx((0.61, 0.57, 0.65))
    assert {each.baseline for each in made} == {"zoo:seed-0"}
    assert not unnamed(made, make_headline(made, "RSA"))


def test_nothing_differs() -> None:
    made = statements(table(twin_0=[1.0, 0.99, 0.98], width=0.005))
    assert about(made, "zoo:twin-0") == {COMPARED: (0, 1, 2), NO_DIFFERENCE: (), LOWEST: (2,)}
    assert not unnamed(made, make_headline(made, "linear CKA"))


def test_everything_differs_down_to_chance_level() -> None:
    made = statements(table(other_0=[0.5, 0.3, 0.01], width=0.02))
    assert about(made, "zoo:other-0") == {COMPARED: (0, 1, 2), DIFFERS: (0, 1, 2), AT_CHANCE: (2,)}
    assert not unnamed(made, make_headline(made, "RSA"))


def test_another_seed_is_stated_at_the_layer_that_differs_most() -> None:
    seeds, curves = table(seed_1=[0.7, 0.6, 0.5]), table(nli_0=[1.0, 0.95, 0.6])
    random = table(x=[0.1, 0.1, 0.1]).assign(model="random:zoo:seed-0")
    made = statements(curves, pd.concat([random, seeds]))
    reference = stated(made, REFERENCE)
    assert (reference.subject, reference.layers) == ("zoo:seed-1", (2,))
    assert reference.estimate is not None
    assert reference.estimate.value == 0.5
    assert reference.named_in(summarise(made))
    assert not all_stated(statements(curves, random), REFERENCE)
    assert not all_stated(statements(curves, seeds[seeds["layer"] < 2]), REFERENCE)


def test_only_so_many_models_are_named_and_the_rest_are_counted() -> None:
    few: dict[str, Any] = {f"m_{number}": [1.0, 0.6] for number in range(MOST_NAMED)}
    for last, count in ((0.5, "2"), (1.0, "1")):
        made = statements(table(**few, a_0=[1.0, 0.5], b_0=[1.0, last]))
        assert sum(each.verdict == DIFFERS for each in made) == MOST_NAMED + int(count)
        rest = make_headline(made, "RSA").removeprefix(summarise(made)).rpartition("; ")[2]
        assert rest.startswith(f"{count} of the other 2 ")
    five = statements(table(**few, a_0=[1.0, 0.5]))
    assert not unnamed(five, make_headline(five, "RSA"))


def test_the_least_similar_model_is_singled_out_only_where_its_band_lies_apart() -> None:
    apart = statements(table(a_0=[1.0, 0.3], b_0=[1.0, 0.5]))
    near = statements(table(a_0=[1.0, 0.46], b_0=[1.0, 0.5]))
    assert "a-0 most" in summarise(apart)
    assert "most" not in summarise(near)
    for made in (apart, near):
        assert min(all_stated(made, LOWEST), key=lambda each: each.estimate.value).named_in(
            summarise(made)
        )


def test_models_that_differ_in_other_layers_are_counted_and_not_lumped_together() -> None:
    made = statements(table(a_0=[1.0, 0.6, 0.3], b_0=[1.0, 1.0, 0.6], c_0=[1.0, 1.0, 1.0]))
    assert [about(made, f"zoo:{name}-0").get(DIFFERS) for name in "abc"] == [(1, 2), (2,), None]
    assert summarise(made).startswith("2 of 3 models")


def test_holes() -> None:
    assert statements(EMPTY) == ()
    assert make_headline((), "RSA") == summarise(()) == ""
    nothing = table(m_0=[0.5, 0.5])
    nothing.loc[:, COLUMNS[2:7]] = np.nan
    made = statements(nothing, table(seed_1=[0.5, 0.5]))
    assert made == (Statement("zoo:m-0", UNMEASURED, baseline="zoo:seed-0"),)
    assert "m-0" in summarise(made)
    part = table(m_0=[0.5, 0.5, 0.99])
    part.loc[0, COLUMNS[2:7]] = np.nan
    assert about(statements(part), "zoo:m-0") == {COMPARED: (1, 2), DIFFERS: (1,), LOWEST: (1,)}
    both = statements(pd.concat([part, nothing.assign(model="zoo:n-0")]))
    assert stated(both, UNMEASURED).subject == "zoo:n-0"
    assert "n-0" in make_headline(both, "RSA")
    bandless = table(m_0=[0.5, 0.4])
    bandless.loc[:, ["low", "high"]] = np.nan
    assert about(statements(bandless), "zoo:m-0") == {
        COMPARED: (0, 1),
        NO_DIFFERENCE: (),
        LOWEST: (1,),
    }
    assert not unnamed(statements(bandless), summarise(statements(bandless)))


def test_what_differs_follows_chance_level() -> None:
    """.91 differs where unrelated spaces score .40, and not where they score 0."""
    assert differing_layers(table(m=[0.91], null=0.40, width=0.01)) == [0]
    assert differing_layers(table(m=[0.91], null=0.0, width=0.01)) == []
    assert differing_layers(table(m=[0.89], null=0.0, width=0.02)) == []
    assert differing_layers(table(m=[0.89], null=0.0, width=0.001)) == [0]


@pytest.mark.parametrize(
    ("differing", "text"),
    [
        ([], "in no layer"),
        ([0, 1, 2, 3, 4, 5, 6], "in every layer"),
        ([6], "only in the top layer"),
        ([5, 6], "only in the top two layers"),
        ([4, 5, 6], "only in the top three layers"),
        ([3, 4, 5, 6], "from layer 3 upward"),
        ([1, 2, 3, 4, 5, 6], "from layer 1 upward"),
        ([2], "only in layer 2"),
        ([2, 3, 4], "in layers 2 to 4"),
    ],
)
def test_place_in_words(differing: list[int], text: str) -> None:
    assert place_in_words(differing, range(7)) == text
    assert "only" not in place_in_words(differing, range(7), only=False)


def test_a_threshold_inside_a_band_leaves_open_whether_the_layer_differs() -> None:
    """.92 -+ .04 contains the threshold of .90: whether layer 1 differs is not known."""
    curves = table(m_0=[1.0, 0.92, 0.6])
    assert uncertain_layers(curves) == [1]
    made = statements(curves)
    assert stated(made, DIFFERS).layers == (2,)
    assert stated(made, MAY_DIFFER).layers == (1,)
    assert "only" not in summarise(made)
    assert "only" in summarise(statements(table(m_0=[1.0, 1.0, 0.6])))
    alone = statements(table(m_0=[1.0, 0.92]))
    assert stated(alone, MAY_DIFFER).layers == (1,)
    assert stated(alone, NO_DIFFERENCE).layers == ()


def test_sizes_and_runs_are_stated_and_named() -> None:
    assert f"{100 * THRESHOLD:.0f} %" in RULE
    assert "not corrected for the number of layers and models" in RULE
    curves = table(parse_0=[1.0, 0.5]).assign(relative_change=0.209)
    made = statements(curves)
    # as text: an estimate without an interval has NaN, which equals nothing from Python 3.13 on
    assert repr(stated(made, WEIGHT_CHANGE).estimate) == repr(Estimate(0.209))
    assert not all_stated(made, SCALED)
    matched = statements(curves.assign(scaled=0.25))
    assert repr(stated(matched, SCALED).estimate) == repr(Estimate(0.209 * 0.25))
    pooled = statements(curves.assign(runs=3, model="zoo:parse-*"))
    assert stated(pooled, RUNS).estimate == Estimate(3.0, kind="whole")
    for each in (made, matched, pooled):
        assert not unnamed(each, make_headline(each, "RSA"))


def test_methods_say_what_was_done() -> None:
    spec = RsaSpec("zoo:a", ("zoo:b",), standardise=True, drop_rogue=3)
    text = make_methods(spec, ["zoo:b"], 1000, 200)
    for part in (
        "zoo:a",
        "zoo:b",
        items_in_words(spec, 1000, 200),
        "50 groups",
        "3",
        said("standardised"),
        said("null"),
        RULE,
    ):
        assert part in text
    assert "1,000" in items_in_words(spec, 1000, 200)
    ranked = RsaSpec("zoo:a", ("zoo:b",), comparison="spearman", items="mean")
    ranks = make_methods(ranked, ["zoo:b"], 200, 200)
    assert said("ranks") in ranks
    assert said("ranks") not in text
    assert items_in_words(ranked, 200, 200) in ranks
    canonical = make_methods(
        RsaSpec("zoo:a", ("zoo:b",), measure="svcca", items="cls"), ["zoo:b"], 30, 30
    )
    assert jackknife_in_words(30) in canonical
    assert "30" in jackknife_in_words(30)
    assert jackknife_in_words(500) == jackknife_in_words(5000), "at most 50 groups"

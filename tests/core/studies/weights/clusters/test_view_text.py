"""Sentences of the views: the facts that they state, and that they give their numbers."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from core.results.estimates import Estimate
from core.results.export import Result
from core.results.statements import Statement
from core.studies.weights.clusters import view_text as views
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.text import (
    CLOSER,
    DIFFERENT,
    OF_DISTANCES,
    PAIRS,
    SAME,
    state_distances,
    statements_of,
)
from core.studies.weights.ranks import BENDS, FALLS, NO_TREND, OF_RANKS, OF_TRENDS, RISES
from tests.core.studies.weights.clusters.test_text import SHARES, percents, ranks, scored

MODELS = ["zoo:a-0", "zoo:a-1", "zoo:b-0", "zoo:b-1"]
DISTANCES = {(0, 1): 0.2, (0, 2): 0.8, (0, 3): 0.6, (1, 2): 0.9, (1, 3): 0.7, (2, 3): 0.65}


def trend(family: str, kind: str, *coefficients: float) -> dict[str, object]:
    return {"of": "delta", "family": family, "kind": kind, "coefficients": list(coefficients)}


def result(p_value: float = 0.012, vector: str = "projector", smallest_p: float = 0.001) -> Result:
    pairs = [(MODELS[one], MODELS[two], away) for (one, two), away in DISTANCES.items()]
    trends = [
        trend("query", "constant", 5.0),
        trend("key", "linear", 9.0, -1.0),
        trend("value", "linear", 2.0, 1.0),
        trend("ff1", "quadratic", 2.0, 1.0, -1.0),
        trend("ff2", "constant", 9.0),
    ]
    spec, shares = WeightsSpec(vector=vector), scored(p_value, norms_p=0.001, smallest_p=smallest_p)
    models = pd.DataFrame({"model": MODELS, "label": ["a", "a", "b", "b"], "predicted": None})
    tables = {
        "models": models,
        "vectors": shares.vectors,
        "votes": shares.votes,
        "predictions": pd.DataFrame({"model": MODELS}),
        "distances": pd.DataFrame(pairs, columns=["model", "other", vector]),
        "ranks": ranks([10, 20, 40], [20, 80, 80]),
        "doses": pd.DataFrame(columns=["model", "vector", "lies_with"]),
        "trends": pd.DataFrame(trends),
    }
    return Result(
        study="weights",
        spec=spec.plain(),
        headline="",
        tables=tables,
        arrays={"k": np.array(2)},
        statements=statements_of(spec, shares, tables),
    )


def stated(result: Result, verdicts: tuple[str, ...]) -> list[Statement]:
    return [each for each in result.statements if each.verdict in verdicts]


def test_the_first_view_says_for_how_many_models_the_vote_is_right() -> None:
    said = views.votes_sentence(result())
    assert "names the task of 7 of 9 models" in said
    assert {"1.1", "3"} <= set(re.findall(r"[\d.]*\d", said))
    few = result(p_value=1 / 3, smallest_p=1 / 3)
    assert views.votes_sentence(few) == ""


@pytest.mark.parametrize("p_value", [0.012, 0.8])
def test_the_map_gives_the_share_chance_and_what_size_alone_gives(p_value: float) -> None:
    shares = {round(100 * SHARES[name]) for name in ("projector", "norms")}
    assert percents(views.map_sentence(result(p_value))) == shares | {12}
    assert views.map_sentence(result(0.012)) != views.map_sentence(result(0.8))


def test_a_vector_other_than_the_usual_one_is_named() -> None:
    assert "delta" in views.map_sentence(result(vector="delta"))
    norms = views.map_sentence(result(vector="norms"))
    assert percents(norms) == {round(100 * SHARES["norms"]), 12}


def test_too_few_models_make_no_claim() -> None:
    few = result(1 / 3, smallest_p=1 / 3)
    for sentence in (views.map_sentence(few), views.neighbours_sentence(few)):
        assert "4 models" in sentence
    assert ".33" in views.map_sentence(few)


def test_every_vector_is_on_its_side_of_significance() -> None:
    above = views.neighbours_sentence(result(0.8))  # norms alone is significant
    first, _, rest = above.partition("norms (51 %)")
    assert rest.count(",") + rest.count(" and ") == len(SHARES) - 1
    assert first.startswith("The two nearest share a task beyond chance (12 %) by ")
    assert percents(above) == {12, 51}


def test_pairs_with_one_label_are_compared_with_the_others() -> None:
    facts = stated(result(), OF_DISTANCES)
    assert [each.verdict for each in facts[:2]] == [SAME, DIFFERENT]
    values = [each.number.value for each in facts]
    assert values == pytest.approx([(0.2 + 0.65) / 2, (0.8 + 0.6 + 0.9 + 0.7) / 4, 2, 1])
    sentence = views.distances_sentence(result())
    assert all(each.named_in(sentence) for each in facts)


def test_pairs_count_in_any_order_of_their_names_and_only_with_two_labels() -> None:
    """Models stand in the order in which they were chosen, and b-1 has no label."""
    models = pd.DataFrame({"model": MODELS[::-1], "label": ["", "b", "a", "a"]})
    pairs = [(MODELS[two], MODELS[one], away) for (one, two), away in DISTANCES.items()]
    table = pd.DataFrame(pairs, columns=["model", "other", "delta"])
    made = [each.number.value for each in state_distances("delta", models, table)]
    assert made == pytest.approx([0.2, (0.8 + 0.9) / 2, 1, 1])
    without = models.assign(label=["", "", "a", "b"])
    assert state_distances("delta", without, table) == (), "no label is no label in common"


def test_trends_have_a_direction() -> None:
    trends = {each.subject: each.verdict for each in stated(result(), OF_TRENDS)}
    assert trends == {
        "query": NO_TREND, "key": FALLS, "value": RISES, "ff1": BENDS, "ff2": NO_TREND,
    }  # fmt: skip
    sentence = views.depth_sentence(result())
    assert "3 of 5" in sentence
    assert "no test" in sentence
    assert "p =" not in sentence
    assert "query" not in sentence
    assert "second feed-forward" not in sentence
    assert percents(sentence) == {50}
    constant = [
        replace(each, verdict=NO_TREND) if each.verdict in OF_TRENDS else each
        for each in result().statements
    ]
    flat = replace(result(), statements=tuple(constant))
    assert "no trend over depth in any family" in views.depth_sentence(flat)


def test_without_numbers_there_is_no_sentence() -> None:
    empty = result()
    bare = {**empty.tables, "vectors": empty.tables["vectors"].iloc[:0]}
    bare |= {
        "ranks": empty.tables["ranks"].iloc[:0],
        "distances": empty.tables["distances"].iloc[:0],
    }
    nothing = Result(
        study="weights", spec=empty.spec, headline="", tables=bare, arrays=empty.arrays
    )
    for sentence in (
        *(views.map_sentence, views.neighbours_sentence),
        *(views.distances_sentence, views.depth_sentence),
    ):
        assert sentence(nothing) == ""


def test_the_views_are_written_from_what_the_result_states() -> None:
    made = result()
    emptied = {name: made.tables[name].iloc[:0] for name in ("ranks", "trends", "distances")}
    without = made.with_tables(**emptied)
    of_views = (*OF_RANKS, *OF_TRENDS, *OF_DISTANCES)
    headline = tuple(each for each in made.statements if each.verdict not in of_views)
    earlier = replace(made, statements=headline)  # an earlier version stated nothing else
    for sentence in (views.distances_sentence, views.depth_sentence):
        assert sentence(without) == sentence(made) == sentence(earlier) != ""


def test_many_pairs_of_one_label_are_counted_alike() -> None:
    """Both numbers have a comma from 1,000 pairs, so that all of them are said to be all."""
    made = result()
    of_many = tuple(
        replace(each, estimate=Estimate(1200.0, kind="whole"))
        if each.verdict in (PAIRS, CLOSER)
        else each
        for each in made.statements
    )
    assert "All 1,200 pairs" in views.distances_sentence(replace(made, statements=of_many))

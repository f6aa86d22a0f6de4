"""Statements hold the numbers of the tables and claim nothing more; headlines give these
numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.maths.spectra.registry import VECTORS
from core.maths.statistics import SIGNIFICANT
from core.results.statements import Statement
from core.studies.weights.clusters import text
from core.studies.weights.clusters.doses import COLUMNS, VERDICT_OF_GROUP
from core.studies.weights.clusters.members import Member
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.tables import VOTES, Scored
from core.studies.weights.clusters.text import (
    make_headline,
    make_methods,
    statements_of,
)
from core.studies.weights.ranks import LOWER, NOT_LOWER, Spectra, state_ranks

SPEC = WeightsSpec(vector="projector", permutations=100)
SHARES = {name: 0.31 + 0.1 * place for place, name in enumerate(VECTORS)}
NO_DOSES = pd.DataFrame(columns=COLUMNS)
NO_VOTES = pd.DataFrame(columns=list(VOTES))
NONE = Scored(0, pd.DataFrame(), pd.DataFrame(), np.zeros(2, dtype=int), {}, (), NO_VOTES)


def scored(
    p_value: float = 0.012, norms_p: float = 0.4, smallest_p: float = 0.001, k: int = 2
) -> Scored:
    rows = [
        {
            "vector": name,
            "k": number,
            "share": SHARES[name] if number == k else 0.99,
            "chance": 0.12,
            "p_value": norms_p if name == "norms" else p_value,
            "smallest_p": smallest_p,
        }
        for name in VECTORS
        for number in (1, 2, 3)
    ]
    predictions: dict[int, Any] = dict.fromkeys(range(9))
    votes = [("projector", k, 7, 9, 1.13, p_value), ("norms", k, 3, 9, 1.13, norms_p)]
    return Scored(
        *(k, pd.DataFrame(), pd.DataFrame(rows), np.zeros(9, dtype=int), predictions, ()),
        pd.DataFrame(votes, columns=list(VOTES)),
    )


def ranks(ranked: list[float], null: list[float], of: str = "delta") -> pd.DataFrame:
    return pd.DataFrame({"threshold": SPEC.threshold, "of": of, "rank": ranked, "null_rank": null})


def members(*recipes: str) -> list[Member]:
    return [
        Member(f"zoo:m{place}", "zoo:base", recipe=recipe) for place, recipe in enumerate(recipes)
    ]


def stated(
    result: Scored, doses: pd.DataFrame = NO_DOSES, spec: WeightsSpec = SPEC, **more: Any
) -> tuple[Statement, ...]:
    tables = {
        "ranks": more.get("ranks", ranks([], [])),
        "doses": doses,
        "models": pd.DataFrame({"model": [], "label": []}),
        "trends": pd.DataFrame(columns=["of", "family", "kind", "coefficients"]),
        "distances": pd.DataFrame(columns=["model", "other"]),
    }
    return statements_of(spec, result, tables)


def headline(result: Scored, doses: pd.DataFrame = NO_DOSES, **more: Any) -> str:
    statements = stated(result, doses, **more)
    return make_headline(SPEC, statements, result, more.get("members", members("r", "r")))


def shares_of(statements: tuple[Statement, ...]) -> dict[str, float]:
    """The share that is stated of each vector."""
    return {
        each.subject: each.estimate.value
        for each in statements
        if each.baseline == text.CHANCE and each.estimate is not None
    }


def percents(sentence: str) -> set[int]:
    return {int(number) for number in re.findall(r"(\d+) %", sentence)}


def test_shares_are_those_at_the_chosen_k_for_every_vector() -> None:
    for result in (scored(), scored(k=3)):
        statements = stated(result)
        assert shares_of(statements) == SHARES
        assert statements[0].subject == SPEC.vector
        sentence = headline(result)
        assert all(each.named_in(sentence) for each in statements)
        assert percents(sentence) == {round(100 * share) for share in SHARES.values()} | {12}


def test_the_vote_is_the_first_sentence_beside_chance_and_the_size_of_the_update() -> None:
    vote, size = (each for each in stated(scored()) if each.verdict == text.VOTED)
    assert (vote.subject, vote.number.value, vote.baseline) == ("projector", 7, "9 models")
    assert (size.subject, size.number.value) == ("norms", 3)
    first = headline(scored()).partition(". ")[0]
    assert re.search(r"\bthe task of 7 of 9 models\b", first)
    assert "(chance 1.1 models, p = .012)" in first
    assert first.endswith("by the size of the update alone it names 3")
    assert "not detectably more than by chance (1.1 models, p = .8)" in headline(
        scored(p_value=0.8)
    )
    assert headline(scored(k=1)).startswith("The nearest neighbour names")


@pytest.mark.parametrize("p_value", [0.0004, SIGNIFICANT - 0.001, SIGNIFICANT, 0.8])
def test_what_is_not_significant_is_denied(p_value: float) -> None:
    verdicts = {
        each.subject: each.verdict
        for each in stated(scored(p_value=p_value))
        if each.baseline == text.CHANCE
    }
    expected = text.ABOVE if p_value < SIGNIFICANT else text.NOT_ABOVE
    assert {verdicts[name] for name in VECTORS if name != "norms"} == {expected}
    assert verdicts["norms"] == text.NOT_ABOVE


@pytest.mark.parametrize(
    ("p_value", "written"), [(0.0004, ".001"), (0.012, ".012"), (0.04, ".04"), (0.85, ".85")]
)
def test_a_p_value_is_written_without_a_leading_zero(p_value: float, written: str) -> None:
    sentence = headline(scored(p_value=p_value))
    assert re.search(rf"(?<![\d]){re.escape(written)}", sentence)
    assert not re.search(r"\b0\.\d", sentence)


def test_where_no_p_value_could_be_small_nothing_is_claimed() -> None:
    few = scored(p_value=1 / 3, smallest_p=1 / 3)
    statements, sentence = stated(few), headline(few)
    verdicts = {each.verdict for each in statements if each.baseline == text.CHANCE}
    assert verdicts == {text.TOO_FEW}
    assert not any(each.verdict == text.VOTED for each in statements)
    assert re.search(r"\b9 models\b", sentence)
    assert ".33" in sentence
    assert all(each.named_in(sentence) for each in statements)


def test_a_share_of_all_neighbours_and_one_neighbour_are_said_in_words() -> None:
    result = scored(k=1)
    result.vectors["share"] = 1.0
    assert headline(result) != headline(replace(result, k=2))
    assert "12 %" in headline(result)


def test_norms_that_do_as_well_are_distinguished_from_norms_that_do_not() -> None:
    results = [scored(norms_p=p_value) for p_value in (0.4, 0.001)]
    verdicts = [
        next(each.verdict for each in stated(result) if each.subject == "norms")
        for result in results
    ]
    assert verdicts == [text.NOT_ABOVE, text.ABOVE]
    sentences = [headline(result) for result in results]
    assert sentences[0] != sentences[1]
    assert all(f"{100 * SHARES['norms']:.0f} %" in sentence for sentence in sentences)


def test_one_recipe_is_named_and_several_are_not() -> None:
    significant = scored(norms_p=0.001)
    assert "600 steps" in headline(significant, members=members("600 steps", "600 steps"))
    for recipes in (("600 steps", "900 steps"), ("600 steps", "")):
        assert "600 steps" not in headline(significant, members=members(*recipes))


def test_models_of_another_dose_are_named_once_a_vector_with_their_group() -> None:
    cells = [
        ("zoo:fast", "projector", "task"),
        ("zoo:fast", "norms", "dose"),
        ("zoo:slow", "projector", "neither"),
    ]
    doses = pd.DataFrame(cells, columns=["model", "vector", "lies_with"])
    groups = [
        (each.subject, each.baseline, each.verdict)
        for each in stated(scored(), doses)
        if each.verdict in VERDICT_OF_GROUP.values()
    ]
    assert groups == [(ref, vector, VERDICT_OF_GROUP[cell]) for ref, vector, cell in (
        cells[0], cells[2], cells[1],
    )]  # fmt: skip
    sentence = headline(scored(), doses)
    assert sentence.count("fast") == 2
    assert sentence.count("slow") == 1


def test_without_a_score_the_ranks_are_the_headline() -> None:
    # Matrices that did not change have rank 0 and do not count.
    table = ranks([10, 20, 40, 0], [20, 80, 80, 90])
    statements = stated(NONE, ranks=table)
    rank, ratio = statements
    assert rank.estimate is not None
    assert ratio.estimate is not None
    assert (rank.subject, rank.estimate.value) == ("delta", 20)  # median of 10, 20, 40
    assert (ratio.verdict, ratio.estimate.value) == (LOWER, 0.5)  # of 1/2, 1/4, 1/2
    sentence = headline(NONE, ranks=table)
    assert all(each.named_in(sentence) for each in statements)
    assert percents(sentence) == {round(100 * SPEC.threshold), 50}
    assert state_ranks("weights", SPEC.threshold, table) == ()
    assert state_ranks("delta", SPEC.threshold, ranks([80.0], [80.0]))[1].verdict == NOT_LOWER
    assert headline(NONE) == ""


def test_methods_name_what_was_computed() -> None:
    spectra = Spectra(pd.DataFrame({"family": ["query", "key", "query"]}), np.zeros((3, 2)))
    methods = make_methods(SPEC, members("r", "r"), scored(), spectra)
    assert "2 fine-tunes of zoo:seed-0" in methods
    assert methods.count("query") == methods.count("key") == 1
    assert VECTORS["projector"].meaning in methods
    assert str(SPEC.rank) in methods
    permuted = f"{SPEC.permutations:,} permutations"
    assert permuted in methods
    assert permuted not in make_methods(SPEC, [], replace(scored(), k=0), spectra)

"""The headline holds the numbers of the tables and claims nothing that they do not carry; words are not looked at."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.weights.clusters.doses import COLUMNS
from core.weights.clusters.members import Member
from core.weights.clusters.spec import WeightsSpec
from core.weights.clusters.tables import Scored
from core.weights.clusters.text import SIGNIFICANT, describe_ranks, make_headline, make_methods
from core.weights.vectors.ranks import Spectra
from core.weights.vectors.registry import VECTORS

SPEC = WeightsSpec(vector="projector", permutations=100)
SHARES = {name: 0.31 + 0.1 * place for place, name in enumerate(VECTORS)}
NO_DOSES = pd.DataFrame(columns=COLUMNS)


def scored(p_value: float = 0.012, norms_p: float = 0.4, smallest_p: float = 0.001, k: int = 2) -> Scored:
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
    return Scored(k, pd.DataFrame(), pd.DataFrame(rows), np.zeros(9, dtype=int), predictions, ())


def models(right: int = 7) -> pd.DataFrame:
    guesses = ["a"] * right + ["b"] * (9 - right) + [None]
    return pd.DataFrame({"label": ["a"] * 10, "predicted": guesses})


def ranks(ranked: list[float], null: list[float], of: str = "delta") -> pd.DataFrame:
    return pd.DataFrame({"threshold": SPEC.threshold, "of": of, "rank": ranked, "null_rank": null})


def members(*recipes: str) -> list[Member]:
    return [Member(f"zoo:m{place}", "zoo:base", recipe=recipe) for place, recipe in enumerate(recipes)]


def headline(result: Scored, spec: WeightsSpec = SPEC, doses: pd.DataFrame = NO_DOSES, **more: Any) -> str:
    table = more.get("ranks", ranks([], []))
    return make_headline(spec, result, models(), table, more.get("members", members("r", "r")), doses)


def percents(text: str) -> set[int]:
    return {int(number) for number in re.findall(r"(\d+) %", text)}


def test_shares_are_those_at_the_chosen_k_for_every_vector() -> None:
    expected = {round(100 * share) for share in SHARES.values()} | {12}
    assert percents(headline(scored())) == expected
    assert percents(headline(scored(k=3))) == expected


def test_the_vote_is_counted_among_models_that_have_one() -> None:
    assert re.search(r"\b7 of 9\b", headline(scored()))


@pytest.mark.parametrize("p_value", [0.0004, SIGNIFICANT - 0.001, SIGNIFICANT, 0.8])
def test_what_is_not_significant_is_denied(p_value: float) -> None:
    first = headline(scored(p_value=p_value)).split(":")[0]
    assert bool(re.search(r"\b(not|no)\b", first)) is (p_value >= SIGNIFICANT)


@pytest.mark.parametrize(("p_value", "written"), [(0.0004, ".001"), (0.012, ".012"), (0.04, ".04"), (0.85, ".85")])
def test_a_p_value_is_written_without_a_leading_zero(p_value: float, written: str) -> None:
    assert re.search(rf"(?<![\d]){re.escape(written)}", headline(scored(p_value=p_value)))
    assert not re.search(r"\b0\.\d", headline(scored(p_value=p_value)))


def test_where_no_p_value_could_be_small_nothing_is_claimed() -> None:
    text = headline(scored(p_value=1 / 3, smallest_p=1 / 3))
    assert re.search(r"\b9 models\b", text)
    assert ".33" in text
    assert not re.search(r"\b7 of 9\b", text)


def test_norms_that_do_as_well_are_told_apart_from_norms_that_do_not() -> None:
    texts = [headline(scored(norms_p=p_value)) for p_value in (0.4, 0.001)]
    assert texts[0] != texts[1]
    assert all(f"{100 * SHARES['norms']:.0f} %" in text for text in texts)


def test_one_recipe_is_named_and_several_are_not() -> None:
    significant = scored(norms_p=0.001)
    assert "600 steps" in headline(significant, members=members("600 steps", "600 steps"))
    for recipes in (("600 steps", "900 steps"), ("600 steps", "")):
        assert "600 steps" not in headline(significant, members=members(*recipes))


def test_models_of_another_dose_are_named_once_a_vector_with_the_group_that_they_lie_with() -> None:
    lies = [("zoo:fast", "projector", "task"), ("zoo:fast", "norms", "dose"), ("zoo:slow", "projector", "task")]
    doses = pd.DataFrame([dict(zip(("model", "vector", "lies_with"), row, strict=True)) for row in lies])
    text = headline(scored(), doses=doses)
    assert text.count("fast") == 2
    assert text.count("slow") == 1
    turned = doses.assign(lies_with=doses["lies_with"].map({"task": "dose", "dose": "task"}))
    assert headline(scored(), doses=turned) != text


def test_without_a_score_the_ranks_are_the_headline() -> None:
    none = Scored(0, pd.DataFrame(), pd.DataFrame(), np.zeros(2, dtype=int), {}, ())
    table = ranks([10, 20, 40, 0], [20, 80, 80, 90])  # matrices that did not move have rank 0 and do not count
    text = headline(none, ranks=table)
    assert text == describe_ranks(SPEC, table)
    assert re.search(r"\b20\b", text)  # median of 10, 20, 40
    assert percents(text) == {round(100 * SPEC.threshold), 50}  # median of 1/2, 1/4, 1/2
    assert describe_ranks(replace(SPEC, of="weights"), table) == ""
    assert headline(none)


def test_methods_name_what_was_computed() -> None:
    spectra = Spectra(pd.DataFrame({"family": ["query", "key", "query"]}), np.zeros((3, 2)))
    text = make_methods(SPEC, members("r", "r"), scored(), spectra)
    assert "2 fine-tunes of zoo:seed-0" in text
    assert text.count("query") == text.count("key") == 1
    assert VECTORS["projector"].meaning in text
    assert str(SPEC.rank) in text
    assert f"{SPEC.permutations:,} permutations" in text
    assert f"{SPEC.permutations:,} permutations" not in make_methods(SPEC, [], replace(scored(), k=0), spectra)

"""Differences of two results: rows that both have, bands against a simulation, sentences."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.catalogue import STUDIES
from core.options import options_of
from core.options.summary import unlike
from core.results.differences import (
    ComparedTable,
    banded_differences,
    differences_sentence,
    result_differences,
    small_multiples,
)
from core.results.estimates import estimate_of
from core.results.export import Result

RSA = STUDIES["rsa"].compared or ComparedTable("", (), "")


def rows(values: list[float], half: float = 0.1, model: str = "zoo:parse-0") -> pd.DataFrame:
    value = np.array(values)
    layers = range(len(values))
    return pd.DataFrame(
        {
            "model": model,
            "layer": layers,
            "similarity": value,
            "low": value - half,
            "high": value + half,
        }
    )


def rsa(table: pd.DataFrame) -> Result:
    return Result("rsa", {}, "", {"similarity": table})


def test_one_difference_has_the_band_of_two_independent_values() -> None:
    found = banded_differences(
        rows([0.5], 0.3), rows([0.7], 0.4), ("model", "layer"), "similarity"
    ).iloc[0]
    assert found["difference"] == pytest.approx(0.2)
    assert (found["low"], found["high"]) == (pytest.approx(0.2 - 0.5), pytest.approx(0.2 + 0.5))


@pytest.mark.exhaustive
@pytest.mark.slow
def test_bands_hold_together() -> None:
    """Of many studies of two equal things, at most 5 % show any difference."""
    rng, missed, studies, count = np.random.default_rng(0), 0, 400, 12
    for _ in range(studies):
        one, two = (rows(list(rng.normal(0, 0.1, count)), 1.96 * 0.1) for _ in range(2))
        found = banded_differences(one, two, ("model", "layer"), "similarity")
        missed += bool(((found["low"] > 0) | (found["high"] < 0)).any())
    assert missed / studies < 0.08
    narrow = banded_differences(
        rows([0.0] * count, 0.1), rows([0.0] * count, 0.1), ("model", "layer"), "similarity"
    )
    assert (narrow["high"] > 0.1 * np.sqrt(2)).all()


def test_only_rows_that_both_have_are_subtracted() -> None:
    found = result_differences(rsa(rows([1.0, 0.9, 0.8])), rsa(rows([1.0, 0.5])), RSA)
    assert list(found["layer"]) == [0, 1]


def test_one_model_each_is_compared_whatever_they_are_called() -> None:
    found = result_differences(rsa(rows([0.9])), rsa(rows([0.2], model="zoo:nli-0")), RSA)
    assert found["difference"].tolist() == [pytest.approx(-0.7)]
    two = pd.concat([rows([0.9]), rows([0.9], model="zoo:pos-0")])
    assert result_differences(rsa(two), rsa(rows([0.2], model="zoo:nli-0")), RSA).empty


def test_the_sentence_says_how_many_and_where() -> None:
    found = result_differences(rsa(rows([1.0, 0.9], 0.01)), rsa(rows([1.0, 0.5], 0.01)), RSA)
    sentence = differences_sentence(found, RSA.kind)
    largest = estimate_of(found.iloc[1], "difference", "change")
    assert largest.value == pytest.approx(-0.4)
    assert largest.clear
    assert all(
        part in sentence
        for part in ("1 of 2", largest.size, "parse-0", "layer 1", "lower in the second")
    )
    few = result_differences(rsa(rows([0.9])), rsa(rows([0.91])), RSA)
    assert not estimate_of(few.iloc[0], "difference").clear
    assert differences_sentence(few, RSA.kind).startswith("None of 1 ")
    apart = pd.concat([rows([1.0]), rows([1.0], model="zoo:pos-0")])
    nothing = differences_sentence(
        result_differences(rsa(apart), rsa(rows([1.0], model="zoo:nli-0")), RSA), RSA.kind
    )
    assert not any(letter.isdigit() for letter in nothing)


def test_values_without_intervals_have_none_in_the_sentence() -> None:
    shares = pd.DataFrame({"vector": ["norms"], "k": [2], "share": [0.5]})
    one, two = (
        Result("weights", {}, "", {"vectors": shares.assign(share=share)}) for share in (0.5, 0.9)
    )
    compared = STUDIES["weights"].compared
    assert compared is not None
    found = result_differences(one, two, compared)
    sentence = differences_sentence(found, compared.kind)
    assert estimate_of(found.iloc[0], "difference", "change").size in sentence
    assert "[" not in sentence
    assert "significant" not in sentence


def test_every_main_study_says_what_is_compared_and_which_options_define_it() -> None:
    compared = [study for study in STUDIES if STUDIES[study].compared is not None]
    assert compared == ["rsa", "probe", "weights", "align"]
    for study in compared:
        options = options_of(STUDIES[study].Spec)
        assert [option for option in options if option.defines]
        assert {name for option in options for name in option.where} <= {
            option.name for option in options
        }


@pytest.mark.parametrize(
    ("study", "changed"),
    [
        ("rsa", {"measure": "cka-debiased"}), ("rsa", {"items": "mean"}), ("rsa", {"comparison": "spearman"}),
        ("rsa", {"standardise": True}), ("probe", {"heads": "parser"}), ("align", {"items": "sentences"}),
        ("align", {"split": "sentence"}), ("weights", {"label": "data"}),
    ],
)  # fmt: skip
def test_other_measures_units_or_items_are_not_subtracted(
    study: str, changed: dict[str, object]
) -> None:
    spec = {
        "measure": "rsa",
        "items": "words",
        "comparison": "pearson",
        "heads": "corpus",
        "split": "word",
    }
    tables = {
        "rsa": rows([0.9, 0.2]),
        "weights": pd.DataFrame({"vector": ["norms"], "k": [2], "share": [0.5]}),
        "probe": rows([0.9])
        .rename(columns={"similarity": "value"})
        .assign(probe="distance", metric="uuas"),
        "align": pd.DataFrame(
            {"group": ["models"], "method": ["ols"], "words": ["seen"], "nmse": [0.3]}
        ),
    }
    compared, spec_of = STUDIES[study].compared, STUDIES[study].Spec
    assert compared is not None
    one, two = (
        Result(study, {**spec, **more}, "", {compared.table: tables[study]})
        for more in ({}, changed)
    )
    assert len(result_differences(one, one, compared))
    assert unlike(spec_of, one.spec, one.spec) == ""
    (value,) = changed.values()
    assert ("on" if value is True else str(value)) in unlike(spec_of, one.spec, two.spec)


def test_options_that_a_measure_does_not_read_and_other_texts_are_no_hindrance() -> None:
    one = Result(
        "rsa",
        {"measure": "cka", "kernel": "cosine", "corpus": "demo"},
        "",
        {"similarity": rows([0.9])},
    )
    two = Result(
        "rsa",
        {"measure": "cka", "kernel": "linear", "corpus": "b.txt"},
        "",
        {"similarity": rows([0.2])},
    )
    assert unlike(STUDIES["rsa"].Spec, one.spec, two.spec) == ""
    assert len(result_differences(one, two, RSA)) == 1


def lopsided(value: float, below: float, above: float) -> pd.DataFrame:
    return rows([value]).assign(low=value - below, high=value + above)


def test_each_end_comes_from_the_ends_that_lead_there() -> None:
    """MOVER: down from the second's lower and the first's upper end, up from the other two."""
    first, second = lopsided(0.5, below=0.12, above=0.04), lopsided(0.7, below=0.03, above=0.05)
    found = banded_differences(first, second, ("model", "layer"), "similarity").iloc[0]
    assert found["low"] == pytest.approx(0.2 - 0.05)
    assert found["high"] == pytest.approx(0.2 + 0.13)
    back = banded_differences(second, first, ("model", "layer"), "similarity").iloc[0]
    assert (back["low"], back["high"]) == pytest.approx((-found["high"], -found["low"]))


def test_small_multiples_share_an_axis_and_draw_the_difference_with_its_band() -> None:
    first, second = (rsa(pd.concat([rows([0.9, low]), rows([0.8, 0.7], model="zoo:nli-0")]))
                     for low in (0.2, 0.6))  # fmt: skip
    differences = result_differences(first, second, RSA)
    pinned, this, difference = (
        chart.to_dict() for chart in small_multiples(first, second, RSA, differences)
    )
    ends = [spec["layer"][0]["encoding"]["y"]["scale"]["domain"] for spec in (pinned, this)]
    assert ends[0] == ends[1]
    assert ends[0][0] < 0.1
    assert ends[0][1] >= 1.0
    drawn = next(rows for rows in difference["datasets"].values() if "low" in rows[0])
    last = next(row for row in drawn if (row["name"], row["layer"]) == ("parse-0", 1))
    assert last["low"] < last["difference"] == pytest.approx(0.4)
    assert last["difference"] < last["high"]
    assert {row["name"] for row in drawn} == {"parse-0", "nli-0", "no difference"}
    assert [spec["width"] for spec in (pinned, this, difference)] == ["container"] * 3
    assert len(small_multiples(first, second, RSA)) == 2
    assert len(small_multiples(first, second, RSA, differences.head(0))) == 2


def test_small_multiples_without_layers_have_a_row_for_each_name() -> None:
    of = STUDIES["align"].compared
    assert of is not None
    table = pd.DataFrame(
        {
            "group": ["models"] * 3 + ["against"],
            "method": ["ridge", "kernel", "ridge", "ridge"],
            "words": ["all", "all", "unseen", "all"],
            "nmse": [0.6, 0.5, 0.7, 0.9],
            "low": [0.5, 0.4, 0.6, 0.8],
            "high": [0.7, 0.6, 0.8, 1.0],
        }
    )
    first, second = (
        Result("align", {}, "", {"methods": table.assign(nmse=table["nmse"] + more)})
        for more in (0.0, 0.05)
    )
    *_, difference = small_multiples(first, second, of, result_differences(first, second, of))
    spec = difference.to_dict()
    names = {row["name"] for rows in spec["datasets"].values() for row in rows}
    assert names == {"ridge", "kernel"}
    assert {layer["mark"]["type"] for layer in spec["layer"]} == {"rule", "point"}

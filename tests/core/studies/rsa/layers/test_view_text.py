"""Sentences of the RSA page's views on tables made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from core.results.export import Result
from core.results.findings import in_two_lines
from core.studies.rsa.layers.differences import (
    IN_PLACE,
    LOWEST,
    NEAREST,
    OTHER_LAYER,
    REFERENCE,
    SAME_LAYER,
    TEXTS_ALIKE,
    TEXTS_APART,
    TEXTS_COMPARED,
    TEXTS_DIFFER,
    WEIGHT_CHANGE,
    equal_layers,
    equal_statements,
    grid_statements,
    statements_of,
    text_differences,
    text_statements,
    view_statements,
)
from core.studies.rsa.layers.views import (
    curves_sentences,
    draw_texts,
    grid_sentence,
    texts_sentence,
)
from tests.core.studies.rsa.facts import all_stated, stated, unnamed
from tests.core.studies.rsa.layers.test_text import EMPTY, table


def result(similarity: pd.DataFrame = EMPTY, **tables: pd.DataFrame) -> Result:
    """A result with these tables."""
    spec: dict[str, Any] = {"base": "zoo:seed-0", "measure": "rsa", "matched_size": False}
    tables = {"similarity": similarity, **tables}
    return Result(
        study="rsa",
        spec=spec,
        headline="In full.",
        tables=tables,
        statements=(
            *statements_of(similarity, tables.get("references", EMPTY), spec["base"]),
            *view_statements(tables, spec["base"]),
        ),
    )


def two_texts(first: float, second: float, width: float) -> pd.DataFrame:
    """One model at two layers on two texts; layer 1 differs."""
    return pd.concat(
        [
            table(width=width, nli_0=[0.9, first]).assign(corpus="demo"),
            table(width=width, nli_0=[0.9, second]).assign(corpus="demo (legal)"),
        ],
        ignore_index=True,
    )


def test_curves_name_the_least_similar_model_and_its_number() -> None:
    curves = table(parse_0=[0.99, 0.8, 0.6], nli_0=[0.99, 0.95, 0.7])
    made = statements_of(curves, EMPTY, "zoo:seed-0")
    said = in_two_lines(curves_sentences(result(curves)))
    assert stated(made, LOWEST, "zoo:parse-0").named_in(said)
    assert "parse-0" in said
    assert curves_sentences(result(EMPTY)) == []


def test_equal_layers_are_stated_and_read_of_a_result_that_was_saved_before() -> None:
    curves = table(parse_0=[1.0, 1.0, 0.6], nli_0=[0.99, 0.95, 0.7])
    before = result(curves)
    facts = equal_statements(curves, "zoo:seed-0")
    assert {each.subject: each.layers for each in facts} == {"zoo:parse-0": (1,), "zoo:nli-0": ()}
    now = replace(before, statements=(*before.statements, *facts))
    assert equal_layers(before) == equal_layers(now) == {"zoo:parse-0": 1}


def test_another_seed_and_unequal_weight_changes_stay_in_sight() -> None:
    curves = table(parse_0=[0.99, 0.6], nli_0=[0.99, 0.7])
    curves["apart"] = 0.1
    curves["relative_change"] = [0.3, 0.3, 0.1, 0.1]
    seeds = table(seed_1=[0.9, 0.55])
    said = in_two_lines(curves_sentences(result(curves, references=seeds)))
    made = statements_of(curves, seeds, "zoo:seed-0")
    assert stated(made, REFERENCE).named_in(said)
    assert not unnamed(all_stated(made, WEIGHT_CHANGE), said)
    alike = result(curves.assign(relative_change=0.1), references=seeds)
    equal = in_two_lines(curves_sentences(alike))
    assert unnamed(all_stated(made, WEIGHT_CHANGE), equal), "equal changes need no word"


@pytest.mark.parametrize(("second", "verdict"), [(0.8, TEXTS_DIFFER), (0.54, TEXTS_ALIKE)])
def test_texts_differ_where_the_largest_difference_is_significant(
    second: float, verdict: str
) -> None:
    domains = two_texts(0.5, second, width=0.04)
    compared, apart, made = text_statements(domains)
    assert (compared.verdict, compared.number.value) == (TEXTS_COMPARED, 2)
    assert (apart.verdict, apart.number.value) == (TEXTS_APART, verdict == TEXTS_DIFFER)
    assert made.estimate is not None
    assert (made.subject, made.verdict, made.layers, made.baseline) == (
        "zoo:nli-0",
        verdict,
        (1,),
        "demo",
    )
    assert made.estimate.value == pytest.approx(second - 0.5)
    assert made.estimate.clear == (verdict == TEXTS_DIFFER)
    said = texts_sentence(result(domains=domains))
    assert made.named_in(said)
    assert "nli-0 at layer 1" in said
    first, *each = draw_texts(result(domains=domains)).charts
    assert first.to_dict()["title"]["text"] == "demo (legal) minus demo"
    assert len(each) == 2


def test_texts_without_bands_cannot_be_compared() -> None:
    bandless = two_texts(0.5, 0.8, width=0.04).assign(low=float("nan"), high=float("nan"))
    assert not any(each.number.value for each in text_statements(bandless))
    assert texts_sentence(result(domains=bandless))
    unmeasured = two_texts(0.5, 0.8, width=0.04).assign(similarity=float("nan"))
    assert len(draw_texts(result(domains=unmeasured)).charts) == 2, "there is no difference"


def test_the_band_of_a_difference_is_that_of_two_samples_widened_for_two_looks() -> None:
    pairs = text_differences(two_texts(0.5, 0.8, width=0.04)).set_index("layer")
    half = 0.04 * 2**0.5 * 2.2414 / 1.95996  # quantiles of 1 - .05 / 4 and 1 - .05 / 2
    assert pairs.loc[1, "difference"] == pytest.approx(0.3)
    assert pairs.loc[1, "low"] == pytest.approx(0.3 - half, abs=1e-4)
    assert pairs.loc[1, "high"] == pytest.approx(0.3 + half, abs=1e-4)


def test_the_grid_says_how_far_the_same_layer_falls_short_or_leads() -> None:
    rows = [
        ("zoo:nli-0", base, layer, 0.9 if base == min(layer, 1) else 0.3)
        for base in range(3)
        for layer in range(3)
    ]
    grid = pd.DataFrame(rows, columns=["model", "base_layer", "layer", "similarity"])
    moved, nearest, in_place = grid_statements(grid, "zoo:seed-0")
    assert (moved.verdict, moved.layers) == (OTHER_LAYER, (2,))
    assert (nearest.verdict, nearest.layers, nearest.number.value) == (NEAREST, (1,), 0.9)
    assert (in_place.verdict, in_place.layers, in_place.number.value) == (IN_PLACE, (2,), 0.3)
    assert moved.number.value == pytest.approx(-0.6)
    said = grid_sentence(result(grid=grid))
    assert all(number in said for number in (".60", ".90", ".30")), "the gap and both of its ends"
    lead = [0.9 if base == layer else 0.3 + layer / 10 for _, base, layer, _ in rows]
    diagonal = grid.assign(similarity=lead)
    (same,) = grid_statements(diagonal, "zoo:seed-0")
    assert (same.verdict, same.layers) == (SAME_LAYER, (2,))
    assert ".40" in grid_sentence(result(grid=diagonal)), "the least lead"
    both = pd.concat([grid, diagonal.assign(model="zoo:twin-0")])
    verdicts = [each.verdict for each in grid_statements(both, "zoo:seed-0")]
    assert verdicts == [OTHER_LAYER, NEAREST, IN_PLACE, SAME_LAYER]
    assert all(name in grid_sentence(result(grid=both)) for name in ("nli-0", "twin-0"))


def test_the_views_of_a_result_are_written_from_what_it_states() -> None:
    grid = pd.DataFrame(
        [("zoo:nli-0", base, layer, 0.9 - 0.1 * abs(base - layer)) for base in range(2)
         for layer in range(2)],
        columns=["model", "base_layer", "layer", "similarity"],
    )  # fmt: skip
    made = result(grid=grid, domains=two_texts(0.5, 0.8, width=0.04))
    emptied = made.with_tables(grid=grid.iloc[:0], domains=grid.iloc[:0])
    earlier = replace(made, statements=())  # an earlier version stated nothing of grid and texts
    for sentence in (grid_sentence, texts_sentence):
        assert sentence(emptied) == sentence(made) == sentence(earlier) != ""

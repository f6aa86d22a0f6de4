"""Sentences of the seed-alignment page's views on tables made by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from core.results.export import Result
from core.studies.alignment.seeds.curves import curve_chart
from core.studies.alignment.seeds.statements import view_statements
from core.studies.alignment.seeds.view_text import grid_sentence, pairs_sentence, training_sentence

MODELS = ("zoo:seed-0", "zoo:seed-1", "zoo:seed-2")


def with_grid(errors: list[list[float]]) -> Any:
    """A result whose grid has these errors, a row for each layer of the target."""
    rows = [
        (source, target, error)
        for target, row in enumerate(errors)
        for source, error in enumerate(row)
    ]
    grid = pd.DataFrame(rows, columns=["source_layer", "target_layer", "nmse"])
    methods = pd.DataFrame(columns=["group", "method", "words", "nmse"])
    return stated({"grid": grid, "methods": methods}, MODELS[:2])


def stated(tables: dict[str, pd.DataFrame], models: tuple[str, ...]) -> Any:
    """A result of these tables, with what is stated of them."""
    facts = view_statements(tables, models, "ridge")
    return Result("align", {"models": models, "grid": "ridge"}, "", tables, statements=facts)


def test_the_grid_says_how_far_the_same_layer_is_above_the_best() -> None:
    said = grid_sentence(with_grid([[0.5, 0.6, 0.6], [0.41, 0.4, 0.6], [0.7, 0.62, 0.65]]))
    assert all(number in said for number in (".03", ".65", ".62", "layer 2", "layer 1"))
    alike = grid_sentence(with_grid([[0.5, 0.6], [0.6, 0.4]]))
    assert not any(letter.isdigit() for letter in alike.replace("seed-0", "").replace("seed-1", ""))


def test_pairs_are_said_by_the_range_of_their_errors_and_none_is_called_best() -> None:
    pairs = [(one, other) for one in MODELS for other in MODELS if one != other]
    rows = [
        {"source": one, "target": other, "layer": 0, "method": "ridge", "words": "all",
         "split": "test", "nmse": 0.4 + number / 100}
        for number, (one, other) in enumerate(pairs)
    ]  # fmt: skip
    methods = pd.DataFrame([{"group": "models", "method": "ridge", "words": "all", "nmse": 0.4}])
    table = pd.DataFrame(rows)

    def said(table: pd.DataFrame) -> str:
        return pairs_sentence(stated({"alignment": table, "methods": methods}, MODELS))

    assert all(number in said(table) for number in ("6 directed", ".05", ".40", ".45"))
    assert "seed" not in said(table)
    assert ("40 %" in said(table[:2]), "41 %" in said(table[:2])) == (True, True)


def test_networks_are_said_by_how_many_had_not_converged() -> None:
    keys = ["source", "target", "method", "layer"]
    curves = pd.DataFrame([("a", "b", "mlp", layer) for layer in (0, 0, 1)], columns=keys)
    methods = pd.DataFrame(columns=["group", "method", "words", "nmse"])
    for last, said in ((True, "All 2 networks"), (False, "1 of 2 networks")):
        tables = {"curves": curves.assign(converged=[False, True, last]), "methods": methods}
        assert training_sentence(stated(tables, MODELS)).startswith(said)
    assert training_sentence(stated({"methods": methods}, MODELS)) == ""


def test_a_result_saved_before_its_views_were_stated_says_the_same() -> None:
    result = with_grid([[0.5, 0.6], [0.41, 0.4]])
    assert grid_sentence(replace(result, statements=())) == grid_sentence(result) != ""


@pytest.mark.parametrize(("pairs", "said"), [(1, "1 directed pair;"), (2, "2 directed pairs;")])
def test_a_line_of_training_says_how_many_networks_it_is_the_mean_of(pairs: int, said: str) -> None:
    rows = [
        {"source": "a", "target": str(pair), "method": "mlp", "layer": 0, "step": step,
         "validation": 1 / (1 + step), "converged": True}
        for pair in range(pairs) for step in range(3)
    ]  # fmt: skip
    curves = pd.DataFrame(rows)
    result: Any = SimpleNamespace(tables={"curves": curves}, need=lambda *_: curves)
    assert said in str(curve_chart(result, "mlp").to_dict()["title"])

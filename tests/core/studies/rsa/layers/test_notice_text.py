"""What is said beside the numbers: when a notice is there, and which numbers are in it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.maths.similarity.registry import MEASURES
from core.models.changes import COMMON_START
from core.results.numbers import text_of
from core.studies.notices import FEW_SENTENCES
from core.studies.rsa.layers.notice_text import (
    HIGH_CHANCE,
    UNEQUAL,
    measure_notices,
    moved_sizes,
    size_notices,
)
from core.studies.rsa.layers.spec import RsaSpec


def value(**changes: Any) -> dict[str, Any]:
    similarity = np.array([1.0, 0.5])
    return {
        "low": similarity,
        "similarity": similarity,
        "null_high": np.array([0.1, 0.2]),
        "items": 1_000,
        "d_model": 128,
        "sentences": 200,
    } | changes


def notices(measure: str = "rsa", *values: dict[str, Any]) -> list[str]:
    models = {("model", f"zoo:m{number}"): each for number, each in enumerate(values)}
    return measure_notices(RsaSpec(measure=measure), models)


def test_a_sound_study_says_nothing() -> None:
    assert notices("rsa", value(), value()) == []


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("chance", [1.0, 1.0 - 1e-12, 0.4])
def test_numbers_mean_nothing_where_chance_level_reaches_1(measure: str, chance: float) -> None:
    made = notices(measure, value(items=120, null_high=np.array([0.1, chance])))
    sized = [text for text in made if "samples of" in text]
    texts = [text for text in made if text not in sized]
    assert len(sized) == MEASURES[measure].of_size
    assert len(texts) == (chance > 0.5)
    assert all(number in text for text in texts for number in ("120", "128"))


@pytest.mark.parametrize(
    ("high", "count"), [(HIGH_CHANCE, 0), (HIGH_CHANCE + 0.01, 1), (0.87, 1), (float("nan"), 0)]
)
def test_a_null_of_more_than_half_is_said_with_its_height(high: float, count: int) -> None:
    said = notices("rsa", value(null_high=np.array([0.1, high])))
    assert len(said) == count
    assert all(text_of(high) in text for text in said)


@pytest.mark.parametrize(
    ("sentences", "numbers"), [(1, []), (2, ["2"]), (FEW_SENTENCES - 1, ["29"])]
)
def test_few_sentences_are_counted(sentences: int, numbers: list[str]) -> None:
    (said,) = notices("rsa", value(sentences=sentences))
    assert [
        number for number in re.findall(r"\d+", said) if number not in ("95", str(FEW_SENTENCES))
    ] == numbers
    assert notices("rsa", value(sentences=FEW_SENTENCES)) == []


def test_layers_without_similarity_are_named_with_their_model() -> None:
    flat = value(similarity=np.array([np.nan, 0.5, np.nan]))
    (said,) = notices("rsa", value(), flat)
    assert said.startswith("m1")
    assert re.findall(r"\d+", said.removeprefix("m1")) == ["0", "2"]


def test_a_grid_has_no_band_to_speak_of() -> None:
    assert notices("rsa", {"grid": np.zeros((2, 2))}) == []


def moved(*sizes: float, apart: float = 0.1) -> pd.DataFrame:
    rows = [
        {"model": f"zoo:m{number}", "layer": layer, "relative_change": size, "apart": apart}
        for number, size in enumerate(sizes)
        for layer in range(3)
    ]
    return pd.DataFrame(rows)


def test_sizes_are_those_of_each_model_once_without_models_of_another_start() -> None:
    table = pd.concat(
        [
            moved(0.1, 0.3),
            moved(0.9, apart=(1 - COMMON_START) ** 0.5 + 0.01).assign(model="zoo:seed-1"),
        ]
    )
    assert moved_sizes(table).tolist() == [0.1, 0.3]
    assert moved_sizes(moved(float("nan"), 0.2)).tolist() == [0.2]


@pytest.mark.parametrize(
    ("sizes", "count"),
    [((0.1, 0.1 * UNEQUAL + 1e-9), 1), ((0.1, 0.1 * UNEQUAL - 1e-3), 0), ((0.1,), 0), ((), 0)],
)
def test_unequal_sizes_are_said_with_both_ends(sizes: tuple[float, ...], count: int) -> None:
    said = size_notices(RsaSpec(), moved(*sizes) if sizes else moved(0.1).iloc[:0])
    assert len(said) == count
    for text in said:
        assert re.findall(r"\d?\.\d\d", text) == [text_of(min(sizes)), text_of(max(sizes))]


def test_a_model_with_the_layers_of_the_base_is_said_to_have_them() -> None:
    same, *others = size_notices(RsaSpec(), moved(0.0, 0.1, 0.1))
    assert same.startswith("m0: ")
    assert "zoo:seed-0" in same
    assert others == []  # a change of no size is not smaller than the others, it is none
    assert size_notices(RsaSpec(), moved(float("nan"), 0.1)) == []


def test_matched_sizes_are_said_to_be_made_and_no_others_are_compared() -> None:
    assert len(size_notices(RsaSpec(matched_size=True), moved(0.1, 0.9))) == 1

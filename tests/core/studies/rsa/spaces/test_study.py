"""The map of models: every layer placed, related models, and what is said of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.errors import ShapeError, SpecError
from core.maths.similarity.angles import angle
from core.maths.spectra.shape import shape_of
from core.models import read_manifest
from core.results.drawing.context import PAGE
from core.results.drawing.maps import STAGE, TURN, TURNED
from core.studies.rsa.spaces.charts import (
    draw_spaces,
    first_relations,
    groups_of,
    map_chart,
    related_chart,
    tuned_angles,
)
from core.studies.rsa.spaces.report import (
    BEYOND,
    BY_LAYER,
    CLOUD,
    FURTHEST,
    NEAREST,
    PLACES,
    SEEDS,
    SHAPES,
    STEPS,
    TUNED,
    Angles,
    angle_statements,
    end_statements,
    last_angles,
    of_one_base,
    place_table,
    relations,
    shape_table,
)
from core.studies.rsa.spaces.spec import SpacesSpec
from core.studies.rsa.spaces.study import STUDY
from core.studies.rsa.spaces.tasks import CLOUDS, measure_angles, measure_shape
from core.vectors.activations import extract
from core.vectors.pairs import Items

REFS = ("zoo:seed-0", "zoo:seed-1", "zoo:seed-0@step-50", "zoo:nli-0")
MOVES = replace(PAGE, moves=True)
SPEC = SpacesSpec(REFS, sentences=30, words=120, draws=20)

pytestmark = pytest.mark.skipif(not read_manifest(), reason="no models are included")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory):
    from core.runs.store import Store

    return STUDY.run(SPEC, store=Store(tmp_path_factory.mktemp("store")))


@pytest.mark.slow
def test_the_angles_are_those_of_the_layers(result) -> None:
    table = result.tables["angles"]
    row = table[(table["model"] == REFS[0]) & (table["other"] == REFS[1]) & (table["layer"] == 3)
                & (table["other_layer"] == 2)].iloc[0]  # fmt: skip
    assert row["low"] <= row["angle"] <= row["high"]
    assert len(table) == 28 * 27 / 2
    assert tuple(result.tables["spaces"].columns) == PLACES
    assert tuple(result.tables["cloud"].columns) == CLOUD
    assert len(result.tables["cloud"]) == 28 * CLOUDS


@pytest.mark.slow
def test_the_shape_of_a_space_is_that_of_its_vectors(tmp_path: Path) -> None:
    from core.runs.store import Store, using
    from tests.core.contents import run_as

    words = tuple(("the", "dog", "saw", "a", "cat", "in", "the", "park")[n:] for n in range(4))
    items = Items(words, tuple(tuple(range(len(sentence))) for sentence in words), "words")
    with using(Store(tmp_path)):
        value = measure_shape(REFS[0], run_as(REFS[0]), items)
        read = extract(REFS[0], words)
    table = shape_table({REFS[0]: value})
    assert tuple(table.columns) == SHAPES
    for layer, row in table.groupby("layer").first().iterrows():
        found = shape_of(read.vectors[layer])
        assert row["effective_rank"] == pytest.approx(found["effective_rank"])
        assert row["mean_cosine_low"] <= found["mean_cosine"] <= row["mean_cosine_high"]


def test_the_base_is_beside_its_first_step_and_its_fine_tunes() -> None:
    steps = [f"zoo:seed-0@step-{number}" for number in (800, 50)]
    refs = ["zoo:nli-0", *steps, "zoo:seed-1", "zoo:seed-0", "zoo:decoder-0", "zoo:review-0"]
    assert of_one_base(refs) == ("zoo:seed-0", steps[1:], ["zoo:nli-0"])
    assert of_one_base(["zoo:nli-0"]) == ("zoo:nli-0", [], [])


def test_a_fine_tune_is_further_than_the_two_seeds_that_are_furthest_apart() -> None:
    """Seeds are 40 and 46 degrees apart, 43 on average; sentences move an angle by .1."""
    refs, where = ("a", "b", "c", "near", "far"), np.array([0, 1])
    values = np.zeros((10, 10))
    for first, second, apart in ((0, 1, 40), (0, 2, 46), (1, 2, 43), (0, 3, 45), (0, 4, 47)):
        values[2 * first + 1, 2 * second + 1] = values[2 * second + 1, 2 * first + 1] = apart
    drawn = np.random.default_rng(0).standard_normal(200) / 10
    pairs = {
        (row, column): values[row, column] + drawn for row in range(10) for column in range(10)
    }
    made = Angles(
        refs, np.repeat(range(5), 2), np.tile(where, 5), values, values, values, values[None],
        pairs, np.zeros(0),
    )  # fmt: skip
    seeds = last_angles(made, [("a", "b"), ("a", "c"), ("b", "c")])
    tuned = last_angles(made, [("near", "a"), ("far", "a")])
    facts = angle_statements(pd.DataFrame(columns=[*BY_LAYER]), seeds, tuned)
    assert [(each.subject, each.verdict, each.layers) for each in facts] == [("far", BEYOND, (1,))]
    ends = {each.verdict: (each.subject, each.number.value) for each in end_statements(tuned)}
    assert ends == {NEAREST: ("near", 45.0), FURTHEST: ("far", 47.0)}
    assert tuned["level"].tolist() == [0.975, 0.975]
    alone = last_angles(made, [("far", "a")]).iloc[0]
    assert tuned["low"].iloc[1] < alone["low"] < 47
    assert not angle_statements(pd.DataFrame(columns=[*BY_LAYER]), last_angles(made, []), tuned)


@pytest.mark.slow
def test_a_pair_s_angle_equals_that_of_its_vectors(tmp_path: Path) -> None:
    from core.runs.store import Store, using
    from tests.core.contents import run_as

    words = tuple(("the", "dog", "saw", "a", "cat", "in", "the", "park")[n:] for n in range(4))
    items = Items(words, (), "words")
    items = Items(words, tuple(tuple(range(len(sentence))) for sentence in words), "words")
    with using(Store(tmp_path)):
        refs = REFS[:2]
        known = tuple(run_as(ref) for ref in refs)
        parts = [measure_angles(refs, known, items, part, 5, 0) for part in (0, 1)]
        x, y = (extract(ref, words).vectors for ref in refs)
    angles = Angles.of(refs, parts)
    assert angles.finite
    assert angles.values[angles.at(refs[0], 2), angles.at(refs[1], 5)] == pytest.approx(
        angle(x[2], y[5])
    )
    assert np.allclose(angles.values, angles.values.T)
    assert (np.diag(angles.values) == 0).all()
    assert len(angles.chance) == 2


@pytest.mark.slow
def test_a_copy_lies_on_its_original() -> None:
    known = np.array([[0.0, 0.0, 9.0], [0.0, 0.0, 9.0], [9.0, 9.0, 0.0]])
    where = np.array([0, 1, 1]), np.array([0, 0, 1])
    spaces = Angles(("a", "b"), *where, known, known, known, known[None], {}, np.zeros(0))
    places, _, stress = place_table(spaces)
    points = places[["x", "y"]].to_numpy()
    assert np.allclose(points[0], points[1], atol=1e-6)
    assert stress == pytest.approx([0.0, 0.0], abs=1e-6)


@pytest.mark.slow
def test_the_headline_names_its_numbers_and_every_figure_is_drawn(result) -> None:
    assert {each.subject for each in result.statements} >= {SEEDS, TUNED, STEPS}
    for statement in result.statements:
        if statement.subject in (SEEDS, TUNED):
            assert statement.named_in(result.headline)
    assert set(STUDY.figures(result)) == {
        *("spaces", "spaces-related", "spaces-shape"),
    }
    assert len(draw_spaces(result)) == 3
    first = [
        next(
            iter(draw_spaces(replace(result, arrays={**result.arrays, "stress": np.array([each])})))
        )
        for each in (0.05, 0.5)
    ]
    assert first == ["spaces", "spaces-related"], "what a map distorts stands before it"
    assert "Williams" in result.methods


@pytest.mark.slow
def test_the_page_has_one_map_of_all_layers_that_turns(result) -> None:
    still = map_chart(result).to_dict()
    assert "params" not in still
    page = map_chart(result, context=MOVES).to_dict()
    assert {STAGE, TURN} <= {each["name"] for each in page["params"]}
    lines, dots, *_ = page["layer"]
    assert lines["transform"] == dots["transform"]
    assert lines["transform"][0]["calculate"] == TURNED
    uneven = result.with_tables(spaces=result.table.iloc[:-1])
    assert "params" not in map_chart(uneven, context=MOVES).to_dict(), "not all have all layers"


@pytest.mark.slow
def test_a_page_shows_seeds_and_fine_tunes_first_and_home_each_fine_tune(result) -> None:
    first = first_relations(result)
    assert set(first.tables["related"]["relation"]) >= {SEEDS, TUNED}
    assert STEPS not in set(first.tables["related"]["relation"])
    assert len(first.tables["shape"]) < len(result.tables["shape"])
    own, mean = tuned_angles(result), result.tables["related"]
    mean = mean[mean["relation"] == TUNED]
    assert set(own["relation"]) == {"zoo:nli-0"}
    assert own["angle"].tolist() == pytest.approx(mean["angle"].tolist())
    assert "nli-0" in related_chart(result, each=True).to_dict()["description"]


def test_models_are_related_by_their_runs_and_bases() -> None:
    related = relations(REFS)
    assert related[SEEDS] == [("zoo:seed-0", "zoo:seed-1")]
    assert related[TUNED] == [("zoo:nli-0", "zoo:seed-0")]
    assert related[STEPS] == [("zoo:seed-0@step-50", "zoo:seed-0")]
    assert groups_of(REFS)["zoo:nli-0"] == "nli"


def test_one_model_makes_no_map() -> None:
    with pytest.raises(SpecError, match="needs two models"):
        STUDY.prepare(SpacesSpec(REFS[:1]), None)


@pytest.mark.slow
def test_too_few_words_in_common_are_refused(tmp_path: Path) -> None:
    from core.runs.store import Store, using

    items = Items((("the", "dog"),), ((0, 1),), "words")
    with using(Store(tmp_path)), pytest.raises(ShapeError, match="2 words in common"):
        measure_angles(REFS[:1], ("x",), items, 0, 5, 0)

"""The words nearest to a word: by hand, in the whole space, and in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.errors import SpecError
from core.studies.rsa.tokens import charts
from core.studies.rsa.tokens import study as tokens
from core.studies.rsa.tokens.neighbours import (
    NEAREST,
    nearest_words,
    neighbour_rows,
    neighbour_sentence,
    shared_words,
)
from core.studies.rsa.tokens.spec import TokenMapSpec
from tests.core.tiny_models import LAYERS, save_tiny

TEXT = "the man opened the door of unbelievable things"


@pytest.fixture(scope="module")
def refs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    folder = tmp_path_factory.mktemp("tiny")
    return tuple(f"path:{save_tiny(folder / str(seed), seed=seed)}" for seed in range(2))


@pytest.fixture(scope="module")
def result(refs: tuple[str, ...]):
    return tokens.STUDY.run(TokenMapSpec(refs, TEXT, ("door",), question="", answer=""))


def test_nearest_words_are_those_of_a_loop_whatever_the_scale() -> None:
    vectors = np.random.default_rng(0).standard_normal((2, 14, 6)) * [[[1.0]], [[50.0]]] + 3.0
    places, gaps = nearest_words(vectors)
    assert places.shape == gaps.shape == (2, 14, NEAREST)
    for layer, points in enumerate(vectors):
        size = np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).mean())
        for word in range(14):
            away = [np.linalg.norm(points[word] - other) / size for other in points]
            order = sorted(set(range(14)) - {word}, key=lambda other: away[other])
            assert places[layer, word].tolist() == order[:NEAREST]
            np.testing.assert_allclose(gaps[layer, word], sorted(away)[1 : NEAREST + 1], rtol=1e-5)


def test_equal_words_are_nearest_in_the_order_of_the_text() -> None:
    places, gaps = nearest_words(np.ones((1, 4, 3)))
    assert places[0].tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
    assert not gaps.any()


def test_rows_of_a_word_hold_every_model_and_layer(result, refs: tuple[str, ...]) -> None:
    rows = neighbour_rows(result, 4)
    assert len(rows) == 2 * (LAYERS + 1) * 7
    assert set(rows["model"]) == set(refs)
    words = TEXT.split()
    assert [words[place] for place in rows["position"]] == rows["word"].tolist()
    assert not (rows["position"] == 4).any()
    for _, group in rows.groupby(["model", "layer"]):
        assert group["rank"].tolist() == [*range(1, 8)]
        assert group["distance"].is_monotonic_increasing
    with pytest.raises(SpecError, match="no word 9"):
        neighbour_rows(result, 8)


def test_shared_words_are_counted_by_place_at_one_layer() -> None:
    near = {("a", 0): [1, 2, 3], ("b", 0): [3, 4, 1], ("a", 1): [1, 2, 3], ("b", 1): [4, 5, 6]}
    rows = pd.DataFrame(
        [(model, layer, place) for (model, layer), each in near.items() for place in each],
        columns=["model", "layer", "position"],
    )
    assert [shared_words(rows, layer, ("a", "b")) for layer in (0, 1)] == [2, 0]


def test_the_sentence_counts_shared_words_beside_chance(result, refs: tuple[str, ...]) -> None:
    longer = tokens.STUDY.run(TokenMapSpec(refs, f"{TEXT} {TEXT}", question="", answer=""))
    both = neighbour_sentence(longer, 4, 1, refs)
    shared = shared_words(neighbour_rows(longer, 4), 1, refs)
    assert f"share {shared} of the 10 words nearest to “door” (6.7 by chance)" in both
    assert "share" not in neighbour_sentence(result, 4, 1, refs), "all other words are near ones"
    alone = neighbour_sentence(result, 4, 1, refs[:1])
    nearest = neighbour_rows(result, 4).query("layer == 1 and model == @refs[0]").iloc[0]["word"]
    assert f"is “{nearest}”" in alone
    assert "of its variance" in alone


def test_a_ring_marks_one_word_in_every_map(result, refs: tuple[str, ...]) -> None:
    for panel in charts.draw_maps(result, 1, "", 4).charts:
        last = panel.to_dict()["layer"][-1]
        assert last["transform"] == [{"filter": "datum.position === 4"}]
    plain = charts.draw_maps(result, 1).charts[0].to_dict()
    assert "datum.position ===" not in str(plain)


@pytest.mark.parametrize("layer", range(LAYERS + 1))
def test_the_maps_of_a_layer_fill_one_frame(result, layer: int) -> None:
    first, second = (
        chart.to_dict()["layer"][0]["encoding"] for chart in charts.draw_maps(result, layer).charts
    )
    for axis in "xy":
        low, high = first[axis]["scale"]["domain"]
        assert second[axis]["scale"]["domain"] == [low, high]
        values = result.table.query("layer == @layer")[axis]
        assert low < values.min() < values.max() < high
        assert (values.max() - values.min()) / (high - low) > 0.85


def test_no_model_has_no_neighbours(tmp_path: Path) -> None:
    gone = tokens.STUDY.run(TokenMapSpec((f"path:{tmp_path / 'gone'}",), TEXT))
    assert not gone.arrays
    with pytest.raises(SpecError, match="no word 1"):
        neighbour_rows(gone, 0)

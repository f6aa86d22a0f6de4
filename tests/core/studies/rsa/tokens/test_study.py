"""The token map: one PCA for all layers and models, against scikit-learn's."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.commands.study import add_arguments, command_line, spec_of
from core.errors import CorpusError, ShapeError, SpecError
from core.models.changes import weight_change
from core.results.drawing.context import Context
from core.results.drawing.maps import STAGE, STAGE_BOX, TURN, ZOOM
from core.runs.process.drawing import draw
from core.studies.notices import start_notices
from core.studies.rsa.tokens import charts
from core.studies.rsa.tokens import study as tokens
from core.studies.rsa.tokens.report import EXPLAINED, GATHERED, missing_words
from core.studies.rsa.tokens.spec import TokenMapSpec as AnyMapSpec
from core.studies.rsa.tokens.study import project
from tests.core.massive import FIRST, make_massive
from tests.core.studies.rsa.facts import all_stated, stated, unnamed
from tests.core.tiny_models import D_MODEL, LAYERS, save_tiny

TEXT = "the man opened the door of unbelievable things"
PAGE = Context(zooms=True, moves=True)
TokenMapSpec = partial(
    AnyMapSpec, question="", answer=""
)  # a passage alone; questions have tests of their own


@pytest.fixture(scope="module")
def refs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    folder = tmp_path_factory.mktemp("tiny")
    models = (
        save_tiny(folder / "a"),
        save_tiny(folder / "b", seed=1),
        save_tiny(folder / "c", hidden_size=16),
    )
    return tuple(f"path:{model}" for model in models)  # type: ignore[return-value]


def test_projection_is_pca_of_centred_and_scaled_layers() -> None:
    from sklearn.decomposition import PCA

    rng = np.random.default_rng(0)
    vectors = (
        rng.standard_normal((2, 3, 9, 5)) * np.array([1.0, 10.0, 100.0])[None, :, None, None] + 7.0
    )
    drawn, explained = project(vectors)
    rows = []
    for model in vectors:
        for layer in model:
            points = layer - layer.mean(axis=0)
            rows.append(points / np.sqrt(np.mean(np.sum(points**2, axis=1))))
    pca = PCA(3).fit(np.concatenate(rows))
    expected = pca.transform(np.concatenate(rows)).reshape(2, 3, 9, 3)
    assert np.allclose(np.abs(drawn), np.abs(expected))
    assert explained == pytest.approx(pca.explained_variance_ratio_)


def test_projection_leaves_a_planar_cloud_alone() -> None:
    flat = np.zeros((1, 1, 6, 4))
    flat[0, 0, :, :2] = np.random.default_rng(1).standard_normal((6, 2))
    assert project(flat)[1].sum() == pytest.approx(1.0)
    still, _ = project(np.ones((1, 2, 4, 3)))
    assert np.array_equal(still, np.zeros((1, 2, 4, 3)))
    with pytest.raises(ShapeError, match=r"\(1, 1, 2, 4\)"):
        project(np.zeros((1, 1, 2, 4)))


def test_a_map_of_two_models(refs: tuple[str, str, str]) -> None:
    result = tokens.STUDY.run(TokenMapSpec(refs[:2], TEXT, ("Door", "man", "absent")))
    table = result.table
    assert list(table.columns) == [
        "model",
        "layer",
        "word",
        "position",
        "role",
        "highlighted",
        "predicted",
        "x",
        "y",
        "z",
    ]
    assert len(table) == 2 * (LAYERS + 1) * 8
    assert set(table[table["highlighted"]]["word"]) == {"door", "man"}
    assert result.notices[0] == missing_words(["absent"])
    (said,) = start_notices(refs[0], {refs[1]: weight_change(refs[0], refs[1])})
    assert said in result.notices
    shown = stated(result.statements, EXPLAINED).estimate
    assert shown is not None
    assert shown.value == pytest.approx(result.tables["axes"]["explained"].head(2).sum())
    assert [made.subject for made in all_stated(result.statements, GATHERED)] == list(refs[:2])
    assert not unnamed(result.statements, result.headline)
    alone = tokens.STUDY.run(TokenMapSpec(refs[:2], TEXT, ("door",)))
    assert not all_stated(alone.statements, GATHERED), "one word has no distance"
    drawn = tokens.STUDY.figures(result)
    assert next(iter(drawn)) == f"tokens-layer-{LAYERS}"
    for chart in (*drawn.values(), charts.token_chart(result, 1, refs[0])):
        assert "background" not in chart.to_dict()


def test_a_search_marks_words_of_the_token_map(refs: tuple[str, str, str]) -> None:
    result = tokens.STUDY.run(TokenMapSpec(refs[:2], TEXT, ("door",)))
    one = charts.token_chart(result, 1, refs[0], "MA").to_dict()
    rows = next(iter(one["datasets"].values()))
    assert {row["word"] for row in rows if row["marked"]} == {"man"}
    assert "1 of 8 words matches “MA”" in one["title"]["subtitle"]
    assert ZOOM not in str(one["layer"])
    moving = charts.token_chart(result, 1, refs[0], context=PAGE)
    assert [layer.get("params", [{}])[0].get("name") for layer in moving.to_dict()["layer"]] == [
        ZOOM,
        *[None] * 3,
    ]
    assert "layer" not in moving.to_dict()["title"]["text"]  # the page says it
    panels = tokens.STUDY.views[0].drawing(result, 1, "MA")(context=Context())
    assert any("matches “MA”" in str(chart.to_dict()["title"]) for chart in panels.charts)


def points_of(spec: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Where each word's point is drawn, of a plot 300 pixels wide."""
    text = draw("svg", json.dumps(spec | {"width": 300})).decode()
    found = re.findall(r"<path [^>]*Word: (\w+);[^>]*?translate\(([-\d.]+),([-\d.]+)\)", text)
    return {word: (float(x), float(y)) for word, x, y in found}


def test_on_a_page_words_move_between_the_places_that_they_have_at_each_layer(
    refs: tuple[str, str, str],
) -> None:
    result = tokens.STUDY.run(TokenMapSpec(refs[:2], "the man opened a door", ("door",)))
    page = charts.token_chart(result, LAYERS, refs[1], context=PAGE).to_dict()
    assert page["params"][0]["bind"]["element"] == f"#{STAGE_BOX}"
    assert page["params"][0]["value"] == LAYERS

    def at(stage: float) -> dict[str, tuple[float, float]]:
        field = {"name": STAGE, "value": str(stage)}
        return points_of({**page, "params": [field, *page["params"][1:]]})

    for layer in range(LAYERS + 1):
        alone = charts.token_chart(result, layer, refs[1]).to_dict()
        assert "params" not in alone
        expected = points_of(alone)
        assert len(expected) == 5
        for word, place in at(layer).items():
            assert place == pytest.approx(expected[word], abs=1e-6)
    moved = [at(stage)["door"] for stage in (0, 0.5, 1)]
    assert len({*moved}) == 3
    assert f"through {LAYERS + 1} layers" in page["description"]


@pytest.mark.parametrize(("share", "turns"), [(0.49, True), (0.5, False)])
def test_a_map_that_shows_little_can_be_turned_on_a_page(
    refs: tuple[str, str, str], share: float, turns: bool
) -> None:
    result = tokens.STUDY.run(TokenMapSpec(refs[:1], TEXT, ("door",)))
    axes = result.tables["axes"].assign(explained=[share - 0.1, 0.1, 0.05])
    result = replace(result, tables=result.tables | {"axes": axes})
    page = charts.token_chart(result, 1, refs[0], context=PAGE).to_dict()
    assert any(param["name"] == TURN for param in page["params"]) == turns
    assert ("turned by 90°: PC 3 (5.0 %)" in str(page["layer"])) == turns
    sizes = [
        layer["mark"].get("size") for layer in page["layer"] if layer["mark"]["type"] != "text"
    ]
    assert all(isinstance(size, dict) == turns for size in sizes)
    alone = charts.token_chart(result, 1, refs[0]).to_dict()
    assert "params" not in alone
    assert "PC 3" not in str(alone)


def test_the_report_says_how_to_draw_it_again(refs: tuple[str, str, str]) -> None:
    spec = TokenMapSpec(refs[:1], "-x opened the door", ("door",))
    result = tokens.STUDY.run(spec)
    words = shlex.split(command_line(result.study, spec))
    parser = argparse.ArgumentParser()
    add_arguments(parser, result.study)
    assert spec_of(result.study, parser.parse_args(words[4:])) == spec
    assert "highlight door" in result.methods


def test_refusals(refs: tuple[str, str, str], tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"at least 1 .*models"):
        TokenMapSpec((), TEXT)
    with pytest.raises(SpecError, match="passage"):
        TokenMapSpec(refs[:1], "  \n ")
    with pytest.raises(CorpusError, match="3 to 200 words"):
        tokens.STUDY.run(TokenMapSpec(refs[:1], "two words"))
    with pytest.raises(SpecError, match=rf"of {D_MODEL}.*of 16"):
        tokens.STUDY.run(TokenMapSpec((refs[0], refs[2]), TEXT))
    long = tokens.STUDY.run(TokenMapSpec(refs[:1], "dog " * 100))
    assert refs[0] in long.failures[refs[0]]
    assert (long.headline, long.statements) == (tokens.STUDY.words.nothing, ())
    assert tokens.STUDY.figures(long) == {}
    gone = tokens.STUDY.run(TokenMapSpec((refs[0], f"path:{tmp_path / 'gone'}"), TEXT))
    assert "gone" in "".join(gone.failures.values())
    assert len(gone.table) == (LAYERS + 1) * 8


@pytest.mark.parametrize("question", ["", "the dog opened"])
def test_sinks_of_one_decoder_are_drawn_for_none(tmp_path: Path, question: str) -> None:
    for seed, name in enumerate(("plain", "massive")):
        save_tiny(tmp_path / name, "llama", seed=seed)
    make_massive(tmp_path / "massive")
    refs = tuple(f"path:{tmp_path / name}" for name in ("plain", "massive"))
    asked = {"models": refs, "passage": f"the door {FIRST} the old dog", "question": question}
    result = tokens.STUDY.run(TokenMapSpec(**asked))
    start = len(question.split())
    drawn = [*range(start + 2), *range(start + 3, start + 6)]
    for _, rows in result.table.groupby(["model", "layer"]):
        assert rows["position"].tolist() == drawn
        assert FIRST not in set(rows["word"])
    assert result.tables["sinks"].groupby("model")["sinks"].max().to_dict() == {
        refs[0]: 0,
        refs[1]: 1,
    }
    assert any("1 of" in notice and "massive" in notice for notice in result.notices)
    kept = tokens.STUDY.run(TokenMapSpec(**asked, sinks="keep"))
    assert len(kept.table) == len(result.table) // len(drawn) * (len(drawn) + 1)
    assert "sinks" not in kept.tables

"""Charts: every figure of a result renders to SVG, and what is not there is refused with what
is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from core.errors import SpecError
from core.maths.spectra.projections import calc_stress
from core.results.drawing.context import Context
from core.results.drawing.maps import ZOOM
from core.results.export import Result, chart_svg
from core.results.numbers import text_of
from core.results.report import report_html
from core.studies.weights.clusters.charts.distances import vote_chart
from core.studies.weights.clusters.charts.figures import (
    axes_of,
    map_chart,
    shares_of,
)
from core.studies.weights.clusters.charts.ranks import (
    depth_chart,
    families_of,
    spectrum_chart,
)
from core.studies.weights.clusters.distances import redraw
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.study import STUDY
from core.studies.weights.ranks import build_spectra, build_trends


@pytest.fixture(scope="module")
def result(zoo_on_disk: Path, tmp_path_factory: pytest.TempPathFactory) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PALIMPSEST_ZOO", str(zoo_on_disk))
        patch.setenv("PALIMPSEST_STORE", str(tmp_path_factory.mktemp("store")))
        return STUDY.run(WeightsSpec(rank=3, permutations=100))


def test_every_figure_renders(result: Result) -> None:
    drawn = STUDY.figures(result)
    assert list(drawn)[:4] == ["votes", "map", "neighbours", "distances"]
    assert [name for name in drawn if name.startswith("ranks")] == ["ranks-delta"]
    assert len(drawn["ranks-delta"].to_dict()["vconcat"][1]["concat"]) == len(families_of(result))
    for name, chart in drawn.items():
        assert b"<svg" in chart_svg(chart), name
    assert b"data:image/svg+xml" in report_html(result, {"map": drawn["map"]})


def test_every_model_is_a_row_in_which_its_nearest_are_large(result: Result) -> None:
    chart = vote_chart(result).to_dict()
    drawn = [chart["datasets"][layer["data"]["name"]] for layer in chart["layer"][:2]]
    k, models = int(result.arrays["k"]), len(result.table)
    assert len(drawn[0]) == models * (models - 1)
    for name in {row["model"] for row in drawn[0]}:
        rows = [row for row in drawn[0] if row["model"] == name]
        far = sorted(row["distance"] for row in rows)
        assert [row["distance"] for row in rows if row["votes"]] == far[:k]
    (vote, *_) = result.tables["votes"].to_dict("records")
    assert sum(row["named"] == row["label"] for row in drawn[1]) == vote["right"]
    assert text_of(vote["expected"], "amount") in chart["title"]["subtitle"]
    wrong = result.tables["predictions"].assign(predicted="?")
    spoilt = vote_chart(replace(result, tables={**result.tables, "predictions": wrong})).to_dict()
    assert f"?, not {wrong['label'].iloc[0]}" in spoilt["description"]


@pytest.mark.parametrize("by", ["label", "task", "data", "base", "cluster"])
def test_the_map_takes_any_column(result: Result, by: str) -> None:
    assert b"<svg" in chart_svg(map_chart(result, by=by, chosen="zoo:nli-0"))


def test_the_map_takes_other_places(result: Result) -> None:
    chart = map_chart(redraw(result, "tsne")).to_dict()
    assert "t-SNE" in str(chart["title"])
    assert "chosen" in str(chart)
    assert "PCA" in str(map_chart(result).to_dict()["title"])


@pytest.mark.parametrize(
    ("axes", "first", "second"), [("1-2", "x", "y"), ("1-3", "x", "z"), ("2-3", "y", "z")]
)
def test_the_map_shows_any_two_of_three_axes(
    result: Result, axes: str, first: str, second: str
) -> None:
    chart = map_chart(result, axes=axes).to_dict()
    rows = {row["model"]: row for row in next(iter(chart["datasets"].values()))}
    for model, x, y in result.table[["model", first, second]].itertuples(index=False):
        assert (rows[model]["x"], rows[model]["y"]) == (x, y)
    place = "xyz".index(second)
    assert f"PC {place + 1}" in chart["layer"][0]["encoding"]["y"]["title"]
    assert shares_of(result, axes)[1] == result.arrays["explained"][place]
    ends = chart["layer"][0]["encoding"]["x"]["scale"]["domain"]
    whole = map_chart(result).to_dict()["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert ends[1] - ends[0] == pytest.approx(whole[1] - whole[0])


def test_the_map_says_the_stress_of_two_and_three_dimensions(result: Result) -> None:
    distances = result.arrays[f"distances {result.spec['vector']}"]
    subtitle = map_chart(result).to_dict()["title"]["subtitle"]
    for axes in (2, 3):
        stress = calc_stress(distances, result.table[["x", "y", "z"]].to_numpy()[:, :axes])
        assert text_of(stress, "per cent") in subtitle
    flat = calc_stress(distances, result.table[["x", "y"]].to_numpy())
    assert ("read them in the view Distances" in subtitle) == (flat > 0.1)


def test_t_sne_has_two_axes(result: Result) -> None:
    drawn = redraw(result, "tsne")
    assert axes_of(drawn) == ["1-2"]
    assert "stress" not in map_chart(drawn).to_dict()["title"]["subtitle"]
    with pytest.raises(SpecError, match="axes 1-2, not '1-3'"):
        map_chart(drawn, axes="1-3")


def test_a_result_of_an_earlier_version_has_two_axes(result: Result) -> None:
    old = replace(
        result,
        tables={**result.tables, "models": result.table.drop(columns="z")},
        arrays={**result.arrays, "explained": result.arrays["explained"][:2]},
    )
    assert axes_of(old) == ["1-2"]
    assert b"<svg" in chart_svg(map_chart(old))


def test_a_search_marks_models_on_the_map(result: Result) -> None:
    chart = map_chart(result, wanted="parse").to_dict()
    rows = next(iter(chart["datasets"].values()))
    assert {row["model"] for row in rows if row["marked"]} == {
        model for model in result.table["model"] if "parse" in model
    }
    assert "parse" in chart["title"]["subtitle"]
    assert "marked" in str(chart["layer"][0]["encoding"]["opacity"])
    nobody = map_chart(result, wanted="nobody").to_dict()
    assert "marked" not in str(nobody["layer"][0]["encoding"]["opacity"])


def test_a_map_on_a_page_moves_and_a_file_does_not(result: Result) -> None:
    assert ZOOM in str(map_chart(result, context=Context(zooms=True)).to_altair().to_dict())
    assert ZOOM not in str(map_chart(result).to_dict()["layer"])


@pytest.mark.parametrize("measure", ["rank", "stable_rank", "entropy_rank", "relative_norm"])
def test_every_measure_by_depth(result: Result, measure: str) -> None:
    assert b"<svg" in chart_svg(depth_chart(result, "query", threshold=0.95, measure=measure))


def test_the_trend_of_a_panel_is_that_of_the_table() -> None:
    """It describes: a family of few layers has none, and no panel has a p-value."""
    rng = np.random.default_rng(0)
    places = [("query", layer) for layer in range(12)] + [("key", layer) for layer in range(4)]
    values = [np.sort(rng.random(24) ** rng.integers(1, 9))[::-1] for _ in places]
    weights = {"places": places, "shapes": [(24, 24)] * len(places), "values": values}
    spectra = build_spectra({}, {"zoo:a": weights})
    arrays, tables = {"spectra": spectra.values}, {"matrices": spectra.matrices}
    result: Any = SimpleNamespace(tables=tables, arrays=arrays, spec={"threshold": 0.9})
    trends = build_trends(spectra, 0.9).set_index("family")
    assert trends.index.tolist() == ["query"]
    title = str(depth_chart(result, "query", "weights").to_dict()["title"])
    fitted = trends.loc["query", "equation"].removeprefix("rank = ").partition(", R²")[0]
    assert (fitted if trends.loc["query", "kind"] != "constant" else "No trend (R² ") in title
    assert "p =" not in title
    assert not depth_chart(result, "key", "weights").to_dict()["title"].get("subtitle")


def test_spectra_of_one_model(result: Result) -> None:
    svg = chart_svg(spectrum_chart(result, "zoo:pos-1", "ff1"))
    assert b"Gaussian" in svg


def test_what_is_not_there_is_refused(result: Result, zoo: Path) -> None:
    with pytest.raises(SpecError, match="cannot be coloured by 'colour'"):
        map_chart(result, by="colour")
    with pytest.raises(SpecError, match="no delta"):
        spectrum_chart(result, "zoo:nobody", "query")
    alone = STUDY.run(WeightsSpec(models=("zoo:nli-0",)))
    assert "map" in STUDY.figures(alone)

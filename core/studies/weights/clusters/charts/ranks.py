"""Charts of spectra: rank by depth with its null and trend, singular values on log axes, and the
update of a single model, a cell for each family and layer."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import core.maths.spectra.trends as fits
from core.errors import SpecError
from core.maths.spectra.nulls import null_spectrum
from core.models.weights.matrix_families import family_label
from core.results.drawing import curves, panels
from core.results.drawing.style import BLUE, GREY, ORANGE
from core.results.estimates import kind_of
from core.results.names import short_name, short_names
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Plane,
    Result,
    Tip,
    heatmap,
    layered,
    span_of,
    text_of,
    tip_of,
    with_tooltips,
)
from core.studies.weights.ranks import Spectra, formula_of, rank_at

ACROSS = 3  # panels per row
ROW, ROOM = 26, 60  # height of a row of cells, and of axes and legend
SINGLE, MEAN, NULL, TREND = "each model", "mean", "Gaussian matrix", "trend"
LOOKS = {
    SINGLE: curves.Look("#A6C9DF", point=False, width=1.0),
    MEAN: curves.Look(BLUE, point=False, width=2.5),
    NULL: curves.Look(GREY, dash=(6, 4), point=False, width=2.0),
    TREND: curves.Look(ORANGE, dash=(2, 3), point=False, width=2.5),
}
POINTS = 60  # per curve on a logarithmic axis
SMALLEST = 0.001  # singular value at which the axis ends, for a norm of 1


def spectra_of(result: Result) -> Spectra:
    """The singular values of a result, with their table."""
    return Spectra(result.tables["matrices"], result.arrays["spectra"])


def families_of(result: Result, of: str = "delta") -> list[str]:
    """Families with measured matrices that changed in some model, in the order of a layer."""
    table = result.tables["matrices"]
    if not len(table):
        return []
    shown = (table["of"] == of) & ((of == "weights") | (table["relative_norm"] > 0))
    return list(dict.fromkeys(table.loc[shown, "family"]))


def depth_chart(
    result: Result,
    family: str,
    of: str = "delta",
    threshold: float | None = None,
    measure: str = "rank",
    place: panels.Place | None = None,
    *,
    context: Context = PAGE,
) -> Chart:
    """Draw one family by layer: models as thin lines, their mean, the trend that AICc chooses, if
    any, and a Gaussian matrix. The rank of an unchanged matrix is left out; its norm of 0 is
    shown."""
    place = place or panels.Place()
    threshold = result.spec["threshold"] if threshold is None else threshold
    ranks = rank_at(spectra_of(result), threshold)
    table = ranks[(ranks["of"] == of) & (ranks["family"] == family)]
    if measure != "relative_norm":
        table = table[table["rank"] > 0]
    null = f"null_{measure}" if f"null_{measure}" in table.columns else ""
    energy = text_of(threshold, "setting")
    title = f"Rank, {energy} of energy" if measure == "rank" else tip_of(measure).title
    rows = table.assign(name=table["model"].map(short_names(dict.fromkeys(table["model"]))))
    lines, subtitle = _summary(table, measure, null)
    what = family_label(family).capitalize()
    return curves.layer_chart(
        lines,
        measure,
        {name: look for name, look in LOOKS.items() if name != SINGLE},
        what,
        subtitle,
        y_title=title,
        x_title="Layer" * place.lowest,
        kind="measure",
        ends=span_of(rows[measure], lines[measure], zero=True),
        under=[partial(_models, rows, null)],
        words={"what": f"{what}: {rows['model'].nunique()} models"},
        height=place.height,
        context=replace(context, unnamed=True),
    )


def _models(rows: pd.DataFrame, null: str, plane: Plane, x: dict[str, Any]) -> Chart:
    """A thin line and small points for each model, for `under`."""
    tips = (Tip("name", "Model"), "layer", Tip(plane.y, plane.y_title, plane.kind), null)
    single, tooltip = with_tooltips(rows.assign(who=rows["name"]), tips)
    chart = Chart(single).encode(x=x, y=plane.y_of())
    thin = chart.mark_line(color=BLUE, opacity=0.22, strokeWidth=1).encode(
        detail="model:N", tooltip=tooltip[:1]
    )
    dots = chart.mark_point(color=BLUE, opacity=0.35, size=18, filled=True)
    return layered(thin, dots.encode(tooltip=tooltip))


def _summary(table: pd.DataFrame, measure: str, null: str) -> tuple[pd.DataFrame, str]:
    """Mean, null and trend by layer as named lines, and the trend's equation; "" with too few
    layers for one."""
    mean = table.groupby("layer", as_index=False)[[measure, *([null] if null else [])]].mean()
    parts = [
        mean.assign(name=name, **{measure: mean[column]})
        for name, column in ((MEAN, measure), (NULL, null))
        if column
    ]
    trend = fits.fit_trend(mean["layer"].to_numpy(float), mean[measure].to_numpy(float))
    if trend is None:
        return pd.concat(parts, ignore_index=True), ""
    if trend.kind == "constant":
        line = float(mean["layer"].corr(mean[measure]) ** 2)
        least = fits.least_share(int(mean[measure].count()))
        level = f"no trend (R² {text_of(line)} < {text_of(least)})"
        return pd.concat(parts, ignore_index=True), level if line == line else "no trend"
    depth = np.linspace(table["layer"].min(), table["layer"].max(), 25)
    parts.append(pd.DataFrame({"name": TREND, "layer": depth, measure: trend.at(depth)}))
    # a panel's heading has no room for R², which is in the table
    return pd.concat(parts, ignore_index=True), formula_of(trend)


def spectrum_chart(
    result: Result,
    model: str,
    family: str,
    of: str = "delta",
    layer: int = 0,
    *,
    context: Context = PAGE,
) -> Chart:
    """Draw the singular values of one family on log axes, a line per layer, with the null; the
    layer 0 highlights none. Raises SpecError if the result has no such model or family."""
    spectra = spectra_of(result)
    table = spectra.matrices
    rows = table[(table["model"] == model) & (table["family"] == family) & (table["of"] == of)]
    if rows.empty:
        raise SpecError(f"This result has no {of} of {family!r} for {model}; choose another model.")
    shape = (int(rows["rows"].iloc[0]), int(rows["columns"].iloc[0]))
    short = min(shape)
    places = np.unique(np.geomspace(1, short, POINTS).round().astype(int))
    null = pd.DataFrame(
        {"direction": places, "value": null_spectrum(*shape)[places - 1], "name": NULL}
    )
    frames = [*_layer_spectra(spectra, rows, short, places), null]
    lines = pd.concat(frames, ignore_index=True)
    lines = lines[lines["value"] > SMALLEST / 2]
    plane = Plane(
        "direction",
        "value",
        "Direction",
        "Singular value / norm",
        SMALLEST,
        1.0,
        (1.0, float(short)),
        kind="measure",
        height=panels.ALONE,
        x_axis={"tickCount": 3, "format": "d"},
        x_log=True,
        y_log=True,
        context=replace(context, unnamed=True),
    )
    still = ", ".join(str(layer) for layer in rows.loc[rows["relative_norm"] == 0, "layer"])
    what = family_label(family).capitalize()
    below = f"unchanged in layer {still}" if still else ""
    return curves.line_chart(
        lines, plane, _layer_looks(result, layer), what, below, line="Layer",
        words={"what": f"{what}, singular values of {short_name(model)}"},
    )  # fmt: skip


def _layer_spectra(
    spectra: Spectra, rows: pd.DataFrame, short: int, places: np.ndarray
) -> list[pd.DataFrame]:
    """Singular values over their norm at some places, for each row whose matrix changed."""
    frames = []
    for index, row in rows.iterrows():
        values = spectra.values[spectra.matrices.index.get_loc(index)][:short]
        size = np.linalg.norm(values)
        if size > 0:
            columns = {"direction": places, "value": values[places - 1] / size}
            frames.append(pd.DataFrame(columns | {"name": f"layer {row['layer']}"}))
    return frames


def layers_of(result: Result) -> list[int]:
    """Layers of the study; 1 is the first above the embeddings."""
    return sorted(int(layer) for layer in set(result.tables["matrices"]["layer"]))


def _layer_looks(result: Result, highlighted: int) -> dict[str, curves.Look]:
    """Colour layers from blue to orange and the Gaussian matrix grey; highlight one, or none."""
    layers = layers_of(result)
    looks = curves.graded([f"layer {layer}" for layer in layers], point=False, width=1.8)
    if highlighted in layers:
        looks = {
            name: replace(look, colour=BLUE, width=3.5)
            if name == f"layer {highlighted}"
            else replace(look, colour=GREY, width=0.8)
            for name, look in looks.items()
        }
    return looks | {NULL: LOOKS[NULL]}


def change_chart(result: Result, column: str, *, context: Context = PAGE) -> Chart:
    """Draw the update of a result's one model by family and layer, its "relative_norm" or its
    "rank" at the study's threshold, as a heatmap that fills its container."""
    ranks, threshold = result.tables["ranks"], float(result.spec["threshold"])
    table = ranks[(ranks["of"] == "delta") & (ranks["threshold"] == threshold)]
    families = list(dict.fromkeys(table["family"]))
    energy = text_of(threshold, "setting")
    below = {
        "relative_norm": "norm of the update over the norm of the base's matrix",
        "rank": f"directions that hold {energy} of its energy; 0 for an unchanged matrix",
    }[column]
    title = f"{tip_of(f'ranks.{column}').title} of the update by matrix"
    moved = table.loc[table["relative_norm"] > 0, column]
    median = text_of(float(moved.median()), kind_of(column, {}))
    return heatmap(
        table, title, below, x="layer", y="family", value=column, x_title="Layer",
        ends=(0.0, float(table[column].max()) or 1.0), tips=["family", "layer"],
        also=["null_rank"] if column == "rank" else [], order=(None, families),
        said=f"{title}, median {median}" if len(moved) else title,
        height=ROW * len(families) + ROOM, context=context,
    )  # fmt: skip


def depth_panels(
    result: Result,
    of: str,
    threshold: float | None = None,
    measure: str = "rank",
    *,
    context: Context = PAGE,
) -> panels.Panels:
    """Draw every family by depth under one legend."""
    families = families_of(result, of)
    places = [panels.Place(number, len(families), ACROSS) for number in range(len(families))]
    drawn = [
        depth_chart(result, family, of, threshold, measure, place, context=context)
        for family, place in zip(families, places, strict=True)
    ]
    strip = panels.legend_strip(LOOKS, context=context)
    return panels.Panels(drawn, across=ACROSS, strip=strip, inline=True)


def spectrum_panels(
    result: Result, model: str, of: str, layer: int = 0, *, context: Context = PAGE
) -> panels.Panels:
    """Draw the spectra of every family of one model under one legend."""
    drawn = [
        spectrum_chart(result, model, family, of, layer, context=context)
        for family in families_of(result, of)
    ]
    legend = panels.legend_strip(_layer_looks(result, layer), context=context)
    return panels.Panels(drawn, across=ACROSS, strip=legend)

"""Charts of spectra: rank by depth beside its null and trend, and a model's singular values on log axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import SpecError
from core.results.charts import BLUE, GREY, ORANGE, heading
from core.weights.nulls import null_spectrum
from core.weights.rank_tables import Spectra, rank_at
from core.weights.trends import fit_trend

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from core.results.export import Result

COLOUR, OTHER = BLUE, ORANGE
HEIGHT = 230
MEASURES = {
    "rank": ("Rank at the threshold", "null_rank"),
    "stable_rank": ("Stable rank", "null_stable_rank"),
    "entropy_rank": ("Entropy rank", "null_entropy_rank"),
    "relative_norm": ("Relative delta norm", ""),
}
POINTS = 60  # of a curve on a logarithmic axis
SMALLEST = 0.001  # singular value, of a norm of 1, where the axis ends


def spectra_of(result: Result) -> Spectra:
    """The singular values that a result holds, with their table."""
    return Spectra(result.tables["matrices"], result.arrays["spectra"])


def families_of(result: Result, of: str = "delta") -> list[str]:
    """Families that were measured and, of deltas, moved in some model and layer; in the order of a layer."""
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
    legend: bool = True,
) -> alt.TopLevelMixin:
    """One family by layer: every model as a thin line, their mean, the Gaussian null and the means' trend.

    A matrix that did not move has no rank to show; its norm of 0 is shown.

    Args:
        result: Of the weights study.
        family: One of `families_of(result)`.
        of: "delta" or "weights".
        threshold: Energy share of the rank; the study's own without it.
        measure: One of `MEASURES`.
        legend: Whether to name the lines; once is enough beside others.

    Raises:
        SpecError: If the result has no such family or measure.
    """
    import altair as alt

    if measure not in MEASURES:
        raise SpecError(f"measure must be one of {', '.join(MEASURES)}, got {measure!r}.")
    threshold = result.spec["threshold"] if threshold is None else threshold
    table = rank_at(spectra_of(result), threshold)
    table = table[(table["family"] == family) & (table["of"] == of)]
    if table.empty:
        raise SpecError(f"This result holds no {of} of {family!r}; it has {', '.join(families_of(result, of))}.")
    if measure != "relative_norm":
        table = table[table["rank"] > 0]
    title, null = MEASURES[measure]
    title = f"Rank, {100 * threshold:.4g} % of energy" if measure == "rank" else title
    x = alt.X("layer:Q", title="Layer", axis=alt.Axis(tickMinStep=1, format="d", grid=False))
    y = alt.Y(f"{measure}:Q", title=title, scale=alt.Scale(zero=True))
    tooltip = ["model:N", "layer:Q", alt.Tooltip(f"{measure}:Q", format=".4g")]
    tooltip += [alt.Tooltip(f"{null}:Q", title="null", format=".4g")] if null else []
    chart = alt.Chart(table)
    layers: list[Any] = [
        chart.mark_line(color=COLOUR, opacity=0.22, strokeWidth=1).encode(x=x, y=y, detail="model:N"),
        chart.mark_point(color=COLOUR, opacity=0.35, size=18, filled=True).encode(x=x, y=y, tooltip=tooltip),
    ]
    mean = table.groupby("layer", as_index=False)[[measure, *([null] if null else [])]].mean()
    if null:
        layers.append(_named_line(mean, null, "Gaussian null", x, title, legend))
    layers.append(_named_line(mean, measure, "mean", x, title, legend))
    trend = fit_trend(mean["layer"].to_numpy(float), mean[measure].to_numpy(float))
    subtitle: list[str] = []
    if trend is not None:
        if trend.kind != "constant":
            depth = np.linspace(table["layer"].min(), table["layer"].max(), 25)
            layers.append(_named_line(_frame(layer=depth, trend=trend.at(depth)), "trend", "trend", x, title, legend))
        equation, _, quality = trend.equation(measure.replace("_", " ")).partition("  ")
        subtitle = [equation, quality.strip("()")]  # two lines: a panel is narrow
    return alt.layer(*layers).properties(width="container", height=HEIGHT, title=heading(family.capitalize(), subtitle))


def spectrum_chart(
    result: Result, model: str, family: str, of: str = "delta", legend: bool = True
) -> alt.TopLevelMixin:
    """Singular values of one model's family, one line per layer, on log axes, beside those of a Gaussian matrix.

    Args:
        result: Of the weights study.
        model: Its reference.
        family: One of `families_of(result)`.
        of: "delta" or "weights".
        legend: Whether to say which colour is which layer; once is enough beside others.

    Raises:
        SpecError: If the result has no such model or family.
    """
    import altair as alt
    import pandas as pd

    spectra = spectra_of(result)
    table = spectra.matrices
    rows = table[(table["model"] == model) & (table["family"] == family) & (table["of"] == of)]
    if rows.empty:
        raise SpecError(f"This result holds no {of} of {family!r} for {model}.")
    shape = (int(rows["rows"].iloc[0]), int(rows["columns"].iloc[0]))
    short = min(shape)
    places = np.unique(np.geomspace(1, short, POINTS).round().astype(int))
    frames = []
    for index, row in rows.iterrows():
        values = spectra.values[table.index.get_loc(index)][:short]
        size = np.linalg.norm(values)
        if size > 0:
            frames.append(_frame(direction=places, value=values[places - 1] / size, layer=int(row["layer"])))
    lines = pd.concat(frames, ignore_index=True) if frames else _frame(direction=[], value=[], layer=[])
    lines = lines[lines["value"] > 0]
    x_scale, y_scale = (alt.Scale(type="log", domain=domain, nice=False) for domain in ([1, short], [SMALLEST, 1]))
    x = alt.X("direction:Q", title="Direction", scale=x_scale, axis=alt.Axis(grid=False, tickCount=3))
    y = alt.Y(
        "value:Q",
        title="Singular value / norm",
        scale=y_scale,
        axis=alt.Axis(values=[0.001, 0.01, 0.1, 1], format="~g"),
    )
    null = _frame(direction=places, value=null_spectrum(*shape)[places - 1], kind="Gaussian null")
    layers_shown = [int(rows["layer"].min()), max(int(rows["layer"].max()), 2)]
    still = ", ".join(str(layer) for layer in rows.loc[rows["relative_norm"] == 0, "layer"])
    subtitle = ["dashed: a Gaussian matrix of this shape", *([f"not changed in layer {still}"] if still else [])]
    return alt.layer(
        alt.Chart(null)
        .mark_line(color=GREY, strokeDash=[6, 4], strokeWidth=2, clip=True)
        .encode(x=x, y=y, tooltip=["kind:N", "direction:Q", alt.Tooltip("value:Q", format=".3g")]),
        alt.Chart(lines)
        .mark_line(strokeWidth=1.8, clip=True)
        .encode(
            x=x,
            y=y,
            detail="layer:N",
            color=alt.Color(
                "layer:Q",
                title="Layer",
                scale=alt.Scale(domain=layers_shown, range=[COLOUR, OTHER], interpolate="lab"),
                legend=alt.Legend(orient="bottom", tickMinStep=1, format="d", gradientLength=120) if legend else None,
            ),
            tooltip=["layer:Q", "direction:Q", alt.Tooltip("value:Q", format=".3g")],
        ),
    ).properties(
        width="container",
        height=HEIGHT,
        title=heading(family.capitalize(), subtitle),
    )


def figures(result: Result) -> dict[str, alt.TopLevelMixin]:
    """Rank by depth for every family of what was asked for."""
    kinds = ("delta", "weights") if result.spec["of"] == "both" else (result.spec["of"],)
    return {
        f"ranks-{of}-{family.replace(' ', '-')}": depth_chart(result, family, of)
        for of in kinds
        for family in families_of(result, of)
    }


def _named_line(table: pd.DataFrame, column: str, kind: str, x: Any, title: str, legend: bool) -> Any:
    """A line whose name stands in the legend that all of them share."""
    import altair as alt

    style = {"mean": (COLOUR, [1, 0]), "Gaussian null": (GREY, [6, 4]), "trend": (OTHER, [2, 3])}
    names = list(style)
    return (
        alt.Chart(table.assign(kind=kind))
        .mark_line(strokeWidth=2.5)
        .encode(
            x=x,
            y=alt.Y(f"{column}:Q", title=title),
            color=alt.Color(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=names, range=[style[name][0] for name in names]),
                legend=alt.Legend(orient="bottom", columns=2) if legend else None,
            ),
            strokeDash=alt.StrokeDash(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=names, range=[style[name][1] for name in names]),
                legend=alt.Legend(orient="bottom", columns=2) if legend else None,
            ),
            tooltip=["kind:N", "layer:Q", alt.Tooltip(f"{column}:Q", format=".4g")],
        )
    )


def _frame(**columns: Any) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(columns)

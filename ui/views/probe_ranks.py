"""The rank sweep on the probe page: how many dimensions a probe needs, trained when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from core.probes.prices import sweep_price
from core.probes.trees import charts
from core.probes.trees.sweep import run_sweep
from core.results.names import short_name
from ui.study.downloads import show_downloads
from ui.study.price import priced_panel
from ui.study.results import show_charts, show_headline, show_table

if TYPE_CHECKING:
    import altair as alt

    from core.probes.trees.result import ProbeResult
    from core.probes.trees.spec import ProbeSpec
    from core.text.reading import Text
    from ui.study.forms import Form

SWEPT_HELP = "For each of them one probe of every rank is trained."


def ranks_view(
    form: Form[ProbeSpec], spec: ProbeSpec, result: ProbeResult, texts: Mapping[str, Text], identity: tuple[str, ...]
) -> None:  # fmt: skip
    """Probes of rank 1 to full at one layer, trained when they are asked for."""
    models = [model for model in result.probes if not model.startswith("random:")] or list(result.probes)
    with st.form("probe/ranks", border=False):
        left, middle, right = st.columns([4, 3, 2], vertical_alignment="bottom")
        chosen = left.multiselect(
            "Models", models, default=models[:2], key="probe/rank_models", format_func=short_name, help=SWEPT_HELP
        )
        every = sorted({layer for model in models for layer in result.probes[model].layers})
        layer = middle.selectbox(
            "Layer", ["best of each", *every], key="probe/rank_layer", help="Where the probes are trained."
        )
        asked = right.form_submit_button("Sweep the rank", icon=":material/play_arrow:", width="stretch")
    swept = st.session_state.setdefault("swept", set())
    wanted = tuple(
        (model, result.best_layer(model) if isinstance(layer, str) else int(layer))
        for model in chosen
        if isinstance(layer, str) or layer in result.probes[model].layers
    )
    key = (spec, wanted, identity)
    if asked:
        swept.add(key)
    if not wanted or key not in swept:
        st.info("One probe of each rank, 1 to full, is trained on one layer; all ranks of a model train together.")
        return
    sweep = priced_panel(
        form,
        "rank sweep",
        spec,
        lambda progress, cancel: run_sweep(spec, dict(wanted), texts, progress=progress, cancel=cancel),
        partial(sweep_price, models=chosen),
        identity=(wanted, identity),
        again=asked,
    )
    if sweep is None or sweep.table.empty:
        return
    show_headline(sweep)
    drawing = partial(charts.sweep_chart, sweep.table)

    def drawn() -> list[alt.TopLevelMixin]:
        return [drawing(metric) for metric in ("uuas", "dspr")]

    show_charts(drawn, key="sweep", alt_text=sweep.headline, result=sweep)
    show_downloads(sweep, drawn, lambda: {"sweep": drawing(), "sweep-dspr": drawing("dspr")}, view="sweep")
    show_table(sweep.table, "sweep")

"""Experiments of the RSA page: layers of base and fine-tune exchanged."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.errors import PalimpsestError
from core.rsa.experiments import swap, swap_charts
from core.rsa.spec import RsaSpec
from ui.downloads import show_downloads
from ui.forms import Form
from ui.results import show_charts, show_headline, show_method, show_table
from ui.run_panel import run_panel
from ui.studies import contents
from ui.text import plain

SWAP = "Layers exchanged"
VIEWS = {SWAP: "what the task scores with layers of the base"}
SWAP_CAVEATS = """
**What would mislead you here**

- **A layer that loses nothing need not be idle.** The base's layer may do the same work: it was there before. Left
  out, or with random weights, a layer shows whether the task needs any layer at that place.
- **A loss need not be the task's.** Layers of one model fit each other. The same change turned in random directions
  shows what that size and rank cost anywhere.
- **Larger changes lose more.** Compare losses of two models beside the sizes of their changes (table `sizes`).
- **Truncated is not retrained.** The head has learned the top layer's vectors; trained on a lower layer it would do
  better than the curve says. Diamonds are models trained with the lower layers frozen: training had a say there.
- **A parse is not gold.** Tags and heads of the demo come from a parser that learned the same treebank.
"""


def exchanged(form: Form[RsaSpec], spec: RsaSpec) -> None:
    """Layers of the base in its fine-tunes: of the compared models, those whose task can be scored."""
    try:
        asked = swap.SwapSpec(
            base=spec.base, compare=spec.compare, corpus=spec.corpus, genres=spec.genres, sentences=spec.sentences,
            seed=spec.seed,
        )  # fmt: skip
    except PalimpsestError as error:
        st.info(plain(str(error)), icon=":material/info:")
        return
    texts = form.texts
    result = run_panel(
        "layers exchanged",
        asked,
        lambda progress, cancel: swap.run_study(asked, texts, progress=progress, cancel=cancel),
        identity=(form.identity, contents(asked.base, *asked.compare)),
        again=form.pressed,
    )
    if result is None:
        return
    show_headline(result)
    if result.table.empty:
        return
    models = list(dict.fromkeys(result.table["model"]))
    show_charts(
        lambda: [swap_charts.swap_chart(result, kind, model) for model in models for kind in ("single", "cut")],
        key="swap",
        alt_text=result.headline,
        result=result,
        view=SWAP,
    )
    show_downloads(
        result, lambda: swap_charts.swap_chart(result, "single"), lambda: swap_charts.figures(result), view=SWAP
    )
    for table in result.tables.values():
        show_table(table)
    show_method(result, SWAP_CAVEATS)


EXPERIMENTS: dict[str, Callable[[Form[RsaSpec], RsaSpec], None]] = {SWAP: exchanged}

"""The part of the weight clustering page that is an experiment of its own: intruder dimensions."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.errors import PalimpsestError
from core.options import options_of
from core.weights.clusters.spec import WeightsSpec
from core.weights.intruders.charts import intruder_panels
from core.weights.intruders.spec import IntruderSpec
from core.weights.intruders.study import STUDY as INTRUDER_STUDY
from ui.frame.text import plain
from ui.study.downloads import show_downloads
from ui.study.experiments import result_of
from ui.study.forms import Form
from ui.study.results import show_charts, show_headline, show_method, show_table

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.results.drawing.panels import Panels

INTRUDERS = "Intruders"
OWN = {"intruder_models": "models", "leading": "leading", "cosine": "threshold", "draws": "draws"}
_KNOWN = {option.name: option for option in options_of(IntruderSpec)}
EXPERIMENT_OPTIONS = [replace(_KNOWN[name], name=ours) for ours, name in OWN.items()]
CAVEATS = """
**What would mislead you here**

- **A direction can be new without anything having been added.** Where two singular values of the base nearly agree,
  any change mixes their directions, and the mixtures resemble neither. The dashed line is what a Gaussian change of
  the same norm does; only what lies above it is more than that.
- **The threshold is a choice.** With d directions a random one has a cosine of about the root of 2 log(d) / d with
  the nearest: .28 for 128, .13 for 768. A threshold near that finds hardly any, one near 1 finds almost all.
- **A Gaussian change spreads its norm over all directions,** a fine-tune puts most of it into few. That a fine-tune
  has more intruders says that its change is concentrated, not what it is for.
- **Left directions only,** those that a matrix writes to; what it reads from is not looked at.
"""


def intruders_view(form: Form[WeightsSpec], spec: WeightsSpec, identity: Hashable, aside: DeltaGenerator) -> None:
    """The experiment's controls and the button that starts it, then its figure by family and depth and its tables.

    Args:
        form: The page's.
        spec: The page's study, whose base and families are used.
        identity: What the models of the box are known by.
        aside: Where the line stands that says how long it took.
    """
    values = {field: form.address[ours] for ours, field in OWN.items()}
    try:
        asked = IntruderSpec(base=spec.base, families=spec.families, seed=spec.seed, **values)
    except PalimpsestError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return

    def run(progress: Any, cancel: Any) -> Any:
        return INTRUDER_STUDY.run(asked, progress=progress, cancel=cancel)

    result = result_of(
        form,
        INTRUDERS,
        OWN,
        asked,
        run,
        pricing=INTRUDER_STUDY.price,
        name="intruders",
        identity=identity,
        waiting="Leading directions that resemble none of the base's: starts with its button.",
        aside=aside,
        icon=":material/info:",
    )
    if result is None:
        return
    show_headline(result, bar=form.bar)

    def drawn() -> Panels:
        return intruder_panels(result)

    show_charts(drawn, key="intruders", result=result)
    show_downloads(result, drawn, lambda: INTRUDER_STUDY.figures(result), view="intruders")
    for table_name, table in result.tables.items():
        show_table(table, table_name)
    show_method(result, CAVEATS)

"""Probes through training on the probe page: its own controls, its charts by tokens seen, and what to beware of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from core import options
from core.errors import PalimpsestError
from core.options import Option, Spec, options_of
from core.probes.training import charts as training_charts
from core.probes.training.charts import METRICS
from core.probes.training.spec import ProbeTrainingSpec
from core.probes.training.study import STUDY as TRAINING_STUDY
from core.probes.training.text import view_sentence
from core.probes.trees.spec import ProbeSpec
from core.probes.trees.tables import NAMES
from core.results.drawing.panels import Panels
from core.results.drawing.training import loss_chart
from ui.frame.text import plain
from ui.study.controls import KEPT
from ui.study.downloads import show_downloads
from ui.study.experiments import result_of
from ui.study.results import show_charts, show_headline, show_method, show_table
from ui.study.views import contents

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.results.export import Result
    from ui.study.forms import Form

TRAINING, STUDY = "Through training", "probes through training"
MEANING = "the best layer of the steps of one run, by tokens seen, and the loss"
OWN = {"end": "end", "steps": "steps", "step_controls": "controls"}  # name in the address -> option
SHARED = ("rank", "corpus", "genres", "sentences", "heads", "pipeline", "seeds", "epochs", "draws", "seed")
CAVEATS = """
**What would mislead you here**

- **Step 0 is not nothing.** Random layers on top of random word vectors keep words and their places apart, and a probe
  reads some of the tree off that. What training adds is the margin over step 0, not over zero.
- **The best layer is chosen, and choices jump.** Layers of one step lie within each other's bands. The number above a
  point moves when noise moves it; the sentence above the chart says whether any step's lead is clear of noise.
- **A probe reads what is there, not what is used.** The loss falls for many reasons; that syntax rises with it does not
  say that one brings the other.
- **Tokens are an axis, not a cause.** The learning rate, too, changes along it: in the box it falls to 0 at the end.
- **One run.** Bands are over sentences and probes. Another seed may rise earlier or later.
"""
EARLIER = {option.name: option for option in options_of(ProbeTrainingSpec)}


@dataclass(frozen=True)
class Display(Spec):
    """What is shown of the study: in the address, no part of the study."""

    score: str = options.choice(
        "Score", METRICS[0], {metric: NAMES[metric] for metric in METRICS}, titled=True, help="What the charts show."
    )


SCORE = "step_score"  # in the address
OPTIONS: list[Option] = [
    *(replace(EARLIER[name], name=ours) for ours, name in OWN.items()),
    *(replace(option, name=SCORE) for option in options_of(Display)),
]


def training_view(form: Form[ProbeSpec], spec: ProbeSpec, aside: DeltaGenerator) -> None:
    """Controls, and the button that starts the study; what came with the box is shown at once."""
    asked = _asked(form, spec)
    texts = form.texts
    identity = (form.identity, *contents(*((asked.end, *asked.found) if asked is not None else ())))

    def run(progress: Any, cancel: Any) -> Any:
        return TRAINING_STUDY.run(asked, texts, progress=progress, cancel=cancel) if asked is not None else None

    waiting = f"{MEANING[0].upper()}{MEANING[1:]}. It starts when you press its button."
    result = result_of(
        form,
        TRAINING,
        OWN,
        asked,
        run,
        pricing=TRAINING_STUDY.price,
        name=STUDY,
        identity=identity,
        waiting=waiting,
        aside=aside,
    )
    if result is None:
        return
    if not len(result.tables["best"]):
        show_headline(result, bar=form.bar)
        return
    _draw(form, result)
    show_method(result, CAVEATS)


def _draw(form: Form[ProbeSpec], result: Result) -> None:
    """The best layer in one score, the loss, every layer; the downloads, the tables."""
    headline = st.container()  # the sentence is the score's, which is chosen below
    form.address.tell(SCORE)
    metric = str(
        st.segmented_control(
            "Score", METRICS, required=True, key=form.address.key(SCORE), format_func=NAMES.__getitem__,
            label_visibility="collapsed", **KEPT,
        )
    )  # fmt: skip
    with headline:
        show_headline(result, view_sentence(result.tables, metric), form.bar)

    def drawn() -> Panels:
        loss = [loss_chart(result.tables["loss"])] if len(result.tables["loss"]) > 1 else []
        charts = [training_charts.best_chart(result, metric), *loss, training_charts.layers_chart(result, metric)]
        return Panels(charts, across=2)

    show_charts(drawn, key="training", alt_text=result.headline, result=result, view=metric)
    show_downloads(result, drawn, lambda: training_charts.figures(result), view=("training", metric))
    with st.expander(f"Table: {NAMES[metric]} through training", icon=":material/table:"):
        for name, table in result.tables.items():
            show_table(table[table["metric"] == metric] if "metric" in table.columns else table, name)
            if name == "scores":
                st.caption("The best layer of each step, and its lead over the end's best layer:")


def _asked(form: Form[ProbeSpec], spec: ProbeSpec) -> ProbeTrainingSpec | None:
    """The study that is asked for; None, with a sentence, where there is none."""
    shared = {name: getattr(spec, name) for name in SHARED}
    try:
        asked = ProbeTrainingSpec(**shared, **{name: form.address[ours] for ours, name in OWN.items()})
        asked.found  # noqa: B018 - patterns that match nothing are refused here
    except PalimpsestError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None
    return asked

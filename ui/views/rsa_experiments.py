"""Experiments of the RSA page: layers exchanged, measures against known truth, steps of training."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.errors import PalimpsestError
from core.options import Option, Spec, options_of
from core.results.drawing.panels import Panels
from core.rsa.layers.spec import RsaSpec
from core.rsa.swap import charts as swap_charts
from core.rsa.swap.spec import SwapSpec
from core.rsa.swap.study import STUDY as SWAP_STUDY
from core.rsa.training.spec import TrainingSpec
from core.rsa.training.study import STUDY as TRAINING_STUDY
from core.rsa.truth import charts as truth_charts
from core.rsa.truth.spec import TruthSpec
from core.rsa.truth.study import STUDY as TRUTH_STUDY
from ui.frame.text import plain
from ui.study.downloads import show_downloads
from ui.study.experiments import started
from ui.study.forms import Form
from ui.study.price import priced_panel, say
from ui.study.results import show_charts, show_headline, show_method, show_table
from ui.study.views import contents

if TYPE_CHECKING:
    import altair as alt
    from streamlit.delta_generator import DeltaGenerator

    from core.results.export import Result
    from core.study import Study

SWAP, TRUTH, TRAINING = "Layers exchanged", "Known truth", "Through training"
VIEWS = {
    SWAP: "what the task scores with layers of the base",
    TRUTH: "which measure finds the layers that are known to have changed",
    TRAINING: "steps of pretraining against its end",
}
RUN = ("end", "steps", "others")  # options of a training run, by the names that they have in the address too
OPTIONS: list[Option] = [option for option in options_of(TrainingSpec) if option.name in RUN]
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
TRUTH_CAVEATS = """
**What would mislead you here**

- **Equal bit for bit is no test.** Layers that did not train give the same vectors, and any measure answers 1: the
  first column shows it. The others round the fine-tune, so that a measure has something to tell apart.
- **In a frozen model depth says it all.** Lower layers froze and upper ones trained, so the layer's number alone comes
  near any measure; at equal depth only layers 3 and 4 of four models are left, eight pairs. Planted models have no
  such order.
- **One threshold does not fit all layers.** Rounding and changes grow on the way up, each at its own pace. Held
  against the same layer of other models (column `same_depth`), a layer is told far more surely than against the
  others of its own model.
- **A state is not a layer.** What one layer changes is handed on to all above it. A similarity by layer says from where
  on a model differs, not which layers were changed; give each layer the base's own state to see that.
- **Weights need no measure.** Where base and fine-tune are both at hand, the size of a layer's weight change says
  which layers changed, until it is smaller than the rounding.
"""
TRAINING_CAVEATS = """
**What would mislead you here**

- **A late step is near the end because it is late.** What counts is which layers get there first, and how far another
  run's end (dashed) comes without any step in common.
- **Layer 0 is a table of words.** It has no layer below it to wait for, so it settles before the others may.
- **An untrained model is not at 0.** Its layers are alike where words are; read step 0 beside the null in the tooltip.
- **Five steps of one run.** Bands are over sentences. Another run may pass through its layers in another order.
"""


def exchanged(form: Form[RsaSpec], spec: RsaSpec, aside: DeltaGenerator) -> None:
    """Layers of the base in its fine-tunes: of the compared models, those whose task can be scored."""

    def drawn(result: Result) -> list[alt.TopLevelMixin]:
        models = dict.fromkeys(result.table["model"])
        return [swap_charts.swap_chart(result, kind, model) for model in models for kind in ("single", "cut")]

    asked = _spec_of(SwapSpec, form, spec, compare=spec.compare, base=spec.base)
    if asked is not None:
        _experiment(SWAP, SWAP_STUDY, asked, (asked.base, *asked.compare), form, drawn, SWAP_CAVEATS, aside)


def known_truth(form: Form[RsaSpec], spec: RsaSpec, aside: DeltaGenerator) -> None:
    """The measures on the box's frozen fine-tunes and on planted layers; base and models of the form do not matter."""

    def drawn(result: Result) -> list[alt.TopLevelMixin]:
        kinds = dict.fromkeys(zip(result.table["truth"], result.table["matched"], strict=True))
        return [truth_charts.truth_chart(result, *kind) for kind in kinds]

    st.caption("Frozen fine-tunes of the box and its seed 0, whatever is chosen above.")
    asked = TruthSpec()
    _experiment(
        TRUTH, TRUTH_STUDY, asked, (asked.base, *asked.compare, *asked.planted), form, drawn, TRUTH_CAVEATS, aside
    )


def through_training(form: Form[RsaSpec], spec: RsaSpec, aside: DeltaGenerator) -> None:
    """The steps of a run, chosen in the view's own controls, by the form's measure and text."""

    def drawn(result: Result) -> Panels:
        return Panels(list(TRAINING_STUDY.figures(result).values()), across=2)

    run = {name: form.address[name] for name in RUN}
    asked = _spec_of(TrainingSpec, form, spec, measure=spec.measure, words=spec.words, **run)
    refs = _refs_of(asked)
    said = say(TRAINING, asked, TRAINING_STUDY.price) if refs else None
    started(form, TRAINING, RUN, asked if refs else None, said, lambda asked: True)
    if refs:
        _experiment(TRAINING, TRAINING_STUDY, asked, refs, form, drawn, TRAINING_CAVEATS, aside)


def _refs_of(asked: TrainingSpec | None) -> tuple[str, ...]:
    """The models of a run; none, with a sentence, where a pattern of its steps matches nothing."""
    if asked is None:
        return ()
    try:
        return (asked.end, *asked.found, *asked.others)
    except PalimpsestError as error:
        st.info(plain(str(error)), icon=":material/info:")
        return ()


def _spec_of(kind: Callable[..., Any], form: Form[RsaSpec], spec: RsaSpec, **more: Any) -> Any:
    """The experiment on the form's text; None, with a sentence, where there is none."""
    try:
        return kind(corpus=spec.corpus, genres=spec.genres, sentences=spec.sentences, seed=spec.seed, **more)
    except PalimpsestError as error:
        st.info(plain(str(error)), icon=":material/info:")
        return None


def _experiment(
    name: str,
    study: Study,
    asked: Spec,
    refs: tuple[str, ...],
    form: Form[RsaSpec],
    drawn: Callable[[Result], list[alt.TopLevelMixin] | Panels],
    caveats: str,
    aside: DeltaGenerator,
) -> None:
    """Run an experiment, and show its headline, charts, downloads, tables and method."""
    texts = form.texts
    result = priced_panel(
        form,
        name.lower(),
        asked,
        lambda progress, cancel: study.run(asked, texts, progress=progress, cancel=cancel),
        study.price,
        identity=(form.identity, contents(*refs)),
        again=form.pressed,
        told=aside,
    )
    if result is None:
        return
    show_headline(result, bar=form.bar)
    if result.table.empty:
        return
    show_charts(lambda: drawn(result), key=study.name, alt_text=result.headline, result=result, view=name)
    show_downloads(result, lambda: drawn(result), lambda: study.figures(result), view=name)
    for table_name, table in result.tables.items():
        show_table(table, table_name)
    show_method(result, caveats)


EXPERIMENTS: dict[str, Callable[[Form[RsaSpec], RsaSpec, DeltaGenerator], None]] = {
    SWAP: exchanged,
    TRUTH: known_truth,
    TRAINING: through_training,
}

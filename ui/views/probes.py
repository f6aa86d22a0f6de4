"""The view of scores by layer on the probe page, and what its views show."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from core import options
from core.options import options_of
from core.results.metrics import OF_SELECTIVITY, metric_of, metric_title
from core.studies.probes.sentence.study import SENTENCE_SHOWN
from core.studies.probes.trees.result import predicted_conllu
from core.studies.probes.trees.study import STUDY
from core.studies.probes.trees.tables import PROBE_OF
from core.studies.probes.trees.views import SENTENCE
from ui.study.controls import KEPT, draw_choice
from ui.study.layers import Picking
from ui.study.results import show_headline, show_view, view_headline
from ui.views.sentence.source import SOURCES, TYPED
from ui.views.sentence.view import DRAWN_BY, STRUCTURAL, models_with_trees

if TYPE_CHECKING:
    from core.studies.probes.trees.result import ProbeResult
    from core.studies.probes.trees.spec import ProbeSpec
    from core.study import View
    from ui.study.forms import Form

NAMES = {name: metric_of(name).title for name in PROBE_OF}
METRICS_HELP = "  \n".join(
    (
        *(f"**{NAMES[name]}**: {metric_of(name).meaning}." for name in PROBE_OF),
        "**Selectivity**: the score minus that of the same probes on control trees.",
    )
)


@dataclass(frozen=True)
class Shown(options.Spec):
    """What the views show: kept in the address, not part of the study."""

    metric: str = options.choice(
        "Metric", next(iter(NAMES)), NAMES, help=METRICS_HELP, has_titles=True
    )
    selectivity: bool = options.flag(
        "Selectivity",
        False,
        help="Shows the score minus that on control trees, averaged over their draws.",
    )
    source: str = options.choice(
        "Sentence", TYPED, SOURCES, help="Where the sentence comes from.", has_titles=True
    )
    sentence: str = options.line(
        "Sentence", SENTENCE_SHOWN, help="The sentence whose tree is predicted and drawn."
    )
    drawn_by: str = options.choice(
        "Probe", STRUCTURAL, DRAWN_BY, help="The probe that predicts the tree.", has_titles=True
    )
    tree_of: str = options.line("Model", help="The model from whose vectors the tree is predicted.")


OPTIONS = options_of(Shown)


def _sentence_at(drawable: Collection[str], point: Mapping[str, Any]) -> dict[str, Any]:
    """The address of the sentence at the layer and in the model that were clicked, where that model
    draws trees."""
    if "layer" not in point:
        return {}
    model = {"tree_of": str(point["model"])} if point.get("model") in drawable else {}
    return {"view": STUDY.words.view(SENTENCE).name, "layer": int(point["layer"])} | model


def scores_view(form: Form[ProbeSpec], result: ProbeResult, view: View) -> None:
    """Scores by layer in one metric, differences from the base, and the tables."""
    there = [metric for metric in NAMES if (result.table["metric"] == metric).any()]
    selective = (result.table["metric"] == there[0] + OF_SELECTIVITY).any()
    address = form.address
    address.among("metric", there, there[0])
    with form.bar, st.popover("Metric", icon=":material/tune:", help=METRICS_HELP):
        address.tell("selectivity")
        chosen = draw_choice(address, "metric", there)
        less = selective and st.toggle(
            "Selectivity",
            key=address.key("selectivity"),
            help=address.options["selectivity"].help,
            **KEPT,
        )
    metric = f"{chosen}{OF_SELECTIVITY}" if less else chosen
    show_headline(form, result, view_headline(result, view, metric))
    drawable = models_with_trees(result)
    heads = any(probes.heads is not None for probes in result.probes.values())
    show_view(
        result,
        view,
        metric,
        figures=STUDY.figures,
        key="scores",
        caption="Click a point to see a sentence at its layer.",
        name=metric,
        lesson=address.page,
        pick=Picking(form.address, ("layer", "model"), partial(_sentence_at, drawable)).made,
        more={"predicted.conllu": partial(predicted_conllu, result)} if heads else {},
        form=form,
        fold=f"Table: {metric_title(metric)}",
    )


def arcs_view(form: Form[ProbeSpec], result: ProbeResult, view: View) -> None:
    """UUAS by the length of the arcs, without adjacent arcs by layer, and the tables."""
    show_headline(form, result, view_headline(result, view))
    fold = "Table: correct edges (UUAS) by arc length"
    show_view(result, view, figures=STUDY.figures, key="arcs", name="arcs", fold=fold)

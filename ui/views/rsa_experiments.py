"""Experiments of the RSA page: layer swap, benchmark with known answers, checkpoints of a training
run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core.results.names import short_names
from core.rsa.audit.study import STUDY as AUDIT_STUDY
from core.rsa.divergence import charts as divergence_charts
from core.rsa.divergence.study import STUDY as DIVERGENCE_STUDY
from core.rsa.swap import charts as swap_charts
from core.rsa.swap.study import STUDY as SWAP_STUDY
from core.rsa.training.study import STUDY as TRAINING_STUDY
from core.rsa.truth import charts as truth_charts
from core.rsa.truth.study import STUDY as TRUTH_STUDY
from ui.study.experiment import Experiment, Shown

if TYPE_CHECKING:
    from core.results.drawing.context import Context
    from core.results.drawing.vega import Chart
    from core.results.export import Result
    from ui.frame.links import Address

SWAP, TRUTH, TRAINING = SWAP_STUDY.title, TRUTH_STUDY.title, TRAINING_STUDY.title
DIVERGENCE, AUDIT = DIVERGENCE_STUDY.title, AUDIT_STUDY.title
TEXT = ("corpus", "genres", "sentences", "seed")


def swap_shown(address: Address, result: Result) -> Shown:
    """Show two panels for each fine-tune."""
    every = st.toggle(
        "Show all swaps",
        key="swap_every",
        help="Add the other kinds of swap, random changes of equal size and the majority baseline.",
    )
    panels = [
        (kind, model)
        for model in dict.fromkeys(result.table["model"])
        for kind in ("single", "cut")
    ]
    return Shown(
        lambda *, context: [
            swap_charts.swap_chart(result, *panel, every=every, context=context) for panel in panels
        ],
        result.tables,
        view=every,
    )


def truth_shown(address: Address, result: Result) -> Shown:
    """Show a panel for frozen and for planted models, with weight changes matched in size or
    not."""
    panels = dict.fromkeys(zip(result.table["truth"], result.table["matched"], strict=True))
    return Shown(
        lambda *, context: [
            truth_charts.truth_chart(result, *panel, context=context) for panel in panels
        ],
        result.tables,
    )


def divergence_shown(address: Address, result: Result) -> Shown:
    """Show predictions beside states, and below them a text whose words are coloured."""

    def charts(*, context: Context) -> list[Chart]:
        drawn = [divergence_charts.groups_chart(result, context=context)]
        if len(result.tables["states"]):
            drawn += [
                divergence_charts.states_chart(result, context=context),
                divergence_charts.correlation_chart(result, context=context),
            ]
        return drawn

    return Shown(charts, result.tables, below=lambda: coloured_shown(result))


def coloured_shown(result: Result) -> Shown:
    """Show a text whose words are coloured for the chosen model."""
    models = list(dict.fromkeys(result.tables["coloured"]["model"]))
    names = short_names(models)
    model = st.selectbox(
        "Words coloured for",
        models,
        format_func=lambda ref: names[ref],
        key="divergence_model",
        help="Choose whose predictions are compared with the base's, word by word.",
    )

    def charts(*, context: Context) -> list[Chart]:
        if model is None:
            return []
        return [divergence_charts.coloured_chart(result, model, context=context)]

    return Shown(charts, {}, view=model)


EXPERIMENTS = {
    SWAP: Experiment(
        SWAP_STUDY,
        own={"swap_noises": "noises", "swap_random": "random", "swap_frozen": "frozen"},
        shared=("base", "compare", *TEXT),
        shown=swap_shown,
    ),
    DIVERGENCE: Experiment(
        DIVERGENCE_STUDY,
        own={
            "language_models": "compare",
            "language_baselines": "others",
            "masking": "masking",
        },
        shared=("base", "words", *TEXT),
        shown=divergence_shown,
    ),
    TRUTH: Experiment(
        TRUTH_STUDY, own={"plants": "plants", "truth_measures": "measures"}, shown=truth_shown
    ),
    TRAINING: Experiment(
        TRAINING_STUDY,
        own={"end": "end", "steps": "steps", "others": "others"},
        shared=("measure", "words", *TEXT),
        models=lambda asked: (asked.end, *asked.checkpoints, *asked.others),
    ),
    AUDIT: Experiment(
        AUDIT_STUDY,
        own={"audited": "models", "audited_end": "end", "audited_as": "kind"},
        models=lambda asked: asked.refs,
    ),
}

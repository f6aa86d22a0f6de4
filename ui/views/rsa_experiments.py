"""Experiments of the RSA page: map of models, layer swap, benchmark with known answers,
checkpoints of a training run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core.results.names import short_names
from core.studies.rsa.audit.study import STUDY as AUDIT_STUDY
from core.studies.rsa.bits.study import STUDY as BITS_STUDY
from core.studies.rsa.divergence.study import STUDY as DIVERGENCE_STUDY
from core.studies.rsa.layers.spec import RsaSpec
from core.studies.rsa.lens.study import STUDY as LENS_STUDY
from core.studies.rsa.spaces.study import STUDY as SPACES_STUDY
from core.studies.rsa.swap.study import STUDY as SWAP_STUDY
from core.studies.rsa.training.study import STUDY as TRAINING_STUDY
from extras.rsa.truth.study import STUDY as TRUTH_STUDY
from ui.study.experiment import Experiment, with_added
from ui.study.layers import follow, layer_slider, played

if TYPE_CHECKING:
    from core.results.drawing.paper import Drawing
    from core.results.export import Result
    from ui.frame.links import Address

SWAP, TRUTH, TRAINING = SWAP_STUDY.title, TRUTH_STUDY.title, TRAINING_STUDY.title
DIVERGENCE, AUDIT = DIVERGENCE_STUDY.title, AUDIT_STUDY.title
SPACES, LENS, BITS = SPACES_STUDY.title, LENS_STUDY.title, BITS_STUDY.title
TEXT = ("corpus", "genres", "sentences", "seed")


def choose_swaps(address: Address, result: Result) -> tuple[bool]:
    """Ask whether all kinds of swap are drawn."""
    return (
        st.toggle(
            "Show all swaps",
            key="swap_every",
            help="Add the other kinds of swap, "
            "random changes of equal size and the majority baseline.",
        ),
    )


def slide_layers(address: Address, result: Result) -> tuple[()]:
    """Show the slider of layers, which the map follows in the browser: it holds all of them."""
    layers = sorted({int(layer) for layer in result.table["layer"]})
    played(address, layer_slider)(address, layers, layers[-1])
    return ()


def coloured_words(address: Address, result: Result) -> tuple[Drawing, str]:
    """Ask for a model whose predictions colour the words of a text."""
    models = list(dict.fromkeys(result.tables["coloured"]["model"]))
    names, key = short_names(models), "divergence_model"
    follow(key, address["model"], models)
    model = st.selectbox(
        "Words coloured for",
        models,
        format_func=lambda ref: names[ref],
        key=key,
        on_change=lambda: address.set("model", st.session_state[key]),
        help="Choose whose predictions are compared with the base's, word by word.",
    )

    return DIVERGENCE_STUDY.views[0].drawing(result, model or ""), model or ""


# in the order of the page's views
EXPERIMENTS = with_added(
    "rsa",
    RsaSpec,
    {
        SPACES: Experiment(
            SPACES_STUDY,
            shared=("words", "sinks", *TEXT),
            fixed=("draws",),
            choose=slide_layers,
            moves=True,
            looked_at=("layer",),
        ),
        TRAINING: Experiment(
            TRAINING_STUDY,
            shared=("measure", "words", "sinks", *TEXT),
        ),
        DIVERGENCE: Experiment(
            DIVERGENCE_STUDY,
            shared=("base", "words", "sinks", *TEXT),
            below=coloured_words,
        ),
        LENS: Experiment(LENS_STUDY, shared=("corpus", "genres", "seed")),
        BITS: Experiment(BITS_STUDY, shared=TEXT, fixed=("draws",)),
        AUDIT: Experiment(AUDIT_STUDY),
        SWAP: Experiment(
            SWAP_STUDY,
            shared=("base", "compare", *TEXT),
            fixed=("draws",),
            choose=choose_swaps,
        ),
        TRUTH: Experiment(
            TRUTH_STUDY, fixed=("base", "compare", "planted", "words", "sinks", *TEXT)
        ),
    },
)

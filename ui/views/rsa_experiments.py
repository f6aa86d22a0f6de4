"""Experiments of the RSA page: map of models, layer swap, benchmark with known answers,
checkpoints of a training run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core.catalogue import STUDIES
from core.results.names import short_names
from ui.study.experiment import Experiment, experiments_of
from ui.study.layers import follow, layer_slider, played

if TYPE_CHECKING:
    from core.results.drawing.printing import Drawing
    from core.results.export import Result
    from ui.frame.links import Address

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
    return STUDIES["divergence"].views[0].drawing(result, model or ""), model or ""


# in the order of the page's views
EXPERIMENTS = experiments_of(
    "rsa",
    Experiment(
        STUDIES["spaces"],
        shared=("words", "sinks", *TEXT),
        fixed=("draws",),
        choose=slide_layers,
        moves=True,
        looked_at=("layer",),
    ),
    Experiment(STUDIES["training"], shared=("measure", "words", "sinks", *TEXT)),
    Experiment(
        STUDIES["divergence"], shared=("base", "words", "sinks", *TEXT), below=coloured_words
    ),
    Experiment(STUDIES["lens"], shared=("corpus", "genres", "seed")),
    Experiment(STUDIES["bits"], shared=TEXT, fixed=("draws",)),
    Experiment(STUDIES["audit"]),
    Experiment(
        STUDIES["swap"],
        shared=("base", "compare", *TEXT),
        fixed=("draws",),
        choose=choose_swaps,
    ),
    Experiment(STUDIES["truth"], fixed=("base", "compare", "planted", "words", "sinks", *TEXT)),
)

"""Home: one finding in a large figure, four questions, two models of one's own, and more."""

from __future__ import annotations

import streamlit as st

from core.models import read_manifest
from core.models.zoo import read_adapters, restoring
from ui.frame import shell
from ui.home.examples import show_examples, show_questions, show_story
from ui.home.included import included_table
from ui.home.pair_card import show_pair_card
from ui.home.sweeps import show_sweeps

shell.open_page(
    "What fine-tuning and random seeds do to a Transformer",
    "A palimpsest is a page that was written on, scraped and written over. "
    "Fine-tuning writes over pretraining, and the random seed decides what pretraining wrote.",
    brief=False,
)

if read_manifest():
    show_story()

st.header("Four questions, with an experiment for each", anchor=False)
show_questions()

st.header("Compare two models of your own", anchor=False)
show_pair_card()

show_examples()

show_sweeps()

st.header("Included models", anchor=False)
with st.container(width=shell.PROSE):
    st.markdown(
        "Small BERTs and decoders of about two million parameters, trained for this app, so that "
        "they run offline and without a graphics card; adapters of a model from the Hub (`hub:`) "
        "need that model, too. Scores are on held-out examples of each model's task; a study "
        "scores a model on its own text, so its scores differ. You can use any other model "
        "instead: `hub:organisation/name` from the Hugging Face Hub, or a folder on your computer."
    )
if entries := read_manifest():
    st.table(included_table([*entries, *read_adapters()]), border="horizontal", hide_index=True)
else:
    st.info(
        "No models are included in this installation. "
        f"Restore them with {restoring('zoo')}, or use models from the Hub.",
        icon=":material/inventory_2:",
    )

"""Home: what Palimpsest shows, examples to start from, and the included models."""

from __future__ import annotations

import streamlit as st

from core.models import zoo_models
from core.models.zoo import read_adapters
from ui.frame import shell
from ui.home.examples import show_examples
from ui.home.included import included_table
from ui.home.pair_card import show_pair_card
from ui.home.sweeps import show_sweeps

shell.open_page(
    "What fine-tuning and random seeds do to a Transformer",
    "A palimpsest is a page that was written on, scraped and written over. Fine-tuning writes over "
    "pretraining, and the random seed decides what pretraining wrote. Palimpsest shows the effect "
    "of both: four published experiments made interactive, each with the statistics that separate "
    "an effect from noise.",
    brief=False,
)

asking = [entry for entry in shell.PAGES if entry.question]
for place, entry in zip(st.columns(len(asking), gap="small"), asking, strict=True):
    with place.container(gap="xxsmall"):
        st.page_link(shell.file_of(entry.path), label=f"**{entry.title}**", icon=entry.icon)
        st.caption(entry.question)

if zoo_models():
    st.header("Start from an example", anchor=False)
    show_examples()

st.header("Compare a model with its base", anchor=False)
show_pair_card()

show_sweeps()

st.header("Included models", anchor=False)
with st.container(width=shell.PROSE):
    st.markdown(
        "Small BERTs and decoders of about two million parameters, trained for this app, so that "
        "everything runs offline and without a graphics card. You can use any other model instead: "
        "`hub:organisation/name` from the Hugging Face Hub, or a folder on your computer."
    )
if entries := zoo_models():
    st.table(included_table([*entries, *read_adapters()]), border="horizontal", hide_index=True)
else:
    st.info(
        "No models are included in this installation. Train them with `make zoo`, or use models "
        "from the Hub.",
        icon=":material/inventory_2:",
    )

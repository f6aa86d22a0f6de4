"""What is this, what does it show, and what is in the box?"""

from __future__ import annotations

import streamlit as st

from core.models import zoo_models
from ui.frame import shell
from ui.frame.box import box_table
from ui.home.examples import show_examples
from ui.home.pair_card import show_pair_card

shell.open_page(
    "Written over, never erased",
    "A palimpsest is a page that was written on, scraped and written over. Fine-tuning writes over pretraining, and a "
    "pretraining seed decides what the page looked like to begin with: Palimpsest shows what both do to a Transformer, "
    "in published experiments made interactive, each with the statistics that tell signal from noise.",
    brief=False,
)

asking = [entry for entry in shell.PAGES if entry.question]
for place, entry in zip(st.columns(len(asking), gap="small"), asking, strict=True):
    with place.container(gap="xxsmall"):
        st.page_link(entry.path, label=f"**{entry.title}**", icon=entry.icon)
        st.caption(entry.question)

if zoo_models():
    st.header("Start from an example", anchor=False)
    show_examples()

st.header("One pair, one report", anchor=False)
show_pair_card()

st.header("In the box", anchor=False)
with st.container(width=shell.PROSE):
    st.markdown(
        "Small BERTs of some two million parameters, trained for this app, so that everything here runs without a hub "
        "and without a graphics card. "
        "Any other model takes their place: `hub:organisation/name` or a folder on your computer."
    )
if entries := zoo_models():
    st.table(box_table(entries), border="horizontal", hide_index=True)
else:
    st.info("The box is empty: make it with `make zoo`, or use models from the hub.", icon=":material/inventory_2:")

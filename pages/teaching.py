"""Ninety minutes with a class, on the box alone."""

from __future__ import annotations

import streamlit as st

from ui.frame import shell
from ui.lessons import LESSONS, handout_button, link_of

OPENING = 5  # minutes, before the first lesson and after the last

shell.open_page(
    "Ninety minutes with a class",
    "Four lessons on one instance and the models in the box. Everybody predicts before looking; the guess is drawn "
    "into the figure. Nothing has to be installed by students, and nothing is fetched from elsewhere.",
)
begun = OPENING
rows = [{"minute": f"0 to {OPENING}", "what": "What fine-tuning is; how to read a band and a grey line"}]
for lesson in LESSONS.values():
    rows.append({"minute": f"{begun} to {begun + lesson.minutes}", "what": lesson.title})
    begun += lesson.minutes
rows.append(
    {"minute": f"{begun} to {begun + OPENING}", "what": "Whose guess was nearest, and why; what none of it shows"}
)
with st.container(width=shell.PROSE):
    st.table(rows, border="horizontal", hide_index=True)
for lesson in LESSONS.values():
    with st.container(border=True):
        st.page_link(lesson.path, label=f"**{lesson.title}**", icon=":material/school:", query_params=link_of(lesson))
        st.markdown(f"{lesson.minutes} minutes. {lesson.background}")
        with st.expander("What to expect, and the five questions with their answers"):
            st.markdown(lesson.explain)
            st.markdown("\n".join(f"1. *{question.text}* {question.answer}" for question in lesson.questions))
        handout_button(lesson)
with st.container(width=shell.PROSE):
    st.header("Before the class", anchor=False)
    st.markdown(
        "- One computer runs the app for all: `make app ADDRESS=0.0.0.0`; students open its address. The instance is "
        "then in shared mode.\n"
        "- What comes with the box opens at once. Other studies wait in one queue, and whoever asks for the same study "
        "gets the same result.\n"
        "- Put `?present=1` behind a page's address for the screen: large letters, no form, and the arrow keys "
        "change view.\n"
        "- Print the handouts; their answers are on the last page."
    )
    st.header("How each lesson goes", anchor=False)
    st.markdown(
        "1. **Predict** (3 minutes): alone, in writing, with a reason. Hands up for the lowest and the highest guess.\n"
        "1. **Look** (2 minutes): the figure with the guess in it. Read the axes aloud before the curve.\n"
        "1. **Explain** (4 minutes): in pairs. Ask what else could make the figure look so; the page's grey lines are "
        "such rivals.\n"
        "1. **Try** (5 minutes): each pair takes one of the three studies and reports one sentence.\n"
        "1. **Questions**: what is left of the time; the rest at home."
    )

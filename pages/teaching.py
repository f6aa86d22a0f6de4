"""A class of ninety minutes with the included models."""

from __future__ import annotations

import streamlit as st

from core import COMMAND
from ui.frame import shell
from ui.lessons import LESSONS, handout_button, link_of

OPENING = 5  # minutes, before the first lesson and after the last

shell.open_page(
    "A class of ninety minutes",
    "Four lessons with the included models, in the app on one computer. "
    "Students open it in their browsers and install nothing. "
    "They predict a number before they see it, and their guess is drawn into the figure.",
)
begun = OPENING
first = "What fine-tuning is; how to read an interval band and a grey reference line"
rows = [{"Minutes": f"0 to {OPENING}", "Topic": first}]
for lesson in LESSONS.values():
    rows.append({"Minutes": f"{begun} to {begun + lesson.minutes}", "Topic": lesson.words.title})
    begun += lesson.minutes
last = "Discussion: whose guess was closest and why, and what these experiments do not show"
rows.append({"Minutes": f"{begun} to {begun + OPENING}", "Topic": last})
with st.container(width=shell.PROSE):
    st.table(rows, border="horizontal", hide_index=True)
for lesson in LESSONS.values():
    with st.container(border=True):
        st.page_link(
            shell.file_of(lesson.path),
            label=f"**{lesson.words.title}**",
            icon=":material/school:",
            query_params=link_of(lesson),
        )
        with st.expander("Background, expected result, and five questions with answers"):
            st.markdown(f"{lesson.minutes} minutes. {lesson.words.background}")
            st.markdown(lesson.words.explain)
            st.markdown(
                "\n".join(
                    f"1. *{question.text}* {question.answer}" for question in lesson.words.questions
                )
            )
        handout_button(lesson)
with st.container(width=shell.PROSE):
    st.header("Before the class", anchor=False)
    st.markdown(
        f"- Start the app on one computer with `{COMMAND} app --address=0.0.0.0`. It then runs in "
        "shared mode, and students open that computer's address.\n"
        "- Precomputed results open at once. Other studies wait in one queue; "
        "students who ask for the same study get the same result.\n"
        "- For the projector, add `?present=1` to a page's address: "
        "large text, no form, and the arrow keys change the view.\n- Print the handouts. "
        "The answers are on the last page."
    )
    st.header("How each lesson goes", anchor=False)
    st.markdown(
        "1. **Predict** (3 minutes). Students write down a number and a reason, "
        "each for themselves. Ask for the lowest and the highest guess.\n1. **Look** (2 minutes). "
        "Show the figure with the guess in it. Read the axes aloud before the curves.\n1. "
        "**Explain** (4 minutes). In pairs, students look for a second explanation of the figure. "
        "The grey lines are such rival explanations.\n1. **Try** (5 minutes). "
        "Each pair runs one of the studies named in the lesson and reports one sentence.\n1. "
        "**Questions.** Use the remaining time; the rest is homework."
    )

"""A lesson on its page: first the guess, then the figure with the guess in it, then the comparison.

    lessons.predict(form.address)               # ends the page until there is a guess
    show_view(..., lesson=page)                 # draws the guess into the figure
    lessons.conclude(form.address, result)      # after the figure

Outside a lesson (`?lesson=true`) each of them does nothing.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from ui.frame.links import Address
from ui.frame.shell import file_of
from ui.lessons.alignment import ALIGNMENT
from ui.lessons.guess import Mark
from ui.lessons.guesses import count_guesses, guesses_of, note_guess
from ui.lessons.lesson import Lesson, by_page, handout
from ui.lessons.probes import PROBES
from ui.lessons.rsa import RSA
from ui.lessons.weights import WEIGHTS

if TYPE_CHECKING:
    from core.results.export import Result

LESSON = "lesson"
# session state: the guess, the verdict's place, whether everybody's guesses are shown
GUESSED, PLACE, REVEALED = "guessed", "place of the verdict", "all guesses"
ALL_HELP = (
    "Draws how often each number was guessed on this server in the last two hours, without names."
)
LESSONS = by_page((RSA, PROBES, WEIGHTS, ALIGNMENT))


def link_of(lesson: Lesson) -> dict[str, str]:
    """Return the options in a lesson's address."""
    return {LESSON: "true", **lesson.options}


def predict(address: Address) -> None:
    """Draw the background and the prediction; end the page here until there is a guess."""
    lesson = _open(address)
    if lesson is None:
        return
    with st.container(border=True, key=address.key("lesson box")):
        st.header(f"Lesson: {lesson.words.title}", anchor=False)
        if _guessed(lesson) is not None:
            left, right = st.columns([5, 1], vertical_alignment="center")
            mine = lesson.guess.words(cast(float, _guessed(lesson)))
            place = left.empty()  # the verdict replaces the sentence once the result is there
            place.markdown(f"Your guess is **{mine}**. Compare it with the figure below.")
            st.session_state[_key(lesson, PLACE)] = place
            _all_guesses(lesson)
            if right.button("Guess again", key=address.key("guess again")):
                st.session_state.pop(_key(lesson, GUESSED), None)
                st.rerun()
            return
        st.markdown(lesson.words.background)
        st.markdown(f"**1. Predict.** {lesson.words.guess}")
        asked = lesson.guess
        low, high, start, step = (
            float(asked.low),
            float(asked.high),
            float(asked.start),
            float(asked.step),
        )
        guess = st.slider(
            "Your guess", low, high, start, step, key=address.key("guess"), format=asked.shown
        )
        if st.button("Look", type="primary", icon=":material/visibility:", key=address.key("look")):
            st.session_state[_key(lesson, GUESSED)] = guess
            note_guess(lesson.page, guess)
            st.rerun()
    st.stop()


def _all_guesses(lesson: Lesson) -> None:
    """Draw the switch that shows everybody's guesses in the figure, where others have guessed."""
    guesses = guesses_of(lesson.page)
    if len(guesses) > 1:
        st.toggle(f"Show all {len(guesses)} guesses", key=_key(lesson, REVEALED), help=ALL_HELP)
        if st.session_state[_key(lesson, REVEALED)]:
            middle = lesson.guess.words(median(guesses))
            st.caption(f"The middle one of {len(guesses)} guesses is {middle}.")


def waiting(address: Address) -> bool:
    """Whether a lesson is open on this page and has no guess yet."""
    lesson = _open(address)
    return lesson is not None and _guessed(lesson) is None


def mark(page: str) -> Mark | None:
    """Return the guess as a mark for the page's figure, with everybody's where they are shown; None
    outside a lesson."""
    lesson = LESSONS.get(page)
    value = _guessed(lesson) if lesson and st.query_params.get(LESSON) == "true" else None
    if lesson is None or value is None:
        return None
    shown = st.session_state.get(_key(lesson, REVEALED))
    crowd = count_guesses(guesses_of(page), lesson.guess) if shown else ()
    return Mark(lesson.guess.axis, value, crowd=crowd)


def conclude(address: Address, result: Result) -> None:
    """Draw the comparison where the guess was made; here the explanation, further studies and five
    questions."""
    lesson = _open(address)
    if lesson is None or _guessed(lesson) is None:
        return
    verdict = lesson.guess.judge(cast(float, _guessed(lesson)), result)
    st.session_state[_key(lesson, PLACE)].markdown(
        f"**2. Compare.** {verdict or 'This study does not have the number that you predicted.'}"
    )
    with st.container(border=True, key=address.key("lesson end")):
        with st.expander("**3. Explain.** Find a reason yourself before you open this."):
            st.markdown(lesson.words.explain)
        st.markdown("**4. Try.** Each link opens a study; the browser's back button returns here.")
        for attempt in lesson.words.tries:
            st.page_link(
                file_of(lesson.path),
                label=f"**{attempt.heading}** {attempt.look_for}",
                query_params=cast(Any, attempt.options),
            )
        st.markdown("**5. Five questions**")
        answered = zip(lesson.words.questions, lesson.answers(result), strict=True)
        for number, (question, answer) in enumerate(answered, start=1):
            with st.expander(f"{number}. {question.text}"):
                st.markdown(answer)
        handout_button(lesson)


def handout_button(lesson: Lesson) -> None:
    """Draw the button that downloads the handout."""
    st.download_button(
        "Handout to print",
        handout(lesson),
        f"palimpsest-lesson-{lesson.page}.html",
        "text/html",
        key=f"handout_{lesson.page}",
        on_click="ignore",
        icon=":material/print:",
        help="Downloads two pages to print, with room for guess and reasons; the answers are on a "
        "separate page.",
    )


def _open(address: Address) -> Lesson | None:
    return LESSONS.get(address.page) if address[LESSON] else None


def _key(lesson: Lesson, name: str) -> str:
    return f"{lesson.page}//{name}"


def _guessed(lesson: Lesson) -> float | None:
    return cast("float | None", st.session_state.get(_key(lesson, GUESSED)))

"""Links that reopen a study: what the address bar says is untrusted, and checked before any widget reads it.

Widgets that identify a study carry `bind="query-params"`; streamlit drops values that are not among a widget's
options without a word. `read_link` looks first, removes what cannot be used, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

import streamlit as st

from ui.text import plain, quote

MESSAGES = "link_messages"

Rule = Callable[[str], str | None]


def read_link(rules: Mapping[str, Rule]) -> None:
    """Remove from the link what its rule refuses, and show a sentence for each; call it before the widgets.

    Args:
        rules: By query parameter, a function that returns None for a usable value, else why it is not.
    """
    messages: dict[str, str] = st.session_state.setdefault(MESSAGES, {})
    changed = False
    for key, rule in rules.items():
        if key in st.session_state:
            continue  # the widget is there already: what it holds came from a person, not from a link
        given = st.query_params.get_all(key)
        problems = {value: problem for value in given if (problem := rule(value))}
        if not problems:
            continue
        changed = True
        messages[key] = " ".join(
            f"The link asks for {quote(value)}: {plain(problem)} It is left out." for value, problem in problems.items()
        )
        kept = [value for value in given if value not in problems]
        if kept:
            st.query_params[key] = kept
        else:
            del st.query_params[key]
    if changed:
        st.rerun()
    for key in rules:
        if key in messages:
            st.warning(messages[key], icon=":material/link_off:")


def forget_messages() -> None:
    """The user has chosen for themselves: what the link said no longer matters."""
    st.session_state.pop(MESSAGES, None)


def one_of(options: Iterable[str]) -> Rule:
    """Only these values."""
    known = tuple(options)

    def rule(value: str) -> str | None:
        return None if value in known else f"there is {', '.join(known)}."

    return rule


def number(low: float, high: float, whole: bool = True) -> Rule:
    """A number between two others."""

    def rule(value: str) -> str | None:
        try:
            given = float(value)
        except ValueError:
            given = math.nan
        fits = low <= given <= high and (not whole or given == int(given))
        return None if fits else f"it takes a {'whole ' if whole else ''}number from {low:,} to {high:,}."

    return rule


def flag(value: str) -> str | None:
    """True or false."""
    return None if value.lower() in ("true", "false") else "it is true or false."

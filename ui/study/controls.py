"""Widgets of options: kind, label, help, bounds and choices come from the option."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import streamlit as st

from core.limits import current_limits
from core.models.hub.collections import ALL_MULTIBERTS
from core.options import Option
from ui.frame.links import Address
from ui.frame.text import plain
from ui.study.models import adapter_options, model_options

TEXTS = ("demo", "demo-gold")
# For widgets whose value is in the address: streamlit would otherwise reset them in views without
# them.
KEPT: dict[str, Any] = {"persist_state": "page"}
MULTIBERTS = 25  # models that a control must take to offer all of them as one choice


def draw_control(address: Address, name: str, **layout: Any) -> Any:
    """Draw an option's widget with the value in the session's state, also as its default: a browser
    that gets the next run before it has drawn the widget draws the default."""
    option, value = address.options[name], address[name]
    about: dict[str, Any] = {"key": address.key(name), "help": help_of(option), **KEPT, **layout}
    label = about.pop("label", option.label)
    match option.kind:
        case "whole":
            most = current_limits().max_sentences if option.name == "sentences" else option.high
            low, high = int(option.low), int(min(option.high, most))
            step = 100 if option.high > 5_000 and option.default >= 100 else 1
            return st.number_input(label, low, high, _within(value, low, high), step, **about)
        case "number":
            first, last = float(option.low), float(option.high)
            return st.number_input(label, first, last, _within(float(value), first, last), **about)
        case "flag":
            return st.toggle(label, bool(value), **about)
        case "choice":
            about.setdefault("format_func", _labels(option))
            return _select(label, list(option.meanings), value, **about)
        case "choices" | "genres":
            about.setdefault("format_func", _labels(option))
            choices = list(option.meanings)
            at = [choice for choice in value if choice in choices]
            return st.multiselect(
                label, choices, at, placeholder=option.placeholder or None, wrap=True, **about
            )
        case "model":
            return _select(label, _offered(address, name), value, accept_new_options=True, **about)
        case "models":
            # Without select_all=False the Enter key would choose "Select N matches".
            return st.multiselect(
                label,
                _offered(address, name),
                list(value),
                accept_new_options=True,
                max_selections=int(option.high),
                wrap=True,
                select_all=False,
                filter_mode="contains",
                **about,
            )
        case "corpus":
            offered = list(dict.fromkeys([*TEXTS, *([] if option.default else [""]), str(value)]))
            return _select(label, offered, value, accept_new_options=True, **about)
        case "layers" | "words":
            return st.multiselect(
                label,
                list(dict.fromkeys([*option.default, *value])),
                list(value),
                accept_new_options=True,
                wrap=True,
                select_all=False,
                **about,
            )
        case "passage":
            return st.text_area(label, value, **about)
    return st.text_input(label, value, **about)


def draw_choice(address: Address, name: str, offered: Collection[str] = ()) -> str:
    """Draw an option of what is shown as a row of titles without a label, those offered or all; one
    of them is always chosen."""
    option = address.options[name]
    address.tell(name)
    return str(
        st.segmented_control(
            option.label,
            list(offered or option.meanings),
            required=True,
            key=address.key(name),
            format_func=option.meanings.__getitem__,
            label_visibility="collapsed",
            **KEPT,
        )
    )


def _select(label: str, offered: list[Any], value: Any, **about: Any) -> Any:
    """Draw a selectbox; if it accepts new options, typed text matches anywhere in an option."""
    at = offered.index(value) if value in offered else 0
    if about.get("accept_new_options"):
        about["filter_mode"] = "contains"
    return st.selectbox(label, offered, at, **about)


def _within(value: Any, low: Any, high: Any) -> Any:
    """Clip the value to the bounds: a link may ask for more than this instance allows."""
    return min(max(value, low), high)


def help_of(option: Option) -> str:
    """Return the option's help, with the meanings of its choices."""
    meanings = [
        f"*{plain(name)}*: {plain(meaning)}"
        for name, meaning in option.meanings.items()
        if meaning and not option.has_titles
    ]
    return "  \n".join([plain(option.help), *meanings])


def _labels(option: Option) -> Any:
    choices = option.meanings
    return lambda name: choices.get(name, name) if option.has_titles else name


def _offered(address: Address, name: str) -> list[str]:
    """List the references to offer: the known ones and those that the link or the user added."""
    value, option = address[name], address.options[name]
    first = option.default if option.patterns else ()
    if option.kind == "models" and option.high >= MULTIBERTS:
        first = (*first, ALL_MULTIBERTS)
    listed = (*model_options(), *(adapter_options() if option.kind == "models" else ()))
    return list(dict.fromkeys([*first, *listed, *([value] if isinstance(value, str) else value)]))

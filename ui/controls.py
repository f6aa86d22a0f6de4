"""The widget of an option: its kind, label, help, bounds and choices are the option's."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.limits import current_limits
from core.options import Option
from ui.links import Address
from ui.models import model_options

TEXTS = ("demo", "demo-gold")


def draw_control(address: Address, name: str, **layout: Any) -> Any:
    """An option's widget; its value stands in the session's state before, so none is given here."""
    option = address.options[name]
    about: dict[str, Any] = {"key": address.key(name), "help": help_of(option), **layout}
    label = about.pop("label", option.label)
    match option.kind:
        case "whole":
            low, high, step = (
                int(option.low),
                _most(option),
                100 if option.high > 5_000 and option.default >= 100 else 1,
            )
            return st.number_input(label, low, high, step=step, **about)
        case "number":
            return st.number_input(label, float(option.low), float(option.high), **about)
        case "flag":
            return st.toggle(label, **about)
        case "choice":
            about.setdefault("format_func", _labels(option))
            return st.selectbox(label, list(option.known), **about)
        case "choices" | "genres":
            about.setdefault("format_func", _labels(option))
            return st.multiselect(label, list(option.known), placeholder=option.placeholder or None, wrap=True, **about)
        case "model":
            offered = _offered(address, name)
            return st.selectbox(label, offered, accept_new_options=True, filter_mode="contains", **about)
        case "models":
            # Without select_all=False the first thing that Enter takes is "Select N matches".
            return st.multiselect(
                label, _offered(address, name), accept_new_options=True, max_selections=int(option.high), wrap=True,
                select_all=False, filter_mode="contains", **about,
            )  # fmt: skip
        case "corpus":
            offered = list(dict.fromkeys([*TEXTS, *([] if option.default else [""]), str(address[name])]))
            return st.selectbox(label, offered, accept_new_options=True, filter_mode="contains", **about)
        case "layers" | "words":
            return st.multiselect(
                label, list(dict.fromkeys([*option.default, *address[name]])), accept_new_options=True, wrap=True,
                select_all=False, **about,
            )  # fmt: skip
        case "passage":
            return st.text_area(label, **about)
    return st.text_input(label, **about)


def help_of(option: Option) -> str:
    """The option's help, with what its choices mean."""
    meanings = [f"*{name}*: {meaning}" for name, meaning in option.known.items() if meaning and not option.titled]
    return "  \n".join([option.help, *meanings])


def _labels(option: Option) -> Any:
    known = option.known
    return lambda name: known.get(name, name) if option.titled else name


def _offered(address: Address, name: str) -> list[str]:
    """References to offer: the known ones, and those that the link or the user brought."""
    value, option = address[name], address.options[name]
    first = option.default if option.patterns else ()
    return list(dict.fromkeys([*first, *model_options(), *([value] if isinstance(value, str) else value)]))


def _most(option: Option) -> int:
    return int(min(option.high, current_limits().max_sentences) if option.name == "sentences" else option.high)

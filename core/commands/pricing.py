"""What a study costs, asked before it starts by the command line and by the pages; and what would make it cost less."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from core.errors import PalimpsestError
from core.options import Option, Spec, options_of
from core.runs.price import Price

Pricing = Callable[[Any], Price]
SMALLER = 0.5  # of a number that might be lowered


def check_price(pricing: Pricing, spec: Any) -> Price:
    """The price of a study that this instance allows.

    Args:
        pricing: The study's own `price`.
        spec: What is asked for.

    Raises:
        SpecError: If a shared instance does not allow what it costs; says which option to lower.
        PalimpsestError: If the spec names something that is not there.
    """
    price = pricing(spec)
    if price.excess:
        price.refuse_where_shared(advice(pricing, spec, price.excess))
    return price


def advice(pricing: Pricing, spec: Any, what: str) -> str:
    """The option that lowers the price most where less of it is asked for, as a command.

    Args:
        pricing: The study's own `price`.
        spec: What is asked for.
        what: Of the price, such as "memory".
    """
    costs: dict[str, float] = {}
    for option, smaller in _smaller(spec) if isinstance(spec, Spec) else ():
        with suppress(PalimpsestError):  # the smaller study may be none, such as a split that is too small
            costs[option.name] = getattr(pricing(smaller), what)
    named = {option.name: option for option in options_of(type(spec))} if costs else {}
    best = min(costs, key=lambda name: costs[name], default="")
    if not best or costs[best] >= getattr(pricing(spec), what):
        return "choose fewer or smaller models"
    verb = "lower" if named[best].kind == "whole" else "turn off" if named[best].kind == "flag" else "choose less under"
    return f"{verb} “{named[best].label}” ({best})"


def _smaller(spec: Any) -> Iterator[tuple[Option, Spec]]:
    """The study with less of one option at a time."""
    for option in options_of(type(spec)):
        value: Any = getattr(spec, option.name)
        less: Any = value
        if option.kind == "whole" and option.name != "seed":
            less = max(int(value * SMALLER), int(option.low or 0))
        elif option.kind in ("models", "choices", "layers"):
            less = value[: max(int(option.low), 1, len(value) // 2)]
        elif option.kind == "flag":
            less = False
        if less != value:
            with suppress(PalimpsestError):
                yield option, replace(spec, **{option.name: less})

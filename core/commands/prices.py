"""The price of a study before it starts: whether this instance allows it, which option would lower
it, and whether the user agrees."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from core.errors import PalimpsestError, SpecError
from core.options import Option, Spec, options_of
from core.options.layer_numbers import EVERY_LAYER
from core.runs.price import Price

Pricing = Callable[[Any], Price]
SMALLER = 0.5  # factor for numbers that advice tries to lower


def check_price(pricing: Pricing, spec: Any) -> Price:
    """Return the price of a study if this instance allows it. Raises SpecError if the price exceeds
    the limits of a shared instance; the message says which option to lower; PalimpsestError if the
    spec names a model or text that does not exist."""
    price = pricing(spec)
    if price.excess:
        price.refuse_where_shared(advice(pricing, spec, price.excess))
    return price


def advice(pricing: Pricing, spec: Any, what: str) -> str:
    """Name the option that lowers a part of the price most, such as "memory", as an instruction."""
    costs: list[tuple[float, Option]] = []
    for option, smaller in _smaller(spec) if isinstance(spec, Spec) else ():
        # the smaller study may be invalid, such as a split that is too small
        with suppress(PalimpsestError):
            costs.append((getattr(pricing(smaller), what), option))
    least, best = min(costs, key=lambda each: each[0], default=(0.0, None))
    if best is None or least >= getattr(pricing(spec), what):
        return "choose fewer or smaller models"
    verbs = {"whole": "lower", "flag": "turn off"}
    verb = verbs.get(best.kind, "choose fewer for")
    return f"{verb} “{best.label}” ({best.name})"


def _smaller(spec: Any) -> Iterator[tuple[Option, Spec]]:
    """Make smaller studies, each with one option reduced."""
    for option in options_of(type(spec)):
        value: Any = getattr(spec, option.name)
        less: Any = value
        if option.kind == "whole" and option.name != "seed":
            less = max(int(value * SMALLER), int(option.low or 0))
        elif option.kind in ("models", "choices", "layers"):
            less = value[: max(int(option.low), 1, len(value) // 2)]
            if value == (EVERY_LAYER,):
                less = ()
        elif option.kind == "flag":
            less = False
        if less != value:
            with suppress(PalimpsestError):
                yield option, replace(spec, **{option.name: less})


def agree(price: Price, yes: bool) -> None:
    """Print what a large study costs, and go on only with --yes or a confirmation at the terminal.
    Raises SpecError if there is none."""
    if not price.asks:
        return
    print(price.sentence, file=sys.stderr)
    if yes:
        return
    if not sys.stdin.isatty():
        raise SpecError(
            "Nothing was started, because this study needs a confirmation: "
            "add --yes, or make the study smaller."
        )
    print("Start the study? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise SpecError("Nothing was started.")

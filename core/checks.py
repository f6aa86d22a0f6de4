"""Checks that the specs of several studies make of what a form, a link or the command line gave them."""

from __future__ import annotations

from core.errors import SpecError


def whole_between(name: str, value: int, least: int, most: int) -> None:
    """Refuse what is no whole number from `least` to `most`.

    Raises:
        SpecError: With the name and the bounds.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise SpecError(f"{name} must be a whole number from {least:,} to {most:,}, got {value!r}.")

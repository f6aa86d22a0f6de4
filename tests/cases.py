"""Cases of parametrised tests, of which `make test` has a few and `make exhaustive` the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def exhaustive(cases: Iterable[Any], *quick: Any) -> list[Any]:
    """Mark the cases of a parametrised test as exhaustive, but for those that are quick.

    Raises:
        ValueError: If a quick case is none of the cases.
    """
    cases = list(cases)
    if strange := [case for case in quick if case not in cases]:
        raise ValueError(f"There is no case {strange}.")
    return [
        case
        if case in quick
        else pytest.param(
            *(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.exhaustive
        )
        for case in cases
    ]

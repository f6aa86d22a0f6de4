"""Whole numbers within bounds pass; anything else is one sentence that names the field."""

from __future__ import annotations

from typing import Any

import pytest

from core.checks import whole_between
from core.errors import SpecError


@pytest.mark.parametrize("value", [20, 1_000, 10_000])
def test_whole_numbers_up_to_both_bounds_pass(value: int) -> None:
    whole_between("draws", value, 20, 10_000)


@pytest.mark.parametrize("value", [19, 10_001, 50.0, True, "50", None])
def test_anything_else_is_refused(value: Any) -> None:
    with pytest.raises(SpecError, match=r"draws must be a whole number from 20 to 10,000, got "):
        whole_between("draws", value, 20, 10_000)

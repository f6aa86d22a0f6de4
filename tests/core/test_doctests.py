"""Each public function of the mathematics shows itself at work, and what it shows is so."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest
import torch

from tests import ROOT

FOLDERS = ("similarity", "structural", "spectra", "maps")
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (*(path for folder in FOLDERS for path in (ROOT / "core/maths" / folder).glob("*.py")),
                 ROOT / "core/maths/statistics.py", ROOT / "core/maths/resampled.py")
    if path.stem != "__init__"
)  # fmt: skip


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_hold(module: str) -> None:
    torch.manual_seed(0)
    outcome = doctest.testmod(importlib.import_module(module))
    assert outcome.failed == 0


def test_every_function_of_the_mathematics_has_an_example() -> None:
    bare, tried = set(), 0
    for name in MODULES:
        module = importlib.import_module(name)
        for function, value in inspect.getmembers(module, inspect.isfunction):
            if value.__module__ == name and not function.startswith("_"):
                tried += 1
                if ">>>" not in (value.__doc__ or ""):
                    bare.add(function)
    assert bare == set()
    assert tried > 90

"""What is imported while a browser loads: all that a figure needs, nothing that only computing
needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ui.frame.heavy import FIGURES, FIRST

WARMED = """
import sys
from ui.frame.heavy import warm
warm().join()
print(*sys.modules)
"""


@pytest.mark.slow
def test_what_figures_need_is_imported_and_nothing_that_only_computing_needs() -> None:
    run = subprocess.run([sys.executable, "-c", WARMED], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert {*FIRST, *FIGURES} <= loaded
    assert not {"torch", "transformers", "spacy"} & loaded

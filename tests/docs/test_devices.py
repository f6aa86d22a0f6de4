"""What the quick start says of GPUs is what the code computes on one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import ROOT

LOADERS = {"load_model", "load_with_head", "load_language_model", "borrow_model"}
READERS = {"extract", "extract_pair"}  # which leave the choice to core/vectors/stored.py
TRAINERS = {"train_bank", "train_polar_bank"}
COMPUTED = {  # by module: whatever is computed where a GPU is -> what the quick start calls it
    "core/studies/rsa/layers/tasks.py": "RSA",
    "core/studies/rsa/layers/random_changes.py": "RSA",
    "core/studies/rsa/training/tasks.py": "RSA",
    "core/studies/rsa/spaces/tasks.py": "RSA",
    "core/studies/rsa/tokens/study.py": "token map",
    "core/studies/rsa/divergence/tasks.py": "output divergence",
    "core/studies/probes/trees/tasks.py": "structural",
    "core/studies/probes/behaviour/tasks.py": "minimal pairs",
    "core/studies/weights/activations.py": "delta activations",
    "core/studies/alignment/seeds/tasks.py": "maps between seeds",
    "core/studies/alignment/seeds/window.py": "maps between seeds",
    "extras/alignment/check/study.py": "maps between seeds",
    "extras/probes/polar/tasks.py": "polar probes",
    "extras/probes/removal/tasks.py": "erasure",
}


def test_the_quick_start_names_all_that_a_gpu_computes() -> None:
    computed = {
        path.relative_to(ROOT).as_posix()
        for part in ("core/studies", "extras")
        for path in (ROOT / part).rglob("*.py")
        if any(not _on_the_processor(call) for call in _calls(path))
    }
    assert computed == {*COMPUTED}
    said = _paragraph("docs/quick-start.md").partition("Everything else")[0]
    assert [name for name in COMPUTED.values() if name not in said] == []


@pytest.mark.parametrize("page", ["README.md", "docs/quick-start.md"])
def test_nobody_is_promised_a_tested_gpu(page: str) -> None:
    said = _paragraph(page)
    assert "No GPU was tested" in said
    assert "two processor cores" in said


def _paragraph(page: str) -> str:
    """The paragraph on GPUs."""
    text = (ROOT / page).read_text(encoding="utf8")
    (said,) = [part for part in text.split("\n\n") if "PyTorch finds a GPU" in part]
    return re.sub(r"\s+", " ", said)


def _calls(path: Path) -> Iterator[ast.Call]:
    """Calls in a file that load a model, read vectors or train probes."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in LOADERS | READERS | TRAINERS:
                yield node


def _on_the_processor(call: ast.Call) -> bool:
    """Whether a call says so itself."""
    places = [each.value for each in call.keywords if each.arg == "device"]
    return any(isinstance(place, ast.Constant) and place.value == "cpu" for place in places)

"""Which models a pattern names, and which are runs of one task."""

from __future__ import annotations

import pytest

from core.rsa import runs

BASE = "zoo:seed-0"
MODELS = [
    {"ref": "zoo:seed-0"},
    {"ref": "zoo:seed-1"},
    {"ref": "zoo:parse-0", "base": BASE},
    {"ref": "zoo:parse-1", "base": BASE},
    {"ref": "zoo:parse-2", "base": "zoo:seed-1"},
    {"ref": "zoo:parse-frozen-2", "base": BASE, "frozen": 2},
    {"ref": "zoo:parse-frozen-4", "base": BASE, "frozen": 4},
]


@pytest.fixture(autouse=True)
def _box(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "zoo_models", lambda: MODELS)
    monkeypatch.setattr("core.models.patterns.zoo_models", lambda: MODELS)


def test_a_pattern_names_fine_tunes_of_the_base_that_were_trained_alike() -> None:
    found = runs.find_compared(BASE, ["zoo:parse-*"])
    assert found.refs == ("zoo:parse-0", "zoo:parse-1")
    elsewhere, otherwise = found.notices
    assert "zoo:parse-2 (zoo:seed-1)" in elsewhere
    assert "zoo:parse-frozen-2, zoo:parse-frozen-4" in otherwise
    assert runs.find_compared(BASE, ["zoo:seed-*"]).refs == ("zoo:seed-1",)
    assert runs.find_compared(BASE, ["zoo:parse-frozen-*"]).refs == ("zoo:parse-frozen-2", "zoo:parse-frozen-4")


def test_runs_are_of_one_base_and_trained_alike() -> None:
    refs = ("zoo:parse-0", "zoo:parse-2", "zoo:parse-1", "zoo:parse-frozen-2", "zoo:parse-frozen-4", "hub:a/b-1")
    assert runs.runs_of(BASE, refs) == {
        "zoo:parse-*": ("zoo:parse-0", "zoo:parse-1"),
        "zoo:parse-2": ("zoo:parse-2",),
        "zoo:parse-frozen-2": ("zoo:parse-frozen-2",),
        "zoo:parse-frozen-4": ("zoo:parse-frozen-4",),
        "hub:a/b-1": ("hub:a/b-1",),
    }

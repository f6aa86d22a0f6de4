"""Fewer training sentences than dimensions are said beside the headline."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from core.models.identity import Identity
from core.probes.trees.planning import TREEBANK, few_sentences
from core.runs.runner import Outputs

WIDTHS = {"hub:lab/wide": 576, "zoo:seed-0": 128}


@pytest.mark.parametrize(("sentences", "said"), [(320, True), (576, False)])
def test_fewer_training_sentences_than_dimensions_are_said(sentences: int, said: bool) -> None:
    identified = {
        ("identity", ref): Identity(ref, "x", 6, width, "bert", 1, "learned")
        for ref, width in WIDTHS.items()
    }
    treebank = SimpleNamespace(parts={"train": [None] * sentences})
    ready = Outputs({TREEBANK: treebank, **identified}, {}, 0, 0.0)
    notes = few_sentences(ready, tuple(WIDTHS))
    assert len(notes) == said
    assert all("(320)" in note and "wide (576)" in note for note in notes)

"""What a layer swap is priced by: the sentences that each fine-tune's head is scored on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.models import costs
from core.models.sizes import Size, size_of
from core.studies.rsa.swap.spec import SwapSpec
from core.studies.rsa.swap.study import STUDY
from core.text.labelled import read_labelled


def _processor(compare: str, **options: object) -> float:
    spec = SwapSpec(compare=(compare,), frozen=False, **options)  # type: ignore[arg-type]
    return STUDY.price(spec).processor


def test_a_head_that_labels_sentences_is_priced_by_the_labelled_ones(tmp_path: Path) -> None:
    file = tmp_path / "few.tsv"
    file.write_text("".join(f"{label}\t{text}\n" for text, label in read_labelled()[:20]))
    whole = _processor("zoo:sentiment-0")
    assert _processor("zoo:sentiment-0", sentences=20) == whole  # it reads no other text
    assert _processor("zoo:sentiment-0", labelled=str(file)) < 0.7 * whole


def test_a_head_that_labels_words_is_priced_by_the_text_however_long() -> None:
    seconds = [_processor("zoo:pos-0", sentences=number) for number in (400, 800, 1200)]
    assert seconds[2] - seconds[1] == pytest.approx(seconds[1] - seconds[0])
    assert seconds[1] > 1.5 * seconds[0]


def test_labelled_sentences_that_cannot_be_read_are_priced_as_those_included() -> None:
    assert _processor("zoo:sentiment-0", labelled="nowhere.tsv") == _processor("zoo:sentiment-0")


def test_an_unknown_head_is_priced_by_the_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "size_of", without_head)
    most = len(read_labelled())
    few, many = (_processor("zoo:pos-0", sentences=number) for number in (20, most))
    assert few == many
    assert _processor("zoo:pos-0", sentences=2 * most) > 1.5 * many


def test_a_deep_model_is_priced_by_the_layers_that_are_swapped_and_changed_at_random(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(costs, "size_of", lambda ref: replace(size_of(ref), layers=12))
    sevenths = (0, 2, 4, 6, 8, 10, 12)
    some, named, every = (
        _processor("zoo:pos-0", sentences=400, layers=layers) for layers in ((), sevenths, (-1,))
    )
    assert some < 0.8 * named < 0.8 * every


def without_head(ref: str) -> Size:
    """A model whose configuration could not be asked for its head."""
    assert size_of(ref).architecture
    return replace(size_of(ref), architecture="")

"""What a layer swap is priced by: the sentences that each fine-tune's head is scored on."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.models.sizes import MULTIBERT, size_of
from core.studies.rsa.swap import price
from core.studies.rsa.swap.spec import SwapSpec
from core.text.labelled import read_labelled


def _processor(compare: str, **options: object) -> float:
    spec = SwapSpec(compare=(compare,), frozen=False, **options)  # type: ignore[arg-type]
    return price.swap_price(spec).processor


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


def test_an_unknown_head_is_priced_by_the_more() -> None:
    assert size_of("zoo:pos-0").architecture
    assert not MULTIBERT.architecture
    spec, most = SwapSpec(sentences=400), len(read_labelled())
    assert price._scored(spec, MULTIBERT, most) == 400
    assert price._scored(SwapSpec(sentences=20), MULTIBERT, most) == most

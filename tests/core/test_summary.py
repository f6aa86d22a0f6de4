"""A study in one line: what matters always, anything else where it is not at its default."""

from __future__ import annotations

import pytest

from core.options.summary import summary
from core.studies.alignment.seeds.spec import AlignSpec
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.rsa.layers.spec import RsaSpec
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.lineage.spec import LineageSpec


def test_the_default_study_in_a_line() -> None:
    assert (
        summary(RsaSpec()) == "seed-0 against parse-0, sentiment-0, nli-0; RSA; demo, 200 sentences"
    )


def test_one_sentence_is_no_plural() -> None:
    assert summary(RsaSpec(), 1).endswith(", 1 sentence")


def test_what_differs_is_named() -> None:
    spec = RsaSpec(genres=("legal",), one_per_word=True, references=False, seed=1_000)
    assert summary(spec).endswith(
        "demo (legal), 200 sentences; one occurrence per word; no reference models; seed: 1,000"
    )


def test_many_values_are_counted() -> None:
    models = tuple(f"zoo:parse-{number}" for number in range(8))
    assert "parse-0, parse-1, parse-2, parse-3 and 4 more" in summary(RsaSpec(compare=models))
    assert f"{len(AlignSpec().methods)} maps" in summary(AlignSpec())


def test_patterns_of_included_models_are_words() -> None:
    assert summary(LineageSpec()) == "lineage of all included models"
    assert summary(WeightsSpec()).startswith("seed-0 and its fine-tunes (all included)")


def test_what_has_no_control_is_left_out() -> None:
    assert summary(RsaSpec(grid=True)) == summary(RsaSpec())


@pytest.mark.parametrize("spec", [RsaSpec, ProbeSpec, WeightsSpec, AlignSpec])
def test_a_default_study_fits_one_line(spec: type) -> None:
    assert len(summary(spec())) <= 110


def test_sentences_that_were_read_are_counted_not_those_that_were_asked_for() -> None:
    assert "demo, 116 sentences" in summary(RsaSpec(), 116)
    assert summary(RsaSpec(), 200) == summary(RsaSpec(), 900) == summary(RsaSpec())
    assert summary(WeightsSpec(), 116) == summary(WeightsSpec())

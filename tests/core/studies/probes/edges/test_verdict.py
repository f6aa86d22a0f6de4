"""The edge-probing headline begins with whether the model is above its strongest baseline."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.results.estimates import Estimate
from core.results.statements import Statement
from core.studies.probes.edges.text import BASELINE, make_headline
from core.studies.probes.trees.statements import ABOVE, BELOW, BEST, SIMILAR
from core.studies.probes.trees.tables import WINDOW


def stated(target: str, verdict: str, rival: str = WINDOW) -> list[Statement]:
    """A score of 90 %, its strongest baseline and the difference between them."""
    score, less = Estimate(90.0, kind="points"), Estimate(80.0, kind="points")
    gap = Estimate(10.0, 5.0, 15.0, kind="gain")
    return [
        Statement("zoo:seed-0", BEST, score, (2,), metric=target),
        Statement(rival, BASELINE, less, metric=target),
        Statement("zoo:seed-0", verdict, gap, (2,), rival, target),
    ]


@pytest.mark.parametrize(
    ("verdicts", "begins"),
    [
        ((BELOW, SIMILAR), "No more than words alone (static window: 80 and 80 %): seed-0"),
        ((ABOVE, ABOVE), "More than words alone (static window: 80 and 80 %): seed-0"),
        ((ABOVE, SIMILAR), "More than words alone (static window: 80 and 80 %) in parts of"),
    ],
)
def test_the_verdict_comes_first(verdicts: tuple[str, str], begins: str) -> None:
    facts = [
        each
        for target, verdict in zip(("pos", "label"), verdicts, strict=True)
        for each in stated(target, verdict)
    ]
    assert next(make_headline(facts)).startswith(begins)


def test_what_a_fine_tune_is_not_above_stands_beside_its_difference_from_its_base() -> None:
    gap = Statement(
        "zoo:parse-0", ABOVE, Estimate(16.0, 13.0, 19.0, kind="gain"), (6,), "zoo:seed-0", "pos"
    )
    facts = [*stated("pos", BELOW), *stated("label", BELOW), gap]
    near = Estimate(0.4, -2.3, 3.1, kind="gain")
    doubt = Statement("zoo:parse-0", SIMILAR, near, (6,), WINDOW, "pos")
    said = " ".join(make_headline(facts, [doubt, replace(doubt, subject="zoo:seed-0")]))
    assert said.endswith(" on parts of speech (layer 6). It is not detectably above the static window "
                         "on parts of speech.")  # fmt: skip


def test_the_first_sentence_says_at_which_layers_its_numbers_are() -> None:
    facts = [*stated("pos", BELOW), *stated("label", BELOW)]
    first = next(make_headline(facts))
    assert first.count("layer 2") == 1, "the same for both"
    facts[-3] = replace(facts[-3], layers=(4,))
    first = next(make_headline(facts))
    assert ("layer 2" in first, "layer 4" in first) == (True, True)


def test_baselines_that_differ_are_named_each() -> None:
    facts = [*stated("pos", BELOW), *stated("label", BELOW, "majority")]
    begins = "No more than the best baselines (static window 80 % and majority baseline 80 %)"
    assert next(make_headline(facts)).startswith(begins)

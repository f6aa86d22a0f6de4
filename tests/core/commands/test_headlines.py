"""What stands above the figures in the box: sentences of two lines at most, whose numbers are
written alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from core.catalogue import STUDIES
from core.results.findings import in_two_lines
from core.results.statements import TWO_LINES, lead_of
from core.studies.probes.trees.tables import PROBE_OF
from core.studies.probes.trees.text import scores_sentences
from tests.core.shipped import walked

# 0.47 for .47, 47% for 47 %; differences of percentages have their zero: 0.6 points
ODD = re.compile(r"(?<![\d.,])0\.\d+(?!\d| points)|\d%")
OF_POINTS = re.compile(
    r"(?<= points) \[[^]]*\]"
)  # the interval of a number of points has its zeros
FEWEST = 20


def shown(result: Any) -> Iterator[str]:
    """What stands above the figures of a result."""
    study = STUDIES.get(getattr(result, "study", ""))
    for view in study.views if study is not None else ():
        yield view.sentence(result) or lead_of(result.headline)
    if study is STUDIES["probe"]:
        yield from (in_two_lines(scores_sentences(result, metric)) for metric in PROBE_OF)


@pytest.mark.exhaustive
def test_headlines_in_the_box_are_short_and_their_numbers_are_written_alike() -> None:
    results = walked().results.values()  # test_precomputed tells of those that are missing
    said = [text for result in results for text in shown(result) if text]
    assert len(set(said)) >= FEWEST
    assert [text for text in said if len(text) > TWO_LINES] == []
    assert [text for text in said if ODD.search(OF_POINTS.sub("", text))] == []


def test_the_lead_is_the_first_sentence_of_a_long_headline() -> None:
    rest = "Then much more of it, " + "on and on " * 20
    assert (
        lead_of(f"It costs .10 [.09, .11] at most. {rest}.") == "It costs .10 [.09, .11] at most."
    )
    assert lead_of("Short. And whole.") == "Short. And whole."
    assert lead_of(rest) == rest

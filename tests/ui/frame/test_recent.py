"""Recent studies: what sets one apart, in a line, whatever a link says."""

from __future__ import annotations

from core.studies.rsa.layers.spec import RsaSpec
from core.studies.weights.clusters.spec import WeightsSpec
from extras.alignment.check.spec import CheckSpec
from ui.frame.recent import LONGEST, words_of


def test_a_study_is_named_by_what_its_link_says_of_it_and_not_of_how_it_is_looked_at() -> None:
    given = (
        ("compare", ("zoo:parse-0", "zoo:nli-0")),
        ("view", ("Token map",)),
        ("layer", ("3",)),
        ("other", ("x",)),
    )
    assert words_of(RsaSpec, given) == "Compared with: parse-0, nli-0; other: x"
    assert words_of(RsaSpec, (("view", ("By layer",)),)) == ""


def test_an_option_of_a_study_is_named_though_a_page_shows_something_by_the_same_name() -> None:
    given = (("study", ("align check",)), ("layer", ("2",)))
    assert words_of(CheckSpec, given) == "Layer: 2"
    assert words_of(WeightsSpec, (("map", ("tsne",)),)) == ""


def test_what_a_link_says_at_length_is_cut() -> None:
    assert len(words_of(RsaSpec, (("passage", ("word " * 1_000,)),))) == LONGEST

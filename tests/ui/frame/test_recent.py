"""Recent studies: what sets one apart, in a line, whatever a link says."""

from __future__ import annotations

from collections import OrderedDict

import pytest
from streamlit.testing.v1 import AppTest

from core.options import options_of
from core.studies.rsa.layers.spec import RsaSpec
from core.studies.weights.clusters.spec import WeightsSpec
from extras.alignment.check.spec import CheckSpec
from ui.frame import recent
from ui.frame.recent import KEPT, LONGEST, words_of
from ui.views import (
    alignment,
    alignment_experiments,
    probe_experiments,
    probes,
    rsa_experiments,
    weights_experiments,
    weights_map,
)

EXPERIMENTS = [
    module.EXPERIMENTS
    for module in (alignment_experiments, probe_experiments, rsa_experiments, weights_experiments)
]


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


def test_nothing_that_a_page_only_shows_sets_a_study_apart() -> None:
    shown = (*probes.OPTIONS, *options_of(weights_map.MapDisplay), *alignment.SHOWN)
    beside = [option for page in EXPERIMENTS for each in page.values() for option in each.display]
    assert beside
    for option in (*shown, *beside):
        assert words_of(RsaSpec, ((option.name, ("x",)),)) == "", option.name


def test_what_a_link_says_at_length_is_cut() -> None:
    assert len(words_of(RsaSpec, (("passage", ("word " * 1_000,)),))) == LONGEST


def test_own_studies_stand_before_those_of_other_tabs(monkeypatch: pytest.MonkeyPatch) -> None:
    def page() -> None:
        import streamlit as st

        from ui.frame import recent

        st.session_state[recent.PLACE] = st.empty()
        st.session_state[recent.OWN] = {("pages/rsa.py", "mine", ()): None}
        recent._draw()

    others = OrderedDict.fromkeys(("pages/rsa.py", str(number), ()) for number in range(KEPT))
    monkeypatch.setattr(recent, "shown_here", lambda: others)
    labels: list[str] = []
    monkeypatch.setattr(recent.st, "page_link", lambda *_, label, **__: labels.append(label))
    assert not AppTest.from_function(page).run().exception
    assert "mine" in labels[0]
    assert len(labels) == KEPT

"""One option more touches its study's spec and the function that uses it, nothing else: flag, check,
form, link, settings in the methods, command line and table of the documentation have it."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import options
from core.catalogue import STUDIES
from core.commands.study import add_arguments, command_line, spec_of
from core.errors import SpecError
from core.options import options_of
from docs.make.studies import options_table
from tests.ui.study import test_experiment, test_forms
from tests.ui.study.test_experiment import ROOMS, asked


def with_one_more(spec: type[Any]) -> type[Any]:
    """The spec of a study with one option more."""

    @dataclass(frozen=True)
    class More(spec):  # type: ignore[misc]
        loudness: int = options.whole("Loudness", 3, low=1, high=9, help="How loud words are read.")

    return More


@pytest.fixture(params=list(STUDIES))
def study(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a study whose spec has one option more, and nothing else has changed."""
    name: str = request.param
    changed = replace(STUDIES[name], Spec=with_one_more(STUDIES[name].Spec))
    monkeypatch.setitem(STUDIES, name, changed)
    for experiments in ROOMS.values():
        for view, experiment in experiments.items():
            if experiment.study.name == name:
                monkeypatch.setitem(experiments, view, replace(experiment, study=changed))  # type: ignore[arg-type]
    return name


def test_one_option_more_is_everywhere(study: str) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser, study)
    spec = spec_of(study, parser.parse_args(["--loudness", "5", "--out", "out"]))
    assert spec == STUDIES[study].Spec(loudness=5)
    assert "--loudness 5" in command_line(study, spec)
    assert "loudness 5" in spec.settings()
    assert "`--loudness`" in options_table(options_of(type(spec)))
    with pytest.raises(SpecError, match="loudness takes a whole number from 1 to 9, not 12"):
        STUDIES[study].Spec(loudness=12)


def test_one_option_more_has_a_control_and_is_in_the_link(study: str) -> None:
    for room, experiments in ROOMS.items():
        for view, experiment in experiments.items():
            if experiment.study.name == study:
                app = test_experiment.opened(room, study=[study], loudness=["5"])
                key = experiment.key("loudness")
                assert app.number_input(key=f"{room}/{key}").value == 5
                assert asked(app, view)[key] == 5
                app.number_input(key=f"{room}/{key}").set_value(7).run()
                assert app.query_params["loudness"] == "7"
                return
    app = AppTest.from_function(test_forms.page, default_timeout=30)
    app.session_state["study"] = study
    app.query_params["loudness"] = "5"
    app.run()
    assert app.number_input(key=f"{study.replace(' ', '_')}/loudness").value == 5
    assert test_forms.got(app).loudness == 5
    assert app.query_params["loudness"] == "5"

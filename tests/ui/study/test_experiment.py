"""Options of experiments have one name, in flag, field and link; links of earlier versions, in which
36 of them had another, open the same studies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.catalogue import STUDIES
from core.options import Option, options_of
from tests.cases import exhaustive
from tests.core.test_options import another
from ui.frame.links import STUDY, Manner
from ui.study.experiment import Experiment
from ui.views import (
    alignment_experiments,
    probe_experiments,
    rsa_experiments,
    weights_experiments,
)

ROOMS: Mapping[str, Mapping[str, Experiment]] = {
    "rsa": rsa_experiments.EXPERIMENTS,
    "probe": probe_experiments.EXPERIMENTS,
    "weights": weights_experiments.EXPERIMENTS,
    "align": alignment_experiments.EXPERIMENTS,
}
# study -> name in links until version 0.9 -> the option's name
FORMER: Mapping[str, Mapping[str, str]] = {
    "training": {"end": "end", "steps": "steps", "steps_most": "at_most", "others": "others"},
    "divergence": {
        "language_models": "compare",
        "language_baselines": "others",
        "masking": "masking",
    },
    "audit": {
        "audited": "models",
        "audited_end": "end",
        "audited_as": "kind",
        "audited_most": "at_most",
    },
    "swap": {"swap_noises": "noises", "swap_random": "random", "swap_frozen": "frozen"},
    "truth": {"plants": "plants", "truth_measures": "measures"},
    "probe edges": {
        "targets": "targets",
        "penalty": "penalty",
        "control_labels": "controls",
        "beside_window": "conditional",
    },
    "probe polar": {"angles": "weight", "label_controls": "controls"},
    "probe training": {
        "end": "end",
        "steps": "steps",
        "steps_most": "at_most",
        "step_controls": "controls",
        "step_score": "score",
    },
    "probe removal": {
        "erased_rank": "rank",
        "randoms": "randoms",
        "scored_sentences": "scored",
        "erased_kinds": "kinds",
        "erased_pairs": "pairs",
    },
    "probe behaviour": {"scored": "models", "pairs": "pairs", "pair_kinds": "kinds"},
    "weights intruders": {
        "intruder_models": "models",
        "leading": "leading",
        "cosine": "threshold",
        "draws": "draws",
    },
    "weights lineage": {"lineage_models": "models", "lineage_pair": "pair"},
    "align rotation": {"planted_rotations": "draws"},
    "align stitch": {"stitch_models": "models", "stitch_methods": "methods", "draws": "draws"},
    "align check": {"check_layer": "layer", "truths": "truths", "check_methods": "methods"},
    "align attention": {"attention_methods": "methods"},
    "align protocol": {
        "protocol_tuned": "tuned",
        "protocol_length": "length",
        "protocol_steps": "steps",
    },
}
EVERY = [(room, view) for room, experiments in ROOMS.items() for view in experiments]


def page() -> None:
    import streamlit as st

    from core.catalogue import STUDIES
    from tests.ui.study.test_experiment import ROOMS
    from ui.study.forms import Form

    room = st.session_state.room
    study = STUDIES[room]
    form = Form(room, study.Spec, studies=[study], experiments=ROOMS[room])
    option = form.address.options["view"]
    st.segmented_control("View", list(option.meanings), key=form.address.key("view"))
    proposed = st.session_state.get("proposed")
    if proposed and form.experiment is None and form.address["layers"] in ([], proposed):
        form.address.propose("layers", proposed)
    if form.experiment is not None:
        for option in form.experiment.own:
            form.control(form.experiment.key(option.name))
    st.session_state.main = form.spec()
    st.session_state.asked = {
        shown: {key: form.address[key] for key in each.beside.options}
        for shown, each in ROOMS[room].items()
    }


def opened(room: str, **link: list[str]) -> AppTest:
    app = AppTest.from_function(page, default_timeout=30)
    app.session_state["room"] = room
    app.query_params.update(link)
    app.run()
    assert not app.exception
    return app


def address(app: AppTest) -> dict[str, list[str]]:
    return {
        name: value if isinstance(value, list) else [value]
        for name, value in app.query_params.items()
    }


def changed(option: Option) -> Any:
    """A value that is not the default; two models where two have to be."""
    value = another(option)
    return value[: int(option.high)] if option.kind == "models" else value


def asked(app: AppTest, view: str) -> dict[str, Any]:
    return {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in app.session_state.asked[view].items()
    }


def values_of(experiment: Experiment) -> dict[str, Any]:
    return {key: changed(option) for key, option in experiment.beside.options.items()}


@pytest.mark.parametrize(("room", "view"), EVERY, ids=[view for _, view in EVERY])
def test_a_link_names_the_study_and_its_options_as_the_command_does(room: str, view: str) -> None:
    experiment = ROOMS[room][view]
    options, values = experiment.beside.options, values_of(experiment)
    names = {option.name for option in options.values()}
    assert names >= {option.name for option in experiment.own}
    assert not names & {*experiment.read, *(option.name for option in options_of(Manner)), STUDY}
    study = experiment.study.name
    link = {options[key].name: options[key].write(value) for key, value in values.items()}
    app = opened(room, study=[study], **link)
    assert asked(app, view) == values
    assert address(app) == {"study": [study], **link}
    assert not app.warning


# Options that are younger than such links: they have their default.
YOUNGER = {"probe behaviour": {"pairs_file"}}


def former_values(experiment: Experiment) -> dict[str, Any]:
    """Values that a former link could hold, and the defaults of younger options."""
    younger = YOUNGER.get(experiment.study.name, set())
    return {
        key: option.default if option.name in younger else changed(option)
        for key, option in experiment.beside.options.items()
    }


OLD = [(room, view) for room, view in EVERY if ROOMS[room][view].study.name in FORMER]


@pytest.mark.parametrize(("room", "view"), exhaustive(OLD, *OLD[:2]), ids=[view for _, view in OLD])
def test_a_former_link_opens_the_same_study_and_is_written_anew(room: str, view: str) -> None:
    experiment, study = ROOMS[room][view], ROOMS[room][view].study.name
    options, values = experiment.beside.options, former_values(experiment)
    keys = {option.name: key for key, option in options.items()}
    assert set(FORMER[study].values()) == set(keys) - YOUNGER.get(study, set())
    link = {
        former: options[keys[name]].write(values[keys[name]])
        for former, name in FORMER[study].items()
    }
    app = opened(room, view=[view], **link)
    assert asked(app, view) == values
    assert not app.warning
    assert set(address(app)) == {"study", *FORMER[study].values()}


@pytest.mark.parametrize(
    "link",
    [
        {"study": ["weights intruders"], "models": ["zoo:nli-0"], "threshold": ["0.6"]},
        {"view": ["Intruders"], "intruder_models": ["zoo:nli-0"], "cosine": ["0.6"]},
    ],
    ids=["study", "view"],
)
def test_a_link_to_scaled_intruders_when_they_were_an_option_opens_their_study(
    link: dict[str, list[str]],
) -> None:
    app = opened("weights", **link, scaling=["true"], draws=["60"], removals=["3"])
    assert not app.warning
    assert address(app) == {
        "study": ["weights scaling"],
        "models": ["zoo:nli-0"],
        "threshold": ["0.6"],
        "removals": ["3"],
    }


@pytest.mark.parametrize("room", ROOMS)
def test_a_former_link_held_the_options_of_every_experiment(room: str) -> None:
    link, values = {}, {}
    for view, experiment in ROOMS[room].items():
        if experiment.study.name not in FORMER:  # it is younger than such links
            continue
        values[view] = former_values(experiment)
        for former, name in FORMER[experiment.study.name].items():
            key = experiment.key(name)
            if former not in link:  # two experiments may have shared the name, and its value
                link[former] = experiment.beside.options[key].write(values[view][key])
            values[view][key] = experiment.beside.options[key].read(link[former])
    app = opened(room, **link)
    for view, asked_for in values.items():
        assert asked(app, view) == asked_for
    assert address(app) == {}


@pytest.mark.slow
def test_the_page_and_its_experiments_keep_values_of_one_name_apart() -> None:
    models = ["zoo:seed-2", "zoo:seed-3"]
    app = opened("align", models=models, layers=["2"])
    app.session_state["align/view"] = "Stitching"
    app.run()
    assert address(app) == {"study": ["align stitch"]}
    app.session_state["align/align stitch/models"] = ["zoo:sentiment-1", "zoo:sentiment-2"]
    app.session_state["align/align stitch/draws"] = 30
    app.run()
    stitched = {
        "study": ["align stitch"],
        "models": ["zoo:sentiment-1", "zoo:sentiment-2"],
        "draws": ["30"],
    }
    assert address(app) == stitched
    assert list(app.session_state.main.models) == models
    app.session_state["align/view"] = STUDIES["align rotation"].title
    app.run()
    assert address(app) == {"study": ["align rotation"], "models": models}
    app.query_params.clear()  # as the back button does
    app.query_params.update(stitched)
    app.run()
    assert address(app) == stitched
    app.session_state["align/view"] = STUDIES["align"].views[0].name
    app.run()
    assert address(app) == {"models": models, "layers": ["2"]}
    assert asked(app, "Stitching")["align stitch/draws"] == 30


@pytest.mark.slow
def test_what_a_page_proposes_is_no_choice_after_a_link_to_an_experiment_either() -> None:
    app = opened("align")
    app.session_state["proposed"] = [4]
    app.run()
    assert address(app) == {}
    app.query_params.update(study="align stitch")
    app.run()
    assert address(app) == {"study": ["align stitch"]}
    app.session_state["align/view"] = STUDIES["align"].views[0].name
    app.run()
    assert app.session_state["align/layers"] == [4]
    assert address(app) == {}


def test_a_study_that_a_page_does_not_show_is_said() -> None:
    app = opened("rsa", study=["probe [no](http://evil.example)"])
    assert "`probe [no](http://evil.example)`" in app.warning[0].value
    assert address(app) == {}

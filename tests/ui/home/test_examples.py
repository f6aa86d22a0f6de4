"""The home page's examples open what their findings were made from."""

from __future__ import annotations

from core.catalogue import STUDIES
from core.commands.examples.every import EXAMPLES
from ui.views import (
    alignment_experiments,
    probe_experiments,
    rsa_experiments,
    weights_experiments,
)

ROOMS = (rsa_experiments, probe_experiments, weights_experiments, alignment_experiments)


def test_an_example_of_an_experiment_opens_it_with_its_options() -> None:
    experiments = {name: each for room in ROOMS for name, each in room.EXPERIMENTS.items()}
    opened = []
    for example in EXAMPLES:
        (view,) = example.view.get("view", ("",))
        if view not in experiments or len(example.view) == 1:
            assert set(example.view) <= {"view"}
            continue
        experiment = experiments[view]
        command, spec = example.studies[1]
        assert experiment.study is STUDIES[command]
        for name, texts in example.view.items():
            if name != "view":
                assert getattr(spec, experiment.own[name]) == texts
        opened.append(example.name)
    assert opened == ["adapters", "grammar"]

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
    experiments = {each.study.name: each for room in ROOMS for each in room.EXPERIMENTS.values()}
    opened = []
    for example in EXAMPLES:
        (study,) = example.query().get("study", ("",))
        if not study:
            assert example.opened == 0
            continue
        command, spec = example.studies[example.opened]
        assert study == command
        assert experiments[study].study is STUDIES[command]
        names = {option.name for option in experiments[study].own}
        assert set(spec.changed()) == set(example.query()) - {"study"} <= names
        opened.append(example.name)
    assert opened == ["averaged", "adapters", "grammar"]

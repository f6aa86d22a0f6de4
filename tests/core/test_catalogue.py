"""Every study declares what whoever goes over the catalogue takes for granted."""

from __future__ import annotations

import inspect

import pytest

from core.catalogue import STUDIES
from core.options import Spec, options_of

STAGES = {
    "prepare": 2,
    "plan": 2,
    "collect": 3,
    "figures": 1,
    "price": 1,
    "files": 1,
}  # arguments each is called with


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_is_what_it_declares(name: str) -> None:
    study = STUDIES[name]
    assert study.name == name
    assert study.title
    assert study.purpose
    assert issubclass(study.Spec, Spec)
    assert options_of(study.Spec)
    for stage, count in STAGES.items():
        inspect.signature(getattr(study, stage)).bind(
            *range(count)
        )  # a TypeError where it takes others

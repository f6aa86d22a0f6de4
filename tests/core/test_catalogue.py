"""Every study declares what whoever goes over the catalogue takes for granted."""

from __future__ import annotations

import inspect
import pydoc
import re
import subprocess
import sys
from collections.abc import Mapping

import pytest

from core.catalogue import STUDIES
from core.options import Spec, options_of
from tests import ROOT
from tests.core.contracts import House, read_house

STAGES = {
    "prepare": 2,
    "plan": 2,
    "collect": 3,
    "figures": 1,
    "price": 1,
    "files": 1,
}  # arguments each is called with


NUMBER = re.compile(r"The headline's number: `[\w.]+`[.,].*", re.S)
NAMED = re.compile(r"`((?:core|extras)\.[\w.]+)`")


@pytest.fixture(scope="module")
def house() -> House:
    """The modules of the repository."""
    return read_house(ROOT)


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_s_module_names_what_computes_the_number_of_its_headline(
    name: str, house: House
) -> None:
    module = inspect.getmodule(STUDIES[name].collect)
    assert module is not None
    paragraph = NUMBER.search(module.__doc__ or "")
    assert paragraph, module.__name__
    reached, new = set(), {module.__name__}
    while new:
        reached |= new
        new = {each for origin in new for each in house.arrows[origin]} - reached
    for named in NAMED.findall(paragraph[0]):
        place = pydoc.locate(named)
        assert callable(place) or isinstance(place, Mapping), named
        home = max((each for each in house.modules if named.startswith(f"{each}.")), key=len)
        assert home in reached, f"{named} is not imported by {name}"


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


OPENED = """
import sys
from core.catalogue import STUDIES
from core.runs.process.imports import TANGLED

for name in sys.argv[1:]:
    result = STUDIES[name].run(STUDIES[name].Spec())
    STUDIES[name].views[0].figures(result)
print(*sorted(sys.modules.keys() & {*TANGLED} - {"pandas"}))
"""


@pytest.mark.slow
def test_a_light_study_opens_its_precomputed_result_without_the_tangled_imports(
    precomputed_results: None,
) -> None:
    light = [name for name in STUDIES if STUDIES[name].light]
    command = [sys.executable, "-c", OPENED, *light]
    answer = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert light == ["rsa", "probe", "align"]
    assert answer.stdout.split() == []

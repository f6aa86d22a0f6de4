"""Numbers that code of others gave, kept in `outside.json`, are those of the app."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.outside import __main__ as outside
from benchmarks.outside.inputs import Numbers

KEPT = json.loads(Path(__file__).with_name("outside.json").read_text())
BOUNDED = [name for name, each in outside.COMPARISONS.items() if each.bound is not None]


def numbers(*values: float) -> Callable[[bool], Numbers]:
    """A side of a comparison that gives the same whatever it is asked on."""
    return lambda small: {"a": np.array(values)}


COMPARED = outside.Comparison("this", "numpy", "that", "", 0.1, numbers(1, 2), numbers(1, 2.05))


@pytest.mark.slow
@pytest.mark.parametrize("name", BOUNDED)
def test_the_app_gives_the_numbers_of_the_other_code(name: str) -> None:
    each = outside.COMPARISONS[name]
    kept = {key: np.array(values) for key, values in KEPT[name]["numbers"].items()}
    ours = {key: np.array(values) for key, values in outside.brief(each.ours(True)).items()}
    assert all(values.size for values in kept.values())
    assert each.bound is not None
    assert outside.differ(ours, kept) <= each.bound


def test_kept_numbers_say_whose_they_are() -> None:
    assert sorted(KEPT) == sorted(BOUNDED)
    for each in KEPT.values():
        assert re.fullmatch(r"[\w-]+ [\w.]+", each["from"])


def test_a_difference_above_its_bound_ends_with_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(outside, "COMPARISONS", {"near": COMPARED})
    assert outside.main([]) == 0
    assert f"| this | numpy {np.__version__} | that | 5.0e-02 | 1e-01 |" in capsys.readouterr().out
    far = {"near": COMPARED, "far": replace(COMPARED, bound=0.01)}
    monkeypatch.setattr(outside, "COMPARISONS", far)
    assert outside.main([]) == 1
    assert "Larger than its bound: far." in capsys.readouterr().err
    assert outside.main(["near"]) == 0


@pytest.mark.parametrize(
    "theirs", [numbers(1, np.nan), numbers(1), lambda small: {"b": np.ones(2)}]
)
def test_what_cannot_be_compared_is_no_agreement(theirs: Callable[[bool], Numbers]) -> None:
    *_, wrong = outside.compare({"odd": replace(COMPARED, theirs=theirs)})
    assert wrong == ["odd"]


def test_one_that_differs_by_definition_has_no_bound() -> None:
    rows, _, wrong = outside.compare({"other": replace(COMPARED, bound=None, ours=numbers(9, 9))})
    assert (rows[0][-1], wrong) == ("differs by definition", [])


@pytest.mark.parametrize("package", ["no-such-package", "tracing"])
def test_what_is_not_installed_is_left_out_with_a_sentence(
    package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(outside.UNPACKAGED, "tracing", "model-tracing")
    monkeypatch.setitem(sys.modules, "tracing", None)
    monkeypatch.setattr(outside, "COMPARISONS", {"gone": replace(COMPARED, package=package)})
    assert outside.main([]) == 0
    assert f"{package} is not installed, so gone is not compared." in capsys.readouterr().out


def test_numbers_are_kept_for_the_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = replace(COMPARED, theirs=lambda small: {"a": np.arange(11.0) if small else np.zeros(1)})
    monkeypatch.setattr(outside, "COMPARISONS", {"many": many, "other": replace(many, bound=None)})
    assert outside.main(["--keep", str(tmp_path / "kept.json")]) == 0
    assert json.loads((tmp_path / "kept.json").read_text()) == {
        "many": {"from": f"numpy {np.__version__}", "numbers": {"a": [0, 2, 4, 6, 8, 10]}}
    }

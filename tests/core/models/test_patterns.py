"""Folders whose names have wildcards: what exists is taken as it is, patterns come second."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.catalogue import STUDIES
from core.errors import ModelError, SpecError
from core.models.patterns import matching_refs
from core.models.references import is_pattern
from core.models.steps import find_steps
from core.options import options_of
from core.studies.rsa.layers.runs import find_compared
from core.studies.weights.clusters.members import find_members
from core.sweep.grid import read_sweep
from core.vectors.model_files import _references

NAMES = ("run1", "run[1]", "a*", "ab", "b?", "bc", "run10", "run2")


@pytest.fixture
def runs(tmp_path: Path) -> str:
    for name in NAMES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    return f"path:{tmp_path}"


@pytest.mark.parametrize("name", ["run[1]", "a*", "b?"])
def test_a_folder_that_exists_is_itself_wherever_models_are_named(
    runs: str, name: str, tmp_path: Path
) -> None:
    ref = f"{runs}/{name}"
    assert not is_pattern(ref)
    assert not is_pattern(f"random:{ref}")
    assert matching_refs(f" {ref} ") == (ref,)
    assert matching_refs(f"random:{ref}") == (f"random:{ref}",)
    assert find_steps((ref,), "", 9) == (ref,)
    assert find_compared("zoo:seed-0", (ref,)).refs == (ref,)
    assert [member.ref for member in find_members("zoo:seed-0", (ref,)).members] == [ref]

    class Named:
        def __init__(self) -> None:
            self.models = (ref,)

    assert list(_references(Named(), ())) == [ref]
    (tmp_path / "some.yaml").write_text(
        f"study: rsa\nbase: zoo:seed-0\ncompare: ['{ref}', 'zoo:parse-0']"
    )
    assert read_sweep(tmp_path / "some.yaml").cells[0].models == ("zoo:seed-0", ref)


def test_every_option_of_models_takes_such_a_folder_as_it_is(runs: str) -> None:
    ref = f"{runs}/b?"
    tried = 0
    for study in STUDIES.values():
        for option in options_of(study.Spec):
            if option.kind in ("model", "models"):
                many = option.many and option.low <= 1
                if option.many and not many:
                    continue
                value = option.check((ref,) if many else ref)
                assert value == ((ref,) if many else ref), (study.name, option.name)
                tried += 1
    assert tried > 20


def test_a_pattern_matches_by_the_numbers_in_names_and_brackets_are_brackets_first(
    runs: str, tmp_path: Path
) -> None:
    assert matching_refs(f"{runs}/run?*") == tuple(
        f"{runs}/{name}" for name in ("run1", "run2", "run10", "run[1]")
    )
    assert matching_refs(f"{runs}/run[12]") == (f"{runs}/run1", f"{runs}/run2")
    assert matching_refs(f"{runs}/run[1]*") == (f"{runs}/run[1]",)
    inside = tmp_path / "run[1]" / "checkpoint-3"
    inside.mkdir()
    (inside / "config.json").write_text("{}")
    assert matching_refs(f"{runs}/run[1]/checkpoint-*") == (f"{runs}/run[1]/checkpoint-3",)
    for name in ("none*", "none/*", "**/x*", "a\0*"):
        with pytest.raises((SpecError, ModelError)):
            matching_refs(f"{runs}/{name}")


def test_a_shared_instance_is_not_asked_whether_a_folder_exists(
    runs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    monkeypatch.setattr(Path, "exists", lambda path: pytest.fail("looked"))
    with pytest.raises(ModelError, match="shared"):
        matching_refs(f"{runs}/run[1]")

"""Results of models that are not included open without the models, and say where these are others."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from core.catalogue import STUDIES
from core.commands.main import main
from core.errors import ModelError
from core.limits import MODE
from core.models.zoo import BESIDE
from core.results import load
from core.results.export import Result
from core.results.shelf.archive import (
    ALL_SHIPPED,
    FILE,
    LARGE,
    Shelf,
    Shelved,
    compared,
    is_shelved,
    origin_of,
    whereabouts_of,
    write_shelf,
)
from core.results.statements import lead_of
from core.runs.precomputed import VARIABLE
from core.runs.runner import Progress
from core.runs.store import Store, default_store
from tests.core.hub_server import HubServer, etag
from tests.core.results.test_reading import assert_equal
from tests.core.tiny_models import save_tiny

STUDY = STUDIES["weights lineage"]
REFS = ("hub:nobody/first", "hub:nobody/second")


def result_of(spec: Any, **fingerprints: str) -> Result:
    """A result as a study's, of models that nobody has."""
    import numpy as np

    return Result(
        study=STUDY.name,
        spec=spec.plain(),
        headline="Two models are relatives.",
        tables={
            "relatives": pd.DataFrame(
                {"verdict": pd.Series([], dtype="object")}
            ),  # so that there is no figure to draw
            "pairs": pd.DataFrame({"model": list(spec.models), "distance": [0.1, 1 / 3]}),
        },
        arrays={"few": np.arange(3.0) / 7, "many": np.arange(LARGE + 1.0)},
        provenance={"fingerprints": dict(zip(spec.models, fingerprints.values(), strict=True))},
        methods=f"All matrices of {', '.join(spec.models)}.",
    )


def entry_of(spec: Any, name: str = "relatives") -> Shelved:
    sources = dict.fromkeys(spec.models, "a package")
    page = "pages/weight_clustering.py"
    return Shelved(name, "Relatives", page, STUDY.name, spec.plain(), sources, beside=True)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, private_store: Path) -> Shelf:
    """A shelf with one result, beside precomputed results of which there are none."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "answers.zip"))
    spec = STUDY.Spec(models=REFS)
    write_shelf(tmp_path / FILE, [(entry_of(spec), result_of(spec, a="1" * 64, b="2" * 64))])
    return Shelf(tmp_path / FILE)


def test_a_result_is_opened_as_it_was_written_but_large_arrays_in_single_precision(
    shelf: Shelf,
) -> None:
    spec = STUDY.Spec(models=REFS)
    written, (entry,) = result_of(spec, a="1" * 64, b="2" * 64), shelf.entries
    read = shelf.open(entry)
    assert read.arrays["many"].dtype == "float32"
    assert_equal(replace(read, arrays={}), replace(written, arrays={}))
    assert (read.arrays["few"] == written.arrays["few"]).all()
    assert entry.spec(STUDY.Spec) == spec
    assert origin_of(entry.sources) == "Models that are not included: first and second: a package."


def test_a_study_opens_without_its_models_unless_it_is_to_be_computed(shelf: Shelf) -> None:
    spec, seen = STUDY.Spec(models=REFS), list[Progress]()
    assert STUDY.run(spec, progress=seen.append).headline == "Two models are relatives."
    assert seen == [ALL_SHIPPED]
    assert not is_shelved(STUDY.name, STUDY.Spec(models=REFS[::-1]))
    with pytest.raises(ModelError):
        STUDY.run(spec, store=default_store().without_precomputed())


def test_a_study_s_command_opens_one_without_asking_for_the_models_sizes(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    given = ["weights", "lineage", "--models", *REFS, "--out", str(tmp_path / "out")]
    assert main(given) == 0
    shown = capsys.readouterr()
    assert "Two models are relatives." in shown.out
    assert "1 of 1 tasks were stored (1 precomputed)" in shown.err
    assert main([*given, "--fresh"]) == 2
    assert "Fewer than two models could be read" in capsys.readouterr().err


def test_models_that_are_others_now_are_said(
    zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, private_store: Path
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "answers.zip"))
    spec = STUDY.Spec(models=("zoo:seed-0", "zoo:seed-1"))
    store = Store(tmp_path / "store")
    computed = STUDY.run(spec, store=store)
    same = computed.provenance["fingerprints"]["zoo:seed-0"]
    write_shelf(tmp_path / FILE, [(entry_of(spec), result_of(spec, a=same, b="2" * 64))])
    again = STUDY.run(spec, store=store)
    assert again.notices[:-1] == computed.notices
    now = computed.provenance["fingerprints"]["zoo:seed-1"][:12]
    assert again.notices[-1] == (
        "zoo:seed-1 is not the model of the precomputed result: its content has the hash "
        f"{now} instead of {'2' * 12}."
    )


@pytest.mark.parametrize(
    ("state", "shipped", "said"),
    [
        ("fine", "weights", None),
        ("fine", "2" * 64, "its content has the hash {} instead of 222222222222."),
        ("fine", f"organisation/model {'3' * 40}", "could not be compared"),
        ("broken", "weights", "could not be compared"),
    ],
)
def test_the_weights_of_a_model_on_the_hub_are_compared_not_its_commit(
    state: str, shipped: str, said: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref, spec = "hub:organisation/model", STUDY.Spec(models=REFS)
    with HubServer() as hub:
        hub.replace_hub(monkeypatch, tmp_path / "cache")
        repository = hub.add("organisation/model", save_tiny(tmp_path / "model", "bert"))
        repository.state = state
        weights = etag(repository.files["model.safetensors"])
        before, now = (
            replace(result_of(spec, a="", b=""), provenance={"fingerprints": {ref: fingerprint}})
            for fingerprint in (
                weights if shipped == "weights" else shipped,
                f"organisation/model {repository.commit}",
            )
        )
        notices = compared(now, before).notices
    if said is None:
        assert notices == ()
    else:
        (notice,) = notices
        assert said.format(weights[:12]) in notice


def test_a_folder_in_the_home_folder_is_one_on_another_computer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = [tmp_path / name for name in ("one", "two")]
    specs = []
    for home in homes:
        monkeypatch.setenv("HOME", str(home))
        specs.append(STUDY.Spec(models=(f"path:{home}/models/a", "hub:nobody/b")))
    assert specs[0] != specs[1]
    monkeypatch.setenv("HOME", str(homes[0]))
    path = tmp_path / FILE
    write_shelf(path, [(entry_of(specs[0]), result_of(specs[0], a="1", b="2"))])
    assert str(homes[0]).encode() not in b"".join(_contents(path))
    monkeypatch.setenv("HOME", str(homes[1]))
    entry = Shelf(path).find(STUDY.name, specs[1])
    assert entry is not None
    read = Shelf(path).open(entry)
    assert [*read.tables["pairs"]["model"]] == [*specs[1].models]
    expected = f"A run here looks for a in {homes[1] / 'models'}."
    assert whereabouts_of(dict.fromkeys(specs[1].models, "a package")).endswith(expected)
    assert whereabouts_of({"hub:nobody/b": ""}) == origin_of({"hub:nobody/b": ""})
    assert str(homes[1]) in read.methods
    monkeypatch.setenv(MODE, "shared")  # which reads no folders of its computer
    assert Shelf(path).find(STUDY.name, STUDY.Spec(models=REFS)) is None


def _contents(path: Path) -> list[bytes]:
    from core.runs.precomputed import Precomputed

    archive = Precomputed(path)
    return [*archive.get_many(archive.keys()).values()]


@pytest.mark.parametrize("damage", ["gone", "cut", "record"])
def test_what_is_damaged_is_not_there(damage: str, shelf: Shelf) -> None:
    (entry,) = shelf.entries
    if damage == "record":
        write_shelf(
            shelf.path,
            [(replace(entry, name="another"), result_of(STUDY.Spec(models=REFS), a="1", b="2"))],
        )
        assert shelf.open(entry) is None
        return
    content = shelf.path.read_bytes()
    shelf.path.unlink()
    if damage == "cut":
        shelf.path.write_bytes(content[: len(content) // 2])
    assert shelf.entries == ()
    assert shelf.open(entry) is None


def test_the_same_results_give_the_same_bytes(shelf: Shelf, tmp_path: Path) -> None:
    spec = STUDY.Spec(models=REFS)
    write_shelf(tmp_path / "again.zip", [(entry_of(spec), result_of(spec, a="1" * 64, b="2" * 64))])
    assert (tmp_path / "again.zip").read_bytes() == shelf.path.read_bytes()


def test_the_command_lists_what_is_there_and_writes_one(
    shelf: Shelf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["zoo", "real"]) == 0
    listed, command = capsys.readouterr().out.strip().splitlines()
    assert listed.startswith("relatives: ")
    assert command.endswith(
        " weights lineage --models hub:nobody/first hub:nobody/second --out out"
    )
    out = tmp_path / "out"
    assert main(["zoo", "real", "relatives", "--out", str(out)]) == 0
    assert "Two models are relatives." in capsys.readouterr().out
    assert load(out).headline == "Two models are relatives."


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["strangers", "--out", "out"], "There is no result 'strangers': give one of relatives"),
        (["relatives"], "There is no folder for it"),
    ],
)
def test_a_result_that_is_not_there_or_has_nowhere_to_go(
    arguments: list[str], said: str, shelf: Shelf, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["zoo", "real", *arguments]) == 2
    assert said in capsys.readouterr().err


SHIPPED = Shelf(BESIDE / "answers" / FILE)


def test_what_is_shipped_is_small_and_names_nobody_s_folders() -> None:
    assert SHIPPED.path.stat().st_size < 1.5e6
    assert SHIPPED.entries
    for content in _contents(SHIPPED.path):
        assert not re.search(rb"/(root|home|tmp|Users)/", content)


FORMER = {"scaling", "removals", "text", "labelled"}  # options that became another study's


@pytest.mark.parametrize("entry", SHIPPED.entries, ids=lambda entry: entry.name)
def test_a_result_that_is_shipped_is_whole(entry: Shelved) -> None:
    study = STUDIES[entry.study]
    result = SHIPPED.open(entry, study.kind)
    assert not result.failures
    assert lead_of(result.headline) == entry.sentence
    assert set(entry.sources) <= set(result.provenance["fingerprints"])
    assert result.notices[0] == origin_of(entry.sources)
    spec = entry.spec(study.Spec)  # options that are newer than the result have their defaults
    given = {name: value for name, value in entry.values.items() if name in spec.plain()}
    assert spec.plain() | given == spec.plain()
    assert {*entry.values} - {*given} == (FORMER if entry.study == "weights intruders" else set())
    assert set(spec.changed()) <= set(entry.values)
    assert study.figures(result)


@pytest.mark.parametrize("name", ["minilm-probe", "minilm-polar"])
def test_each_metric_of_probes_that_are_not_there_has_a_sentence_of_its_own(name: str) -> None:
    (entry,) = [entry for entry in SHIPPED.entries if entry.name == name]
    result, view = SHIPPED.open(entry, STUDIES[entry.study].kind), STUDIES[entry.study].views[0]
    scored = set(result.table.dropna(subset="layer")["metric"])
    said = [view.sentence(result, *choice) for choice in view.choices(result) if {*choice} & scored]
    assert all(said)
    assert len(set(said)) == len(said) > 1

"""The precomputed results: everything that is asked for is there, nothing else is, and it is what
computing gives."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.catalogue import STUDIES
from core.commands import precomputed
from core.commands.examples.every import EXAMPLES, STORY
from core.errors import NotStoredError
from core.models.zoo import read_manifest
from core.results.columns import COLUMNS, Column, describe
from core.results.estimates import estimates_of
from core.runs.precomputed import FILE, VARIABLE, Precomputed, write_precomputed
from core.runs.runner import Task, run
from core.runs.store import Store, decode, default_store, using
from core.studies.rsa.spaces.spec import SpacesSpec
from core.studies.weights.clusters.distances import condensed_keys, lighten
from tests import ROOT
from tests.core import shipped
from tests.core.results.statements import false_statements
from tests.core.results.test_columns import undescribed
from tests.core.shipped import BOX

MADE_BY = "make them anew with `make precomputed`"
needs_precomputed = pytest.mark.skipif(
    not BOX.path.is_file(), reason="nothing is precomputed yet: make precomputed"
)
HEAVY = ("torch", "transformers", "spacy", "altair")
SHOWN = f"""
import json, sys
from core.commands.main import main
from core.catalogue import STUDIES
assert main(["rsa", "--out", sys.argv[1]]) == 0
for command in sys.argv[2:]:  # what a page does: no files, whose pictures take most of a command's seconds
    study, last = STUDIES[command], []
    study.figures(study.run(study.Spec(), progress=last.append))
    print(last[-1].shipped, last[-1].total)
print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))
"""


@pytest.fixture
def walked() -> precomputed.Walk:
    """What comes of asking for everything, from the file alone."""
    return shipped.walked()


@needs_precomputed
def test_no_answer_is_missing(walked: precomputed.Walk) -> None:
    assert walked.unanswered == (), MADE_BY
    assert walked.missing == set(), MADE_BY


def test_every_study_is_asked_for_at_its_defaults() -> None:
    """What a command answers without options; what the views of the pages show, their tests ask."""
    asked = precomputed.requests()
    offered = set(STUDIES) - {*precomputed.ON_REQUEST}
    assert {precomputed.name_of(name, STUDIES[name].Spec()) for name in offered} <= {*asked}


@needs_precomputed
def test_every_column_of_every_study_is_explained(walked: precomputed.Walk) -> None:
    studies = {result.study for result in walked.results.values()}
    assert studies >= set(STUDIES) - {*precomputed.ON_REQUEST}
    for name, result in walked.results.items():
        assert undescribed(result.tables) == [], name
        assert set(describe(result.tables)) == set(result.tables)


@pytest.mark.exhaustive
@needs_precomputed
def test_what_the_dictionary_says_is_so(walked: precomputed.Walk) -> None:
    tables = [item for result in walked.results.values() for item in result.tables.items()]
    assert false_statements(tables) == []


@needs_precomputed
def test_every_band_holds_its_estimate(walked: precomputed.Walk) -> None:
    banded = 0
    for name, result in walked.results.items():
        for table in result.tables.values():
            for column in (name for name in table if COLUMNS.get(name, Column()).interval):
                for estimate in estimates_of(table, column):
                    if not math.isnan(estimate.low):
                        assert estimate.low <= estimate.value <= estimate.high, (name, column)
                        banded += 1
    assert banded > 1_000


@pytest.mark.exhaustive
@pytest.mark.slow
@needs_precomputed
def test_a_shared_instance_finds_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    shared = precomputed.walk(BOX.get_many)
    assert (shared.missing, shared.unanswered) == (set(), ())


@needs_precomputed
def test_the_precomputed_results_are_small() -> None:
    assert BOX.path.stat().st_size < 10 * 10**6


@needs_precomputed
def test_no_answer_is_stale(walked: precomputed.Walk) -> None:
    """A key that the code no longer asks for is a result of other code."""
    assert set(BOX.keys()) == set(walked.values), MADE_BY


def test_results_that_are_computed_anew_are_written_beside_the_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "none")
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path / "box"))
    monkeypatch.chdir(tmp_path)
    nothing = precomputed.Walk({}, set(), (), {})
    monkeypatch.setattr(precomputed, "requests", dict)
    monkeypatch.setattr(precomputed, "walk", lambda read: nothing)
    monkeypatch.setattr(precomputed, "cards_text", lambda results, file: "{}")
    assert precomputed.make(print) == tmp_path / "box" / FILE
    assert (tmp_path / "box" / FILE).with_name(precomputed.CARDS).read_text() == "{}"


@needs_precomputed
def test_the_cards_can_be_written_without_computing(
    walked: precomputed.Walk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / FILE).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / FILE).write_bytes(BOX.path.read_bytes())
    monkeypatch.setattr(precomputed, "default_precomputed", lambda: Precomputed(tmp_path / FILE))
    monkeypatch.setattr(precomputed, "walk", lambda read: walked)
    written = precomputed.make_cards()
    assert written.parent == (tmp_path / FILE).parent
    kept = json.loads(BOX.path.with_name(precomputed.CARDS).read_text(encoding="utf8"))
    assert json.loads(written.read_text(encoding="utf8"))["answers"] == kept["answers"]
    monkeypatch.setattr(precomputed, "walk", lambda read: replace(walked, missing={"a key"}))
    with pytest.raises(NotStoredError):
        precomputed.make_cards()


@needs_precomputed
def test_the_cards_are_what_the_precomputed_results_say(
    walked: precomputed.Walk, tmp_path: Path
) -> None:
    with using(Store(tmp_path, precomputed=BOX)):
        told = json.loads(precomputed.cards_text(walked.results, BOX))
    kept = json.loads(BOX.path.with_name(precomputed.CARDS).read_text(encoding="utf8"))
    assert kept["answers"] == told["answers"], MADE_BY
    assert {name: card["sentence"] for name, card in kept["cards"].items()} == {
        name: card["sentence"] for name, card in told["cards"].items()
    }, MADE_BY
    assert set(told["cards"]) == {example.name for example in (STORY, *EXAMPLES)}
    figure = told["cards"][STORY.name]["figure"]
    assert figure["width"] == "container"  # as on its page
    lines = {row.get("name") for rows in figure["datasets"].values() for row in rows}
    tuned = {entry["name"] for entry in read_manifest() if not entry["task"].endswith("-lm")}
    asked = {ref.removeprefix("zoo:") for ref in SpacesSpec().refs}
    assert asked & tuned
    assert lines >= {*(asked & tuned), "other seeds", "words shuffled"}


def test_a_walk_sees_what_is_missing_and_computes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {name: precomputed.requests()[name] for name in ("rsa", "weights")}
    monkeypatch.setattr(precomputed, "requests", lambda: asked)
    walked = precomputed.walk(lambda keys: {})
    assert walked.unanswered == ("rsa", "weights")
    assert len(walked.missing) > 20
    assert walked.values == {}


@pytest.mark.exhaustive
@needs_precomputed
def test_a_key_too_few_and_one_too_many_are_seen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = {
        name: study
        for name, study in precomputed.requests().items()
        if name.startswith(("tokens", "weights map=tsne"))
    }
    monkeypatch.setattr(precomputed, "requests", lambda: asked)
    whole = precomputed.walk(BOX.get_many)
    assert whole.unanswered == ()
    gone, more = max(whole.values, key=lambda key: len(whole.values[key])), "0" * 64
    changed = {key: value for key, value in whole.values.items() if key != gone} | {
        more: whole.values[gone]
    }
    write_precomputed(tmp_path / "precomputed.zip", changed)
    walked = precomputed.walk(Precomputed(tmp_path / "precomputed.zip").get_many)
    assert gone in walked.missing
    assert more not in walked.values


@needs_precomputed
def test_what_the_file_has_is_not_computed_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = Path(shutil.copy(BOX.path, tmp_path / "answers.zip"))
    monkeypatch.setenv(VARIABLE, str(file))
    asked = {"tokens": precomputed.requests()["tokens"]}
    monkeypatch.setattr(precomputed, "requests", lambda: asked)
    monkeypatch.setattr(precomputed, "cards_text", lambda *given: "")
    assert precomputed.make(lambda said: None) == file
    assert default_store().without_precomputed().info().entries == 1  # the change of the weights
    kept = Precomputed(file).keys()
    assert 0 < len(kept) < len(BOX.keys())
    assert Precomputed(file).get_many(kept) == BOX.get_many(kept)


def tasks_of(command: str) -> list[Task]:
    study = STUDIES[command]
    spec = study.Spec()
    return study.plan(spec, run(study.prepare(spec)))


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            np.testing.assert_allclose(value, other[name], atol=1e-3, rtol=1e-3, err_msg=name)
        else:
            np.testing.assert_array_equal(value, other[name], err_msg=name)


@needs_precomputed
@pytest.mark.parametrize(
    ("command", "role"), [("rsa", ("model", "zoo:nli-0")), ("probe", "baselines")]
)
def test_a_sample_computed_again_is_the_same(command: str, role: Any) -> None:
    task = next(task for task in tasks_of(command) if task.role == role)
    assert_same(decode(BOX.get_many([task.key])[task.key]), task.compute())


@needs_precomputed
def test_a_delta_measured_again_is_the_same() -> None:
    tasks = tasks_of("weights")
    key = condensed_keys(tasks, STUDIES["weights"].Spec().rank)[tasks[0].role]
    assert_same(decode(BOX.get_many([key])[key]), lighten(tasks[0].compute()))


@pytest.mark.exhaustive
@needs_precomputed
def test_commands_answer_from_the_box_without_what_only_computing_needs(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PALIMPSEST_PRECOMPUTED": "",
        "PALIMPSEST_STORE": str(tmp_path / "store"),
    }
    command = [sys.executable, "-c", SHOWN, str(tmp_path / "out"), "probe", "weights", "align"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    *counts, loaded = done.stdout.splitlines()[-4:]
    assert json.loads(loaded) == []
    for ready, total in (line.split() for line in counts):
        assert ready == total
        assert int(total) > 0
    assert re.search(r"(\d+) of \1 tasks were stored \(\1 precomputed\)", done.stderr)


@needs_precomputed
def test_fresh_leaves_precomputed_results_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from core.commands.main import main

    monkeypatch.delenv("PALIMPSEST_PRECOMPUTED")
    quick = ["weights", "--models", "zoo:parse-0", "zoo:pos-0", "zoo:nli-0", "--out", str(tmp_path)]
    assert main([*quick, "--fresh"]) == 0
    assert "0 of 3 tasks were stored;" in capsys.readouterr().err


def test_examples_are_twelve_and_open_a_study_of_their_page() -> None:
    assert len(EXAMPLES) == 12
    assert len({example.name for example in EXAMPLES}) == 12
    for example in EXAMPLES:
        _, spec = example.studies[example.opened]
        known = {option.name: option for option in options_of_view(spec)}
        again = {
            name: known[name].read(texts)
            for name, texts in example.query().items()
            if name in known
        }
        assert type(spec)(**again) == spec


def options_of_view(spec: Any) -> Any:
    from core.options import options_of

    return options_of(type(spec))

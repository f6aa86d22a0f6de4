"""The audit from beginning to end: included models, a stand-in hub with planted faults, and what
through training leaves out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from core.models.weights.audit import ALIKE, SWAPPED
from core.models.zoo import zoo_folder
from core.results.columns import meaning
from core.results.estimates import Estimate
from core.results.statements import Statement
from core.studies.rsa.audit.spec import AuditSpec
from core.studies.rsa.audit.study import CHECKED, STUDY, figures, make_headline
from core.studies.rsa.training.spec import TrainingSpec
from core.studies.rsa.training.study import STUDY as TRAINING
from tests.cases import exhaustive
from tests.core.hub_server import HubServer

MODELS = zoo_folder() / "models"


def test_the_included_run_and_seeds_are_sound() -> None:
    result = STUDY.run(AuditSpec())
    assert set(result.table["verdict"]) == {"fine"}
    assert "order of training" in result.headline
    assert "(cosine to the nearest at least .83; another run's is below .10)" in result.headline
    assert (result.table["read"] < 0.01).all()
    assert set(figures(result)) == {"audit"}
    assert all(
        meaning(name, column) for name, table in result.tables.items() for column in table.columns
    )
    seeds = AuditSpec(models=tuple(f"zoo:seed-{seed}" for seed in range(5)), kind="seeds")
    assert "independent runs" in STUDY.run(seeds).headline


@pytest.mark.exhaustive
def test_planted_faults_on_a_hub_are_found_from_ranges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = {
        "step0": "seed-1",  # of another run
        "step50": "seed-0@step-200",  # a copy
        "step200": "seed-0@step-200",
        "step800": "seed-0@step-3200",  # swapped
        "step3200": "seed-0@step-800",
        "final": "seed-0",
    }
    with HubServer() as hub:
        hub.replace_hub(monkeypatch, tmp_path / "cache")
        for name, folder in served.items():
            hub.add(f"lab/run-{name}", MODELS / folder)
        absent = dict(json.loads((MODELS / "seed-0" / "config.json").read_text()))
        hub.add("lab/run-step1600", {"config.json": json.dumps(absent).encode()})
        models = tuple(f"hub:lab/run-step{step}" for step in (0, 50, 200, 800, 1600, 3200))
        result = STUDY.run(AuditSpec(models=models, end="hub:lab/run-final"))
        weights = [path for path in hub.requests if path.endswith("model.safetensors")]
    rows = result.table.set_index("model")
    verdicts = {
        ref.removeprefix("hub:lab/run-"): verdict for ref, verdict in rows["verdict"].items()
    }
    assert verdicts == {
        "step0": "not of this run",
        "step50": "identical",
        "step200": "fine",
        "step800": "swapped",
        "step1600": "missing",
        "step3200": "swapped",
        "final": "fine",
    }
    assert rows.loc["hub:lab/run-step50", "other"] == "hub:lab/run-step200"
    assert rows["read"].max() < 0.01
    assert weights, "tensors were read from the hub"
    assert not list((tmp_path / "cache").rglob("model.safetensors")), "no weights were downloaded"
    assert "hub:lab/run-step1600" in " ".join(result.failures)


RUN = {f"step{step}": f"seed-0@step-{step}" for step in (0, 50, 200, 800, 3200)}


def serve_run(hub: HubServer, **planted: str | None) -> dict[str, tuple[str, str]]:
    """Serve the included run as branches of one repository, some with other content or none, and
    audit it by a pattern: the verdict on each step that is not fine, and what it names."""
    served = hub.add("lab/run", MODELS / "seed-0")
    for step, folder in (RUN | planted).items():
        files = (MODELS / str(folder)).iterdir() if folder else ()
        served.revisions[step] = {path.name: path.read_bytes() for path in files} or None
    result = STUDY.run(AuditSpec(models=("hub:lab/run@step*",), end="hub:lab/run"))
    weights = [served.files, *(files for files in served.revisions.values() if files)]
    assert hub.sent < 0.01 * sum(len(files["model.safetensors"]) for files in weights)
    assert list(result.table["model"]) == [
        *(f"hub:lab/run@{step}" for step in served.revisions), "hub:lab/run"
    ]  # fmt: skip
    faults = result.table[result.table["verdict"] != "fine"]
    return {
        ref.removeprefix("hub:lab/run@"): (verdict, other.removeprefix("hub:lab/run@"))
        for ref, verdict, other in zip(
            faults["model"], faults["verdict"], faults["other"], strict=True
        )
    }


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """An empty stand-in hub."""
    with HubServer() as server:
        server.replace_hub(monkeypatch, tmp_path / "cache")
        yield server


PLANTED: list[tuple[dict[str, str | None], dict[str, tuple[str, str]]]] = [
    ({}, {}),
    ({"step0": "seed-0@step-50"}, {"step0": ("identical", "step50")}),
    ({"step50": "seed-0"}, {"step50": ("identical", "hub:lab/run")}),
    ({"step200": None}, {"step200": ("missing", "")}),
    (
        {"step50": "seed-0@step-800", "step800": "seed-0@step-50"},
        {"step50": ("swapped", "step800"), "step800": ("swapped", "step50")},
    ),
    ({"step200": "seed-1"}, {"step200": ("not of this run", "")}),
    ({"step9000": "seed-0"}, {"step9000": ("final model", "hub:lab/run")}),
]


@pytest.mark.parametrize(
    ("planted", "verdicts"), exhaustive(PLANTED, PLANTED[4]), ids=lambda value: str(value)[:40]
)
def test_the_revisions_of_a_run_are_audited_from_under_one_per_cent_of_its_bytes(
    hub: HubServer, planted: dict[str, str | None], verdicts: dict[str, tuple[str, str]]
) -> None:
    assert serve_run(hub, **planted) == verdicts


def test_a_long_run_is_thinned_and_a_gap_in_it_is_named(hub: HubServer) -> None:
    served = hub.add("lab/run", MODELS / "seed-0")
    files = served.files
    for step in (0, 1, 1000, 2000, 3000, 5000, 6000):
        served.revisions[f"step{step}"] = files
    spec = AuditSpec(models=("hub:lab/run@step*",), end="hub:lab/run", at_most=3)
    assert [ref.rpartition("@")[2] for ref in spec.refs[:-1]] == ["step0", "step2000", "step6000"]
    result = STUDY.run(spec)
    assert any("7 revisions, of which 3 were read" in notice for notice in result.notices)
    assert any("no revision for step 4,000" in notice for notice in result.notices)
    assert list(AuditSpec(models=("hub:lab/run@*",), end="hub:lab/run").refs).count(spec.end) == 1


def test_weights_that_a_revision_lacks_are_missing(hub: HubServer) -> None:
    served = hub.add("lab/run", MODELS / "seed-0")
    whole = dict(served.files)
    served.revisions |= {"step1": {"config.json": whole["config.json"]}, "step2": whole}
    result = STUDY.run(AuditSpec(models=("hub:lab/run@step*",), end="hub:lab/run"))
    verdicts = dict(zip(result.table["model"], result.table["verdict"], strict=True))
    assert verdicts["hub:lab/run@step1"] == "missing"
    assert verdicts["hub:lab/run@step2"] == "final model"


def test_pickled_checkpoints_are_audited_like_others(tmp_path: Path) -> None:
    for name, folder in {"step-50": "seed-0@step-800", "step-800": "seed-0@step-50"}.items():
        shutil.copytree(MODELS / folder, tmp_path / name)
        weights = tmp_path / name / "model.safetensors"
        torch.save(load_file(weights), weights.with_name("pytorch_model.bin"))
        weights.unlink()
    pickled = tuple(f"path:{tmp_path / name}" for name in ("step-50", "step-800"))
    result = STUDY.run(AuditSpec(models=(*pickled, "zoo:seed-0@step-3200")))
    verdicts = dict(zip(result.table["model"], result.table["verdict"], strict=True))
    assert result.failures == {}
    assert verdicts == dict.fromkeys(pickled, "swapped") | {
        "zoo:seed-0@step-3200": "fine",
        "zoo:seed-0": "fine",
    }


def test_equal_samples_of_other_files_are_said_and_no_fault_of_a_run(tmp_path: Path) -> None:
    """A step whose biases alone differ from the final model's, pickled: it is not in the order."""
    folder = tmp_path / "step-9000"
    shutil.copytree(MODELS / "seed-0", folder)
    weights = load_file(folder / "model.safetensors")
    moved = {name: part + 1 if name.endswith("bias") else part for name, part in weights.items()}
    torch.save(moved, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    step = f"path:{folder}"
    result = STUDY.run(AuditSpec(models=("zoo:seed-0@step-*", step)))
    assert dict(zip(result.table["model"], result.table["verdict"], strict=True))[step] == ALIKE
    assert "cannot be used" not in result.headline
    assert "distinct" not in result.headline
    assert "step-9000 is equal to seed-0 in the sample of weights that was read" in result.headline
    assert "The others are in the order of training." in result.headline
    seeds = STUDY.run(AuditSpec(models=(step, "zoo:seed-0", "zoo:seed-1"), kind="seeds"))
    assert "1 of 3 checkpoints cannot be used as they are: step-9000 is equal" in seeds.headline


@pytest.mark.slow
def test_through_training_leaves_out_what_the_audit_finds(tmp_path: Path) -> None:
    for name, folder in {"step-50": "seed-0@step-800", "step-800": "seed-0@step-50"}.items():
        shutil.copytree(MODELS / folder, tmp_path / name)
    swapped = tuple(f"path:{tmp_path / name}" for name in ("step-50", "step-800"))
    spec = TrainingSpec(
        steps=(*swapped, "zoo:seed-0@step-3200"), others=(), sentences=20, words=100
    )
    result = TRAINING.run(spec)
    assert set(result.table["model"]) == {"zoo:seed-0@step-3200"}
    assert any("2 checkpoints were left out" in notice for notice in result.notices)
    assert any("is swapped with" in notice for notice in result.notices)


def test_what_weights_do_not_tell_of_an_order_is_said() -> None:
    """The direction where norms do not grow, and that a swing back looks like swapped steps."""
    checked = Statement("zoo:seed-0", CHECKED, Estimate(6.0, kind="whole"))
    assert "are in the order of training" in make_headline((checked,), "run", True, True)
    unknown = make_headline((checked,), "run", True, False)
    assert "are in the order of training" not in unknown
    assert "or its reverse" in unknown
    swapped = Statement("zoo:seed-0@step-50", SWAPPED, baseline="zoo:seed-0@step-200")
    assert "swing back" in make_headline((checked, swapped), "run", True, True)
    assert "reverse" not in make_headline((checked,), "seeds", False, False)

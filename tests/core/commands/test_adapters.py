"""Every study on adapters as a training leaves them: folders `checkpoint-N` that hold factors and a
head, and name their base."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from core.commands.main import main
from core.models import zoo_folder
from core.results.folder import RECORD

LABELLED = [f"LABEL_{number % 2}\tthe dog {word} a film" for number, word in enumerate("abcdefgh")]
QUICK = ("--sentences", "20", "--yes")


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base in a folder, and an adapter that a sentence classifier was trained with, at two
    steps."""
    place = tmp_path_factory.mktemp("job")
    base = shutil.copytree(zoo_folder() / "models" / "seed-0", place / "base")
    weights = load_file(base / "model.safetensors")
    modules = [name.removesuffix(".weight") for name in weights if name.endswith("query.weight")]
    config = {
        "peft_type": "LORA",
        "task_type": "SEQ_CLS",
        "base_model_name_or_path": str(base),
        "r": 2,
        "lora_alpha": 4,
        "bias": "none",
        "modules_to_save": ["classifier", "score"],
    }
    for step in (100, 200):
        folder = place / "lora" / f"checkpoint-{step}"
        folder.mkdir(parents=True)
        rng = np.random.default_rng(3)
        tensors = {
            "classifier.dense.weight": rng.normal(size=(128, 128)),
            "classifier.dense.bias": np.zeros(128),
            "classifier.out_proj.weight": rng.normal(size=(2, 128)),
            "classifier.out_proj.bias": np.zeros(2),
        }
        for module in modules:
            tensors[f"{module}.lora_A.weight"] = rng.normal(size=(2, 128)) * 0.1
            tensors[f"{module}.lora_B.weight"] = rng.normal(size=(128, 2)) * step / 2000
        save_file(
            {f"base_model.model.{name}": part.astype("f4") for name, part in tensors.items()},
            folder / "adapter_model.safetensors",
        )
        (folder / "adapter_config.json").write_text(json.dumps(config))
        (folder / "trainer_state.json").write_text("{}")
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(base / name, folder)
    (place / "labelled.tsv").write_text("\n".join(LABELLED))
    return place


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "options"),
    [
        pytest.param(
            *("rsa", ("--base", "BASE", "--compare", "STEPS", *QUICK)),
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            *("swap", ("--base", "BASE", "--compare", "STEPS", "--labelled", "LABELLED", "--yes")),
            marks=pytest.mark.exhaustive,
        ),
        ("weights", ("--base", "BASE", "--models", "STEPS", "--yes")),
        pytest.param(
            *(
                "weights intruders",
                ("--base", "BASE", "--models", "STEPS", "--draws", "20", "--yes"),
            ),
            marks=pytest.mark.exhaustive,
        ),
        ("weights lineage", ("--models", "BASE", "STEPS", "--yes")),
        ("audit", ("--models", "STEPS", "BASE", "--yes")),
    ],
)
def test_a_study_runs_on_adapters_at_the_steps_of_a_training(
    job: Path, tmp_path: Path, command: str, options: tuple[str, ...]
) -> None:
    places = {
        "BASE": f"path:{job / 'base'}",
        "STEPS": f"path:{job / 'lora'}/checkpoint-*",
        "LABELLED": str(job / "labelled.tsv"),
    }
    given = [places.get(option, option) for option in options]
    assert main([*command.split(), *given, "--out", str(tmp_path / "out")]) == 0
    record = json.loads((tmp_path / "out" / RECORD).read_text())
    table = (tmp_path / "out" / "table.csv").read_text()
    assert not record["failures"]
    assert all(f"checkpoint-{step}" in table for step in (100, 200))
    assert " nan" not in record["headline"]


def test_a_report_of_a_base_and_its_adapter_has_every_part(
    job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = (f"path:{job / 'base'}", f"path:{job / 'lora' / 'checkpoint-200'}")
    assert main(["diff", *pair, "--check", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert "checkpoint-200 is a LoRA adapter" in shown.out
    assert "Expected: about" in shown.err

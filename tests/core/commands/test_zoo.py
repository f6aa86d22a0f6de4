"""`python -m core zoo`: a table at once and without torch; damage named, with how to restore it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.commands import main as cli
from core.commands.zoo import find_problems
from core.models.zoo import read_manifest
from tests.core.models.loading.test_heads import parser_folder  # noqa: F401
from tests.core.test_house import ROOT
from tests.zoo.made_up import SETTINGS
from zoo.recipe.checkpoints import read_record, write_json, write_model
from zoo.recipe.manifest import write_manifest
from zoo.recipe.pretrain import new_model

RECORD = {
    "task": "masked-lm",
    "kind": "masked-lm",
    "metric": "held_out_loss",
    "scores": {"held_out_loss": 4.25},
    "baseline": {"score": 4.8},
    "settings": {"seed": 0},
    "data": "novels",
    "licence": "public domain",
    "steps": 12300,
}


@pytest.fixture
def box(parser_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: F811
    """A box of a seed and a parser, pointed to by PALIMPSEST_ZOO."""
    write_model(new_model(SETTINGS), parser_folder, tmp_path / "models/seed-0", RECORD)
    shutil.copytree(parser_folder, tmp_path / "models/parse-0")
    write_json(
        tmp_path / "models/parse-0/training.json", {**RECORD, "task": "parse", "base": "zoo:seed-0"}
    )
    write_manifest(tmp_path)
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path))
    return tmp_path


def test_the_table_has_a_line_a_model(box: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["zoo", "list"]) == 0
    header, seed, parser = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["ref", "base", "task"]
    assert seed.split()[:6] == ["zoo:seed-0", "-", "masked-lm", "12,300", "held_out_loss", "4.250"]
    assert parser.startswith("zoo:parse-0  zoo:seed-0")
    assert cli.main(["zoo", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == read_manifest(box)


def test_the_table_comes_without_what_takes_long_to_import(box: Path) -> None:
    code = (
        "import sys; from core.commands.main import main; main(['zoo', 'list']); "
        "sys.exit(bool({'torch', 'transformers', 'pandas', 'scipy', 'spacy', 'altair'} & "
        "set(sys.modules)))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "zoo:seed-0" in answer.stdout


def test_a_whole_box_is_whole(box: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["zoo", "verify"]) == 0
    assert "2 of 2 models are intact." in capsys.readouterr().out


@pytest.mark.parametrize("damage", ["flip", "cut", "delete"])
def test_a_damaged_file_is_named_with_how_to_restore_it(box: Path, damage: str, capsys) -> None:
    path = box / "models/parse-0/model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    if damage == "delete":
        path.unlink()
    else:
        path.write_bytes(content if damage == "flip" else content[:100])
    assert cli.main(["zoo", "verify"]) == 1
    out = capsys.readouterr().out
    assert "zoo:parse-0" in out
    assert str(path) in out
    assert f"git checkout -- {path}" in out
    assert "1 of 2 models are intact." in out


def test_a_model_that_does_not_open_is_found_though_its_hashes_are_right(box: Path) -> None:
    entries = read_manifest(box)
    config = box / "models/parse-0/config.json"
    write_json(config, {**json.loads(config.read_text()), "palimpsest_head": {"kind": "unknown"}})
    write_manifest(box)
    (problem,) = find_problems(read_manifest(box))
    assert problem.ref == "zoo:parse-0"
    assert "opened" in problem.sentence
    assert len(find_problems(entries)) == 1
    entries = [
        {**entry, "parameters": 1} for entry in read_manifest(box) if entry["name"] == "seed-0"
    ]
    assert "parameters" in find_problems(entries)[0].sentence


def test_an_empty_box_and_a_damaged_manifest_are_one_sentence(box: Path, capsys) -> None:
    (box / "manifest.json").write_text("{half")
    assert cli.main(["zoo", "list"]) == 2
    assert "manifest.json cannot be read" in capsys.readouterr().err
    (box / "manifest.json").unlink()
    assert cli.main(["zoo", "verify"]) == 2
    assert "make zoo" in capsys.readouterr().err
    assert read_record(box / "models/seed-0") == RECORD

"""The manifest says what the records and the files say; the cards say what the manifest says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from core.errors import RecipeError
from core.models.zoo import file_digest, read_manifest
from tests.zoo.made_up import SETTINGS, write_task
from zoo.recipe import pretrain, states
from zoo.recipe.baselines import TextBaselines
from zoo.recipe.cards import write_cards
from zoo.recipe.finetune import finetune
from zoo.recipe.manifest import count_parameters, write_manifest
from zoo.recipe.seeds import BLANKS, publish_seed
from zoo.recipe.settings import Finetuning
from zoo.recipe.sources import BOX_TEXT, BOX_TEXT_DIGEST, text_source
from zoo.recipe.tasks import read_task


@pytest.fixture(scope="module")
def box(tiny_base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A box of one seed, one snapshot and one fine-tune."""
    folder = tmp_path_factory.mktemp("box")
    work = tmp_path_factory.mktemp("work")
    model = pretrain.new_model(SETTINGS)
    note = {"step": 300, "settings": json.loads(json.dumps(vars(SETTINGS)))}
    state = {f"model.{name}": value for name, value in states.weights_of(model).items()}
    states.save_tensors(work / "checkpoint.safetensors", state, note)
    states.save_tensors(work / "step-20.safetensors", states.weights_of(model), {})
    held_out = np.full((4, SETTINGS.length), 9, dtype=np.uint16)
    for name, file, settings in (
        ("seed-0", "checkpoint", None),
        ("seed-0@step-20", "step-20", SETTINGS),
    ):
        path = work / f"{file}.safetensors"
        publish_seed(
            path,
            tiny_base,
            folder / "models" / name,
            held_out,
            TextBaselines(6.5, 4.8),
            BOX_TEXT,
            settings,
        )
    publish_seed(
        work / "checkpoint.safetensors",
        tiny_base,
        folder / "models/seed-0-again",
        held_out,
        TextBaselines(6.5, 4.8),
        BOX_TEXT,
        second_run_of="zoo:seed-0",
    )
    task = read_task("sentiment", write_task(work), None)
    finetune(
        folder / "models/seed-0",
        "zoo:seed-0",
        task,
        Finetuning(epochs=1),
        folder / "models/sentiment-0",
    )
    return folder


def test_the_manifest_says_what_is_there(box: Path) -> None:
    entries = write_manifest(box)
    assert read_manifest(box) == json.loads(json.dumps(entries))
    assert [entry["ref"] for entry in entries] == [
        "zoo:seed-0",
        "zoo:seed-0-again",
        "zoo:seed-0@step-20",
        "zoo:sentiment-0",
    ]
    by_name = {entry["name"]: entry for entry in entries}
    seed, tuned = by_name["seed-0"], by_name["sentiment-0"]
    assert by_name["seed-0-again"]["second_run_of"] == "zoo:seed-0"
    assert {by_name[name]["second_run_of"] for name in by_name if name != "seed-0-again"} == {None}
    assert seed["tokens"] == 300 * SETTINGS.batch * SETTINGS.length
    assert by_name["seed-0@step-20"]["steps"] == by_name["seed-0@step-20"]["step"] == 20
    assert (seed["step"], seed["frozen"], seed["dose"]) == (300, None, None)
    assert (tuned["step"], tuned["frozen"], tuned["dose"]) == (None, 0, 1.0)
    assert tuned["tokens"] > tuned["steps"]
    assert seed["score"] == seed["scores"]["held_out_loss"]
    assert (seed["baselines"]["unigram"], seed["baseline"]) == (6.5, 4.8)
    assert tuned["base"] == "zoo:seed-0"
    assert tuned["baseline"] == pytest.approx(0.5)
    assert "CC BY 4.0" in tuned["licence"]
    for entry in entries:
        path = box / "models" / entry["name"] / "model.safetensors"
        assert entry["sha256"] == file_digest(path) == entry["files"]["model.safetensors"]
        assert set(entry["files"]) == {
            "model.safetensors",
            "config.json",
            "tokenizer.json",
            "tokenizer_config.json",
        }
        assert entry["bytes"] == path.stat().st_size
    model = pretrain.new_model(SETTINGS)
    assert seed["parameters"] == sum(parameter.numel() for parameter in model.parameters())
    assert count_parameters(box / "models/seed-0/model.safetensors") == seed["parameters"]


def test_seeds_come_first_then_their_steps_in_order_then_tasks_and_plain_runs_before_known_truths(
    box: Path, tmp_path: Path
) -> None:
    names = [
        *(
            "seed-0",
            "seed-1",
            "seed-0@step-0",
            "seed-0@step-50",
            "seed-0@step-200",
            "seed-0@step-3200",
        ),
        *(
            "sentiment-0",
            "sentiment-1",
            "sentiment-0-from-seed-1",
            "sentiment-fast",
            "sentiment-frozen-2",
        ),
    ]
    for name in sorted(names):
        start = box / "models" / ("sentiment-0" if "sentiment" in name else "seed-0")
        shutil.copytree(start, tmp_path / "models" / name)
        record = json.loads((start / "training.json").read_text())
        if "@" in name:
            record["steps"] = int(name.rpartition("-")[2])
        if "sentiment" in name:
            record["base"] = "zoo:seed-1" if "from" in name else "zoo:seed-0"
            record["settings"] |= {
                "frozen": 2 if "frozen" in name else 0,
                "dose": 3.0 if "fast" in name else 1.0,
            }
        (tmp_path / "models" / name / "training.json").write_text(json.dumps(record))
    entries = write_manifest(tmp_path)
    assert [entry["name"] for entry in entries] == names
    told = {
        path.parent.name: path.read_text(encoding="utf8") for path in write_cards(tmp_path, entries)
    }
    assert "initial weights of zoo:seed-0" in told["seed-0@step-0"]
    assert "after 3,200 steps" in told["seed-0@step-3200"]
    assert "lowest 2 layers were frozen" in told["sentiment-frozen-2"]
    assert "3 times the learning rate" in told["sentiment-fast"]
    for name in ("seed-0", "sentiment-0"):
        marks = (
            "initial weights of zoo",
            "intermediate checkpoint",
            "frozen; ",
            "learning rate of",
        )
        assert not [mark for mark in marks if mark in told[name]]


def test_a_seed_is_measured_once_and_fills_ten_blanks(box: Path, tiny_base: Path) -> None:
    (entry,) = (entry for entry in write_manifest(box) if entry["name"] == "seed-0")
    assert [example["text"] for example in entry["examples"]] == list(BLANKS)
    assert len(BLANKS) == 10
    assert all(len(example["words"]) == 5 for example in entry["examples"])


def test_cards_name_scores_sources_and_licences(box: Path) -> None:
    entries = write_manifest(box)
    assert len(write_cards(box, entries)) == len(entries) == 4
    card = (box / "models/sentiment-0/README.md").read_text(encoding="utf8")
    for part in (
        "zoo:sentiment-0",
        "zoo:seed-0",
        "Pang & Lee 2005",
        "CC BY 4.0",
        "CC BY-SA 4.0",
        "50.0 %",
    ):
        assert part in card
    seed = (box / "models/seed-0/README.md").read_text(encoding="utf8")
    for part in ("6.500", "4.800", "WikiText-2", "public domain", *BLANKS):
        assert part in seed
    assert "second time" not in seed
    again = (box / "models/seed-0-again/README.md").read_text(encoding="utf8")
    assert "The recipe of zoo:seed-0 run a second time" in again


def test_cards_of_non_commercial_data_say_so(box: Path) -> None:
    entries = write_manifest(box)
    entries[-1]["licence"] = "CC BY-NC-SA 3.0"
    write_cards(box, entries)
    assert "no commercial use" in (box / "models/sentiment-0/README.md").read_text(encoding="utf8")


def test_an_empty_box_has_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="no finished model"):
        write_manifest(tmp_path)
    with pytest.raises(RecipeError, match="could not be written"):
        write_cards(tmp_path, [{"ref": "zoo:x", "name": "x", "base": None} | ENTRY])


ENTRY = {
    "task": "nli",
    "seed": 0,
    "frozen": 0,
    "dose": 1.0,
    "parameters": 1,
    "bytes": 1,
    "scores": {},
    "test_examples": 1,
    "baseline": 0.5,
    "baselines": {"answer": "neutral"},
    "data": "",
    "licence": "",
    "settings": {},
    "steps": 1,
    "sha256": "",
}


def test_only_the_boxs_own_text_gets_its_sources() -> None:
    assert text_source(BOX_TEXT_DIGEST, "text.txt.gz") == BOX_TEXT
    assert text_source("another", "mine.txt").data == "mine.txt"

"""Adapters train factors alone, are written as PEFT writes them, and stand apart in the manifest."""

from __future__ import annotations

import json
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import AutoTokenizer

from core.commands.main import main
from core.commands.zoo import find_problems
from core.errors import ModelError, RecipeError
from core.models import describe, load_model, locate
from core.models.files.adapters import read_adapter
from core.models.loading.conversion import merge_adapter
from core.models.loading.task_models import describe_head, load_task
from core.models.patterns import matching_refs
from core.models.weights import merged
from core.models.weights.merged import LATE, MERGED, merged_folder
from core.models.weights.merging import merge
from core.models.zoo import read_adapters, read_manifest
from core.studies.weights.clusters.members import EVERY, find_members
from core.studies.weights.clusters.tasks import deltas_of, open_pair
from tests.core.contents import read_as
from tests.zoo.made_up import write_task, write_treebank
from zoo.recipe.batches import encode_task
from zoo.recipe.cards import write_cards
from zoo.recipe.finetune import finetune
from zoo.recipe.lora import LowRankLinear, add_factors
from zoo.recipe.manifest import write_manifest
from zoo.recipe.plan import ADAPTED, RANKS, Plan, adapter_runs
from zoo.recipe.scores import score_model
from zoo.recipe.settings import ADAPTER_TRAINING, Finetuning, LowRank, adapter_settings
from zoo.recipe.tasks import TaskData, read_task

SETTINGS = LowRank(epochs=3, learning_rate=2e-3, batch=4, rank=2, alpha=4.0)


@pytest.fixture(scope="module")
def made_tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TaskData]:
    """A sentence task and a parsing task, from made-up examples."""
    folder = tmp_path_factory.mktemp("tasks")
    data, trees = write_task(folder / "tasks"), write_treebank(folder / "trees")
    return {name: read_task(name, data, trees) for name in ("sentiment", "parse")}


@pytest.fixture(scope="module")
def box(
    tiny_base: Path, made_tasks: dict[str, TaskData], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A box of a seed, a fine-tune and an adapter of each task."""
    folder = tmp_path_factory.mktemp("box")
    models = folder / "models"
    shutil.copytree(tiny_base, models / "seed-0")
    record = {
        "task": "masked-lm", "kind": "masked-lm", "metric": "held_out_loss", "data": "novels",
        "scores": {"held_out_loss": 4.0, "masked_accuracy": 0.3}, "baseline": {"score": 5.0, "unigram": 6.0}, "steps": 1,
        "settings": {"seed": 0}, "licence": "public domain",
    }  # fmt: skip
    (models / "seed-0" / "training.json").write_text(json.dumps(record))
    base = models / "seed-0"
    finetune(base, "zoo:seed-0", made_tasks["parse"], Finetuning(epochs=1), models / "parse-0")
    for name, task in made_tasks.items():
        finetune(base, "zoo:seed-0", task, SETTINGS, models / f"{name}-0-lora-2")
    write_cards(folder, write_manifest(folder))
    return folder


def test_a_layer_with_factors_is_the_base_plus_their_product() -> None:
    torch.manual_seed(0)
    linear, inputs = nn.Linear(5, 3), torch.randn(7, 5)
    before = linear(inputs).detach()
    layer = LowRankLinear(linear, rank=2, alpha=6.0)
    assert torch.equal(layer(inputs), before)  # the second factor begins at 0
    nn.init.normal_(layer.lora_B.weight)
    merged = linear.weight + 3.0 * layer.lora_B.weight @ layer.lora_A.weight
    torch.testing.assert_close(layer(inputs), inputs @ merged.T + linear.bias)
    trained = {name for name, weight in layer.named_parameters() if weight.requires_grad}
    assert trained == {"lora_A.weight", "lora_B.weight"}


def test_a_body_without_such_matrices_is_refused() -> None:
    class Body(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.base_model = nn.Sequential(nn.Linear(2, 2))

    with pytest.raises(RecipeError, match="no matrices called query"):
        add_factors(Body(), SETTINGS)


@pytest.mark.parametrize("name", ["sentiment", "parse"])
def test_an_adapter_is_what_the_weights_page_reads(name: str, box: Path) -> None:
    folder = box / "models" / f"{name}-0-lora-2"
    config = read_adapter(folder)
    assert (config.base, config.rank, config.scaling("any")) == ("zoo/models/seed-0", 2, 2.0)
    head = {"sentiment": "classifier", "parse": "arc_head"}[name]
    assert config.saved == (head,)
    stored = load_file(folder / "adapter_model.safetensors")
    assert {tensor.dtype for tensor in stored.values()} == {torch.float16}
    assert any(key.startswith(f"base_model.model.{head}.") for key in stored)
    refs = [f"path:{box / 'models' / model}" for model in ("seed-0", folder.name)]
    pair = open_pair(*refs, *map(read_as, refs))
    deltas = list(deltas_of(pair))
    assert len(deltas) == 12  # six matrices in each of two layers
    for delta in deltas:
        sizes = np.linalg.svd(delta.matrix, compute_uv=False)
        assert sizes[1] > 0
        assert sizes[2] < 1e-6 * sizes[0]
    key = "base_model.model.roformer.encoder.layer.1.attention.self.value"
    upper, lower = (stored[f"{key}.lora_{side}.weight"].double().numpy() for side in ("B", "A"))
    (value,) = (
        delta.matrix
        for delta, (slot, _) in zip(deltas, pair.slots, strict=True)
        if (slot.family, slot.layer) == ("value", 1)
    )
    np.testing.assert_allclose(value, 2.0 * upper @ lower, atol=1e-12)


@pytest.mark.parametrize("name", ["sentiment", "parse"])
def test_an_adapter_merged_into_its_base_scores_as_it_was_trained(
    name: str, box: Path, made_tasks: dict[str, TaskData]
) -> None:
    folder, task = box / "models" / f"{name}-0-lora-2", made_tasks[name]
    merged = load_task(f"path:{folder}", f"path:{box / 'models' / 'seed-0'}")
    assert merged.head.labels == task.label_names
    tokenizer = AutoTokenizer.from_pretrained(box / "models" / "seed-0")
    items = encode_task(tokenizer, task, task.test, 512)
    record = json.loads((folder / "training.json").read_text())
    scores = score_model(merged.model, task, items, tokenizer.pad_token_id)
    assert scores == pytest.approx(record["scores"], abs=1e-4)
    weights = dict(merged.model.named_parameters())
    base = load_file(box / "models" / "seed-0" / "model.safetensors")
    stored = load_file(folder / "adapter_model.safetensors")
    key = "roformer.encoder.layer.0.intermediate.dense"
    upper, lower = (
        stored[f"base_model.model.{key}.lora_{side}.weight"].double() for side in ("B", "A")
    )
    expected = base[f"{key}.weight"].double() + 2.0 * upper @ lower
    torch.testing.assert_close(weights[f"{key}.weight"], expected.float())


def test_an_included_adapter_is_the_model_that_it_makes_with_its_base(
    box: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_ZOO", str(box))
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "store"))
    ref = "zoo:sentiment-0-lora-2"
    base, info = describe("zoo:seed-0"), describe(ref)
    assert (info.layers, info.d_model, info.vocabulary) == (
        base.layers, base.d_model, base.vocabulary,
    )  # fmt: skip
    alike = load_task(ref, "zoo:seed-0").model.state_dict()
    loaded = load_model(ref, device="cpu").model.state_dict()
    changed = [key for key in loaded if "intermediate" in key]
    for key in changed:
        torch.testing.assert_close(loaded[key], alike[f"roformer.{key}"], rtol=0, atol=1e-7)
    assert changed
    assert load_task(ref).head.labels == load_task(ref, "zoo:seed-0").head.labels
    assert describe(f"random:{ref}").fingerprint != info.fingerprint
    assert locate(ref) == locate(ref) != locate("zoo:parse-0-lora-2")
    written = {path.name for path in (tmp_path / "store" / MERGED).iterdir()}
    assert len(written) == 2
    assert set(matching_refs("zoo:*-lora-*")) == {ref, "zoo:parse-0-lora-2"}
    assert matching_refs("zoo:parse-*") == ("zoo:parse-0",)

    # what it is known by is of its own files and its base's, wherever it was merged
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "another"))
    (merged,) = (tmp_path / "store" / MERGED).glob(locate(ref).name)
    weights = load_file(merged / "model.safetensors")
    weights["roformer.encoder.layer.0.intermediate.dense.weight"][0, 0] += 1e-6
    save_file(weights, locate(ref) / "model.safetensors")
    assert describe(ref).fingerprint == info.fingerprint


def test_an_adapter_that_is_merged_twice_at_once_is_there_once(
    box: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_ZOO", str(box))
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "store"))
    with ThreadPoolExecutor(4) as pool:
        places = set(pool.map(locate, ["zoo:parse-0-lora-2"] * 8))
    (place,) = places
    assert [path.name for path in place.parent.iterdir()] == [place.name]
    assert {path.name for path in place.iterdir()} >= {"config.json", "tokenizer.json"}


def test_an_adapter_that_cannot_be_merged_is_one_sentence(
    box: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(box, tmp_path / "box")
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path / "box"))
    (tmp_path / "store").write_text("no folder")
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "store"))
    with pytest.raises(ModelError, match=r"could not be merged into seed-0 in .*: free some"):
        describe("zoo:parse-0-lora-2")
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "new"))
    weights = tmp_path / "box" / "models" / "parse-0-lora-2" / "adapter_model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ModelError, match="not the file that the manifest describes: restore it"):
        describe("zoo:parse-0-lora-2")
    shutil.rmtree(tmp_path / "new")
    weights.write_bytes(content[:100])
    with pytest.raises(ModelError, match=r"adapter_model\.safetensors"):
        describe("zoo:parse-0-lora-2")
    assert not (tmp_path / "new" / MERGED).exists()


@pytest.mark.parametrize(
    "damage", ["a side is missing", "of another shape", "of no module", "of embeddings"]
)
def test_factors_that_do_not_fit_the_base_are_refused(
    damage: str, box: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "lora"
    shutil.copytree(box / "models" / "parse-0-lora-2", folder)
    factors = load_file(folder / "adapter_model.safetensors")
    name = next(key for key in factors if key.endswith("lora_B.weight"))
    factor = factors.pop(name)
    if damage == "of another shape":
        factors[name] = factor[1:].contiguous()
    elif damage == "of embeddings":
        factors[name] = factor
        factors["base_model.model.words.lora_embedding_A"] = factor.clone()
    elif damage == "of no module":
        factors[name] = factor
        factors["base_model.model.nowhere.lora_B.weight"] = factor.clone()
    save_file(factors, folder / "adapter_model.safetensors")
    refused = r"lora holds .*, which fits no weight of seed-0"
    if damage == "a side is missing":
        refused = r"lora has no lora_B for .*\.dense: it is damaged, get it again"
    with pytest.raises(ModelError, match=refused):
        merge(folder, box / "models" / "seed-0")


def test_what_is_no_adapter_or_names_no_model_is_not_merged(
    box: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_ZOO", str(box))
    with pytest.raises(ModelError, match="zoo:parse-0 is a whole model, not an adapter"):
        merge_adapter("zoo:parse-0", "zoo:seed-0", tmp_path / "merged")
    shutil.copytree(box / "models" / "parse-0-lora-2", tmp_path / "bare")
    assert describe(f"path:{tmp_path / 'bare'}").architecture == "RoFormerModel"
    (tmp_path / "bare" / "config.json").unlink()
    with pytest.raises(ModelError, match=r"put the config\.json of the merged model"):
        describe_head(f"path:{tmp_path / 'bare'}")


@pytest.mark.exhaustive
def test_what_can_be_learned_is_learned_with_factors(
    made_tasks: dict[str, TaskData], tiny_base: Path, tmp_path: Path
) -> None:
    settings = LowRank(epochs=25, learning_rate=2e-2, batch=4, rank=2, alpha=4.0)
    record = finetune(tiny_base, "zoo:seed-0", made_tasks["parse"], settings, tmp_path / "run")
    assert record["scores"]["UAS"] > record["baseline"]["score"] + 0.2


def test_the_same_adapter_is_not_trained_again(
    box: Path, made_tasks: dict[str, TaskData], tmp_path: Path
) -> None:
    models, lines = box / "models", list[str]()
    out = tmp_path / "parse-0-lora-2"
    shutil.copytree(models / out.name, out)
    again = (models / "seed-0", "zoo:seed-0", made_tasks["parse"])
    finetune(*again, SETTINGS, out, lines.append)
    assert lines == [f"{out.name}: already there"]
    record = finetune(*again, LowRank(epochs=1, rank=1, alpha=2.0), out)
    assert record["settings"]["rank"] == read_adapter(out).rank == 1


def test_adapters_stand_apart_in_the_manifest_and_are_verified(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_ZOO", str(box))
    assert [entry["name"] for entry in read_manifest(box)] == ["seed-0", "parse-0"]
    adapters = read_adapters(box)
    names = ["sentiment-0-lora-2", "parse-0-lora-2"]
    assert [entry["name"] for entry in adapters] == names
    assert set(adapters[0]["files"]) == {
        "adapter_config.json", "adapter_model.safetensors", "config.json"
    }  # fmt: skip
    entries = [*read_manifest(box), *adapters]
    assert find_problems(entries) == []
    wrong = {**adapters[0], "parameters": 1}
    assert "parameters" in find_problems([wrong])[0].sentence
    card = (box / "models" / names[1] / "README.md").read_text(encoding="utf8")
    for part in ("LoRA adapter of rank 2 of zoo:seed-0", "EWT", "sha256 of adapter_model."):
        assert part in card


def test_a_damaged_adapter_is_found(
    box: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path / "box"))
    shutil.copytree(box, tmp_path / "box")
    folder = tmp_path / "box" / "models" / "parse-0-lora-2"
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps({**config, "r": 3}))
    adapters = read_adapters(tmp_path / "box")[1:]
    assert "sha256" in find_problems(adapters)[0].sentence
    write_manifest(tmp_path / "box")
    (problem,) = find_problems(read_adapters())
    assert "rank 3" in problem.sentence


def test_a_pattern_of_fine_tunes_does_not_stand_for_adapters(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_ZOO", str(box))
    for pattern in (EVERY, "zoo:parse-*"):
        assert [member.ref for member in find_members("zoo:seed-0", [pattern]).members] == [
            "zoo:parse-0"
        ]
    named = find_members("zoo:seed-0", ["zoo:*-lora-*"]).members
    assert [(member.ref, member.task) for member in named] == [
        ("zoo:sentiment-0-lora-2", "sentiment"),
        ("zoo:parse-0-lora-2", "parse"),
    ]
    (single,) = find_members("zoo:seed-0", ["zoo:parse-0-lora-2"]).members
    assert (single.base, single.task) == ("zoo:seed-0", "parse")


def test_the_box_has_three_ranks_of_two_tasks(tmp_path: Path) -> None:
    runs = adapter_runs(Plan(tmp_path, tmp_path))
    assert {(run.task, run.rank) for run in runs} == set(ADAPTER_TRAINING)
    assert len(runs) == len(ADAPTED) * len(RANKS) == 6
    assert {"parse-0-lora-1", "sentiment-0-lora-64"} < {run.name for run in runs}
    for run in runs:
        settings = adapter_settings(run.task, run.rank)
        assert settings.alpha / settings.rank == 2.0
        assert settings.learning_rate > Finetuning.learning_rate


def test_a_merged_adapter_is_a_model_that_scores_as_the_adapter(
    box: Path,
    made_tasks: dict[str, TaskData],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PALIMPSEST_ZOO", str(box))
    name, target = "sentiment-0-lora-2", tmp_path / "merged"
    assert main(["convert", f"zoo:{name}", "--out", str(target)]) == 0
    assert f"choose it as path:{target}" in capsys.readouterr().out
    assert describe(f"path:{target}").architecture == "RoFormerForSequenceClassification"
    merged, task = load_task(f"path:{target}"), made_tasks["sentiment"]
    tokenizer = AutoTokenizer.from_pretrained(target)
    items = encode_task(tokenizer, task, task.test, 512)
    record = json.loads((box / "models" / name / "training.json").read_text())
    scores = score_model(merged.model, task, items, tokenizer.pad_token_id)
    assert scores == pytest.approx(record["scores"], abs=1e-4)
    alike = load_task(f"zoo:{name}", "zoo:seed-0").model.state_dict()
    for key, weight in merged.model.state_dict().items():
        assert torch.equal(weight, alike[key]), key


def test_what_cannot_be_merged_is_one_sentence_and_leaves_nothing(
    box: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PALIMPSEST_ZOO", str(box))
    adapter = tmp_path / "bare"
    shutil.copytree(box / "models" / "parse-0-lora-2", adapter)
    out = ["--out", str(tmp_path / "new")]
    (adapter / "config.json").unlink()
    for arguments, said in (
        ([str(adapter)], "put the config.json of the merged model"),
        ([str(adapter), "--base", "zoo:seed-0"], "put the config.json of the merged model"),
        (["zoo:parse-0"], "a whole model, not an adapter"),
        (["zoo:seed-0", "--base", "zoo:seed-0"], "a whole model, not an adapter"),
        (["zoo:parse-0-lora-2", "--base", f"path:{tmp_path}"], "config.json"),
    ):
        assert main(["convert", *arguments, *out]) == 2
        assert said in capsys.readouterr().err
        assert [path.name for path in tmp_path.iterdir()] == ["bare"]
    (tmp_path / "new").mkdir()
    assert main(["convert", "zoo:parse-0-lora-2", *out]) == 2
    assert "is there already" in capsys.readouterr().err


def test_what_an_interrupted_merge_left_goes_with_the_next(
    box: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path))
    old, new = (tmp_path / MERGED / f"partial-{name}" for name in ("old", "new"))
    for left in (old, new):
        left.mkdir(parents=True)
        (left / "model.safetensors").write_bytes(b"half")
    # as what another thread's merge has left by the time it is looked at
    (tmp_path / MERGED / "partial-gone").symlink_to(tmp_path / "nowhere")
    before = time.time() - LATE - 60
    os.utime(old, (before, before))
    folder = box / "models"
    made = merged_folder(folder / "parse-0-lora-2", folder / "seed-0", ("a", "b"))
    assert made.is_dir()
    assert not old.exists()
    assert new.is_dir()  # another process may be at it


@pytest.mark.parametrize("also_by_another", [False, True])
def test_merged_models_that_nobody_has_used_for_long_make_room(
    box: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, also_by_another: bool
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path))
    monkeypatch.setattr(merged, "MOST_MERGED", 1)
    place = tmp_path / MERGED
    for name, age in (("oldest", 3), ("old", 2), ("in-use", 0)):
        (place / name).mkdir(parents=True)
        (place / name / "model.safetensors").write_bytes(b"weights")
        before = time.time() - age * LATE
        os.utime(place / name, (before, before))

    def remove(folder: Path, **options: bool) -> None:
        for name in ("oldest", "old") if also_by_another else (folder.name,):
            shutil.rmtree(place / name, **options)

    removing = SimpleNamespace(rmtree=remove, copyfile=shutil.copyfile)
    monkeypatch.setattr(merged, "shutil", removing)
    models = box / "models"
    made = merged_folder(models / "parse-0-lora-2", models / "seed-0", ("a", "b"))
    assert {path.name for path in place.iterdir()} == {made.name, "in-use"}

"""Decoders learn the next token, resume where they were stopped, and open as models of their own."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

from core.commands.zoo import find_problems
from core.models import describe
from core.models.files.adapters import read_adapter
from core.models.zoo import read_manifest
from core.studies.weights.clusters.members import find_members
from core.studies.weights.clusters.tasks import deltas_of, open_pair
from tests.core.contents import read_as
from tests.zoo.made_up import SETTINGS, write_task
from zoo.recipe.baselines import TextBaselines
from zoo.recipe.batches import collate, encode_task
from zoo.recipe.cards import write_cards
from zoo.recipe.decoders import evaluate_decoder, next_token_logits, next_token_loss
from zoo.recipe.finetune import finetune
from zoo.recipe.manifest import write_manifest
from zoo.recipe.plan import (
    SNAPSHOTS,
    Plan,
    decoder_names,
    reader_runs,
    review_runs,
    settings_of,
)
from zoo.recipe.pretrain import CHECKPOINT, evaluate, new_model, pretrain
from zoo.recipe.publishing import decoder_pretraining, pretraining
from zoo.recipe.scores import score_model
from zoo.recipe.seeds import BEGINNINGS, publish_seed
from zoo.recipe.settings import LowRank
from zoo.recipe.sources import BOX_TEXT
from zoo.recipe.tasks import TaskData, review_task
from zoo.recipe.text import CLS, SEP
from zoo.recipe.tokenizer import read_tokenizer, save_decoder_tokenizer
from zoo.recipe.training import task_loss

DECODER = replace(SETTINGS, objective="causal", layers=1, steps=260, learning_rate=1e-2)


@pytest.fixture(scope="module")
def windows() -> np.ndarray:
    """Token ids that follow each other by a rule, with the end of a paragraph inside."""
    rng = np.random.default_rng(0)
    rows = (rng.integers(5, 190, size=(64, 1)) + np.arange(SETTINGS.length)) % 195 + 5
    rows[:, 0], rows[:, 9], rows[:, -1] = CLS, SEP, SEP
    return rows.astype(np.uint16)


def test_the_loss_is_the_mean_over_every_next_token_one_by_one(windows: np.ndarray) -> None:
    model, ids = new_model(DECODER), torch.from_numpy(windows[:3].astype(np.int64))
    losses = []
    for row in ids:
        for place in range(1, len(row) - 1):  # the [SEP] that closes a window is not predicted
            with torch.no_grad():
                logits = model(row[None, :place]).logits[0, -1]
            losses.append(-float(logits.log_softmax(-1)[row[place]]))
    assert next_token_loss(model, ids).item() == pytest.approx(sum(losses) / len(losses), abs=1e-5)


def test_a_prediction_does_not_depend_on_what_follows(windows: np.ndarray) -> None:
    model, ids = new_model(DECODER), torch.from_numpy(windows[:2].astype(np.int64))
    changed = ids.clone()
    changed[:, 8:] = 77
    with torch.no_grad():
        before, after = next_token_logits(model, ids), next_token_logits(model, changed)
    torch.testing.assert_close(before[:, :8], after[:, :8])
    assert not torch.allclose(before[:, 8:], after[:, 8:])


def test_scores_are_of_text_tokens_alone(windows: np.ndarray) -> None:
    model, ids = new_model(DECODER), torch.from_numpy(windows[:5].astype(np.int64))
    with torch.no_grad():
        chances = model(ids).logits.log_softmax(-1)
    kept = [(row, place) for row in range(5) for place in range(1, 15) if place != 9]
    expected = [-float(chances[row, place - 1, ids[row, place]]) for row, place in kept]
    hits = [int(chances[row, place - 1].argmax()) == int(ids[row, place]) for row, place in kept]
    scores = evaluate_decoder(model, windows[:5])
    assert scores["held_out_loss"] == pytest.approx(np.mean(expected), abs=1e-5)
    assert scores["next_token_accuracy"] == pytest.approx(np.mean(hits))
    assert scores == evaluate(model, windows[:5], DECODER)


@pytest.mark.exhaustive
def test_a_decoder_resumes_as_if_it_had_not_been_stopped_and_learns(
    windows: np.ndarray, tmp_path: Path
) -> None:
    whole = pretrain(DECODER, windows, tmp_path / "whole")

    def stop(line: str) -> None:
        if " step 200/" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pretrain(DECODER, windows, tmp_path / "again", report=stop, save_every=50)
    lines: list[str] = []
    resumed = pretrain(DECODER, windows, tmp_path / "again", report=lines.append)
    assert len(lines) == 2  # step 200 once more, and the last one
    for (name, one), (_, other) in zip(
        whole.named_parameters(), resumed.named_parameters(), strict=True
    ):
        assert torch.equal(one, other), name
    scores = evaluate(whole, windows, DECODER)
    assert scores["held_out_loss"] < 0.5 * math.log(DECODER.vocabulary)
    assert scores["next_token_accuracy"] > 0.5


def test_decoders_have_llamas_form_one_embedding_and_the_seeds_size(tmp_path: Path) -> None:
    plan = Plan(tmp_path, tmp_path)
    assert decoder_names(plan) == ["decoder-0", "decoder-1", "decoder-2"]
    settings = [decoder_pretraining(plan, seed) for seed in range(3)]
    assert [replace(each, seed=0, keep_steps=SNAPSHOTS) for each in settings] == [settings[0]] * 3
    assert settings[0].tokens > 8_000_000
    model, seed = new_model(settings[1]), new_model(pretraining(plan, 1))
    assert isinstance(model, LlamaForCausalLM)
    assert model.lm_head.weight is model.model.embed_tokens.weight
    sizes = [sum(parameter.numel() for parameter in each.parameters()) for each in (model, seed)]
    assert abs(sizes[0] - sizes[1]) < 0.05 * sizes[1]
    other = new_model(settings[2])
    assert not torch.equal(other.lm_head.weight, model.lm_head.weight)


@pytest.fixture(scope="module")
def box(tiny_base: Path, windows: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A box of one decoder."""
    folder, work = tmp_path_factory.mktemp("box"), tmp_path_factory.mktemp("work")
    pretrain(replace(DECODER, steps=2), windows, work)
    save_decoder_tokenizer(read_tokenizer(tiny_base / "tokenizer.json"), work / "tokenizer")
    publish_seed(
        work / CHECKPOINT,
        work / "tokenizer",
        folder / "models/decoder-0",
        windows,
        TextBaselines(6.5, 4.8),
        BOX_TEXT,
    )
    return folder


def test_a_decoder_opens_as_such_and_its_texts_are_not_closed(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_ZOO", str(box))
    info = describe("zoo:decoder-0")
    assert (info.family, info.architecture) == ("decoder", "LlamaForCausalLM")
    folder = box / "models/decoder-0"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    encoding = tokenizer("The cat sat", return_tensors="pt")
    assert set(encoding) == {"input_ids", "attention_mask"}
    ids = encoding["input_ids"][0].tolist()
    assert ids[0] == tokenizer.bos_token_id == CLS
    assert SEP not in ids
    assert tokenizer.eos_token_id == SEP
    model = AutoModelForCausalLM.from_pretrained(folder)
    written = model.generate(**encoding, max_new_tokens=3, do_sample=False)[0]
    assert written[: len(ids)].tolist() == ids
    assert len(written) > len(ids)


def test_the_manifest_and_the_card_of_a_decoder(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_ZOO", str(box))
    (entry,) = write_manifest(box)
    assert (entry["task"], entry["kind"], entry["base"]) == ("causal-lm", "causal-lm", None)
    assert (entry["step"], entry["frozen"], entry["metric"]) == (2, None, "held_out_loss")
    assert [example["text"] for example in entry["examples"]] == list(BEGINNINGS)
    assert find_problems(read_manifest(box)) == []
    (path,) = write_cards(box, [entry])
    card = path.read_text(encoding="utf8")
    for part in (
        "Llama's form",
        "predicted from those before it",
        f"{entry['scores']['held_out_loss']:.3f}",
        "4.800",
        "windows of 16 tokens",
        "public domain",
        *BEGINNINGS,
    ):
        assert part in card


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> TaskData:
    """Two sentences of film reviews, again and again."""
    return review_task(write_task(tmp_path_factory.mktemp("tasks")))


def test_a_text_is_scored_to_its_end_token_by_token(box: Path, reviews: TaskData) -> None:
    folder = box / "models/decoder-0"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    task = reviews.limited(4, 2)
    items = encode_task(tokenizer, task, task.test, 64)
    losses = []
    for item in items:
        assert (item.ids[0], item.ids[-1]) == (CLS, SEP)
        with torch.no_grad():
            chances = model(torch.tensor([item.ids])).logits[0].log_softmax(-1)
        losses += [-float(chances[place - 1, item.ids[place]]) for place in range(1, len(item.ids))]
    expected = sum(losses) / len(losses)
    for batch in (1, 2):  # the second is padded
        scores = score_model(model, task, items, tokenizer.pad_token_id, batch=batch)
        assert scores["held_out_loss"] == pytest.approx(expected, abs=1e-5)
    tensors = collate(items, tokenizer.pad_token_id)
    assert float(task_loss(model, "text", tensors).detach()) == pytest.approx(expected, abs=1e-5)


def test_an_adapter_of_a_decoder_writes_reviews_better_than_its_base(
    box: Path, reviews: TaskData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "box"
    shutil.copytree(box, folder)
    base, out = folder / "models/decoder-0", folder / "models/review-0"
    settings = LowRank(epochs=5, learning_rate=1e-2, batch=4, rank=2, alpha=4.0)
    record = finetune(base, "zoo:decoder-0", reviews, settings, out)
    assert record["scores"]["held_out_loss"] < record["baseline"]["score"] - 0.5
    config = read_adapter(out)
    assert (config.rank, config.saved) == (2, ())
    entries = write_manifest(folder)
    assert [entry["name"] for entry in entries] == ["decoder-0", "review-0"]
    monkeypatch.setenv("PALIMPSEST_ZOO", str(folder))
    assert find_problems(entries) == []
    card = write_cards(folder, entries)[1].read_text(encoding="utf8")
    for part in (
        "LoRA adapter of rank 2 of zoo:decoder-0",
        "no head of its own",
        "Pang & Lee 2005",
    ):
        assert part in card
    assert (
        f"loss of zoo:decoder-0 on the same sentences (nats) | {entries[1]['baseline']:.3f}" in card
    )
    (member,) = find_members("zoo:decoder-0", ["zoo:review-*"]).members
    assert (member.task, member.base) == ("review", "zoo:decoder-0")
    pair = open_pair("zoo:decoder-0", member.ref, *map(read_as, ("zoo:decoder-0", member.ref)))
    assert len(list(deltas_of(pair))) == 7  # matrices of one layer


def test_decoders_are_adapted_once_each_and_readers_start_from_one_seed(tmp_path: Path) -> None:
    plan = Plan(tmp_path, tmp_path)
    writers, readers = review_runs(plan), reader_runs(plan)
    assert [(run.name, run.base) for run in writers] == [
        (f"review-{seed}", f"decoder-{seed}") for seed in range(3)
    ]
    assert [(run.name, run.base, run.run) for run in readers] == [
        (f"qa-{run}", "seed-0", run) for run in range(3)
    ]
    for run in (*writers, *readers):
        settings = settings_of(plan, run)
        assert settings.seed == run.run
        assert settings.steps

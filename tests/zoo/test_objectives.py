"""Masks of whole words, drawn tokens and the replaced-token loss, each beside a slow loop; resumed
runs."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from core.errors import RecipeError
from tests.zoo.made_up import SETTINGS
from zoo.recipe import pretrain as training
from zoo.recipe.objectives import (
    DETECTION_WEIGHT,
    ReplacedTokens,
    draw_tokens,
    draw_words,
    mask_tokens,
    replacement_loss,
)
from zoo.recipe.pretrain import Pretraining, evaluate, new_model, pretrain
from zoo.recipe.states import AVERAGE_DECAY, add_to_average
from zoo.recipe.text import CLS, PAD, SEP

VOCABULARY = SETTINGS.vocabulary
CONTINUES = torch.zeros(VOCABULARY, dtype=torch.bool)
CONTINUES[120:] = True
REPLACED = replace(SETTINGS, layers=1, objective="replaced")


@pytest.fixture
def ids() -> torch.Tensor:
    """Eight windows of words and continuations, with separators inside, the first window half
    padding."""
    rows = torch.randint(5, VOCABULARY, (8, 24), generator=torch.Generator().manual_seed(1))
    rows[:, 0], rows[:, -1], rows[:, 9] = CLS, SEP, SEP
    rows[0, 12:] = PAD
    rows[3, 1] = rows[4, 10] = 150  # continuations that begin a text
    return rows


def words_of(ids: torch.Tensor) -> list[list[int]]:
    """Flat positions of each word, by a loop."""
    words: list[list[int]] = []
    for row in range(ids.shape[0]):
        inside = False
        for column in range(ids.shape[1]):
            token = int(ids[row, column])
            if token in (CLS, SEP, PAD):
                inside = False
                continue
            if inside and bool(CONTINUES[token]):
                words[-1].append(row * ids.shape[1] + column)
            else:
                words.append([row * ids.shape[1] + column])
            inside = True
    return words


@pytest.mark.parametrize("count", [1, 10, 40, 10_000])
def test_words_are_masked_whole_up_to_the_count(ids: torch.Tensor, count: int) -> None:
    chosen = set(draw_words(ids, CONTINUES, count, torch.Generator().manual_seed(count)).tolist())
    words = words_of(ids)
    assert all(chosen.issuperset(word) or chosen.isdisjoint(word) for word in words)
    assert chosen <= {place for word in words for place in word}
    longest = max(map(len, words))
    assert min(count, sum(map(len, words))) - longest < len(chosen) <= count


def test_every_word_is_as_likely_to_be_masked(ids: torch.Tensor) -> None:
    words, draws = words_of(ids), 600
    drawn = [
        draw_words(ids, CONTINUES, 40, torch.Generator().manual_seed(seed)).tolist()
        for seed in range(draws)
    ]
    counts = np.bincount(np.concatenate(drawn), minlength=ids.numel())
    shares = np.array([counts[word[0]] / draws for word in words])
    assert abs(shares - shares.mean()).max() < 5 * math.sqrt(0.25 / draws)


def test_masking_whole_words_keeps_the_truth_and_the_rest_of_the_text(ids: torch.Tensor) -> None:
    corrupted, positions, truth = mask_tokens(
        ids, 0.25, VOCABULARY, torch.Generator().manual_seed(0), CONTINUES
    )
    assert torch.equal(ids.flatten()[positions], truth)
    untouched = torch.ones(ids.numel(), dtype=torch.bool)
    untouched[positions] = False
    assert torch.equal(ids.flatten()[untouched], corrupted.flatten()[untouched])


def test_drawn_tokens_follow_the_softmax_and_the_generator() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0, -1.0, -30.0]]).expand(20_000, 5)
    drawn = draw_tokens(logits, torch.Generator().manual_seed(0))
    shares = torch.bincount(drawn, minlength=5) / len(drawn)
    assert torch.allclose(shares, logits[0].softmax(-1), atol=0.015)
    assert torch.equal(drawn, draw_tokens(logits, torch.Generator().manual_seed(0)))
    assert not torch.equal(drawn, draw_tokens(logits, torch.Generator().manual_seed(1)))


def test_the_replaced_token_loss_equals_a_slow_loop(ids: torch.Tensor) -> None:
    model = new_model(REPLACED)
    corrupted, positions, _ = mask_tokens(ids, 0.25, VOCABULARY, torch.Generator().manual_seed(0))
    with torch.no_grad():
        loss = float(
            replacement_loss(model, ids, corrupted, positions, torch.Generator().manual_seed(7))
        )
        logits = model.generator(input_ids=corrupted).logits.flatten(0, 1)
        levels = torch.rand(len(positions), 1, generator=torch.Generator().manual_seed(7))
        replaced, masking = ids.flatten().clone(), 0.0
        for row, place in enumerate(positions.tolist()):
            chances = logits[place].softmax(-1).tolist()
            masking -= math.log(chances[int(ids.flatten()[place])]) / len(positions)
            reached = 0.0
            for token, chance in enumerate(chances):
                reached += chance
                if reached > float(levels[row]):
                    replaced[place] = token
                    break
        hidden = model.roformer(replaced.view_as(ids)).last_hidden_state.flatten(0, 1)
        terms = []
        for place, token in enumerate(ids.flatten().tolist()):
            if token in (CLS, SEP, PAD):
                continue
            logit = float(model.verdict(torch.nn.functional.gelu(model.dense(hidden[place]))))
            wrong = int(replaced[place]) != token
            terms.append(math.log1p(math.exp(-logit)) if wrong else math.log1p(math.exp(logit)))
    assert loss == pytest.approx(masking + DETECTION_WEIGHT * sum(terms) / len(terms), rel=1e-5)


def test_generator_and_model_share_embeddings_and_no_other_gradient(ids: torch.Tensor) -> None:
    model = new_model(REPLACED)
    table = model.roformer.get_input_embeddings().weight
    assert model.generator.get_input_embeddings().weight is table
    assert model.generator.get_output_embeddings().weight is table
    assert sum(value is table for value in model.parameters()) == 1
    model.detect(ids).sum().backward()
    assert table.grad is not None
    mine = {id(value) for value in (*model.roformer.parameters(), *model.dense.parameters())}
    others = [value for value in model.generator.parameters() if id(value) not in mine]
    assert all(value.grad is None for value in others)
    assert others


def test_the_running_average_weighs_additions_by_polynomials() -> None:
    values = np.random.default_rng(0).normal(size=7).astype(np.float32)
    model, average = torch.nn.Linear(1, 1, bias=False), {}
    for count, value in enumerate(values, start=1):
        torch.nn.init.constant_(model.weight, float(value))
        add_to_average(average, model, count)
    weights = np.array(
        [math.comb(count + AVERAGE_DECAY - 1, AVERAGE_DECAY) for count in range(1, 8)], dtype=float
    )
    assert float(average["weight"]) == pytest.approx(
        float(values @ weights / weights.sum()), rel=1e-5
    )


@pytest.fixture(scope="module")
def windows() -> np.ndarray:
    """Token ids that follow each other by a rule, some of them continuations."""
    rng = np.random.default_rng(0)
    rows = (rng.integers(5, 190, size=(64, 1)) + np.arange(SETTINGS.length)) % 195 + 5
    rows[:, 0], rows[:, -1] = CLS, SEP
    return rows.astype(np.uint16)


VARIANTS = {
    "replaced": {"objective": "replaced"},
    "whole words": {"whole_words": True},
    "bfloat16": {"objective": "replaced", "precision": "bfloat16", "whole_words": True},
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_a_run_in_three_parts_equals_one_in_a_piece(
    windows: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: dict[str, Any]
) -> None:
    settings = replace(
        SETTINGS, layers=1, schedule="constant", steps=60, keep_steps=(30, 60), **variant
    )
    options: dict[str, Any] = {"continues": CONTINUES.numpy(), "save_every": 15}
    pretrain(settings, windows, tmp_path / "whole", **options)
    pretrain(replace(settings, steps=30), windows, tmp_path / "parts", **options)

    def stop(path: Path, *rest: Any) -> None:
        if path.name == "step-60.safetensors":  # after the checkpoint of step 45
            raise KeyboardInterrupt
        keep(path, *rest)

    keep = training.save_tensors
    monkeypatch.setattr(training, "save_tensors", stop)
    with pytest.raises(KeyboardInterrupt):
        pretrain(settings, windows, tmp_path / "parts", **options)
    monkeypatch.setattr(training, "save_tensors", keep)
    pretrain(settings, windows, tmp_path / "parts", **options)
    for name in ("step-30", "step-60", "checkpoint"):
        whole, parts = (
            load_file(tmp_path / folder / f"{name}.safetensors") for folder in ("whole", "parts")
        )
        assert whole.keys() == parts.keys()
        assert all(torch.equal(whole[key], parts[key]) for key in whole), name
    checkpoint = load_file(tmp_path / "whole" / "checkpoint.safetensors")
    snapshot = load_file(tmp_path / "whole" / "step-60.safetensors")
    assert all(torch.equal(checkpoint[f"average.{key}"], snapshot[key]) for key in snapshot)
    assert any(not torch.equal(checkpoint[f"model.{key}"], snapshot[key]) for key in snapshot)


@pytest.mark.exhaustive
def test_a_detector_learns_and_its_scores_say_so(windows: np.ndarray, tmp_path: Path) -> None:
    settings = replace(REPLACED, steps=200)
    before = evaluate(new_model(settings), windows, settings)
    model = pretrain(settings, windows, tmp_path)
    assert isinstance(model, ReplacedTokens)
    after = evaluate(model, windows, settings)
    assert after["detection_loss"] < before["detection_loss"]
    assert after["detection_loss"] < after["detection_chance"] < math.log(2)
    assert after["held_out_loss"] < before["held_out_loss"]


def test_what_makes_no_sense_is_refused(windows: np.ndarray, tmp_path: Path) -> None:
    for wrong in ({"objective": "next"}, {"schedule": "cosine"}, {"precision": "int8"}):
        with pytest.raises(RecipeError, match="There is no"):
            Pretraining(seed=0, **wrong)
    with pytest.raises(RecipeError, match="continue a word"):
        pretrain(replace(SETTINGS, whole_words=True), windows, tmp_path)

"""The lenses against slow ones, and on planted directions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core.models.loading.layers import logits_of, run_model, run_seen
from core.models.loading.model import LoadedModel, load_with_head
from core.studies.rsa.lens.lenses import (
    FIRST,
    Head,
    fit_maps,
    measure_lenses,
    raise_words,
    read_asked,
    sum_states,
    through,
)
from core.studies.rsa.lens.tasks import (
    LEAST_TYPICAL,
    TYPICAL,
    UNTYPICAL,
    promotion,
    subtract_means,
    typical_tokens,
)
from core.vectors.predicting import ask_following, ask_masked, pad_sentences
from tests.core.tiny_models import D_MODEL, SENTENCES, save_tiny

KINDS = {
    "llama": ask_following,
    "gpt2": ask_following,
    "gemma2": ask_following,  # with soft caps
    "bert": ask_masked,
    "roformer": ask_masked,
    "modernbert": ask_masked,
}


def opened(kind: str, folder: Path, seed: int = 0) -> LoadedModel:
    saved = save_tiny(folder / f"{kind}-{seed}", kind, head=True, seed=seed)
    return load_with_head(f"path:{saved}", device="cpu")


@pytest.mark.parametrize("kind", KINDS)
def test_the_lens_at_the_top_layer_is_the_output(kind: str, tmp_path: Path) -> None:
    loaded = opened(kind, tmp_path)
    head = Head.of(loaded.model)
    for read in read_asked(loaded.model, KINDS[kind](loaded, SENTENCES)):
        torch.testing.assert_close(head.read(read.states[-1]), read.logits, rtol=0, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["llama", "gpt2", "bert"])
def test_the_logit_lens_is_the_slow_one(kind: str, tmp_path: Path) -> None:
    loaded = opened(kind, tmp_path)
    model: Any = loaded.model
    asked = KINDS[kind](loaded, SENTENCES)
    seen = measure_lenses(Head.of(model), fit_maps(model, asked), asked)
    norm = {
        "llama": lambda state: model.lm_head(model.model.norm(state)),
        "gpt2": lambda state: model.lm_head(model.transformer.ln_f(state)),
        "bert": lambda state: model.cls(state),
    }[kind]
    number = 0
    for batch, answers in asked:
        with torch.no_grad():
            output = model(
                input_ids=batch.ids, attention_mask=batch.mask, output_hidden_states=True
            )
            lens = [norm(state) for state in output.hidden_states[:-1]]
        for row, place in torch.nonzero(answers >= 0).tolist():
            true = output.logits[row, place].double().log_softmax(0)
            first = len(lens)
            for layer in reversed(range(len(lens))):
                said = lens[layer][row, place].double().log_softmax(0)
                slow = sum(
                    float(true[token].exp() * (true[token] - said[token]))
                    for token in range(len(true))
                ) / np.log(2)
                assert seen["kl"][0, layer, number] == pytest.approx(slow, abs=1e-5)
                assert seen["top"][0, layer, number] == int(said.argmax())
                first = layer if int(said.argmax()) == int(true.argmax()) else first
            assert seen["first"][0, number] == first
            assert seen["answer"][number] == int(answers[row, place])
            assert seen["sentence"][number] == batch.sentences[row]
            assert seen["place"][number] == place
            number += 1
    assert seen["kl"].shape == (2, len(lens) + 1, number)
    assert np.abs(seen["kl"][:, -1]).max() < 1e-5
    assert seen["same"][:, -1].all()


def test_the_tuned_lens_is_least_squares_onto_the_last_layer(tmp_path: Path) -> None:
    loaded = opened("llama", tmp_path)
    asked = ask_following(loaded, SENTENCES * 20)
    reads = list(read_asked(loaded.model, asked))
    last = torch.cat([read.states[-1] for read in reads]).double().numpy()
    maps = fit_maps(loaded.model, asked)
    for layer in range(len(maps)):
        x = torch.cat([read.states[layer] for read in reads]).double().numpy()
        ones = np.column_stack([x, np.ones(len(x))])
        held = np.arange(len(x)) % 5 == 0
        fitted = np.linalg.lstsq(ones[~held], last[~held], rcond=None)[0]
        slow = ((ones @ fitted - last) ** 2).sum()
        mapped = through(maps, layer, torch.from_numpy(x).float()).double().numpy()
        assert ((mapped - last) ** 2).sum() <= 1.01 * slow + 1e-9
    top = torch.from_numpy(last).float()
    assert through(maps, len(maps), top) is top


@pytest.mark.filterwarnings("error")
def test_the_tuned_lens_of_equal_embeddings_is_the_mean(tmp_path: Path) -> None:
    loaded = opened("roformer", tmp_path)  # positions stand in attention alone
    asked = ask_masked(loaded, SENTENCES)
    reads = list(read_asked(loaded.model, asked))
    held = np.arange(sum(len(read.answers) for read in reads)) % 5 == 0
    last = torch.cat([read.states[-1] for read in reads])[~held]
    embedded = torch.cat([read.states[0] for read in reads])
    assert not np.ptp(embedded.numpy(), 0).any()
    mapped = through(fit_maps(loaded.model, asked), 0, embedded[:1])
    torch.testing.assert_close(mapped[0], last.mean(0), rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_a_planted_direction_is_found_first(kind: str, tmp_path: Path) -> None:
    loaded = opened(kind, tmp_path)
    model: Any = loaded.model
    matrix = model.lm_head.weight.detach()
    matrix = matrix - matrix.mean(1, keepdim=True)  # what a norm that subtracts the mean leaves
    lengths = matrix.norm(dim=1)
    longest = torch.argsort(-lengths)[:5]  # no other row is nearer to them than they are
    rows = (0.3 * matrix[longest]).numpy()
    said = np.concatenate(list(Head.of(model).read_differences(rows)))
    assert said.argmax(1).tolist() == longest.tolist()


def test_the_head_says_nothing_of_nothing(tmp_path: Path) -> None:
    model: Any = opened("bert", tmp_path).model
    torch.nn.init.normal_(model.get_output_embeddings().bias)
    (said,) = Head.of(model).read_differences(np.zeros((2, D_MODEL)))
    assert np.abs(said).max() == 0


@pytest.mark.parametrize("skip", [True, False])
def test_states_are_summed_over_first_places_and_halves(skip: bool, tmp_path: Path) -> None:
    loaded = opened("gpt2", tmp_path)  # without a token that begins the text
    padded = list(pad_sentences(loaded, SENTENCES))
    sums, counts = sum_states(loaded.model, padded, skip_first=skip)
    slow, times = np.zeros_like(sums), np.zeros_like(counts)
    for ids, there, inside, chosen in padded:
        for row, number in enumerate(chosen):
            seen = 0
            states = _states(loaded, ids[row : row + 1], there[row : row + 1])
            for place in range(ids.shape[1]):
                if not inside[row, place] or (skip and place == 0):
                    continue
                seen += 1
                for group in (0, 1) if seen <= FIRST else (1,):
                    slow[number % 2, group] += states[:, place]
                    times[number % 2, group] += 1
    np.testing.assert_allclose(sums, slow, atol=1e-4)
    np.testing.assert_array_equal(counts, times)
    (whole, halves, length), (again, _, _) = (
        subtract_means((sums, counts), (2 * sums, counts)),
        subtract_means((sums, counts), (sums, counts)),
    )
    mean = sums.sum(0) / counts.sum(0)[:, None, None]
    np.testing.assert_allclose(whole, mean)
    np.testing.assert_allclose(halves[1], sums[1] / counts[1][:, None, None])
    np.testing.assert_allclose(length, 1)
    assert not again.any()


def _states(loaded: LoadedModel, ids: torch.Tensor, there: torch.Tensor) -> np.ndarray:
    from core.models.loading.layers import Batch

    states, _ = run_seen(loaded.model, Batch(ids, there, [0]))
    return np.stack([state[0].double().numpy() for state in states])


def test_raised_tokens_are_those_of_the_largest_differences(tmp_path: Path) -> None:
    first, second = (opened("llama", tmp_path, seed) for seed in (0, 1))
    asked = ask_following(first, SENTENCES)
    batches = list(raise_words(Head.of(first.model), Head.of(second.model), asked, 3))
    total = 0.0
    for (batch, answers), (sentence, top, raised) in zip(asked, batches, strict=True):
        change = logits_of(run_model(second.model, batch)) - logits_of(
            run_model(first.model, batch)
        )
        rows = change[answers >= 0].double().numpy()
        for place, row in enumerate(rows):
            assert set(top[place]) == set(np.argsort(row)[-3:])
        total += (rows - rows.mean(1, keepdims=True)).sum(0)
        np.testing.assert_allclose(raised, total if len(batches) == 1 else raised, atol=1e-4)
        assert len(sentence) == len(rows)


def test_typical_tokens_are_twice_as_frequent_and_promoted_above_those_of_the_other_text(
    tmp_path: Path,
) -> None:
    loaded = opened("bert", tmp_path)
    mine, others = (("man", "man", "man", "dog"),), (("door", "door", "door", "dog"),)
    kinds = typical_tokens(loaded, mine, others)
    (man,), (door,), (dog,) = (
        loaded.tokenizer.encode([[word]])[0].ids[1:-1] for word in ("man", "door", "dog")
    )
    assert (kinds[man], kinds[door], kinds[dog]) == (TYPICAL, UNTYPICAL, 0)
    assert np.abs(kinds).sum() == 2
    rng = np.random.default_rng(0)
    scores = rng.normal(size=60).round(1)
    kinds = rng.permutation(np.repeat([TYPICAL, UNTYPICAL, 0], 20))
    pairs = [
        np.sign(a - b) / 2 + 0.5
        for a in scores[kinds == TYPICAL]
        for b in scores[kinds == UNTYPICAL]
    ]
    assert promotion(scores, kinds) == pytest.approx(np.mean(pairs))
    few = np.where(np.cumsum(kinds == TYPICAL) < LEAST_TYPICAL, kinds, 0)
    assert np.isnan(promotion(scores, few))

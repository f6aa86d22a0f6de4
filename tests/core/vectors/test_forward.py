"""Forward passes held against one sentence at a time in plain transformers code, for every
architecture."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from core.errors import ModelError
from core.models import load_model, load_tokenizer
from core.models.architectures import ARCHITECTURES
from core.models.loading.layers import final_norm, layer_list
from core.vectors import forward
from core.vectors.activations import extract
from tests.cases import exhaustive
from tests.core.tiny_models import BYTE_LEVEL, D_MODEL, LAYERS, SENTENCES, TYPES, save_tiny

QUICK = ("bert", "gpt2", "t5", "qwen3_next")  # a family each, and one whose layers are of two kinds


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A `path:` reference of a tiny random model for each architecture, made when it is asked
    for."""
    folder = tmp_path_factory.mktemp("tiny")

    class Made(dict[str, str]):
        def __missing__(self, name: str) -> str:
            self[name] = f"path:{save_tiny(folder / name, name)}"
            return self[name]

    return Made()


def plain_loop(ref: str, sentences) -> list[np.ndarray]:
    """float32 (layer, word, d_model) a sentence: no batches, no padding, no tricks."""
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizerFast

    folder = ref.removeprefix("path:")
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if tokenizer.is_fast:  # some classes of transformers overrule what the file says
        written = Tokenizer.from_file(f"{folder}/tokenizer.json")
        if type(written.model) is not type(tokenizer.backend_tokenizer.model):
            tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    space = " " if model.config.model_type in BYTE_LEVEL else ""
    vectors = []
    for words in sentences:
        inputs = tokenizer(
            [space + word for word in words], is_split_into_words=True, return_tensors="pt"
        )
        inputs.pop("token_type_ids", None)
        owners = inputs.word_ids()
        with torch.no_grad():
            if model.config.is_encoder_decoder:
                states = model.get_encoder()(**inputs, output_hidden_states=True).hidden_states
            else:
                states = model(**inputs, output_hidden_states=True).hidden_states
        layers = []
        for state in states:
            rows = []
            for word in range(len(words)):
                mine = [place for place, owner in enumerate(owners) if owner == word]
                rows.append(np.mean([state[0, place].numpy() for place in mine], axis=0))
            layers.append(rows)
        vectors.append(np.array(layers, dtype=np.float32))
    return vectors


def test_every_architecture_that_we_claim_is_tested() -> None:
    assert set(TYPES) == set(ARCHITECTURES)


@pytest.mark.parametrize("model_type", exhaustive(TYPES, *QUICK))
def test_word_vectors_equal_one_sentence_at_a_time(tiny, model_type) -> None:
    ref = tiny[model_type]
    expected = plain_loop(ref, SENTENCES)
    loaded = load_model(ref, device="cpu")
    cut = forward.cut_sentences(loaded.tokenizer, SENTENCES)
    for batch in forward.read_sentences(loaded, cut):
        for index, vectors in batch:  # before storing: to float32 rounding
            np.testing.assert_allclose(vectors.words, expected[index], atol=2e-5)
            np.testing.assert_allclose(vectors.mean, expected[index].mean(1), atol=2e-5)
    result = extract(ref, SENTENCES)
    assert result.vectors.dtype == np.float32
    assert result.vectors.shape == (LAYERS + 1, sum(map(len, SENTENCES)), D_MODEL)
    np.testing.assert_allclose(result.vectors, np.concatenate(expected, 1), atol=2e-3, rtol=1e-3)
    assert result.word.tolist() == [word for words in SENTENCES for word in range(len(words))]
    assert result.sentence.tolist() == [
        index for index, words in enumerate(SENTENCES) for _ in words
    ]
    assert result.notices == ARCHITECTURES[model_type].caveats


def hybrid(base, donor, layer: int):
    """The base with one layer of the donor (0 for the embeddings), and with its final norm at the
    top."""
    import copy

    mixed = copy.deepcopy(base)
    body = mixed.get_encoder() if base.config.is_encoder_decoder else mixed
    theirs = donor.get_encoder() if base.config.is_encoder_decoder else donor
    stacks = [list(layer_list(model)) for model in (mixed, donor)]
    if layer:
        stacks[0][layer - 1].load_state_dict(stacks[1][layer - 1].state_dict())
    else:
        inside = {id(weight) for block in stacks[0] for weight in block.parameters()}
        for weight, other in zip(body.parameters(), theirs.parameters(), strict=True):
            if id(weight) not in inside:
                weight.data.copy_(other.data)
    if layer == len(stacks[0]):
        final_norm(mixed).load_state_dict(final_norm(donor).state_dict())
    return mixed


@pytest.mark.parametrize("model_type", exhaustive(TYPES, *QUICK))
def test_functions_of_layers_equal_those_of_a_base_with_one_layer_of_the_other(
    tiny, tmp_path, model_type
) -> None:
    other = f"path:{save_tiny(tmp_path / model_type, model_type, seed=1)}"
    loaded, donor = (load_model(ref, device="cpu") for ref in (tiny[model_type], other))
    cut = forward.cut_sentences(loaded.tokenizer, SENTENCES)
    if ARCHITECTURES[model_type].inseparable:
        with pytest.raises(ModelError, match="one by one"):
            list(forward.read_sentences(loaded, cut, donor=donor))
        return
    states = dict(pair for batch in forward.read_sentences(loaded, cut) for pair in batch)
    made = dict(
        pair for batch in forward.read_sentences(loaded, cut, donor=donor) for pair in batch
    )
    for layer in range(LAYERS + 1):
        mixed = replace(loaded, model=hybrid(loaded.model, donor.model, layer))
        for index, expected in (
            pair for batch in forward.read_sentences(mixed, cut) for pair in batch
        ):
            np.testing.assert_allclose(
                made[index].words[layer], expected.words[layer], atol=2e-5, err_msg=str(layer)
            )
    assert max(np.abs(made[i].words - states[i].words).max() for i in made) > 0.01


def edit(folder: Path, **changes: object) -> None:
    """Change settings of a configuration; None takes one out."""
    path = folder / "config.json"
    settings = json.loads(path.read_text()) | changes
    kept = {name: value for name, value in settings.items() if value is not None}
    path.write_text(json.dumps(kept))


@pytest.mark.parametrize(
    ("model_type", "pad"),
    [*((name, -1) for name in ("bert", "roberta", "llama", "t5", "bart", "esm")), ("t5", 10**6)],
)
def test_a_padding_token_without_a_vector_is_none(tmp_path, model_type, pad) -> None:
    """Vectors are those of one sentence at a time, which needs no padding."""
    edit(save_tiny(tmp_path, model_type), pad_token_id=pad)
    loaded = load_model(f"path:{tmp_path}", device="cpu")
    cut = forward.cut_sentences(loaded.tokenizer, SENTENCES)
    together = dict(pair for batch in forward.read_sentences(loaded, cut) for pair in batch)
    for index, sentence in enumerate(cut):
        ((_, alone),) = next(forward.read_sentences(loaded, [sentence]))
        np.testing.assert_allclose(together[index].words, alone.words, atol=2e-5)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_there_are_words_of_several_subwords_in_the_tests(tiny) -> None:
    for model_type in TYPES:
        cut = forward.cut_sentences(load_tokenizer(tiny[model_type]), SENTENCES)
        assert max(np.bincount([word for word in one.words if word >= 0]).max() for one in cut) > 1


@pytest.mark.parametrize("budget", [1, 10, 10_000])
def test_vectors_do_not_depend_on_the_batches(tiny, monkeypatch, budget) -> None:
    loaded = load_model(tiny["roberta"], device="cpu")
    cut = forward.cut_sentences(loaded.tokenizer, SENTENCES)
    usual = dict(pair for batch in forward.read_sentences(loaded, cut) for pair in batch)
    monkeypatch.setattr(forward, "token_budget", lambda device, d_model: budget)
    other = dict(pair for batch in forward.read_sentences(loaded, cut) for pair in batch)
    for index, vectors in usual.items():
        np.testing.assert_allclose(other[index].words, vectors.words, atol=2e-5)


def test_batches_are_sorted_and_within_budget() -> None:
    lengths = np.random.default_rng(0).integers(3, 60, 200).tolist()
    batches = forward.plan_batches(lengths, 256)
    assert sorted(index for batch in batches for index in batch) == list(range(200))
    assert all(max(lengths[index] for index in batch) * len(batch) <= 256 for batch in batches)
    flat = [lengths[index] for batch in batches for index in batch]
    assert flat == sorted(lengths, reverse=True)
    assert forward.plan_batches([900, 3], 256) == [[0], [1]]  # longer than the budget: alone
    assert forward.plan_batches([], 256) == []
    assert forward.token_budget("cpu", 768) == 256
    models = [
        SimpleNamespace(device="cpu", layerwise=layers, info=SimpleNamespace(d_model=width))
        for layers, width in ((None, 512), (None, 768), ("on the disk", 768))
    ]
    assert forward.pass_budget(*models[:2]) == 256
    assert forward.pass_budget(*models) == forward.PASSED // 768 > 1000
    assert forward.token_budget("cuda", 768) > forward.token_budget("cpu", 32) > 256


def test_words_are_pooled_while_another_thread_loads_a_model_in_double_precision() -> None:
    """Such a load changes torch's default type for all threads while it lasts."""
    import torch

    sentence = forward.Subwords([5, 6, 7], [0, 0, 1], 2, 3)
    pooling = forward.Pooling(
        [sentence], np.array([0, 2]), np.array([2, 1]), torch.arange(3), torch.tensor([0, 0, 1]),
        [False],
    )  # fmt: skip
    states = torch.arange(6, dtype=torch.float64).reshape(1, 3, 2)
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        words, _ = pooling.pool(states)
    finally:
        torch.set_default_dtype(usual)
    np.testing.assert_array_equal(words, np.array([[1.0, 2.0], [4.0, 5.0]], np.float32))

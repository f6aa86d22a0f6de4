"""Stitching: nothing is lost where nothing is changed, and every refusal is a sentence."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from core.alignment.experiments import read_labelled
from core.alignment.live import batches, enter, layer_list, states
from core.alignment.stitching import stitch_pair
from core.errors import CorpusError, ModelError, ShapeError

WORDS = ["the", "cat", "sat", "on", "a", "mat", "dog", "ran", "far", "good", "bad", "film"]
LABELLED = tuple((" ".join(WORDS[i % 12] for i in range(k, k + 5)), ("good", "bad")[k % 2]) for k in range(12))


@cache
def tokenizer():
    """One for all: training breaks ties between equally frequent words as it likes."""
    from zoo.recipe.tokenizer import train_tokenizer

    return train_tokenizer([" ".join(WORDS)] * 5, 60)


def save_classifier(folder: Path, seed: int, labels: tuple[str, ...] = ("bad", "good"), layers: int = 2) -> str:
    """A tiny RoFormer with a classification head and its tokenizer, as `path:` reference."""
    from transformers import RoFormerConfig, RoFormerForSequenceClassification

    from zoo.recipe.tokenizer import save_tokenizer

    torch.manual_seed(seed)
    config = RoFormerConfig(
        vocab_size=60, hidden_size=16, embedding_size=16, num_hidden_layers=layers, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64, num_labels=len(labels), initializer_range=0.5,
        id2label=dict(enumerate(labels)), label2id={label: i for i, label in enumerate(labels)},
    )  # fmt: skip
    RoFormerForSequenceClassification(config).save_pretrained(folder)
    save_tokenizer(tokenizer(), folder)
    return f"path:{folder}"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return tuple(save_classifier(tmp_path_factory.mktemp(f"model-{seed}"), seed) for seed in (0, 1))  # type: ignore[return-value]


@pytest.fixture(scope="module")
def sentences() -> tuple[tuple[str, ...], ...]:
    rng = np.random.default_rng(0)
    return tuple(tuple(rng.choice(WORDS, size=6).tolist()) for _ in range(80))


def stitch(source: str, target: str, sentences, methods=("identity", "ols"), labelled=LABELLED):
    return stitch_pair(source, target, "a", "b", sentences, labelled, methods, 0)


def test_entering_a_model_with_its_own_states_changes_nothing(models) -> None:
    from core.models import load_tokenizer, load_with_head

    model, tokenizer = load_with_head(models[0], device="cpu").model, load_tokenizer(models[0])
    for batch in batches(tokenizer, [text for text, _ in LABELLED], split=False):
        with torch.inference_mode():
            expected = model(input_ids=batch.ids, attention_mask=batch.mask, output_hidden_states=True)
        hidden = states(model, batch)
        torch.testing.assert_close(hidden, torch.stack(expected.hidden_states))
        for layer in range(len(hidden)):
            assert torch.equal(enter(model, batch, layer, hidden[layer]).logits, expected.logits)


def test_a_model_stitched_into_itself_loses_nothing_at_any_layer(models, sentences) -> None:
    value = stitch(models[0], models[0], sentences, ("identity", "procrustes", "ols"))
    for method in ("identity", "procrustes", "ols"):
        assert (value[f"{method}/correct"] == value["own_target"]).all(), method


def test_the_map_and_not_the_source_decides_at_layer_zero(models, sentences) -> None:
    """Same tokens, other embeddings: least squares maps them onto the target's, for words that it saw."""
    value = stitch(models[0], models[1], sentences)
    assert (value["ols/correct"][0] == value["own_target"]).mean() > 0.9


def test_other_tokenizers_are_refused(models, sentences, tmp_path) -> None:
    from zoo.recipe.tokenizer import save_tokenizer, train_tokenizer

    other = save_classifier(tmp_path, 3)
    save_tokenizer(train_tokenizer(["xyz " * 5], 60), tmp_path)
    with pytest.raises(ModelError, match="cut words differently"):
        stitch(models[0], other, sentences)


def test_another_depth_is_refused(models, sentences, tmp_path) -> None:
    with pytest.raises(ModelError, match="same number"):
        stitch(models[0], save_classifier(tmp_path, 3, layers=3), sentences)


def test_an_unknown_label_names_the_known_ones(models, sentences) -> None:
    with pytest.raises(ShapeError, match="bad, good"):
        stitch(models[0], models[1], sentences, labelled=(("the film", "excellent"),))


def test_a_model_without_a_list_of_layers_is_refused() -> None:
    with pytest.raises(ModelError, match="BERT-like"):
        layer_list(torch.nn.Linear(2, 2))


@pytest.mark.parametrize(("text", "reason"), [("good film", "expected"), ("", "no labelled sentence")])
def test_bad_labelled_files_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "labels.tsv").write_text(text)
    with pytest.raises(CorpusError, match=reason):
        read_labelled(str(tmp_path / "labels.tsv"))
    with pytest.raises(CorpusError, match="No labelled sentences"):
        read_labelled(str(tmp_path / "missing.tsv"))


def test_labelled_lines_are_read(tmp_path: Path) -> None:
    (tmp_path / "labels.tsv").write_text('good\tA "quoted" film.\nbad\tNo.\n')
    assert read_labelled(str(tmp_path / "labels.tsv")) == (('A "quoted" film.', "good"), ("No.", "bad"))

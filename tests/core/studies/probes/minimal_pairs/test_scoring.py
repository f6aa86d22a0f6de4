"""Log-likelihoods of sentences: those of a slow loop that masks one token at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

from core.errors import ModelError
from core.models.loading import reading
from core.models.loading.language_models import Kind, head_of
from core.models.loading.model import load_with_head
from core.studies.probes.minimal_pairs import scoring
from core.studies.probes.minimal_pairs.scoring import (
    masked_rows,
    score_words,
)
from core.studies.probes.minimal_pairs.templates import make_pairs, region_scores
from core.vectors.forward import cut_sentences
from tests.core.tiny_models import SENTENCES, save_tiny

MASKED = ("bert", "roberta", "distilbert", "electra", "roformer", "albert", "modernbert", "mpnet")
CAUSAL = ("gpt2", "llama")


def slow_masked(model: Any, ids: list[int], words: list[int], mask: int) -> float:
    """One pass for each token, whole logits, no batches (Kauf & Ivanova 2023)."""
    total = 0.0
    for place, word in enumerate(words):
        if word < 0:
            continue
        hidden = list(ids)
        for later in range(place, len(ids)):
            if words[later] == word:
                hidden[later] = mask
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([hidden])).logits[0, place]
        total += float(torch.log_softmax(logits.double(), -1)[ids[place]])
    return total


def slow_causal(model: Any, ids: list[int]) -> float:
    """The library's own loss of a sentence, times the number of predicted tokens."""
    read = torch.tensor([ids])
    with torch.inference_mode():
        return -float(model(input_ids=read, labels=read).loss) * (len(ids) - 1)


@pytest.mark.parametrize(
    "model_type",
    [*MASKED[:1], *(pytest.param(name, marks=pytest.mark.slow) for name in MASKED[1:])],
)
def test_masked_scores_are_those_of_a_slow_loop(model_type: str, tmp_path: Path) -> None:
    ref = f"path:{save_tiny(tmp_path, model_type, head=True)}"
    assert head_of(ref) == "masked"
    loaded = load_with_head(ref, device="cpu")
    cut = cut_sentences(loaded.tokenizer, SENTENCES)
    assert any(len(set(row.words)) < len(row.words) - 1 for row in cut), "no word has two tokens"
    assert loaded.tokenizer.mask is not None
    slow = [slow_masked(loaded.model, row.ids, row.words, loaded.tokenizer.mask) for row in cut]
    assert score_words(loaded, "masked", SENTENCES).sum(1) == pytest.approx(slow, abs=1e-4)


@pytest.mark.parametrize(
    "model_type", [CAUSAL[0], *(pytest.param(name, marks=pytest.mark.slow) for name in CAUSAL[1:])]
)
def test_causal_scores_are_the_librarys_loss(model_type: str, tmp_path: Path) -> None:
    ref = f"path:{save_tiny(tmp_path, model_type, head=True)}"
    assert head_of(ref) == "causal"
    loaded = load_with_head(ref, device="cpu")
    begin = loaded.tokenizer.bos
    rows = [row.ids for row in cut_sentences(loaded.tokenizer, SENTENCES)]
    rows = [[begin, *ids] if begin is not None and ids[0] != begin else ids for ids in rows]
    slow = [slow_causal(loaded.model, ids) if len(ids) > 1 else 0.0 for ids in rows]
    assert score_words(loaded, "causal", SENTENCES).sum(1) == pytest.approx(slow, abs=1e-4)


def test_the_rest_of_a_word_is_masked_with_its_token(tmp_path: Path) -> None:
    loaded = load_with_head(f"path:{save_tiny(tmp_path, head=True)}", device="cpu")
    (cut,) = cut_sentences(loaded.tokenizer, [("his", "manthing", "went")])
    mask = loaded.tokenizer.mask
    assert mask is not None
    asked = [*masked_rows([cut], mask)]
    assert len(asked) == len(cut.inside)
    word = [place for place, owner in enumerate(cut.words) if owner == 1]
    assert len(word) > 1
    for ids, (place, target, *_) in asked:
        assert target == cut.ids[place]
        hidden = [at for at, token in enumerate(ids) if token == mask]
        assert hidden == ([at for at in word if at >= place] if place in word else [place])


@pytest.mark.slow
def test_words_share_the_score_of_their_sentence() -> None:
    """Where sentences begin alike, a causal model scores the beginnings alike: only from the word
    that differs on do the sums differ."""
    pairs = make_pairs("agreement", 6)
    sides = [*(pair.good for pair in pairs), *(pair.bad for pair in pairs)]
    for ref, kind in (("zoo:decoder-0", "causal"), ("zoo:seed-0", "masked")):
        loaded = load_with_head(ref, device="cpu")
        words = score_words(loaded, cast("Kind", kind), sides)
        assert words.shape == (12, max(map(len, sides)))
        for row, side in zip(words, sides, strict=True):
            assert (row[: len(side)] < 0).all()
            assert (row[len(side) :] == 0).all()
        good, bad = region_scores(words, pairs)
        whole = words[:6].sum(axis=1) - words[6:].sum(axis=1)
        assert (good - bad == pytest.approx(whole, abs=1e-4)) == (kind == "causal")


def test_a_model_without_a_head_has_none(tmp_path: Path) -> None:
    assert head_of(f"path:{save_tiny(tmp_path / 'bare')}") is None
    assert head_of("zoo:parse-0") is None
    assert head_of("zoo:seed-0") == "masked"
    assert head_of("random:zoo:seed-0") == "masked"


def test_what_cannot_be_scored_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    loaded = load_with_head(f"path:{save_tiny(tmp_path, head=True)}", device="cpu")
    with pytest.raises(ModelError, match="reads"):
        score_words(loaded, "masked", [("man",) * 2000])
    monkeypatch.setattr(loaded.tokenizer, "mask", None)
    with pytest.raises(ModelError, match="no mask token"):
        score_words(loaded, "masked", SENTENCES).sum(1)
    assert np.isfinite(score_words(loaded, "causal", SENTENCES).sum(1)).all()


@pytest.mark.slow
@pytest.mark.parametrize(("model_type", "kind"), [("bert", "masked"), ("llama", "causal")])
def test_a_model_that_is_read_by_layer_scores_the_same(
    model_type: str, kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = f"path:{save_tiny(tmp_path, model_type, head=True)}"
    expected = score_words(load_with_head(ref, device="cpu"), kind, SENTENCES)
    monkeypatch.setattr(reading, "READ_AS_ONE", 10)
    by_layer = load_with_head(ref, device="cpu", layerwise=True)
    assert by_layer.layerwise is not None
    assert score_words(by_layer, kind, SENTENCES) == pytest.approx(expected, abs=1e-5)
    monkeypatch.setattr(scoring, "LOGITS", 1)
    assert score_words(by_layer, kind, SENTENCES) == pytest.approx(expected, abs=1e-5)

"""Forward passes layer by layer held against those of the whole model, for every architecture."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import core.models.loading.model as models
from core.models import LoadedModel, load_model
from core.models.architectures import ARCHITECTURES
from core.models.loading import layerwise, memory, reading
from core.models.loading.model import DTYPES
from core.vectors import forward, stored
from core.vectors.activations import extract
from core.vectors.forward import SentenceVectors, Subwords
from core.vectors.layerwise import read_by_layer
from tests.cases import exhaustive
from tests.core.tiny_models import LAYERS, SENTENCES, TYPES, save_tiny

ALONE = [
    name
    for name in TYPES
    if ARCHITECTURES[name].family != "encoder-decoder" and not ARCHITECTURES[name].inseparable
]
QUICK = ("bert", "llama", "gemma3_text", "olmo")
CHANGES: dict[str, dict[str, Any]] = {
    "gemma3_text": {
        "sliding_window": 4,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    },
    "mistral": {"sliding_window": 4},
    "llama": {"tie_word_embeddings": True},
}
"""Windows shorter than the sentences, and a head that is the embedding."""


def cut(*lengths: int) -> list[Subwords]:
    """Sentences of random tokens that every tiny vocabulary has, two to a word."""
    rng = np.random.default_rng(0)
    return [
        Subwords(
            [1, *map(int, rng.integers(5, 30, length)), 2],
            [-1, *(place // 2 for place in range(length)), -1],
            (length + 1) // 2,
            length + 2,
        )
        for length in lengths
    ]


CUT = cut(3, 9, 5, 12, 1, 7)


def vectors(loaded: LoadedModel, donor: LoadedModel | None = None) -> dict[int, SentenceVectors]:
    if loaded.layerwise:
        batches = read_by_layer(loaded, CUT, donor)
    else:
        batches = forward.read_sentences(loaded, CUT, donor=donor)
    return dict(pair for batch in batches for pair in batch)


def same(first: dict[int, SentenceVectors], second: dict[int, SentenceVectors]) -> None:
    assert first.keys() == second.keys() == set(range(len(CUT)))
    for index, mine in first.items():
        theirs = second[index]
        np.testing.assert_allclose(mine.words, theirs.words, rtol=0, atol=1e-6)
        np.testing.assert_allclose(mine.mean, theirs.mean, rtol=0, atol=1e-6)
        np.testing.assert_array_equal(mine.pieces, theirs.pieces)
        assert mine.cls is not None
        assert theirs.cls is not None
        np.testing.assert_allclose(mine.cls, theirs.cls, rtol=0, atol=1e-6)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several padded batches of a few sentences."""
    monkeypatch.setattr(forward, "token_budget", lambda *_: 24)


@pytest.fixture
def no_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "load_tokenizer", lambda ref: SimpleNamespace(cls=1))


@pytest.mark.slow
@pytest.mark.usefixtures("no_tokenizer")
@pytest.mark.parametrize(
    "model_type",
    exhaustive(ALONE, *QUICK),
)
def test_equal_to_the_whole_model(tmp_path: Path, monkeypatch, model_type: str) -> None:
    changes = CHANGES.get(model_type, {})
    refs = [
        f"path:{save_tiny(tmp_path / str(seed), model_type, seed=seed, **changes)}"
        for seed in range(2)
    ]
    whole = [load_model(ref, device="cpu") for ref in refs]
    monkeypatch.setattr(reading, "READ_AS_ONE", 10)
    parts = [load_model(ref, device="cpu", layerwise=True) for ref in refs]
    assert all(part.layerwise for part in parts)
    same(vectors(parts[0]), vectors(whole[0]))
    same(vectors(parts[0], parts[1]), vectors(whole[0], whole[1]))
    same(vectors(parts[0], parts[0]), vectors(whole[0], whole[0]))


@pytest.mark.usefixtures("no_tokenizer")
@pytest.mark.parametrize("model_type", ["bert", "llama", "gpt2"])
def test_a_model_saved_with_its_head_and_in_shards_is_read_without_it(
    tmp_path: Path, monkeypatch, model_type: str
) -> None:
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

    folder = save_tiny(tmp_path / "head", model_type, head=True, **CHANGES.get(model_type, {}))
    factory = AutoModelForMaskedLM if model_type == "bert" else AutoModelForCausalLM
    factory.from_pretrained(folder).save_pretrained(tmp_path / "shards", max_shard_size="30KB")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / "shards" / name).write_bytes((folder / name).read_bytes())
    index = json.loads((tmp_path / "shards/model.safetensors.index.json").read_text())
    assert len(set(index["weight_map"].values())) > 2
    ref = f"path:{tmp_path / 'shards'}"
    whole = vectors(load_model(ref, device="cpu"))
    monkeypatch.setattr(reading, "READ_AS_ONE", 10)
    same(vectors(load_model(ref, device="cpu", layerwise=True)), whole)


@pytest.mark.slow
def test_every_layer_is_read_once_for_all_batches(tmp_path: Path, monkeypatch) -> None:
    ref = f"path:{save_tiny(tmp_path / 'llama', 'llama')}"
    expected = extract(ref, SENTENCES, device="cpu")
    monkeypatch.setattr(reading, "READ_AS_ONE", 10)
    read: list[int] = []
    fill = layerwise.Layerwise.fill

    def counted(self: Any, number: int) -> None:
        if number not in self.held:
            read.append(number)
        fill(self, number)

    loaded = load_model(ref, device="cpu", layerwise=True)
    monkeypatch.setattr(layerwise.Layerwise, "fill", counted)
    batches = list(read_by_layer(loaded, CUT))
    assert len(batches) > 2
    assert read == [0, *range(LAYERS)]  # the lowest once more, to see what is called with what
    memory.release_model()
    from core.runs.store import current_store

    current_store().clear()
    given = extract(ref, SENTENCES, device="cpu")
    np.testing.assert_array_equal(given.vectors, expected.vectors)
    new = [notice for notice in given.notices if notice not in expected.notices]
    assert len(new) == 1
    assert "one at a time" in new[0]


@pytest.mark.usefixtures("no_tokenizer")
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_said_of_a_reading_is_how_the_model_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    ref = f"path:{save_tiny(tmp_path / 'llama', 'llama')}"
    planned = stored.read_with(ref, "cpu", dtype)
    monkeypatch.setattr(layerwise, "free_memory", lambda: 1e15)
    for width in DTYPES.values():
        room = width * planned.info.parameters + 1
        monkeypatch.setattr(reading, "free_memory", lambda room=room: room)
        loaded = load_model(ref, device="cpu", dtype=dtype, layerwise=True)
        assert (loaded.layerwise is not None) == stored.is_by_layer(planned)


def test_a_long_text_is_read_in_parts_that_fit_the_memory(monkeypatch) -> None:
    assert list(stored._chunks([5, 5, 9, 1, 1], 10)) == [(0, 2), (2, 4), (4, 5)]
    assert list(stored._chunks([30, 1], 10)) == [(0, 1), (1, 2)]
    monkeypatch.setattr(stored, "CHUNK", 2)
    assert list(stored._chunks([9, 9, 9], None)) == [(0, 2), (2, 3)]


def test_models_between_two_are_read_as_a_whole(tmp_path: Path, monkeypatch) -> None:
    refs = [f"path:{save_tiny(tmp_path / str(seed), 'llama', seed=seed)}" for seed in range(2)]
    expected = extract(refs[1], SENTENCES, device="cpu", between=(refs[0], 0.5))
    monkeypatch.setattr(reading, "READ_AS_ONE", 10)
    from core.runs.store import current_store

    current_store().clear()
    memory.release_model()
    given = extract(refs[1], SENTENCES, device="cpu", between=(refs[0], 0.5))
    np.testing.assert_array_equal(given.vectors, expected.vectors)
    assert given.notices == expected.notices

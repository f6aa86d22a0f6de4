"""The tokenizer inside a GGUF file, read in a process that has no torch."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.errors import ModelError
from core.models import load_tokenizer, tokenizer_fingerprint
from core.models.files.gguf import gguf_vocabulary
from core.models.loading.conversion import convert
from tests.core import quantised
from tests.core.tiny_models import save_tiny

pytestmark = pytest.mark.tokenizers_apart
LETTERS = [chr(code) for code in range(33, 127)]
TOKENS = ["<s>", "</s>", *LETTERS, "Ġ", "th", "the"]
SENTENCES = (("the", "other", "then"), ("that", "é"))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "llama", "llama")


@pytest.mark.exhaustive
@pytest.mark.slow
def test_it_cuts_words_as_the_converted_tokenizer_does(tmp_path: Path, llama: Path) -> None:
    tokens = [*TOKENS, *(f"filler{number}" for number in range(400 - len(TOKENS)))]
    quantised.gguf_llama(llama, tmp_path / "gguf", tokens=tokens)
    assert gguf_vocabulary(tmp_path / "gguf" / "model.gguf")["tokenizer.ggml.tokens"] == tokens
    convert(tmp_path / "gguf", tmp_path / "plain")
    inside, written = (load_tokenizer(f"path:{tmp_path / name}") for name in ("gguf", "plain"))
    assert inside.behaviour == written.behaviour
    assert inside.encode(SENTENCES) == written.encode(SENTENCES)
    (first, _) = inside.encode(SENTENCES)
    assert {tokens[number] for number in first.ids} <= {*LETTERS, "Ġ", "th", "the", "<s>"}
    assert tokens.index("the") in first.ids


@pytest.mark.exhaustive
@pytest.mark.slow
def test_files_beside_it_come_first(tmp_path: Path, llama: Path) -> None:
    quantised.gguf_llama(llama, tmp_path / "gguf", tokens=TOKENS)
    before = tokenizer_fingerprint(f"path:{tmp_path / 'gguf'}")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(llama / name, tmp_path / "gguf" / name)
    assert tokenizer_fingerprint(f"path:{tmp_path / 'gguf'}") != before
    beside, original = (load_tokenizer(f"path:{folder}") for folder in (tmp_path / "gguf", llama))
    assert beside.behaviour == original.behaviour


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_file_without_a_tokenizer_asks_for_one(tmp_path: Path, llama: Path) -> None:
    quantised.gguf_llama(llama, tmp_path / "gguf")
    with pytest.raises(ModelError, match=r"put the model's tokenizer\.json beside it"):
        load_tokenizer(f"path:{tmp_path / 'gguf'}")

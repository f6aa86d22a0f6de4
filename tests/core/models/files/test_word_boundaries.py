"""Words of every kind of tokenizer are cut as in a whole sentence, and fingerprints say where they
once were not."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.models import load_tokenizer, tokenizer_fingerprint
from core.models.describing import locate
from core.models.files import checkpoints
from core.models.files.tokenizer_json import SPACED, marks_of, needs_space
from core.models.loading.tokenizing import _needs_space
from core.vectors.forward import cut_sentences
from tests.core.tiny_models import SENTENCES, TEXT, plain_tokenizer, save_tiny

WORDS = ("the", "man", "opened", "the", "door")
ADDS_ONE = ("bert", "t5", "xlm-roberta", "llama-old", "llama-first")
ADDS_NONE = ("gpt2", "roberta", "qwen2")
BARS = ("gemma", "gemma-cut", "never", "never-setting")


def pieces() -> Any:
    """A BPE tokenizer of pieces that begin with "▁", with no normalizer or pre-tokenizer."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    made.train_from_iterator([TEXT] * 3, trainers.BpeTrainer(vocab_size=90, special_tokens=special))
    made.pre_tokenizer = None
    return made


def gemma() -> Any:
    """Gemma's, as transformers builds it."""
    from transformers import GemmaTokenizer

    model = json.loads(pieces().to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    return GemmaTokenizer(vocab=model["vocab"], merges=merges)


def with_parts(normalizer: Any, cut: Any) -> Any:
    from transformers import PreTrainedTokenizerFast

    made = pieces()
    if normalizer is not None:
        made.normalizer = normalizer
    if cut is not None:
        made.pre_tokenizer = cut
    return PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>", pad_token="<pad>")


def llama(**settings: Any) -> Any:
    from transformers import LlamaTokenizer

    model = json.loads(pieces().to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    return LlamaTokenizer(vocab=model["vocab"], merges=merges, **settings)


def made(name: str) -> Any:
    from tokenizers import normalizers, pre_tokenizers

    replace, prepend = normalizers.Replace(" ", "▁"), normalizers.Prepend("▁")
    kinds: dict[str, Callable[[], Any]] = {
        "gemma": gemma,
        "gemma-cut": lambda: with_parts(replace, None),
        "never": lambda: with_parts(None, pre_tokenizers.Metaspace(prepend_scheme="never")),
        "never-setting": lambda: llama(add_prefix_space=False),
        "llama-old": lambda: with_parts(normalizers.Sequence([prepend, replace]), None),
        "llama-first": lambda: with_parts(None, pre_tokenizers.Metaspace(prepend_scheme="first")),
    }
    return kinds[name]()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model with each kind of tokenizer."""
    top = tmp_path_factory.mktemp("boundaries")
    folders = {}
    for name in (*ADDS_ONE, *ADDS_NONE, *BARS):
        family = name.split("-")[0]
        kind = {"gemma": "gemma3_text", "llama": "llama", "never": "llama"}.get(family, name)
        folders[name] = save_tiny(top / name, kind, vocab_size=400)
        if kind in ("gemma3_text", "llama"):
            for file in folders[name].glob("tokenizer*"):
                file.unlink()
            made(name).save_pretrained(folders[name])
    return folders


def whole_of(folder: Path, text: str) -> list[int]:
    plain = plain_tokenizer(str(folder))
    return list(plain(text, add_special_tokens=False)["input_ids"])


@pytest.mark.parametrize("name", [*ADDS_ONE, *ADDS_NONE, *BARS])
def test_words_are_cut_as_in_the_whole_sentence(saved: dict[str, Path], name: str) -> None:
    """With a space before its first word, where the tokenizer itself adds none."""
    space = "" if name in ADDS_ONE else " "
    cuts = cut_sentences(load_tokenizer(f"path:{saved[name]}"), [WORDS, *SENTENCES])
    for words, cut in zip((WORDS, *SENTENCES), cuts, strict=True):
        assert cut.inside == whole_of(saved[name], space + " ".join(words))


def test_gemma_reads_whole_words(saved: dict[str, Path]) -> None:
    plain = plain_tokenizer(str(saved["gemma"]))
    assert type(plain).__name__ == "GemmaTokenizer"
    (cut,) = cut_sentences(load_tokenizer(f"path:{saved['gemma']}"), [WORDS])
    assert plain.convert_ids_to_tokens(cut.inside) == ["▁" + word for word in WORDS]
    assert cut.words == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("name", [*ADDS_ONE, *ADDS_NONE, *BARS])
def test_the_fingerprint_is_marked_where_words_were_cut_otherwise(
    saved: dict[str, Path], name: str
) -> None:
    folder = saved[name]
    plain = plain_tokenizer(str(folder))
    config = checkpoints.read_config(folder)
    assert _needs_space(plain) == (name not in ADDS_ONE)
    assert needs_space(folder, config) == (name in BARS)
    unmarked = checkpoints.tokenizer_hash(folder, config) == tokenizer_fingerprint(f"path:{folder}")
    marks = marks_of(folder, config)
    assert (unmarked, SPACED in marks) == (not marks, name in BARS)


def test_included_models_keep_their_fingerprint() -> None:
    folder = locate("zoo:seed-0")
    config = checkpoints.read_config(folder)
    assert tokenizer_fingerprint("zoo:seed-0") == checkpoints.tokenizer_hash(folder, config)


@pytest.mark.parametrize(
    ("content", "needs"),
    [
        ('{"pre_tokenizer": {"type": "Metaspace", "add_prefix_space": false}}', True),
        ('{"pre_tokenizer": {"type": "Metaspace", "add_prefix_space": true}}', False),
        ('{"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}}', False),
        ('{"pattern": {"String": " "}, "content": "\\u2581"}', True),
        ('{"pattern": {"Regex": " {2,}"}, "content": "▁"}', False),
        ("", False),
    ],
)
def test_older_and_odd_files(tmp_path: Path, content: str, needs: bool) -> None:
    (tmp_path / "tokenizer.json").write_text(content, encoding="utf8")
    assert needs_space(tmp_path, {"model_type": "llama"}) == needs


def test_gemma_without_a_named_class_is_marked(tmp_path: Path) -> None:
    assert needs_space(tmp_path, {"model_type": "gemma2"})
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "GemmaTokenizerFast"}')
    assert needs_space(tmp_path, {"model_type": "llama"})


@pytest.mark.slow
def test_a_hostile_file_is_searched_in_seconds(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(b'"Metaspace"' * 10**6)
    begun = time.process_time()
    assert not needs_space(tmp_path, {"model_type": "bert"})
    assert time.process_time() - begun < 20

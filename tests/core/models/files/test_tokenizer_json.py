"""Text is cut as tokenizer.json says, whatever class of transformers is named for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.models import load_tokenizer, locate, tokenizer_fingerprint
from core.models.files.checkpoints import tokenizer_hash
from core.models.files.tokenizer_json import is_cut_by_file
from tests.core.tiny_models import TEXT, save_tiny

WORDS = ["In", "1999", ",", "3141", "old", "men", "didn't", "open", "x_1=42"]
CLASSES = ("LlamaTokenizer", "GPT2TokenizerFast", "Qwen2Tokenizer", "GPTNeoXTokenizerFast", None)


def by_bytes(digits: bool) -> Any:
    """A byte-level BPE tokenizer, of which one cuts numbers into three digits at a time."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    cuts = [pre_tokenizers.Split(Regex(r"\p{N}{1,3}"), "isolated")] if digits else []
    words = Regex(r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+")
    made = Tokenizer(models.BPE(ignore_merges=digits))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            *cuts,
            pre_tokenizers.Split(words, "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=380,
        special_tokens=["<pad>", "<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    numbers = " ".join(str(number * 37) for number in range(10, 400))
    made.train_from_iterator([TEXT, numbers] * 3, trainer)
    return made


def by_bars() -> Any:
    """A BPE tokenizer of pieces that begin with "▁", as those of the first Llamas."""
    from tokenizers import Tokenizer, models, normalizers, trainers

    made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=390, special_tokens=special)
    made.train_from_iterator(TEXT.split() * 3, trainer)
    return made


def by_pieces() -> Any:
    """A WordPiece tokenizer that keeps capitals and cuts at blanks alone."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(
        [TEXT, " ".join(WORDS)] * 3, trainers.WordPieceTrainer(special_tokens=special)
    )
    return made


MADE = {
    "digits": lambda: by_bytes(True),
    "bytes": lambda: by_bytes(False),
    "bars": by_bars,
    "pieces": by_pieces,
}


def folder_of(top: Path, kind: str, named: str | None) -> Path:
    folder = save_tiny(top, "qwen2" if named == "Qwen2Tokenizer" else "llama", vocab_size=1000)
    for file in folder.glob("tokenizer*"):
        file.unlink()
    MADE[kind]().save(str(folder / "tokenizer.json"))
    settings = {} if named is None else {"tokenizer_class": named}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.parametrize("named", [*CLASSES, "BertTokenizer"])
@pytest.mark.parametrize("kind", MADE)
def test_words_are_cut_as_the_file_says(tmp_path: Path, kind: str, named: str | None) -> None:
    from tokenizers import Tokenizer

    folder = folder_of(tmp_path / "model", kind, named)
    plain = Tokenizer.from_file(str(folder / "tokenizer.json"))
    (given,) = load_tokenizer(f"path:{folder}").encode([WORDS])
    expected = plain.encode(WORDS, is_pretokenized=True, add_special_tokens=False).ids
    inside = [number for number, word in zip(given.ids, given.words, strict=True) if word >= 0]
    assert inside == expected


@pytest.mark.parametrize(
    ("kind", "named", "marked"),
    [
        ("digits", "LlamaTokenizer", True),
        ("digits", "TokenizersBackend", False),
        ("bars", None, True),
        ("pieces", "BertTokenizer", True),
    ],
)
def test_results_of_other_subwords_are_not_read_again(
    tmp_path: Path, kind: str, named: str | None, marked: bool
) -> None:
    folder = folder_of(tmp_path / "model", kind, named)
    assert is_cut_by_file(folder, {"model_type": "llama"}, named) is marked
    files = tokenizer_hash(folder, {"model_type": "llama"})
    assert (tokenizer_fingerprint(f"path:{folder}") != files) is marked


def test_bert_and_what_is_included_keep_their_fingerprints(tmp_path: Path) -> None:
    folder = locate("zoo:seed-0")
    assert not is_cut_by_file(folder, {"model_type": "roformer"}, "BertTokenizer")
    (tmp_path / "tokenizer.json").touch()
    assert not is_cut_by_file(tmp_path, {"model_type": "llama"}, None)
    assert not is_cut_by_file(tmp_path / "none", {"model_type": "llama"}, None)

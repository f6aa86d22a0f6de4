"""Tokenizers that are saved without a tokenizer.json: SentencePiece models, ESM's and Marian's."""

from __future__ import annotations

import io
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from core.errors import ModelError
from core.models import load_tokenizer, tokenizer_fingerprint
from core.models.loading.tokenizing import fast_esm_tokenizer, read_tokenizer
from core.vectors.activations import extract
from core.vectors.forward import cut_sentences
from tests.cases import exhaustive
from tests.core.tiny_models import D_MODEL, SENTENCES, TEXT, plain_tokenizer, save_tiny

pytestmark = [pytest.mark.tokenizers_apart, pytest.mark.usefixtures("forked")]
READABLE = [words for words in SENTENCES if "don't" not in words]  # ' is not in the text
T5 = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
FAIRSEQ = {"unk_id": 0, "bos_id": 1, "eos_id": 2}
ALBERT = {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": "[CLS],[SEP]"}
DEBERTA = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3, "control_symbols": "[CLS],[SEP]"}
BYTES = {"byte_fallback": True, "vocab_size": 330, "model_type": "bpe"}
GEMMA = {"pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3, **BYTES}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "t5": ("spiece.model", T5),
    "mt5": ("spiece.model", T5),
    "pegasus": ("spiece.model", T5),
    "albert": ("spiece.model", ALBERT),
    "xlnet": ("spiece.model", FAIRSEQ | {"control_symbols": "<cls>,<sep>,<pad>,<mask>"}),
    "mbart": ("sentencepiece.bpe.model", FAIRSEQ),
    "mbart50": ("sentencepiece.bpe.model", FAIRSEQ),
    "xlm-roberta": ("sentencepiece.bpe.model", FAIRSEQ),
    "camembert": ("sentencepiece.bpe.model", FAIRSEQ),
    "deberta-v2": ("spm.model", DEBERTA),
    "llama": ("tokenizer.model", FAIRSEQ | BYTES),
    "mistral": ("tokenizer.model", FAIRSEQ | BYTES),
    "phi3": ("tokenizer.model", FAIRSEQ | BYTES),
    "gemma2": ("tokenizer.model", GEMMA),
}
PROTEIN = (
    "<cls> <pad> <eos> <unk> L A G V S E R T I D P K Q N F Y M H W C X B U Z O . - <null_1> <mask>"
)


def train(**settings: Any) -> bytes:
    """A SentencePiece model of a few words."""
    made = io.BytesIO()
    texts = iter([TEXT] * 5)
    chosen = {"vocab_size": 60, "model_type": "unigram", "hard_vocab_limit": False} | settings
    SentencePieceTrainer.train(sentence_iterator=texts, model_writer=made, minloglevel=2, **chosen)
    return made.getvalue()


def without_tokenizer(folder: Path, model_type: str, **changes: Any) -> Path:
    save_tiny(folder, model_type, **changes)
    for file in folder.glob("tokenizer*"):
        file.unlink()
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", exhaustive(KINDS, "t5"))
def test_words_are_cut_as_sentencepiece_cuts_the_sentence(tmp_path: Path, kind: str) -> None:
    file, settings = KINDS[kind]
    folder = without_tokenizer(tmp_path, kind.removesuffix("50"), vocab_size=400)
    if kind == "mbart50":
        named = {"tokenizer_class": "MBart50Tokenizer", "src_lang": "en_XX"}
        (folder / "tokenizer_config.json").write_text(json.dumps(named))
    (folder / file).write_bytes(train(**settings))
    reference = SentencePieceProcessor(model_file=str(folder / file))
    plain = plain_tokenizer(str(folder))
    for words, cut in zip(
        READABLE, cut_sentences(load_tokenizer(f"path:{folder}"), READABLE), strict=True
    ):
        assert plain.convert_ids_to_tokens(cut.inside) == reference.encode(
            " ".join(words), out_type=str
        )
        assert cut.pieces.min() > 0


@pytest.mark.slow
def test_the_model_file_is_part_of_the_fingerprint(tmp_path: Path) -> None:
    folder = without_tokenizer(tmp_path, "deberta-v2", vocab_size=400)
    (folder / "spm.model").write_bytes(train(**DEBERTA))
    before = tokenizer_fingerprint(f"path:{folder}")
    (folder / "spm.model").write_bytes(train(**DEBERTA, model_type="char"))
    assert tokenizer_fingerprint(f"path:{folder}") != before


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"no model", b"\x0a\xff\xff\xff\x7f"])
def test_a_damaged_model_file_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    folder = without_tokenizer(tmp_path, "t5")
    (folder / "spiece.model").write_bytes(content)
    with pytest.raises(ModelError, match=r"cannot be read .*save it again beside the model"):
        load_tokenizer(f"path:{folder}")


@pytest.fixture
def esm(tmp_path: Path) -> Path:
    """A model of proteins with its vocabulary, as published."""
    names = PROTEIN.split()
    settings = {"vocab_size": len(names), "pad_token_id": 1, "mask_token_id": 32}
    folder = without_tokenizer(tmp_path / "esm", "esm", **settings)
    (folder / "vocab.txt").write_text("\n".join(names))
    settings = {"tokenizer_class": "EsmTokenizer", "model_max_length": 10**30}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.slow
def test_proteins_are_cut_as_by_the_slow_tokenizer(esm: Path) -> None:
    slow = plain_tokenizer(str(esm))
    assert not slow.is_fast
    fast = fast_esm_tokenizer(slow)
    drawn = random.Random(0)
    parts = ["A", "L", "M", "x", "the", " ", "  ", ".", "-", "<mask>", "<null_1>", "<", "J", "é"]
    for _ in range(500):
        text = "".join(drawn.choices(parts, k=drawn.randint(0, 12)))
        assert fast(text)["input_ids"] == slow(text)["input_ids"], text
    assert fast("MKT", "AG")["input_ids"] == slow("MKT", "AG")["input_ids"]
    for name in ("pad", "cls", "eos", "mask", "unk"):
        assert getattr(fast, f"{name}_token_id") == getattr(slow, f"{name}_token_id")


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_model_of_proteins_reads_text(esm: Path) -> None:
    (cut,) = cut_sentences(load_tokenizer(f"path:{esm}"), [("MKT", "LLV")])
    names = PROTEIN.split()
    assert [names[number] for number in cut.ids] == ["<cls>", *"MKTLLV", "<eos>"]
    assert cut.words == [-1, 0, 0, 0, 1, 1, 1, -1]
    assert extract(f"path:{esm}", [("MKT", "LLV")]).vectors.shape[1:] == (2, D_MODEL)


def test_a_vocabulary_of_proteins_without_special_tokens_is_one_sentence(esm: Path) -> None:
    settings = json.loads((esm / "tokenizer_config.json").read_text()) | {"cls_token": None}
    (esm / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(ModelError, match=r"cannot be read .*save it again beside the model"):
        read_tokenizer(str(esm), "path:esm")


def name_class(folder: Path) -> None:
    named = {"tokenizer_class": "MarianTokenizer", "source_lang": "en", "target_lang": "de"}
    (folder / "tokenizer_config.json").write_text(json.dumps(named))


@pytest.mark.parametrize("named", [False, True])
def test_marian_without_a_fast_tokenizer_is_refused(tmp_path: Path, named: bool) -> None:
    folder = without_tokenizer(tmp_path, "marian")
    (folder / "vocab.json").write_text(json.dumps({"<unk>": 0, "</s>": 1, "<pad>": 2}))
    if named:
        name_class(folder)
    with pytest.raises(ModelError, match=r"not a fast one.*on the weights page, or save its fast"):
        read_tokenizer(str(folder), "path:marian")


def test_marian_with_a_fast_tokenizer_is_read_whatever_its_class(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "one", "marian")
    expected = read_tokenizer(str(folder), "path:marian")(TEXT)["input_ids"]
    other = Path(shutil.copytree(folder, tmp_path / "other"))
    name_class(other)
    assert read_tokenizer(str(other), "path:marian")(TEXT)["input_ids"] == expected

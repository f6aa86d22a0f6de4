"""The WordPiece tokenizer of all included models: lower case, trained once on the text.

Trained once and kept: the library breaks ties between equally frequent pieces at random, so that a
second training on the same text may give another vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from core.errors import RecipeError
from zoo.recipe.text import CLS, SEP, SPECIALS

MODEL_MAX_LENGTH = 512


def train_tokenizer(paragraphs: Iterable[str], vocabulary: int) -> Tokenizer:
    """Train a BERT-style WordPiece tokenizer with `vocabulary` entries, special tokens first."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary,
        special_tokens=list(SPECIALS),
        show_progress=False,
        limit_alphabet=200,
    )
    tokenizer.train_from_iterator(paragraphs, trainer)
    # The trainer numbers equally frequent pieces at random: by name, the same pieces have the same
    # numbers.
    pieces = [*SPECIALS, *sorted(set(tokenizer.get_vocab()) - set(SPECIALS))]
    tokenizer.model = models.WordPiece(
        {piece: place for place, piece in enumerate(pieces)}, unk_token="[UNK]"
    )
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", SEP), ("[CLS]", CLS))
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def read_tokenizer(path: Path) -> Tokenizer:
    """Read the tokenizer of the included models. Raises RecipeError if the file is not one."""
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise RecipeError(
            f"{path} is not a tokenizer ({error}); restore it or delete it to train another."
        ) from error


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write tokenizer.json and a tokenizer_config.json that needs nothing beyond `tokenizers`."""
    _save(tokenizer, folder, cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")


def save_decoder_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write the same vocabulary for decoders: a text begins with [CLS] and is left open, so that
    its continuation, or [SEP] for its end, can be predicted."""
    opened = Tokenizer.from_str(tokenizer.to_str())
    opened.post_processor = processors.TemplateProcessing(
        single="[CLS] $A", pair="[CLS] $A [SEP] $B", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    names = ["input_ids", "attention_mask"]  # a decoder has no token types
    _save(opened, folder, bos_token="[CLS]", eos_token="[SEP]", model_input_names=names)


def _save(tokenizer: Tokenizer, folder: Path, **names: Any) -> None:
    from transformers import PreTrainedTokenizerFast

    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=MODEL_MAX_LENGTH,
        pad_token="[PAD]",
        unk_token="[UNK]",
        **names,
    )
    fast.save_pretrained(folder)

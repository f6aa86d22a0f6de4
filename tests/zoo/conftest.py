"""A tiny base model with a tokenizer of its own, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.zoo.made_up import SENTENCES, SETTINGS


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of an untrained masked LM of two layers, written as the recipe writes the box's
    seeds."""
    from tokenizers.models import WordPiece

    from zoo.recipe.checkpoints import write_model
    from zoo.recipe.pretrain import new_model
    from zoo.recipe.text import SPECIALS
    from zoo.recipe.tokenizer import save_tokenizer, train_tokenizer

    folder = tmp_path_factory.mktemp("base")
    tokenizer = train_tokenizer(SENTENCES, SETTINGS.vocabulary)
    # A vocabulary written down: which pieces a training keeps depends on how it breaks ties, and so
    # would the scores.
    cut = [tokenizer.pre_tokenizer.pre_tokenize_str(sentence.lower()) for sentence in SENTENCES]
    words = sorted({word for sentence in cut for word, _ in sentence})
    letters = sorted({letter for word in words for letter in word})
    pieces = [*SPECIALS, *words, *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = {piece: place for place, piece in enumerate(dict.fromkeys(pieces))}
    assert len(vocabulary) <= SETTINGS.vocabulary
    tokenizer.model = WordPiece(vocabulary, unk_token="[UNK]")
    save_tokenizer(tokenizer, folder / "tokenizer")
    write_model(new_model(SETTINGS), folder / "tokenizer", folder / "seed-0")
    return folder / "seed-0"

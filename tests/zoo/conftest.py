"""A tiny base model with a tokenizer of its own, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.zoo.made_up import SENTENCES, SETTINGS


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of an untrained masked LM of two layers, written as the recipe writes the box's seeds."""
    from zoo.recipe.checkpoints import write_model
    from zoo.recipe.pretrain import new_model
    from zoo.recipe.tokenizer import save_tokenizer, train_tokenizer

    folder = tmp_path_factory.mktemp("base")
    save_tokenizer(train_tokenizer(SENTENCES, SETTINGS.vocabulary), folder / "tokenizer")
    write_model(new_model(SETTINGS), folder / "tokenizer", folder / "seed-0")
    return folder / "seed-0"

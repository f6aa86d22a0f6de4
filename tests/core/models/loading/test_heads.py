"""The arc head against its formula; a task model opens with its head or says why not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from core.errors import ModelError
from core.models.loading import model
from core.models.loading.heads import ArcHead, ArcParser
from core.models.loading.model import load_with_head
from core.models.loading.task_models import load_task
from tests.zoo.made_up import SETTINGS
from zoo.recipe.checkpoints import write_model
from zoo.recipe.pretrain import new_model
from zoo.recipe.tokenizer import save_tokenizer, train_tokenizer

WORDS = torch.tensor([[1, 2, 3], [1, 3, -1]])
INPUTS = {
    "input_ids": torch.tensor([[2, 7, 8, 9, 3], [2, 7, 10, 9, 3]]),
    "attention_mask": torch.ones(2, 5, dtype=int),
}


@pytest.fixture(scope="module")
def parser_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained parser, written as the recipe writes it."""
    folder = tmp_path_factory.mktemp("parser")
    save_tokenizer(train_tokenizer(["a cat sat on a mat"] * 3, 60), folder / "tokenizer")
    model = ArcParser(new_model(SETTINGS).roformer, size=8)
    extra = {"palimpsest_head": {"kind": "arc", "size": 8}, "architecture": "RoFormerModel"}
    write_model(model, folder / "tokenizer", folder / "parse-0", **extra)
    return folder / "parse-0"


def test_arc_scores_are_the_biaffine_form() -> None:
    torch.manual_seed(0)
    head, vectors = ArcHead(6, 4), torch.randn(1, 4, 6)
    scores = head(vectors)[0]
    for word in range(3):
        for node in range(4):
            u = torch.nn.functional.leaky_relu(head.word(vectors[0, word + 1]), 0.1)
            v = torch.nn.functional.leaky_relu(head.head(vectors[0, node]), 0.1)
            expected = u @ head.pair[:-1] @ v + head.pair[-1] @ v
            if node == word + 1:
                assert scores[word, node] == torch.finfo(torch.float32).min
            else:
                assert scores[word, node].item() == pytest.approx(expected.item(), abs=1e-5)


def test_a_parser_opens_as_it_was_saved_and_its_body_with_automodel(parser_folder: Path) -> None:
    from transformers import AutoModel

    model = load_task(f"path:{parser_folder}").model
    assert isinstance(model, ArcParser)
    assert not any(parameter.requires_grad for parameter in model.parameters())
    saved = load_file(parser_folder / "model.safetensors")
    assert set(saved) == {name for name, _ in model.named_parameters()}
    assert all(
        torch.equal(parameter.half(), saved[name]) for name, parameter in model.named_parameters()
    )
    body, found = AutoModel.from_pretrained(parser_folder, output_loading_info=True)
    assert not found["missing_keys"]
    hidden = body(**INPUTS)[0]
    assert torch.allclose(
        model(**INPUTS, word_starts=WORDS), model.arc_scores(hidden, WORDS), atol=1e-5
    )


def test_padded_words_are_nobodys_head_and_change_nothing(parser_folder: Path) -> None:
    model = load_task(f"path:{parser_folder}").model
    scores = model(**INPUTS, word_starts=WORDS)
    assert scores.shape == (2, 3, 4)
    assert (scores[1, :, 3] == torch.finfo(scores.dtype).min).all()
    alone = model(**{name: value[1:] for name, value in INPUTS.items()}, word_starts=WORDS[1:, :2])
    assert torch.allclose(scores[1:, :2, :3], alone, atol=1e-5)


def broken(parser_folder: Path, tmp_path: Path, **config: object) -> str:
    shutil.copytree(parser_folder, tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **config}))
    return f"path:{tmp_path / 'm'}"


def test_what_cannot_be_opened_is_one_sentence(parser_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"config\.json is missing"):
        load_task(f"path:{tmp_path}")
    with pytest.raises(ModelError, match="known here: arc"):
        load_task(broken(parser_folder, tmp_path / "a", palimpsest_head={"kind": "tree"}))
    bare = broken(parser_folder, tmp_path / "b", palimpsest_head=None)
    with pytest.raises(ModelError, match="no head that labels"):
        load_task(bare)
    with pytest.raises(ModelError, match="without a head"):
        load_with_head(bare)
    ref = broken(parser_folder, tmp_path / "c")
    path = tmp_path / "c/m/model.safetensors"
    weights = load_file(path)
    save_file({name: value for name, value in weights.items() if name != "arc_head.pair"}, path)
    with pytest.raises(ModelError, match=r"lacks 1 weights \(pair\)"):
        load_task(ref)
    ref = broken(
        parser_folder, tmp_path / "d", palimpsest_head=None, architectures=["RoFormerForMaskedLM"]
    )
    with pytest.raises(ModelError, match="lacks"):
        load_with_head(ref)


def test_a_parser_that_is_deeper_than_it_says_or_fills_the_memory_is_refused(
    parser_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = SETTINGS.layers - 1
    with pytest.raises(ModelError, match="which its configuration does not count"):
        load_task(broken(parser_folder, tmp_path, num_hidden_layers=layers))
    monkeypatch.setattr(model, "free_memory", lambda: 1000)
    with pytest.raises(ModelError, match="of memory where all its layers are needed at once"):
        load_task(f"path:{parser_folder}")
